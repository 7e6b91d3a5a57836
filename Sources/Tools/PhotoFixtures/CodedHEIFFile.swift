/// A HEIF file of given items (ISO/IEC 23008-12): grids, auxiliary pictures and thumbnails whose data may be anything.
package struct CodedHEIFFile: Sendable {
  package struct Item: Sendable {
    package var id: Int
    package var type: String
    package var content: [UInt8]
    /// Whole boxes; equal ones are stored once.
    package var properties: [[UInt8]]
    package var references: [(type: String, to: [Int])]
    /// Into how many extents the content is split.
    package var extents = 1
    /// Whether the content is in the item data box.
    package var isInside = false

    package init(
      _ id: Int, _ type: String, _ content: [UInt8] = [], properties: [[UInt8]] = [],
      references: [(type: String, to: [Int])] = []
    ) {
      self.id = id
      self.type = type
      self.content = content
      self.properties = properties
      self.references = references
    }
  }

  package var items: [Item]
  package var primary = 1
  package var brands = ["heic", "mif1"]

  package init(_ items: [Item], _ change: (inout CodedHEIFFile) -> Void = { _ in }) {
    self.items = items
    change(&self)
  }

  /// A grid with the item 1 and its tiles from 100 on, row by row.
  package static func grid(
    columns: Int, rows: Int, tile: (width: Int, height: Int), size: (width: Int, height: Int),
    type: String = "hvc1", configuration: [UInt8] = hvcC(), properties: [[UInt8]] = [], isWide: Bool = false,
    data: (Int) -> [UInt8]
  ) -> [Item] {
    let numbers = isWide ? 4 : 2
    let description =
      [0, isWide ? 1 : 0, UInt8(rows - 1), UInt8(columns - 1)] + Boxes.number(size.width, numbers)
      + Boxes.number(size.height, numbers)
    let tiles = (0..<rows * columns).map {
      Item(100 + $0, type, data($0), properties: [configuration, ispe(tile.width, tile.height)])
    }
    var grid = Item(
      1, "grid", description, properties: [ispe(size.width, size.height)] + properties,
      references: [("dimg", tiles.map(\.id))])
    grid.isInside = true
    return [grid] + tiles
  }

  // MARK: Properties

  package static func ispe(_ width: Int, _ height: Int) -> [UInt8] {
    Boxes.fullBox("ispe", Boxes.number(width, 4), Boxes.number(height, 4))
  }

  package static func irot(_ turns: Int) -> [UInt8] { Boxes.box("irot", [UInt8(turns)]) }
  package static func imir(_ axis: Int) -> [UInt8] { Boxes.box("imir", [UInt8(axis)]) }

  /// - Parameter numbers: width, height and the offsets of the centre, each as a numerator and a denominator.
  package static func clap(_ numbers: [Int]) -> [UInt8] { Boxes.box("clap", numbers.flatMap { Boxes.number($0, 4) }) }

  package static func nclx(_ primaries: Int, _ transfer: Int, _ matrix: Int, isFullRange: Bool) -> [UInt8] {
    Boxes.box(
      "colr", Boxes.fourCC("nclx"), Boxes.number(primaries, 2) + Boxes.number(transfer, 2) + Boxes.number(matrix, 2),
      [isFullRange ? 0x80 : 0])
  }

  package static func profile(_ bytes: [UInt8], _ type: String = "prof") -> [UInt8] {
    Boxes.box("colr", Boxes.fourCC(type), bytes)
  }

  package static func auxiliary(_ type: String) -> [UInt8] { Boxes.fullBox("auxC", Boxes.text(type)) }

  /// - Parameter sets: NAL units, each in an array of its own.
  package static func hvcC(
    chroma: Int = 1, bitDepth: Int = 8, chromaDepth: Int? = nil, lengthBytes: Int = 4, version: Int = 1,
    sets: [[UInt8]] = [[0x40, 0x01, 0x0C], [0x42, 0x01, 0x01], [0x44, 0x01, 0xC0]]
  ) -> [UInt8] {
    var head = [UInt8](repeating: 0, count: 23)
    head[0] = UInt8(version)
    head[16] = 0xFC | UInt8(chroma)
    head[17] = 0xF8 | UInt8(bitDepth - 8)
    head[18] = 0xF8 | UInt8((chromaDepth ?? bitDepth) - 8)
    head[21] = UInt8(lengthBytes - 1)
    head[22] = UInt8(sets.count)
    let arrays: [UInt8] = sets.flatMap { set -> [UInt8] in
      [0x80 | set[0] >> 1 & 0x3F, 0, 1] + Boxes.number(set.count, 2) + set
    }
    return Boxes.box("hvcC", head, arrays)
  }

  /// AV1 in ISO-BMFF §2.3.3, without OBUs.
  ///
  /// - Parameter chroma: as HEVC numbers it: 0 for none, 1 for 4:2:0, 2 for 4:2:2, 3 for 4:4:4.
  package static func av1C(chroma: Int = 1, bitDepth: Int = 8, version: Int = 1) -> [UInt8] {
    let depth: UInt8 = bitDepth == 8 ? 0 : bitDepth == 10 ? 0x40 : 0x60
    let subsampling: [UInt8] = [0x1C, 0x0C, 0x08, 0x00]
    let profile: UInt8 = bitDepth == 12 || chroma == 2 ? 2 : chroma == 3 ? 1 : 0
    return Boxes.box("av1C", [0x80 | UInt8(version), profile << 5, depth | subsampling[chroma], 0])
  }

  // MARK: The file

  package var bytes: [UInt8] {
    let start = Boxes.fileType(brands[0], brands)
    // Built twice, because the offsets of the data depend on the length of the box that contains them.
    let probe = meta(dataOffset: 0)
    return start + meta(dataOffset: start.count + probe.count + 8)
      + Boxes.box("mdat", Array(items.filter { !$0.isInside }.map(\.content).joined()))
  }

  private func meta(dataOffset: Int) -> [UInt8] {
    var properties: [[UInt8]] = []
    var association: [UInt8] = []
    for item in items {
      association += Boxes.number(item.id, 2) + [UInt8(item.properties.count)]
      for property in item.properties {
        if !properties.contains(property) { properties.append(property) }
        association.append(UInt8((properties.firstIndex(of: property) ?? 0) + 1))
      }
    }
    let infos = items.map {
      Boxes.fullBox("infe", version: 2, Boxes.number($0.id, 2), [0, 0], Boxes.fourCC($0.type), Boxes.text(""))
    }
    let references = items.flatMap { item in
      item.references.map { reference in
        Boxes.box(
          reference.type, Boxes.number(item.id, 2), Boxes.number(reference.to.count, 2),
          reference.to.flatMap { Boxes.number($0, 2) })
      }
    }
    return Boxes.fullBox(
      "meta", Boxes.fullBox("hdlr", Boxes.number(0, 4), Boxes.fourCC("pict"), [UInt8](repeating: 0, count: 13)),
      Boxes.fullBox("pitm", Boxes.number(primary, 2)), locations(dataOffset),
      Boxes.fullBox("iinf", Boxes.number(items.count, 2), Array(infos.joined())),
      Boxes.fullBox("iref", Array(references.joined())),
      Boxes.box(
        "iprp", Boxes.box("ipco", Array(properties.joined())),
        Boxes.fullBox("ipma", Boxes.number(items.count, 4), association)),
      Boxes.box("idat", Array(items.filter(\.isInside).map(\.content).joined())))
  }

  /// Version 1, with construction methods.
  private func locations(_ dataOffset: Int) -> [UInt8] {
    var (outside, inside) = (dataOffset, 0)
    var entries: [UInt8] = []
    for item in items {
      entries += Boxes.number(item.id, 2) + Boxes.number(item.isInside ? 1 : 0, 2) + [0, 0]
      let pieces = max(1, min(item.extents, item.content.count))
      entries += Boxes.number(pieces, 2)
      var offset = item.isInside ? inside : outside
      for piece in 0..<pieces {
        let length = item.content.count * (piece + 1) / pieces - item.content.count * piece / pieces
        entries += Boxes.number(offset, 4) + Boxes.number(length, 4)
        offset += length
      }
      if item.isInside { inside = offset } else { outside = offset }
    }
    return Boxes.fullBox("iloc", version: 1, [0x44, 0x00], Boxes.number(items.count, 2), entries)
  }
}

