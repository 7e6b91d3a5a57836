import PhotoModel

/// A marker segment of a JPEG: its code, and the position of its content after the length.
struct JPEGMarkerSegment {
  let marker: UInt8
  let content: Int64
  let length: Int
}

/// Walks the marker segments of a JPEG from SOI to its first scan.
///
/// The header of a file that libjpeg-turbo decodes must not be refused, so the rules are those of its jdmarker.c, which
/// are looser than T.81 annex B:
/// - Where a marker is expected, bytes are skipped up to the next FF that is followed by neither FF nor 00
///   (`next_marker`).
/// - A length includes its own two bytes (§B.1.1.4), so 0 and 1 are wrong. An APPn, COM or DNL segment with such a
///   length is empty, and the next marker is searched for right after the length (`skip_variable`,
///   `get_interesting_appn`). In any other segment a wrong length is an error.
/// - RSTn and TEM have no meaning between segments.
///
/// Like libjpeg, it refuses a second SOI, an EOI before the first scan, and reserved markers. Unlike libjpeg, it
/// accepts DHP and EXP, and never examines a segment's content.
struct JPEGSegments {
  static let startOfScan: UInt8 = 0xDA
  /// How many bytes are searched at a time for a marker that is not at its expected place.
  private static let searchedBytes = 4096

  private let limits: CodecLimits
  /// The position after the bytes that were read.
  private var position: Int64
  private var count = 0
  private var skippedBytes = 0

  /// - Parameter start: the position of SOI in the file.
  init(limits: CodecLimits, at start: Int64 = 0) {
    self.limits = limits
    position = start + 2
  }

  /// The next segment. Nothing may be read after SOS.
  ///
  /// - Throws: ``CodecError``; `truncated` where the file ends before the next marker or inside its length.
  mutating func next(_ reader: inout HeaderReader) throws(CodecError) -> JPEGMarkerSegment {
    while true {
      let marker = try nextMarker(&reader)
      count += 1
      if count > limits.headerSegments {
        throw .limitExceeded("the number of header segments", limit: limits.headerSegments, found: count)
      }
      // T.81 table B.1.
      switch marker {
      case 0x01, 0xD0...0xD7: continue
      case 0xD8: throw .malformed("a second start of image", offset: position - 2)
      case 0xD9: throw .malformed("a JPEG without a scan", offset: position - 2)
      case 0x02...0xBF, 0xC8, 0xF0...0xFD: throw .malformed("a reserved marker", offset: position - 2)
      default: return try segment(marker, &reader)
      }
    }
  }

  /// The segment whose marker ends at `position`.
  private mutating func segment(
    _ marker: UInt8, _ reader: inout HeaderReader
  ) throws(CodecError) -> JPEGMarkerSegment {
    let length = try reader.wholeBytes(at: position, count: 2).bigEndian(at: 0, bytes: 2)
    switch marker {
    case 0xE0...0xEF, 0xFE, 0xDC: break
    default:
      if length < 2 { throw .malformed("a marker segment whose length is \(length)", offset: position) }
    }
    let segment = JPEGMarkerSegment(marker: marker, content: position + 2, length: max(0, length - 2))
    position = segment.content + Int64(segment.length)
    return segment
  }

  /// The code of the next marker, neither 00 nor FF. Any number of fill bytes may come before (§B.1.1.2).
  private mutating func nextMarker(_ reader: inout HeaderReader) throws(CodecError) -> UInt8 {
    while true {
      _ = try skip(&reader) { $0 != 0xFF }
      position += 1
      let code = try skip(&reader) { $0 == 0xFF }
      position += 1
      if code != 0 { return code }
      try countSkipped(2)
    }
  }

  /// Moves `position` to the next byte that is not to be skipped, and returns that byte.
  private mutating func skip(
    _ reader: inout HeaderReader, while isSkipped: (UInt8) -> Bool
  ) throws(CodecError) -> UInt8 {
    // The next byte is nearly always the right one; asking for more could read beyond the window without need.
    var wanted = 1
    while true {
      let bytes = try reader.bytes(at: position, count: wanted)
      // The length of the last segment may lead beyond the end.
      if bytes.isEmpty { throw .truncated(offset: min(position, reader.size)) }
      let found = bytes.firstIndex { !isSkipped($0) }
      let passed = (found ?? bytes.endIndex) - bytes.startIndex
      position += Int64(passed)
      try countSkipped(passed)
      if let found { return bytes[found] }
      wanted = Self.searchedBytes
    }
  }

  private mutating func countSkipped(_ bytes: Int) throws(CodecError) {
    skippedBytes += bytes
    if skippedBytes > limits.headerSkippedBytes {
      throw .limitExceeded(
        "the number of bytes between header segments", limit: limits.headerSkippedBytes, found: skippedBytes)
    }
  }
}
