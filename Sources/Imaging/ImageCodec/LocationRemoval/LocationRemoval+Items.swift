// The items of HEIF and AVIF (ISO/IEC 14496-12 §8.11), and of any other file of boxes that has them: Exif and XMP of
// all pictures, thumbnails that are JPEGs, and everything else that is not a picture.

import MediaMetadata
import PhotoModel

extension LocationRemoval {
  /// Item types that hold coded pictures or derive one picture from others (ISO/IEC 23008-12 and its registry).
  private static let pictures: Set<FourCC> = [
    "hvc1", "hev1", "lhv1", "av01", "avc1", "avc2", "vvc1", "evc1", "hvt1", "vvs1", "j2k1", "j2ki", "unci", "iden",
    "grid", "iovl", "tmap", "mski", "sato", "prec", "jxlI", "vp08", "vp09", "tili", "region", "rgan", "scan",
  ]

  /// The items of a `meta` box whose handler describes pictures.
  ///
  /// - Parameter file: offsets of items count from its start.
  static func items(
    _ boxes: [PlacedBox], _ file: BoxFile, _ context: inout LocationRemovalContext
  ) throws(LocationRemovalError) {
    let infos = boxes.filter { $0.type == "iinf" }
    guard !infos.isEmpty else { return }
    let tables = boxes.filter { $0.type == "iloc" }
    let data = boxes.first { $0.type == "idat" }
    // Readers differ in which of several tables they use.
    guard infos.count == 1, tables.count <= 1, boxes.filter({ $0.type == "idat" }).count <= 1 else {
      throw .malformed("several tables of items", offset: infos[0].whole.lowerBound)
    }
    var extents: [Int: [ItemExtents]] = [:]
    if let table = tables.first {
      for entry in try ItemExtents.read(table, file.range, data?.content, &context) {
        extents[entry.item, default: []].append(entry)
      }
    }
    for item in try ItemInfo.read(infos[0], &context) where !pictures.contains(item.type) {
      for entry in extents[item.number] ?? [] where !entry.parts.isEmpty {
        guard entry.isInFile else { throw .unsupported("an item of type \(item.type) in another file or item") }
        // The item data box is inside the `meta` box, which is structure: `checkIsData` would refuse it.
        if !entry.isInDataBox { for part in entry.parts { try file.checkIsData(part) } }
        for part in entry.parts { context.claim(part, as: item.type) }
        try remove(item, entry.parts, &context)
      }
    }
  }

  private static func remove(
    _ item: ItemInfo, _ parts: [Range<Int64>], _ context: inout LocationRemovalContext
  ) throws(LocationRemovalError) {
    switch item.type {
    case _ where item.isEncoded:
      for part in parts { try context.zero(part) }
    case "Exif": try exifItem(parts, &context)
    case "mime" where item.isXMP: try xmpItem(parts, &context)
    case "jpeg": try jpegItem(parts, &context)
    case "mime" where item.contentType.hasPrefix("image/jp"): try jpegItem(parts, &context)
    // The content type is a URI. Apple stores camera parameters in such items.
    case "uri " where !LocationBlocks.isLocation(name: item.contentType): break
    default: for part in parts { try context.zero(part) }
    }
  }

  /// ISO/IEC 23008-12 §A.2.1: the distance from these four bytes to the TIFF header, then the block. A block that is
  /// not EXIF becomes zeros.
  private static func exifItem(
    _ parts: [Range<Int64>], _ context: inout LocationRemovalContext
  ) throws(LocationRemovalError) {
    let block = try context.joined(parts)
    let bytes = block.bytes
    // Some programs write 0 although a JPEG-style signature comes first.
    let stated = bytes.count >= 4 ? 4 + bytes[...].bigEndian(at: 0, bytes: 4) : 0
    guard let start = [stated, 4, 10, 0].first(where: { $0 < bytes.count && TIFFBlock(bytes[$0...]) != nil }) else {
      for part in parts { try context.zero(part) }
      return
    }
    if parts.count == 1 { return try context.removeEXIF(in: parts[0].lowerBound + Int64(start)..<parts[0].upperBound) }
    var found = try LocationBlocks.exif(bytes[start...], removing: context.facts)
    found.patches = found.patches.map { BlockPatch(offset: $0.offset + start, bytes: $0.bytes) }
    found.pictures = found.pictures.map { $0.lowerBound + start..<$0.upperBound + start }
    try block.replace(found, &context)
  }

  private static func xmpItem(
    _ parts: [Range<Int64>], _ context: inout LocationRemovalContext
  ) throws(LocationRemovalError) {
    if parts.count == 1 { return try context.removeXMP(in: parts[0]) }
    let packet = try context.joined(parts)
    try packet.replace(LocationBlocks.xmp(packet.bytes[...], removing: context.facts), &context)
  }

