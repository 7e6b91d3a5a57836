import PhotoModel

/// A frame header (T.81 §B.2.2).
struct JPEGFrame {
  let size: PixelSize
  let isProgressive: Bool
  /// SOF0, SOF1 or SOF2 (T.81 table B.1) with 8 bits a sample and all its components.
  let isWidelyDecodable: Bool
  let sampling: [JPEGComponents.Sampling]
  private let identifiers: [UInt8]

  /// - Parameter bytes: the segment's content after its length.
  init(marker: UInt8, _ bytes: ArraySlice<UInt8>) throws(CodecError) {
    guard bytes.count >= 6 else { throw .malformed("a frame header shorter than its fields", offset: nil) }
    // Frames with more than 8 bits a sample, SOF3 and SOF11 (lossless), SOF5...7 and SOF13...15 (hierarchical, T.81
    // table B.1) are JPEGs too, with a size and a date. libjpeg reports a specific error when their pixels are decoded,
    // and for a frame with missing components.
    let count = min(bytes.bigEndian(at: 5, bytes: 1), (bytes.count - 6) / 3)
    size = PixelSize(width: bytes.bigEndian(at: 3, bytes: 2), height: bytes.bigEndian(at: 1, bytes: 2))
    isProgressive = marker == 0xC2 || marker == 0xCA
    isWidelyDecodable =
      (0xC0...0xC2).contains(marker) && bytes.bigEndian(at: 0, bytes: 1) == 8
      && count == bytes.bigEndian(at: 5, bytes: 1)
    identifiers = (0..<count).map { UInt8(bytes.bigEndian(at: 6 + $0 * 3, bytes: 1)) }
    sampling = (0..<count).map {
      let factors = bytes.bigEndian(at: 7 + $0 * 3, bytes: 1)
      return JPEGComponents.Sampling(across: factors >> 4, down: factors & 15)
    }
  }

  /// How libjpeg interprets three components (jdapimin.c, default_decompress_parms): by the JFIF marker, else by
  /// Adobe's, else as RGB if they are numbered so.
  func isYCbCr(_ markers: ColorMarkers) -> Bool {
    guard sampling.count == 3 else { return false }
    if markers.isJFIF { return true }
    if let transform = markers.adobeTransform { return transform != 0 }
    return identifiers != Array("RGB".utf8)
  }
}

/// The description of a JPEG's colours in its application segments.
struct ColorMarkers {
  /// Whether the file has a JFIF segment (T.871 §10.1).
  private(set) var isJFIF = false
  /// The transform of Adobe's APP14 segment: 0 none, 1 YCbCr, 2 YCCK.
  private(set) var adobeTransform: UInt8?

  /// - Parameters:
  ///   - bytes: the first 12 bytes of the segment after its length.
  ///   - length: the segment's length.
  mutating func note(_ marker: UInt8, _ bytes: ArraySlice<UInt8>, length: Int) {
    if marker == 0xE0, length >= 14, bytes.starts(with: Array("JFIF".utf8) + [0]) { isJFIF = true }
    if marker == 0xEE, length >= 12, bytes.count >= 12, bytes.starts(with: Array("Adobe".utf8)) {
      adobeTransform = bytes[bytes.startIndex + 11]
    }
  }
}
