/// The boxes of a HEIF file's `meta` box (ISO/IEC 14496-12 §8.11), its items, and which of them is the picture.
struct HEIFTables {
  /// The first box of each type.
  let boxes: [FourCC: Box]
  let primary: Int
  private(set) var items = HEIFItems()

  /// - Parameter format: for messages.
  init(_ reader: inout BoxReader, meta: Box, _ format: MediaFormat) throws(CodecError) {
    // The tables can be in any order, so they are read at once if they are small enough, and then examined in the order
    // that is needed.
    let length = meta.content.upperBound - meta.content.lowerBound
    _ = try reader.reader.bytes(
      at: meta.content.lowerBound, count: Int(min(length, Int64(ContainerLimits.wholeBoxBytes))))
    var boxes: [FourCC: Box] = [:]
    // After the version (§8.11.1).
    var position = meta.content.lowerBound + 4
    while let box = try reader.next(&position, before: meta.content.upperBound) {
      boxes[box.type] = boxes[box.type] ?? box
    }
    self.boxes = boxes
    guard let primaryTable = boxes["pitm"] else {
      throw .malformed("a \(format) file without a primary item", offset: meta.content.lowerBound)
    }
    // §8.11.4.
    var fields = try reader.fields(of: primaryTable, atMost: 8)
    primary = try fields.number(try fields.version().version == 0 ? 2 : 4)
    if let table = boxes["iinf"] { try items.readInfos(&reader, table) }
    if let table = boxes["iref"] { try items.readReferences(&reader, table) }
  }

  /// The primary item, and the items from which it is derived without a change of size: `iden`, and the first input of
  /// a tone map.
  var origins: [Int] {
    var chain = [primary]
    while chain.count <= ContainerLimits.derivations, let type = items.items[chain[chain.count - 1]]?.type,
      type == "iden" || type == "tmap", let next = items.targets("dimg", from: chain[chain.count - 1]).first,
      !chain.contains(next)
    {
      chain.append(next)
    }
    return chain
  }

  /// A tone map of the primary item, or the primary item itself, and the gain map that it takes (ISO/IEC 23008-12
  /// §6.6.2.4); empty if there is none.
  var toneMapItems: [Int] {
    let derived = origins + items.sources("dimg", to: primary)
    guard let toneMap = derived.first(where: { items.items[$0]?.type == "tmap" }) else { return [] }
    let inputs = items.targets("dimg", from: toneMap)
    return inputs.count == 2 ? [toneMap, inputs[1]] : []
  }
}
