/// The properties of items (ISO/IEC 23008-12 §9.3): a list of properties, and the association of items with them.
struct HEIFProperties {
  private var properties: [Box] = []
  private var associations: [Int: [Int]] = [:]

  /// - Parameter wanted: the items whose properties will be requested.
  init(_ boxes: inout BoxReader, _ table: Box, of wanted: Set<Int>) throws(CodecError) {
    var position = table.content.lowerBound
    while let box = try boxes.next(&position, before: table.content.upperBound) {
      switch box.type {
      case "ipco":
        var position = box.content.lowerBound
        while let property = try boxes.next(&position, before: box.content.upperBound) { properties.append(property) }
      case "ipma": try readAssociations(boxes.fields(of: box), of: wanted)
      default: break
      }
    }
  }

  /// An item's properties, in the order in which its transformations are applied (§6.5.1).
  func properties(of item: Int) -> [Box] {
    (associations[item] ?? []).compactMap { properties.indices.contains($0 - 1) ? properties[$0 - 1] : nil }
  }

  /// §9.3.1. Property numbers start at 1; the highest bit says whether a reader must support the property.
  private mutating func readAssociations(_ fields: BoxFields, of wanted: Set<Int>) throws(CodecError) {
    var fields = fields
    let (version, flags) = try fields.version()
    let indexBytes = flags & 1 == 0 ? 1 : 2
    for _ in 0..<(try fields.number(4)) {
      let item = try fields.number(version < 1 ? 2 : 4)
      let count = try fields.number(1)
      let indexes = try fields.take(count * indexBytes)
      guard wanted.contains(item), associations[item] == nil else { continue }
      associations[item] = (0..<count).map {
        indexes.bigEndian(at: $0 * indexBytes, bytes: indexBytes) & (indexBytes == 1 ? 0x7F : 0x7FFF)
      }
    }
  }
}
