import MediaMetadata
import PhotoModel

extension LocationRemoval {
  private static let footerBytes = 64
  private static let maximumRecords = 64
  private static let maximumTrailers = 16

  /// Blocks that desktop programs append to a JPEG, one after the other; each ends with a signature, so the last one is
  /// found from the end of the file. The formats are ExifTool's. Three of them hold IPTC datasets.
  static func trailers(_ range: Range<Int64>, _ context: inout LocationRemovalContext) throws(LocationRemovalError) {
    var end = range.upperBound
    for _ in 0..<maximumTrailers {
      let first = try trailer(range.lowerBound..<end, &context)
      // There is none.
      guard first < end, first > range.lowerBound else { return }
      end = first
    }
    throw .limitExceeded("the number of trailers", limit: maximumTrailers, found: maximumTrailers + 1)
  }

  /// The start of the trailer that ends with a range; the end of the range if none does.
  private static func trailer(
    _ range: Range<Int64>, _ context: inout LocationRemovalContext
  ) throws(LocationRemovalError) -> Int64 {
    try context.countStructure()
    let end = range.upperBound
    let footer = try context.head(
      of: max(range.lowerBound, end - Int64(footerBytes))..<end, count: footerBytes)
    guard footer.count == footerBytes else { return end }
    let last = footer.suffix(12)
    if last.starts(with: "AXS!".utf8) || last.starts(with: "AXS*".utf8) { return try records(last, range, &context) }
    // FotoStation: a number for the content, the length of the whole, a signature.
    if last.suffix(4).elementsEqual([0xA1, 0xB2, 0xC3, 0xD4]) {
      let start = end - Int64(last.bigEndian(at: 4, bytes: 4))
      guard start >= range.lowerBound, start <= end - 10 else {
        throw .malformed("a FotoStation trailer of another length", offset: end - 10)
      }
      if last.bigEndian(at: 2, bytes: 2) == 1 { try context.removeIPTC(in: start..<end - 10) }
      return start
    }
    // Photo Mechanic: the length of the datasets, a signature.
    if last.suffix(8).elementsEqual("cbipcbbl".utf8) {
      let start = end - 12 - Int64(last.bigEndian(at: 0, bytes: 4))
      guard start >= range.lowerBound else {
        throw .malformed("a Photo Mechanic trailer of another length", offset: end - 12)
      }
      try context.removeIPTC(in: start..<end - 12)
      return start
    }
    // Samsung's trailer may follow the trailers of programs. Its locations are removed with the other bytes after the
    // picture.
    if last.suffix(4).elementsEqual("SEFT".utf8) { return try samsungBlocks(of: range, &context).start }
    if LocationRemovalContext.find(Array("zmie~".utf8), in: Array(footer)) { throw .unsupported("a MIE trailer") }
    if footer.starts(with: "CANON OPTIONAL DATA\0".utf8) { return try editing(footer, range, &context) }
    return end
  }

  /// AFCP: the offset of its index, which has 12 bytes for each record: a name, a length, an offset in the file.
  private static func records(
    _ footer: ArraySlice<UInt8>, _ range: Range<Int64>, _ context: inout LocationRemovalContext
  ) throws(LocationRemovalError) -> Int64 {
    let isBigEndian = footer[footer.startIndex + 3] == UInt8(ascii: "!")
    func number(_ bytes: ArraySlice<UInt8>, _ position: Int, _ count: Int) -> Int {
      isBigEndian ? bytes.bigEndian(at: position, bytes: count) : bytes.littleEndian(at: position, bytes: count)
    }
    let index = range.lowerBound + Int64(number(footer, 4, 4))
    let head = try context.head(of: index..<max(index, range.upperBound), count: 12)
    guard head.count == 12, head.starts(with: "AXS".utf8) else {
      throw .malformed("an AFCP trailer without its index", offset: range.upperBound - 12)
    }
    for i in 0..<min(number(head, 6, 2), maximumRecords) {
      let start = index + 12 + Int64(i * 12)
      let entry = try context.head(of: start..<max(start, range.upperBound), count: 12)
      guard entry.count == 12 else { break }
      let offset = range.lowerBound + Int64(number(entry, 8, 4))
      let content = offset..<offset + Int64(number(entry, 4, 4))
      guard content.lowerBound >= index, content.upperBound <= range.upperBound else { continue }
      if entry.starts(with: "IPTC".utf8) { try context.removeIPTC(in: content) }
      if entry.starts(with: "Nail".utf8) || entry.starts(with: "PrVw".utf8) {
        // A preview: its size in pixels, then a JPEG.
        let picture = content.lowerBound + 18..<max(content.lowerBound + 18, content.upperBound)
        if try context.head(of: picture, count: 2).elementsEqual([0xFF, 0xD8]) {
          try context.removePicture(in: picture)
        }
      }
    }
    return index
  }

  /// Canon's editing data: its length is in the footer. Only XMP in it could hold locations.
  private static func editing(
    _ footer: ArraySlice<UInt8>, _ range: Range<Int64>, _ context: inout LocationRemovalContext
  ) throws(LocationRemovalError) -> Int64 {
    let length = Int64(footer.bigEndian(at: 20, bytes: 4)) + 92
    let start = max(range.lowerBound, range.upperBound - length)
    let block = Array(try context.block(start..<range.upperBound))
    if LocationRemovalContext.find(Array("<x:xmpmeta".utf8), in: block) {
      throw .unsupported("Canon's editing data with XMP")
    }
    return start
  }
}
