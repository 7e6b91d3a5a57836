// Reads how a HEIF file's primary picture is coded. Used by renders only; scans use HEIFHeader.
//
// Rotation, mirroring and crop come only from the item's properties, as in HEIFHeader; the EXIF orientation is ignored.

import MediaMetadata
import PhotoModel

struct HEIFPictureReader {
  private var boxes: BoxReader
  private let tables: HEIFTables
  private let properties: HEIFProperties
  private let locations: [Int: HEIFItems.ItemLocation]
  private let limits: CodecLimits

  /// - Returns: `nil` if the file has no still picture; it may then be a sequence.
  /// - Throws: ``CodecError``; `unsupported` if the file has no picture with HEVC or AV1.
  static func read(
    _ reader: HeaderReader, _ format: MediaFormat, limits: CodecLimits
  ) throws(CodecError) -> HEIFPicture? {
    var boxes = BoxReader(reader)
    guard let meta = try boxes.first("meta", in: 0..<boxes.fileSize) else { return nil }
    var reader = try HEIFPictureReader(boxes, meta, format, limits)
    return try reader.picture()
  }

  private init(
    _ boxes: BoxReader, _ meta: Box, _ format: MediaFormat, _ limits: CodecLimits
  ) throws(CodecError) {
    var boxes = boxes
    tables = try HEIFTables(&boxes, meta: meta, format)
    let items = tables.items
    let pictures =
      tables.origins + items.sources("auxl", to: tables.primary)
      + items.sources("thmb", to: tables.primary).prefix(ContainerLimits.thumbnails) + tables.toneMapItems
    let wanted = Set(pictures + pictures.flatMap { items.targets("dimg", from: $0) })
    guard let iprp = tables.boxes["iprp"], let iloc = tables.boxes["iloc"] else {
      throw .malformed("a \(format) file without properties or places", offset: meta.content.lowerBound)
    }
    properties = try HEIFProperties(&boxes, iprp, of: wanted)
    locations = try HEIFItems.locations(of: wanted, &boxes, iloc, data: tables.boxes["idat"])
    self.boxes = boxes
    self.limits = limits
  }

  // MARK: Pictures

  private mutating func picture() throws(CodecError) -> HEIFPicture {
    let coded = tables.origins[tables.origins.count - 1]
    let color = try tiles(of: coded)
    let alpha = try alpha(of: color)
    var picture = try picture(
      color, of: tables.primary, alpha: alpha?.tiles, colors: try colors(of: coded, color))
    picture.isPremultiplied = alpha?.isPremultiplied == true
    let thumbnails = tables.items.sources("thmb", to: tables.primary).prefix(ContainerLimits.thumbnails)
    for item in thumbnails where isCoded(item) {
      if let thumbnail = thumbnail(item, of: picture) { picture.thumbnails.append(thumbnail) }
    }
    picture.thumbnails.sort { $0.crop.width < $1.crop.width }
    picture.gainMap = gainMap(of: picture)
    return picture
  }

  private mutating func picture(
    _ color: CodedTiles, of item: Int, alpha: CodedTiles?, colors: Colors
  ) throws(CodecError) -> HEIFPicture {
    let transformation = try HEIFTransformation(
      &boxes, size: color.size, by: properties.properties(of: item))
    return HEIFPicture(
      color: color, alpha: alpha, conversion: try colors.points.checkedConversion(of: color.configuration.chroma),
      crop: transformation.crop, orientation: transformation.orientation, embeddedProfile: colors.profile,
      calibration: colors.points.calibration)
  }

  /// A thumbnail that can stand in for the picture; a damaged one is ignored. Its own transformations count, and must
  /// lead to the same upright picture.
  private mutating func thumbnail(_ item: Int, of picture: HEIFPicture) -> HEIFPicture? {
    do throws(CodecError) {
      let color = try tiles(of: item)
      var colors = try colors(of: item, color)
      colors.profile = colors.profile ?? picture.embeddedProfile
      var thumbnail = try self.picture(color, of: item, alpha: nil, colors: colors)
      thumbnail.isThumbnail = true
      let (own, whole) = (thumbnail.crop.size, picture.crop.size)
      // The aspect ratios may differ by the rounding of the smaller sides.
      let isAlike = abs(own.width * whole.height - own.height * whole.width) <= max(whole.width, whole.height)
      return thumbnail.orientation == picture.orientation && isAlike && own.width < whole.width ? thumbnail : nil
    } catch {
      return nil
    }
  }

