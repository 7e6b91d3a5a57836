// Writes the container of an AVIF (AV1 Image File Format 1.1, ISO/IEC 23008-12) around the data of its encoder.
//
//   ftyp, meta (hdlr, pitm, iloc, iinf, iref, iprp), mdat: colours, then alpha
//
// A picture in strips is a grid of one column (ISO/IEC 23008-12 §6.6.2.3), whose tiles follow it.

import PhotoModel

/// A still picture, and its alpha as an auxiliary item.
package struct AVIFFile {
  private static let alphaType = "urn:mpeg:mpegB:cicp:systems:auxiliary:alpha"

  private let encoding: WorkerEncoding
  private let profile: [UInt8]?
  private let brand: String
  private var items: [Item] = []
  /// The boxes of `ipco`. Associations count them from 1.
  private var properties: [[UInt8]] = []
  /// The boxes of `iref`.
  private var references: [UInt8] = []

  private struct Item {
    let type: String
    /// A part of another item, which is not shown alone.
    let isHidden: Bool
    let data: ArraySlice<UInt8>
    /// Numbers of properties; bit 7 marks an essential one.
    let associations: [UInt8]
  }

  /// - Parameters:
  ///   - parts: of each strip the coded colours, and then the coded alpha if there is any.
  ///   - profile: an ICC profile; `nil` for the colours of ``WorkerEncoding/codePoints``.
  package init(_ parts: [[UInt8]], _ encoding: WorkerEncoding, profile: [UInt8]?) throws(CodecError) {
    let planeSets = encoding.channels == 4 ? 2 : 1
    guard parts.count == planeSets * encoding.stripCount else {
      throw .encodingFailed("the AVIF encoder sent \(parts.count) parts")
    }
    var colors: [AV1Item] = []
    var alpha: [AV1Item] = []
    for (index, part) in parts.enumerated() {
      let isAlpha = index % planeSets == 1
      let item = try AV1Item(part, isMonochrome: isAlpha || encoding.channels == 1, isDeep: encoding.isHDR)
      if isAlpha { alpha.append(item) } else { colors.append(item) }
    }
    self.encoding = encoding
    self.profile = profile
    brand = colors[0].profile == 0 ? "MA1B" : "MA1A"

    add(colors, colorDescriptions, whole: lightDescriptions)
    guard !alpha.isEmpty else { return }
    let first = items.count + 1
    add(alpha, [], whole: [Self.fullBox("auxC", Self.ascii(Self.alphaType) + [0])])
    references += Self.box("auxl", Self.number(first, 2) + Self.number(1, 2) + Self.number(1, 2))
  }

  // MARK: Items

  /// Adds a picture: its strips, or the only one.
  ///
  /// - Parameters:
  ///   - common: properties of the picture and of its tiles, besides sizes and depths.
  ///   - whole: those of the picture alone.
  private mutating func add(_ strips: [AV1Item], _ common: [[UInt8]], whole: [[UInt8]]) {
    let (size, channels) = (encoding.size, strips[0].isMonochrome ? 1 : 3)
    guard strips.count > 1 else {
      return add(
        strips[0].data, [extent(size), depths(channels)] + common + whole, configuration: strips[0].configuration)
    }
    let grid = [0, 0, UInt8(strips.count - 1), 0] + Self.number(size.width, 2) + Self.number(size.height, 2)
    add(grid[...], [extent(size), depths(channels)] + common + whole)
    let id = items.count
    let tile = extent(PixelSize(width: size.width, height: encoding.stripRows))
    for strip in strips {
      add(strip.data, [tile, depths(channels)] + common, configuration: strip.configuration, isHidden: true)
    }
    references += Self.box(
      "dimg",
      Self.number(id, 2) + Self.number(strips.count, 2) + (1...strips.count).flatMap { Self.number(id + $0, 2) })
  }

  /// - Parameter configuration: the content of a coded item's `av1C`; `nil` for a grid.
  private mutating func add(
    _ data: ArraySlice<UInt8>, _ properties: [[UInt8]], configuration: [UInt8]? = nil, isHidden: Bool = false
  ) {
    var associations = properties.map { associate($0) }
    // 0x80 marks the property as essential: without it, a reader can't decode the item.
    if let configuration { associations.append(0x80 | associate(Self.box("av1C", configuration))) }
    items.append(
      Item(
        type: configuration == nil ? "grid" : "av01", isHidden: isHidden, data: data, associations: associations))
  }

  /// The number of a property, which is added unless another item has it.
  private mutating func associate(_ property: [UInt8]) -> UInt8 {
    if let index = properties.firstIndex(of: property) { return UInt8(index + 1) }
    properties.append(property)
    return UInt8(properties.count)
  }

  // MARK: Properties

  private var colorDescriptions: [[UInt8]] {
    let codes = encoding.codePoints
    let codePoints =
      Self.number(codes.primaries, 2) + Self.number(codes.transfer, 2) + Self.number(codes.matrix, 2) + [0x80]
    let profiles = profile.map { [Self.box("colr", Self.ascii("prof") + $0)] } ?? []
    return [Self.box("colr", Self.ascii("nclx") + codePoints)] + profiles
  }

  /// ISO/IEC 14496-12 §12.1.6.
  private var lightDescriptions: [[UInt8]] {
    guard let light = encoding.contentLight else { return [] }
    return [Self.box("clli", Self.number(light.maximum, 2) + Self.number(light.average, 2))]
  }

  private func extent(_ size: PixelSize) -> [UInt8] {
    Self.fullBox("ispe", Self.number(size.width, 4) + Self.number(size.height, 4))
  }

  /// Bits of each channel.
  private func depths(_ channels: Int) -> [UInt8] {
    Self.fullBox("pixi", [UInt8(channels)] + Array(repeating: UInt8(encoding.codedBits), count: channels))
  }

  // MARK: The file

  package var bytes: [UInt8] {
    let type = Self.box("ftyp", Self.ascii("avif") + Self.number(0, 4) + Self.ascii("avifmif1miaf" + brand))
    let dataBytes = items.reduce(0) { $0 + $1.data.count }
    // The length of `meta` does not depend on the offsets in it.
    let start = type.count + meta(dataStart: 0).count + 8
    var file = type + meta(dataStart: start)
    file.reserveCapacity(start + dataBytes)
    file += Self.number(dataBytes + 8, 4) + Self.ascii("mdat")
    for item in items { file += item.data }
    return file
  }

  private func meta(dataStart: Int) -> [UInt8] {
    // ISO/IEC 14496-12 §8.11: offsets and lengths of four bytes, one extent each.
    var locations = Self.number(0x4400, 2) + Self.number(items.count, 2)
    var entries = Self.number(items.count, 2)
    var associations = Self.number(items.count, 4)
    var offset = dataStart
    for (index, item) in items.enumerated() {
      let id = Self.number(index + 1, 2)
      locations += id + Self.number(0, 2) + Self.number(1, 2) + Self.number(offset, 4) + Self.number(item.data.count, 4)
      entries += Self.fullBox(
        "infe", version: 2, flags: item.isHidden ? 1 : 0, id + Self.number(0, 2) + Self.ascii(item.type) + [0])
      associations += id + [UInt8(item.associations.count)] + item.associations
      offset += item.data.count
    }
    return Self.fullBox(
      "meta",
      Self.fullBox("hdlr", Self.number(0, 4) + Self.ascii("pict") + Self.number(0, 12) + [0])
        + Self.fullBox("pitm", Self.number(1, 2)) + Self.fullBox("iloc", locations) + Self.fullBox("iinf", entries)
        + (references.isEmpty ? [] : Self.fullBox("iref", references))
        + Self.box("iprp", Self.box("ipco", properties.flatMap(\.self)) + Self.fullBox("ipma", associations)))
  }

  // MARK: Boxes

  private static func box(_ type: String, _ content: [UInt8]) -> [UInt8] {
    number(content.count + 8, 4) + ascii(type) + content
  }

  private static func fullBox(_ type: String, version: UInt8 = 0, flags: UInt8 = 0, _ content: [UInt8]) -> [UInt8] {
    box(type, [version, 0, 0, flags] + content)
  }

  private static func ascii(_ text: String) -> [UInt8] { Array(text.utf8) }

  /// Most significant byte first.
  private static func number(_ value: Int, _ bytes: Int) -> [UInt8] {
    (0..<bytes).map { UInt8(truncatingIfNeeded: value >> (8 * (bytes - 1 - $0))) }
  }
}