  /// A JPEG. One without a start has its tables in a property, and holds only a scan.
  private static func jpegItem(
    _ parts: [Range<Int64>], _ context: inout LocationRemovalContext
  ) throws(LocationRemovalError) {
    guard try context.head(of: parts[0], count: 2).elementsEqual([0xFF, 0xD8]) else { return }
    guard parts.count == 1 else { throw .unsupported("a JPEG item in several parts") }
    try context.removePicture(in: parts[0])
  }
}

/// An entry of the ItemInfoBox (§8.11.6).
private struct ItemInfo {
  let number: Int
  let type: FourCC
  /// The media type of a `mime` item, the URI of a `uri ` item.
  var contentType = ""
  /// Whether the item is encrypted or compressed.
  var isEncoded = false

  var isXMP: Bool { contentType.lowercased().hasPrefix("application/rdf+xml") }

  static func read(
    _ table: PlacedBox, _ context: inout LocationRemovalContext
  ) throws(LocationRemovalError) -> [ItemInfo] {
    let version = try context.head(of: table.content, count: 1).first
    let entries = table.content.lowerBound + (version == 0 ? 6 : 8)
    guard version != nil, entries <= table.content.upperBound else {
      throw .malformed("a table of items that ends too early", offset: table.whole.lowerBound)
    }
    var items: [ItemInfo] = []
    for box in try context.boxes(in: entries..<table.content.upperBound) where box.type == "infe" {
      var fields = ByteFields(try context.block(box.content), at: box.content.lowerBound)
      let version = try fields.number(1)
      _ = try fields.number(3)
      // Versions before 2 have no types. No writer of pictures uses them.
      guard version >= 2 else { throw .unsupported("items without a type") }
      let number = try fields.number(version == 2 ? 2 : 4)
      let isProtected = try fields.number(2) != 0
      var item = ItemInfo(number: number, type: FourCC(try fields.take(4)))
      _ = fields.text()
      if item.type == "mime" || item.type == "uri " { item.contentType = fields.text() }
      // "identity" and nothing mean the same.
      let encoding = item.type == "mime" ? fields.text() : ""
      item.isEncoded = isProtected || !["", "identity"].contains(encoding)
      items.append(item)
    }
    return items
  }
}

/// An entry of the ItemLocationBox (§8.11.3).
private struct ItemExtents {
  let item: Int
  /// Whether the bytes are in this file, at positions in the file or in the item data box.
  let isInFile: Bool
  let isInDataBox: Bool
  let parts: [Range<Int64>]

  static func read(
    _ table: PlacedBox, _ file: Range<Int64>, _ data: Range<Int64>?, _ context: inout LocationRemovalContext
  ) throws(LocationRemovalError) -> [ItemExtents] {
    var fields = ByteFields(try context.block(table.content), at: table.content.lowerBound)
    let version = try fields.number(1)
    _ = try fields.number(3)
    let sizes = try fields.number(2)
    let (offsetBytes, lengthBytes, baseBytes) = (sizes >> 12, sizes >> 8 & 15, sizes >> 4 & 15)
    let indexBytes = version == 0 ? 0 : sizes & 15
    guard version <= 2, [offsetBytes, lengthBytes, baseBytes, indexBytes].allSatisfy({ $0 <= 8 }) else {
      throw .malformed("an item location of an impossible size", offset: table.whole.lowerBound)
    }
    var entries: [ItemExtents] = []
    for _ in 0..<(try fields.number(version < 2 ? 2 : 4)) {
      try context.countStructure()
      let item = try fields.number(version < 2 ? 2 : 4)
      // 0: offsets in the file; 1: offsets in the item data box; 2: offsets in another item.
      let method = version == 0 ? 0 : try fields.number(2) & 15
      let isElsewhere = try fields.number(2) != 0
      let base = try fields.number(baseBytes)
      let space = method == 1 ? data : file
      var parts: [Range<Int64>] = []
      for _ in 0..<(try fields.number(2)) {
        try context.countStructure()
        _ = try fields.number(indexBytes)
        let offset = try fields.number(offsetBytes)
        let length = try fields.number(lengthBytes)
        let (start, overflows) = base.addingReportingOverflow(offset)
        // Bytes after the end do not exist, whatever the table says.
        guard let space, !overflows, start < space.count else { continue }
        let from = space.lowerBound + Int64(start)
        // A length of 0 means up to the end.
        parts.append(from..<(length == 0 ? space.upperBound : from + min(Int64(length), space.upperBound - from)))
      }
      entries.append(
        ItemExtents(item: item, isInFile: method <= 1 && !isElsewhere, isInDataBox: method == 1, parts: parts))
    }
    return entries
  }
}
