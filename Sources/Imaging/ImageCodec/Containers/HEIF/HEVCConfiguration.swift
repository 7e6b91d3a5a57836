import PhotoModel

/// The configuration of an HEVC decoder: the `hvcC` property (ISO/IEC 14496-15 §8.3.3.1).
package struct HEVCConfiguration: Sendable, Hashable {
  /// NAL units without lengths: video, sequence and picture parameter sets.
  package let parameterSets: [[UInt8]]
  /// The bytes of a NAL unit's length in the pictures: 1, 2 or 4.
  package let nalLengthBytes: Int
  package let chroma: ChromaSampling
  /// Bits of a sample, 8...16; of luma and chroma alike.
  package let bitDepth: Int

  /// The types of the NAL units that are kept (ISO/IEC 23008-2 table 7-1).
  private static let parameterTypes = 32...34

  init(_ fields: BoxFields) throws(CodecError) {
    var fields = fields
    let head = try fields.take(23)
    guard head.bigEndian(at: 0, bytes: 1) == 1 else {
      throw .unsupported("a HEIC picture with an unknown version of hvcC")
    }
    nalLengthBytes = head.bigEndian(at: 21, bytes: 1) & 3 + 1
    let chroma = ChromaSampling(rawValue: head.bigEndian(at: 16, bytes: 1) & 3)
    let (luma, other) = (head.bigEndian(at: 17, bytes: 1) & 7, head.bigEndian(at: 18, bytes: 1) & 7)
    guard let chroma, chroma == .none || luma == other else {
      throw .unsupported("a HEIC picture whose luma and chroma differ in depth")
    }
    self.chroma = chroma
    bitDepth = 8 + luma
    var sets: [[UInt8]] = []
    var bytes = 0
    for _ in 0..<head.bigEndian(at: 22, bytes: 1) {
      let type = try fields.number(1) & 0x3F
      for _ in 0..<(try fields.number(2)) {
        let unit = try fields.take(try fields.number(2))
        guard Self.parameterTypes.contains(type), unit.count >= 2 else { continue }
        bytes += unit.count + 4
        sets.append(Array(unit))
      }
    }
    if bytes > ContainerLimits.parameterBytes {
      throw .limitExceeded("the size of the parameter sets", limit: ContainerLimits.parameterBytes, found: bytes)
    }
    parameterSets = sets
  }

  /// The first sequence parameter set; `nil` if there is none.
  var sequenceParameters: HEVCSequenceParameters? {
    parameterSets.first { $0[0] >> 1 & 0x3F == 33 }.map(HEVCSequenceParameters.init)
  }
}