  /// The gain map: the second input of a tone map, or an auxiliary picture of Apple's. A damaged one is ignored.
  private mutating func gainMap(of picture: HEIFPicture) -> HEIFGainMap? {
    do throws(CodecError) {
      let toneMap = tables.toneMapItems
      if toneMap.count == 2, let data = locations[toneMap[0]]?.whole,
        let metadata = GainMapMetadata(
          toneMap: try boxes.reader.bytes(
            at: data.lowerBound, count: min(data.count, GainMapMetadata.maximumBytes + 1)))
      {
        return try gainMap(toneMap[1], of: picture).map { HEIFGainMap($0, metadata) }
      }
      for item in tables.items.sources("auxl", to: tables.primary) {
        for property in properties.properties(of: item) where property.type == "auxC" {
          var fields = try boxes.fields(of: property, atMost: 128)
          _ = try fields.version()
          guard fields.text() == AppleGainMap.auxiliaryType else { continue }
          return try gainMap(item, of: picture).map { HEIFGainMap($0, nil) }
        }
      }
      return nil
    } catch {
      return nil
    }
  }

  /// The picture of a gain map, if it covers the whole picture and is turned like it.
  private mutating func gainMap(_ item: Int, of picture: HEIFPicture) throws(CodecError) -> HEIFPicture? {
    let color = try tiles(of: item)
    var map = try self.picture(color, of: item, alpha: nil, colors: try colors(of: item, color))
    // Some programs give the map no transformations, as for auxiliary pictures that are stored like theirs.
    let isPlain = map.orientation == .topLeft && map.crop == PixelRect(color.size)
    let isWhole = picture.crop == PixelRect(picture.color.size)
    guard map.orientation == picture.orientation || isPlain, isWhole || !isPlain else { return nil }
    map.isThumbnail = true
    // Sides of a small map are rounded, so aspect ratios differ a little.
    let (own, whole) = (map.crop.size, picture.crop.size)
    let (across, down) = (
      Double(own.width) / Double(whole.width), Double(own.height) / Double(whole.height)
    )
    return abs(across - down) <= 0.02 * max(across, down) + 1 / Double(min(whole.width, whole.height)) ? map : nil
  }

  /// The alpha picture. The colours are multiplied by it if the primary item refers to it with `prem` (ISO/IEC 23000-22
  /// §7.3.5).
  private mutating func alpha(
    of color: CodedTiles
  ) throws(CodecError) -> (tiles: CodedTiles, isPremultiplied: Bool)? {
    for item in tables.items.sources("auxl", to: tables.primary) {
      for property in properties.properties(of: item) where property.type == "auxC" {
        var fields = try boxes.fields(of: property, atMost: 128)
        _ = try fields.version()
        guard HEIFItemReader.alpha.contains(fields.text()) else { continue }
        let alpha = try tiles(of: item)
        // An alpha picture of another size would have to be scaled. No known program writes one, so it is ignored.
        guard alpha.size == color.size else { return nil }
        return (alpha, tables.items.targets("prem", from: tables.primary).contains(item))
      }
    }
    return nil
  }

  // MARK: Tiles

  private mutating func tiles(of item: Int) throws(CodecError) -> CodedTiles {
    switch tables.items.items[item]?.type {
    case let type? where TileConfiguration.properties[type] != nil:
      let size = try size(of: item)
      return CodedTiles(
        configuration: try configuration(of: item), tileSize: size, size: size, tiles: [try data(of: item)])
    case "grid": return try grid(item)
    case let type: throw .unsupported("a HEIF picture with items of the type \(type.map(\.description) ?? "unknown")")
    }
  }

  /// ISO/IEC 23008-12 §6.6.2.3: version, flags, rows and columns minus one, then the size in 16 or 32 bits each.
  private mutating func grid(_ item: Int) throws(CodecError) -> CodedTiles {
    guard let range = locations[item]?.whole else { throw .malformed("a grid without data", offset: nil) }
    let data = try boxes.reader.wholeBytes(at: range.lowerBound, count: min(12, range.count))
    let bytes = data.count > 1 && data.bigEndian(at: 1, bytes: 1) & 1 == 1 ? 4 : 2
    guard data.count >= 4 + 2 * bytes else { throw .malformed("a grid that ends too early", offset: range.lowerBound) }
    let (rows, columns) = (data.bigEndian(at: 2, bytes: 1) + 1, data.bigEndian(at: 3, bytes: 1) + 1)
    let size = PixelSize(
      width: data.bigEndian(at: 4, bytes: bytes), height: data.bigEndian(at: 4 + bytes, bytes: bytes))
    let items = tables.items.targets("dimg", from: item)
    guard rows * columns <= ContainerLimits.tiles else {
      throw .limitExceeded("the number of tiles", limit: ContainerLimits.tiles, found: rows * columns)
    }
    guard items.count == rows * columns, let first = items.first else {
      throw .malformed("a grid of \(columns) x \(rows) with \(items.count) tiles", offset: range.lowerBound)
    }
    let type = tables.items.items[first]?.type
    let tileSize = try self.size(of: first)
    let configuration = try configuration(of: first)
    try limits.check(size)
    // The last tiles may reach over the edges, but each must show something.
    guard ((columns - 1) * tileSize.width + 1...columns * tileSize.width).contains(size.width),
      ((rows - 1) * tileSize.height + 1...rows * tileSize.height).contains(size.height)
    else { throw .malformed("a grid whose tiles do not cover it", offset: range.lowerBound) }
    // Otherwise samples of chroma would belong to two tiles (MIAF, ISO/IEC 23000-22 §7.3.11.4.2).
    guard rows * columns == 1 || tileSize.width % 2 == 0 && tileSize.height % 2 == 0 else {
      throw .unsupported("a HEIF picture with tiles of an odd size")
    }
    // Tiles usually share their properties, which are compared by place first.
    let shared = properties.properties(of: first)
    var tiles: [[ByteRange]] = []
    for tile in items {
      if properties.properties(of: tile).map(\.content) != shared.map(\.content) {
        guard try self.size(of: tile) == tileSize, try self.configuration(of: tile) == configuration else {
          throw .unsupported("a HEIF picture with unequal tiles")
        }
      }
      guard tables.items.items[tile]?.type == type else { throw .unsupported("a HEIF grid with another codec") }
      tiles.append(try self.data(of: tile))
    }
    return CodedTiles(
      configuration: configuration, tileSize: tileSize, columns: columns, rows: rows, size: size, tiles: tiles)
  }

