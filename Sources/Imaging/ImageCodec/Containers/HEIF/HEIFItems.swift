/// The items of a HEIF file and their references (ISO/IEC 14496-12 §8.11), as far as the primary item needs them.
struct HEIFItems {
  struct Item {
    let type: FourCC
    /// Whether this is a `mime` item with XMP's content type.
    let isXMP: Bool
  }

  struct Reference {
    let type: FourCC
    let from: Int
    let to: [Int]
  }

  /// The positions of an item's bytes in the file, as a sequence of parts.
  struct ItemLocation {
    let parts: [Range<Int64>]

    /// The whole item, if it is in one piece.
    var whole: Range<Int64>? { parts.count == 1 ? parts[0] : nil }
    var length: Int64 { parts.reduce(0) { $0 + $1.upperBound - $1.lowerBound } }
  }

  private(set) var items: [Int: Item] = [:]
  private(set) var references: [Reference] = []

  /// Items that refer to `item` with a type of reference.
  func sources(_ type: FourCC, to item: Int) -> [Int] {
    references.filter { $0.type == type && $0.to.contains(item) }.map(\.from)
  }

  func targets(_ type: FourCC, from item: Int) -> [Int] {
    references.first { $0.type == type && $0.from == item }?.to ?? []
  }

  /// The first item of a kind that describes `item`, or else one that describes no item in particular.
  func first(describing item: Int, _ isOfKind: (Item) -> Bool) -> Int? {
    let kind = items.filter { isOfKind($0.value) }.keys.sorted()
    let own = Set(sources("cdsc", to: item))
    if let first = kind.first(where: own.contains) { return first }
    let others = Set(references.filter { $0.type == "cdsc" }.map(\.from))
    return kind.first { !others.contains($0) }
  }

  /// ItemInfoBox and its entries (§8.11.6).
  mutating func readInfos(_ boxes: inout BoxReader, _ table: Box) throws(CodecError) {
    var fields = try boxes.fields(of: table, atMost: 8)
    let countBytes = try fields.version().version == 0 ? 2 : 4
    var position = table.content.lowerBound + 4 + Int64(countBytes)
    while let box = try boxes.next(&position, before: table.content.upperBound) {
      guard box.type == "infe" else { continue }
      var fields = try boxes.fields(of: box)
      let version = try fields.version().version
      // Versions before 2 have no item types and contain nothing of interest.
      guard version >= 2 else { continue }
      let item = try fields.number(version == 2 ? 2 : 4)
      _ = try fields.take(2)
      let type = try fields.type()
      var isXMP = false
      if type == "mime" {
        _ = fields.text()
        isXMP = fields.text() == "application/rdf+xml"
      }
      items[item] = Item(type: type, isXMP: isXMP)
    }
  }

  /// ItemReferenceBox (§8.11.12): one box for each reference; the box's type is the reference's type.
  mutating func readReferences(_ boxes: inout BoxReader, _ table: Box) throws(CodecError) {
    var fields = try boxes.fields(of: table, atMost: 4)
    let itemBytes = try fields.version().version == 0 ? 2 : 4
    var position = table.content.lowerBound + 4
    while let box = try boxes.next(&position, before: table.content.upperBound) {
      var fields = try boxes.fields(of: box)
      let from = try fields.number(itemBytes)
      var to: [Int] = []
      for _ in 0..<(try fields.number(2)) { to.append(try fields.number(itemBytes)) }
      references.append(Reference(type: box.type, from: from, to: to))
    }
  }

  /// ItemLocationBox (§8.11.3): the positions of the wanted items.
  ///
  /// - Parameter data: the ItemDataBox, to which positions may be relative.
  static func locations(
    of wanted: Set<Int>, _ boxes: inout BoxReader, _ table: Box, data: Box?
  ) throws(CodecError) -> [Int: ItemLocation] {
    var fields = try boxes.fields(of: table)
    let version = try fields.version().version
    let sizes = try fields.number(2)
    let (offsetBytes, lengthBytes, baseBytes) = (sizes >> 12, sizes >> 8 & 15, sizes >> 4 & 15)
    let indexBytes = version == 0 ? 0 : sizes & 15
    guard [offsetBytes, lengthBytes, baseBytes, indexBytes].allSatisfy({ $0 <= 8 }) else {
      throw .malformed("an item location of an impossible size", offset: table.content.lowerBound)
    }
    var locations: [Int: ItemLocation] = [:]
    for _ in 0..<(try fields.number(version < 2 ? 2 : 4)) {
      let item = try fields.number(version < 2 ? 2 : 4)
      // 0: offsets in the file; 1: offsets in the item data box.
      let method = version == 0 ? 0 : try fields.number(2) & 15
      let isElsewhere = try fields.number(2) != 0
      let base = try fields.number(baseBytes)
      let count = try fields.number(2)
      let start = method == 0 ? 0 : data?.content.lowerBound
      let end = method == 0 ? boxes.fileSize : data?.content.upperBound
      var parts: [Range<Int64>] = []
      for _ in 0..<count {
        _ = try fields.take(indexBytes)
        let offset = try fields.number(offsetBytes)
        let length = try fields.number(lengthBytes)
        guard wanted.contains(item), parts.count < ContainerLimits.extents, let start, let end else { continue }
        let (from, isTooFar) = start.addingReportingOverflow(Int64(clamping: UInt64(base) + UInt64(offset)))
        guard !isTooFar, from <= end else { continue }
        // A length of 0 means up to the end.
        parts.append(from..<(length == 0 ? end : min(end, from + Int64(min(length, Int(end - from))))))
      }
      if method <= 1, !isElsewhere, !parts.isEmpty, parts.count == count {
        locations[item] = ItemLocation(parts: parts)
      }
    }
    return locations
  }
}
