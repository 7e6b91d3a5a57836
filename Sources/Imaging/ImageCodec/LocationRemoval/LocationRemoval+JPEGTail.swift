// Bytes after the end of a picture: movies of motion photos, gain maps, makers' trailers. Where a JPEG ends is not
// known without reading its scans, so this is found out in the cheapest way: the multi-picture index, the lengths that
// an XMP packet states, the last megabytes of a file that ends like a JPEG, and only for other files the scans
// themselves.

import MediaMetadata
import PhotoModel

/// The facts about a JPEG that are needed to examine the bytes after its picture.
struct JPEGTail {
  /// The whole file: from SOI to the end, tail included.
  let file: Range<Int64>
  /// The position of the first scan. Where the picture ends is not known without reading it.
  let firstScan: Int64
  /// The pictures that the multi-picture index names. Their locations are removed already.
  let indexedPictures: [Range<Int64>]
  /// The XMP packet, extended packet included, as it was before locations were removed; empty if there is none.
  let packets: [ArraySlice<UInt8>]
}

extension LocationRemoval {
  /// Maximum bytes of scans that are read in search of a picture's end.
  private static let maximumScanBytes: Int64 = 256 << 20
  /// Bytes at the end of a file that are searched for another picture. Reading whole files would delay their first
  /// byte.
  private static let searchedTailBytes: Int64 = 4 << 20

  /// Removes the locations in the bytes after a JPEG's picture: the movie of a motion photo, a maker's trailer.
  static func tail(_ tail: JPEGTail, _ context: inout LocationRemovalContext) throws(LocationRemovalError) {
    let file = tail.file
    // An index may be stale: another program has changed the picture since.
    var indexed: [Range<Int64>] = []
    for picture in tail.indexedPictures where picture.lowerBound > tail.firstScan {
      if try context.head(of: picture, count: 3).elementsEqual([0xFF, 0xD8, 0xFF]) { indexed.append(picture) }
    }
    if !indexed.isEmpty {
      indexed.sort { $0.lowerBound < $1.lowerBound }
      var end = indexed[0].upperBound
      for picture in indexed.dropFirst() {
        if picture.lowerBound > end { try trailing(end..<picture.lowerBound, &context) }
        end = max(end, picture.upperBound)
      }
      if end < file.upperBound { try trailing(end..<file.upperBound, &context) }
      return
    }
    if let movie = try startOfMovie(tail, &context) {
      // The movie may be in a block of Samsung's trailer, after other blocks.
      let trailer = try samsungStart(of: tail.firstScan..<file.upperBound, &context) ?? movie
      let start = min(movie, trailer)
      // Other pictures may precede the movie.
      if let end = try endOfPicture(from: tail.firstScan, before: start, &context), end < start {
        try trailing(end..<start, &context)
      }
      return try trailing(start..<file.upperBound, &context)
    }
    let namesOthers = tail.packets.contains { !numbers(after: Array("Item:Length".utf8), in: Array($0)).isEmpty }
    if !namesOthers, try endsLikePicture(file, &context) {
      guard try hasLaterStart(tail.firstScan..<file.upperBound, &context) else { return }
    }
    guard let end = try endOfPicture(from: tail.firstScan, before: file.upperBound, &context) else { return }
    if end < file.upperBound { try trailing(end..<file.upperBound, &context) }
  }

  /// Whether a file ends with EOI, possibly followed by padding.
  private static func endsLikePicture(
    _ file: Range<Int64>, _ context: inout LocationRemovalContext
  ) throws(LocationRemovalError) -> Bool {
    let start = max(file.lowerBound, file.upperBound - 4096)
    let end = try context.head(of: start..<file.upperBound, count: 4096)
    guard let last = end.lastIndex(where: { $0 != 0 }), last > end.startIndex else { return false }
    return end[last - 1] == 0xFF && end[last] == 0xD9
  }