  private func data(of item: Int) throws(CodecError) -> [ByteRange] {
    guard let location = locations[item], location.length > 0 else {
      throw .malformed("an item without data", offset: nil)
    }
    return location.parts.map { ByteRange($0) }
  }

  private mutating func size(of item: Int) throws(CodecError) -> PixelSize {
    guard let property = properties.properties(of: item).first(where: { $0.type == "ispe" }) else {
      throw .malformed("an item without a size", offset: nil)
    }
    var fields = try boxes.fields(of: property, atMost: 12)
    _ = try fields.version()
    let width = try fields.number(4)
    let size = PixelSize(width: width, height: try fields.number(4))
    try limits.check(size)
    return size
  }

  private func isCoded(_ item: Int) -> Bool {
    tables.items.items[item].flatMap { TileConfiguration.properties[$0.type] } != nil
  }

  private mutating func configuration(of item: Int) throws(CodecError) -> TileConfiguration {
    let type = tables.items.items[item].flatMap { TileConfiguration.properties[$0.type] }
    guard let type, let property = properties.properties(of: item).first(where: { $0.type == type }) else {
      throw .malformed("an item without the configuration of its codec", offset: nil)
    }
    // Each tile may have its own, so the cost of one must be small.
    let length = property.content.count
    guard length <= 2 * ContainerLimits.parameterBytes else {
      throw .limitExceeded("the size of \(type)", limit: 2 * ContainerLimits.parameterBytes, found: length)
    }
    return try TileConfiguration(boxes.fields(of: property), type)
  }

  // MARK: Colours

  private struct Colors {
    var profile: EmbeddedProfile?
    var points: CodePoints
  }

  /// ISO/IEC 23008-12 §6.5.5: the item's profile, and its code points; else those of its tiles; else the codec's.
  private mutating func colors(of item: Int, _ tiles: CodedTiles) throws(CodecError) -> Colors {
    var profile: EmbeddedProfile?
    var points: CodePoints?
    let owners = tables.origins + [item] + tables.items.targets("dimg", from: item).prefix(1)
    // A thumbnail has colours of its own.
    let isPrimary = tables.origins.contains(item)
    for owner in owners where isPrimary || !tables.origins.contains(owner) {
      for property in properties.properties(of: owner) where property.type == "colr" {
        var fields = try boxes.fields(of: property, atMost: 11)
        switch try fields.type() {
        case "prof", "rICC":
          let range = property.content.lowerBound + 4..<property.content.upperBound
          profile = profile ?? (range.isEmpty ? .damaged("an empty profile") : .parts([ByteRange(range)]))
        case "nclx" where points == nil:
          let (primaries, transfer) = (try fields.number(2), try fields.number(2))
          let matrix = try fields.number(2)
          points = CodePoints(
            primaries: primaries, transfer: transfer, matrix: matrix, isFullRange: try fields.number(1) & 0x80 != 0)
        default: break
        }
      }
    }
    if points == nil { points = try signalledColors(tiles) }
    // ISO/IEC 23008-2 §E.3.1: without a description, samples have the limited range.
    return Colors(profile: profile, points: points ?? CodePoints(isFullRange: false))
  }

  /// The colours that the codec's own headers describe; `nil` if they describe none.
  private mutating func signalledColors(_ tiles: CodedTiles) throws(CodecError) -> CodePoints? {
    switch tiles.configuration {
    case .hevc(let configuration): return configuration.sequenceParameters?.colors
    case .av1:
      guard let start = tiles.tiles.first?.first else { return nil }
      return AV1SequenceHeader.colors(
        try boxes.reader.bytes(at: start.offset, count: min(start.length, AV1SequenceHeader.examinedBytes)))
    case .video: return nil
    }
  }
}
