/// A HEIF or AVIF file without pixels: only what a header parser reads (ISO/IEC 23008-12).
package struct HEIFFile: Sendable {
  package enum Transformation: Sendable {
    /// Quarter turns, anticlockwise.
    case rotation(Int)
    /// 0 swaps top and bottom, 1 left and right.
    case mirror(axis: Int)
    case crop(width: Int, height: Int)
  }

  package var major = "heic"
  package var compatible = ["mif1", "heic"]
  package var itemType = "hvc1"
  package var width = 64
  package var height = 48
  package var transformations: [Transformation] = []
  /// The types of auxiliary pictures.
  package var auxiliaries: [String] = []
  /// The EXIF block from its TIFF header.
  package var exif: [UInt8]?
  /// The bytes between the length field and the TIFF header.
  package var exifPrefix: [UInt8] = []
  package var xmp: String?
  /// A complete JPEG.
  package var thumbnail: [UInt8]?
  /// Tiles of a grid; 0 for no grid.
  package var tiles = 0
  /// Whether the primary item has its size as a property.
  package var hasSize = true
  /// Whether a tone map is derived from the primary item.
  package var hasToneMap = false
  /// Whether items lie inside the meta box.
  package var usesItemData = false
  /// Whether item numbers and indexes use their largest width.
  package var isWide = false

  package init() {}

  package init(_ change: (inout HEIFFile) -> Void) { change(&self) }

  private struct Item {
    var id: Int
    var type: String
    var content: [UInt8] = []
    var properties: [Int] = []
    var contentType: String?
    var reference: (type: String, to: [Int])?
  }

  package var bytes: [UInt8] {
    var properties: [[UInt8]] = []
    func property(_ box: [UInt8]) -> Int {
      properties.append(box)
      return properties.count
    }
    var primary = Item(id: 1, type: tiles > 0 ? "grid" : itemType)
    if hasSize { primary.properties.append(property(sizeBox(width, height))) }
    for transformation in transformations {
      switch transformation {
      case .rotation(let turns): primary.properties.append(property(Boxes.box("irot", [UInt8(turns)])))
      case .mirror(let axis): primary.properties.append(property(Boxes.box("imir", [UInt8(axis)])))
      case .crop(let width, let height):
        let numbers = [width, 1, height, 1, 0, 1, 0, 1]
        primary.properties.append(property(Boxes.box("clap", numbers.flatMap { Boxes.number($0, 4) })))
      }
    }
    var items: [Item] = []
    if tiles > 0 {
      primary.content = [0, 0, 0, UInt8(tiles - 1)] + Boxes.number(width, 2) + Boxes.number(height, 2)
      primary.reference = ("dimg", (0..<tiles).map { 100 + $0 })
      items += (0..<tiles).map { Item(id: 100 + $0, type: itemType) }
    }
    for (i, name) in auxiliaries.enumerated() {
      let type = property(Boxes.fullBox("auxC", Boxes.text(name)))
      items.append(Item(id: 20 + i, type: itemType, properties: [type], reference: ("auxl", [1])))
    }
    if let thumbnail { items.append(Item(id: 30, type: "jpeg", content: thumbnail, reference: ("thmb", [1]))) }
    if let exif {
      let content = Boxes.number(exifPrefix.count, 4) + exifPrefix + exif
      items.append(Item(id: 40, type: "Exif", content: content, reference: ("cdsc", [1])))
    }
    if let xmp {
      items.append(
        Item(
          id: 41, type: "mime", content: Array(xmp.utf8), contentType: "application/rdf+xml", reference: ("cdsc", [1]))
      )
    }
    if hasToneMap { items.append(Item(id: 50, type: "tmap", reference: ("dimg", [1, 20]))) }
    items.insert(primary, at: items.count / 2)

    let start = Boxes.fileType(major, compatible)
    // Built twice, because the offsets of the data depend on the length of the box that contains them.
    let probe = meta(items, properties, dataOffset: 0)
    let file = start + meta(items, properties, dataOffset: start.count + probe.count + 8)
    return file + (usesItemData ? [] : Boxes.box("mdat", Array(items.map(\.content).joined())))
  }

  private func sizeBox(_ width: Int, _ height: Int) -> [UInt8] {
    Boxes.fullBox("ispe", Boxes.number(width, 4), Boxes.number(height, 4))
  }

  private func meta(_ items: [Item], _ properties: [[UInt8]], dataOffset: Int) -> [UInt8] {
    let idBytes = isWide ? 4 : 2
    func id(_ item: Int) -> [UInt8] { Boxes.number(item, idBytes) }
    let infos = items.map { item in
      Boxes.fullBox(
        "infe", version: isWide ? 3 : 2, id(item.id), Boxes.number(0, 2), Boxes.fourCC(item.type), Boxes.text(""),
        item.contentType.map { Boxes.text($0) } ?? [])
    }
    let references = items.flatMap { item in
      [item.reference].compactMap(\.self).map { reference in
        Boxes.box(
          reference.type, id(item.id), Boxes.number(reference.to.count, 2), reference.to.flatMap { id($0) })
      }
    }
    var offset = usesItemData ? 0 : dataOffset
    var locations: [UInt8] = []
    for item in items {
      // Number, method if there is one, file, base, and one part with offset and length.
      locations += id(item.id)
      if isWide || usesItemData { locations += Boxes.number(usesItemData ? 1 : 0, 2) }
      locations += Boxes.number(0, 2) + (isWide ? Boxes.number(0, 8) : []) + Boxes.number(1, 2)
      if isWide { locations += Boxes.number(0, 4) }
      locations += Boxes.number(offset, isWide ? 8 : 4) + Boxes.number(max(1, item.content.count), 4)
      offset += item.content.count
    }
    let version = isWide ? 2 : usesItemData ? 1 : 0
    let location = Boxes.fullBox(
      "iloc", version: version, Boxes.number(isWide ? 0x8484 : 0x4400, 2), Boxes.number(items.count, idBytes), locations
    )
    let owners = items.filter { !$0.properties.isEmpty }
    let association = Boxes.fullBox(
      "ipma", version: isWide ? 1 : 0, flags: isWide ? 1 : 0, Boxes.number(owners.count, 4),
      owners.flatMap { item in
        id(item.id) + [UInt8(item.properties.count)]
          + item.properties.flatMap { isWide ? Boxes.number($0 | 0x8000, 2) : [UInt8($0 | 0x80)] }
      })
    return Boxes.fullBox(
      "meta", Boxes.fullBox("hdlr", Boxes.number(0, 4), Boxes.fourCC("pict"), [UInt8](repeating: 0, count: 13)),
      Boxes.fullBox("pitm", version: isWide ? 1 : 0, id(1)), location,
      Boxes.fullBox("iinf", version: isWide ? 1 : 0, Boxes.number(items.count, idBytes), Array(infos.joined())),
      references.isEmpty ? [] : Boxes.fullBox("iref", version: isWide ? 1 : 0, Array(references.joined())),
      Boxes.box("iprp", Boxes.box("ipco", Array(properties.joined())), association),
      usesItemData ? Boxes.box("idat", Array(items.map(\.content).joined())) : [])
  }
}