/// Writes the bits of codecs' headers, and the numbers of variable length that HEVC's parameter sets have
/// (ISO/IEC 23008-2 §9.2).
package struct BitWriter: Sendable {
  private var bits: [Bool] = []

  package init() {}

  package mutating func number(_ value: Int, _ count: Int) {
    for bit in (0..<count).reversed() { bits.append(value >> bit & 1 == 1) }
  }

  package mutating func golomb(_ values: Int...) {
    for value in values {
      let length = Int.bitWidth - (value + 1).leadingZeroBitCount
      number(0, length - 1)
      number(value + 1, length)
    }
  }

  /// The bits, filled up with zeros.
  package var bytes: [UInt8] {
    stride(from: 0, to: bits.count, by: 8).map { start in
      (0..<8).reduce(UInt8(0)) { $0 << 1 | (start + $1 < bits.count && bits[start + $1] ? 1 : 0) }
    }
  }

  /// The bits with a final 1, and with the bytes that prevent start codes.
  package var unit: [UInt8] {
    var padded = bits + [true]
    while padded.count % 8 != 0 { padded.append(false) }
    var bytes: [UInt8] = []
    for start in stride(from: 0, to: padded.count, by: 8) {
      let byte = padded[start..<start + 8].reduce(UInt8(0)) { $0 << 1 | ($1 ? 1 : 0) }
      if byte <= 3, bytes.count >= 2, bytes.suffix(2).allSatisfy({ $0 == 0 }) { bytes.append(3) }
      bytes.append(byte)
    }
    return bytes
  }
}
