import MediaMetadata
import PhotoModel

extension LocationRemoval {
  /// A BMP has headers, colours, pixels, and perhaps a colour profile; none is metadata. Bytes between them become
  /// zeros.
  static func bmp(
    _ range: Range<Int64>, _ context: inout LocationRemovalContext
  ) throws(LocationRemovalError) {
    let bytes = try context.head(of: range, count: BMPHeader.maximumBytes)
    let header: BMPHeader
    do throws(CodecError) {
      header = try BMPHeader(bytes)
      try CodecLimits().headerOnly.check(header.size)
    } catch {
      throw .malformed("a BMP with an impossible header", offset: range.lowerBound)
    }
    // A JPEG or PNG inside may have metadata.
    guard let coding = header.coding, coding != .jpeg, coding != .png else {
      throw .unsupported("a BMP picture with another codec's data")
    }
    var end = range.lowerBound
    var parts = [0..<header.palette.lowerBound, header.palette, header.pixelBytes]
    if let profile = header.profile { parts.append(profile) }
    for part in parts.sorted(by: { $0.lowerBound < $1.lowerBound }) where !part.isEmpty {
      let start = min(range.lowerBound + part.lowerBound, range.upperBound)
      if start > end { try context.zero(end..<start) }
      end = max(end, min(range.lowerBound + part.upperBound, range.upperBound))
    }
    if end < range.upperBound { try trailing(end..<range.upperBound, &context) }
  }
}

extension BMPHeader {
  /// The bytes of the pixels: as stated where they are coded in runs.
  fileprivate var pixelBytes: Range<Int64> {
    guard coding == .runs4 || coding == .runs8 else {
      let (bytes, overflows) = strideBytes.multipliedReportingOverflow(by: size.height)
      return pixels..<pixels + (overflows ? Int64.max / 2 : min(Int64(bytes), .max / 2))
    }
    return pixels..<(statedPixelBytes > 0 ? pixels + statedPixelBytes : max(pixels, statedFileBytes))
  }
}
