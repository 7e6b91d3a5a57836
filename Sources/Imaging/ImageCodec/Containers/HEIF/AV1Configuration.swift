import PhotoModel

/// How an AV1 picture is coded: the property `av1C` (AV1 in ISO-BMFF §2.3.3). A decoder takes everything else from the
/// sequence header, which is part of a still picture's data.
package struct AV1Configuration: Sendable, Hashable {
  package let chroma: ChromaSampling
  /// Bits of a sample: 8, 10 or 12.
  package let bitDepth: Int
  /// Open bitstream units of the property, for a video: its frames may be without a sequence header of their own.
  package var units: [UInt8] = []

  package init(chroma: ChromaSampling, bitDepth: Int) {
    self.chroma = chroma
    self.bitDepth = bitDepth
  }

  init(_ fields: BoxFields) throws(CodecError) {
    var fields = fields
    let head = try fields.take(4)
    guard head.bigEndian(at: 0, bytes: 1) == 0x81 else {
      throw .unsupported("an AVIF picture with an unknown version of av1C")
    }
    // Tier, two of depth, monochrome, two of subsampling, then the position of chroma samples.
    let flags = head.bigEndian(at: 2, bytes: 1)
    let isHigh = flags & 0x40 != 0
    bitDepth = isHigh ? (flags & 0x20 != 0 ? 12 : 10) : 8
    switch (flags & 0x10 != 0, flags & 8 != 0, flags & 4 != 0) {
    case (true, _, _): chroma = .none
    case (false, true, true): chroma = .half
    case (false, true, false): chroma = .halfWidth
    case (false, false, false): chroma = .full
    case (false, false, true): throw .malformed("an unknown subsampling in av1C", offset: nil)
    }
  }
}