  /// Whether a picture begins in the last bytes of a range that starts with a scan. Scans have no SOI (T.81 §B.1.1.2).
  private static func hasLaterStart(
    _ range: Range<Int64>, _ context: inout LocationRemovalContext
  ) throws(LocationRemovalError) -> Bool {
    let length = 1 << 16
    var position = max(range.lowerBound, range.upperBound - searchedTailBytes)
    while position < range.upperBound {
      let bytes = Array(try context.head(of: position..<range.upperBound, count: length))
      if LocationRemovalContext.find([0xFF, 0xD8, 0xFF], in: bytes) { return true }
      if bytes.count < length { return false }
      // The next bytes overlap by two, because they may contain the rest of a start.
      position += Int64(length - 2)
    }
    return false
  }

  /// The position of a movie according to the XMP packet: Google's `MicroVideoOffset` or the `Item:Length` of its
  /// container, which count from the end of the file.
  private static func startOfMovie(
    _ tail: JPEGTail, _ context: inout LocationRemovalContext
  ) throws(LocationRemovalError) -> Int64? {
    for packet in tail.packets {
      for name in ["MicroVideoOffset", "Item:Length"] {
        for length in numbers(after: Array(name.utf8), in: Array(packet)) {
          let start = tail.file.upperBound - Int64(length)
          guard length >= 16, start > tail.firstScan else { continue }
          let head = try context.head(of: start..<tail.file.upperBound, count: 8)
          if head.count == 8, FourCC(head.dropFirst(4)) == "ftyp" { return start }
        }
      }
    }
    return nil
  }

  /// The numbers that follow a name, as an attribute or as an element.
  private static func numbers(after name: [UInt8], in text: [UInt8]) -> [Int] {
    var numbers: [Int] = []
    var i = 0
    while i + name.count < text.count {
      guard text[i] == name[0], text[i..<i + name.count].elementsEqual(name) else {
        i += 1
        continue
      }
      i += name.count
      let value = text[i...].prefix(40).drop { !(0x30...0x39).contains($0) && $0 != 0x2F }
      let digits = value.prefix { (0x30...0x39).contains($0) }
      if let number = Int(String(decoding: digits, as: UTF8.self)) { numbers.append(number) }
    }
    return numbers
  }

  /// The position after a picture's EOI (T.81 §B.1.1), or of the next picture's SOI: walks the scans, whose bytes 0xFF
  /// are marked. `nil` if the file ends before.
  static func endOfPicture(
    from start: Int64, before end: Int64, _ context: inout LocationRemovalContext
  ) throws(LocationRemovalError) -> Int64? {
    var position = start
    while position < end {
      guard position - start <= maximumScanBytes else {
        throw .limitExceeded(
          "the size of a picture's scans", limit: Int(maximumScanBytes), found: Int(clamping: end - start))
      }
      let bytes = try context.head(of: position..<end, count: 1 << 16)
      guard bytes.count >= 2 else { return nil }
      // The markers in these bytes. The last byte is read again, because it may be the first half of a marker.
      var i = bytes.startIndex
      while i + 1 < bytes.endIndex {
        guard bytes[i] == 0xFF else {
          i += 1
          continue
        }
        switch bytes[i + 1] {
        case 0xD9: return position + Int64(i - bytes.startIndex) + 2
        // Another picture; this one has no EOI.
        case 0xD8: return position + Int64(i - bytes.startIndex)
        // A stuffed byte, a restart; TEM has no length either.
        case 0x00, 0x01, 0xD0...0xD7: i += 2
        // Fill.
        case 0xFF: i += 1
        default:
          try context.countStructure()
          guard i + 3 < bytes.endIndex else {
            let head = try context.head(of: position + Int64(i - bytes.startIndex)..<end, count: 4)
            guard head.count == 4 else { return nil }
            i += 2 + max(2, head.bigEndian(at: 2, bytes: 2))
            break
          }
          i += 2 + max(2, Int(bytes[i + 2]) << 8 | Int(bytes[i + 3]))
        }
      }
      position += Int64(i - bytes.startIndex)
    }
    return nil
  }
}
