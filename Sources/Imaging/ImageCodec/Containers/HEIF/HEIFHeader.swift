import MediaMetadata
import PhotoModel

/// Reads HEIF and AVIF pictures from their `meta` box (ISO/IEC 23008-12; AVIF is HEIF with AV1).
///
/// Only HEIF's own rotation and mirroring (§6.5.10, §6.5.12) define the orientation of the primary item. Readers apply
/// these, and do not apply the EXIF orientation in addition. MIAF (ISO/IEC 23000-22 §7.3.10.1) says that EXIF should
/// not declare a rotation; iPhones repeat the item's orientation there, and other programs leave an outdated value. So
/// ``MediaHeader/orientation`` is the item's, and the EXIF summary keeps its own.
enum HEIFHeader {
  static func read(_ boxes: inout BoxReader, meta: Box, _ format: MediaFormat) throws(CodecError) -> MediaHeader {
    var reader = HEIFItemReader(try HEIFTables(&boxes, meta: meta, format))
    return try reader.header(&boxes, format)
  }
}

/// Combines the tables' information about one item.
struct HEIFItemReader {
  private let all: HEIFTables
  private var locations: [Int: HEIFItems.ItemLocation] = [:]

  init(_ all: HEIFTables) { self.all = all }

  private var items: HEIFItems { all.items }
  private var tables: [FourCC: Box] { all.boxes }

  /// URNs that define the kind of an auxiliary picture (ISO/IEC 23008-12 §6.5.8; MIAF §7.3.5; Apple's own).
  static let alpha: Set<String> = [
    "urn:mpeg:hevc:2015:auxid:1", "urn:mpeg:avc:2015:auxid:1", "urn:mpeg:mpegB:cicp:systems:auxiliary:alpha",
  ]
  private static let depth: Set<String> = [
    "urn:mpeg:hevc:2015:auxid:2", "urn:mpeg:avc:2015:auxid:2", "urn:mpeg:mpegB:cicp:systems:auxiliary:depth",
    "urn:com:apple:photo:2018:aux:portraiteffectsmatte",
  ]

  mutating func header(_ boxes: inout BoxReader, _ format: MediaFormat) throws(CodecError) -> MediaHeader {
    let primary = all.primary
    let auxiliaries = items.sources("auxl", to: primary)
    let exif = items.first(describing: primary) { $0.type == "Exif" }
    let xmp = items.first(describing: primary) { $0.isXMP }
    let thumbnail = items.sources("thmb", to: primary).first { items.items[$0]?.type == "jpeg" }
    let origins = all.origins
    if let table = tables["iloc"] {
      let wanted = Set([exif, xmp, thumbnail].compactMap(\.self) + origins)
      locations = try HEIFItems.locations(of: wanted, &boxes, table, data: tables["idat"])
    }
    guard let table = tables["iprp"] else {
      throw .malformed("a \(format) file without properties", offset: nil)
    }
    let properties = try HEIFProperties(&boxes, table, of: Set(auxiliaries + origins))

    guard let size = try size(&boxes, of: origins, properties) else {
      throw .malformed("a \(format) file whose primary item has no size", offset: nil)
    }
    var header = MediaHeader(format: refined(format, primary, origins), storedSize: size)
    let transformation = try HEIFTransformation(&boxes, size: size, by: properties.properties(of: primary))
    header.orientation = transformation.orientation
    header.storedSize = transformation.crop.size
    for item in auxiliaries { try note(&header, &boxes, properties.properties(of: item)) }
    // ISO 21496-1: a tone-mapped picture is derived from this one and a gain map.
    if !all.toneMapItems.isEmpty { header.facts.subtypes.insert(.photoHDR) }
    // §6.8.5: the pictures for the left and the right eye are grouped.
    if let groups = tables["grpl"], try boxes.first("ster", in: groups.content) != nil {
      header.facts.subtypes.insert(.spatialMedia)
    }
    if let location = exif.flatMap({ locations[$0] }) { try parse(exif: location, &header, &boxes) }
    if let packet = xmp.flatMap({ locations[$0]?.whole }) { try header.parse(xmp: packet, &boxes.reader) }
    if let range = thumbnail.flatMap({ locations[$0]?.whole }),
      try boxes.reader.bytes(at: range.lowerBound, count: 2).elementsEqual([0xFF, 0xD8])
    {
      header.thumbnail = ByteRange(range)
    }
    return header
  }

  /// The format refined by the item's type, because a brand that describes only the structure does not identify the
  /// codec.
  private func refined(_ format: MediaFormat, _ primary: Int, _ origins: [Int]) -> MediaFormat {
    guard format == .heif else { return format }
    let types = (origins + items.targets("dimg", from: primary)).map { items.items[$0]?.type }
    if types.contains("hvc1") { return .heic }
    return types.contains("av01") ? .avif : format
  }

  /// The size from ImageSpatialExtents (§6.5.3), which every item should have; else from the data of a grid or an
  /// overlay (§6.6.2.3).
  private func size(
    _ boxes: inout BoxReader, of origins: [Int], _ properties: HEIFProperties
  ) throws(CodecError) -> PixelSize? {
    for item in origins {
      for property in properties.properties(of: item) where property.type == "ispe" {
        var fields = try boxes.fields(of: property, atMost: 12)
        _ = try fields.version()
        let width = try fields.number(4)
        return PixelSize(width: width, height: try fields.number(4))
      }
      guard items.items[item]?.type == "grid", let location = locations[item]?.whole else { continue }
      let data = try boxes.reader.bytes(at: location.lowerBound, count: min(12, location.count))
      guard data.count >= 8 else { continue }
      // Version, flags, rows, columns; then the size in 16 or 32 bits each.
      let bytes = data.bigEndian(at: 1, bytes: 1) & 1 == 0 ? 2 : 4
      guard data.count >= 4 + 2 * bytes else { continue }
      return PixelSize(
        width: data.bigEndian(at: 4, bytes: bytes), height: data.bigEndian(at: 4 + bytes, bytes: bytes))
    }
    return nil
  }

  /// Records what an auxiliary picture's type states about the primary picture.
  private func note(
    _ header: inout MediaHeader, _ boxes: inout BoxReader, _ properties: [Box]
  ) throws(CodecError) {
    for property in properties where property.type == "auxC" {
      var fields = try boxes.fields(of: property, atMost: 128)
      _ = try fields.version()
      let name = fields.text()
      if Self.alpha.contains(name) { header.hasAlpha = true }
      if Self.depth.contains(name) { header.facts.subtypes.insert(.photoDepthEffect) }
      if name == AppleGainMap.auxiliaryType { header.facts.subtypes.insert(.photoHDR) }
    }
  }

  /// ISO/IEC 23008-12 §A.2.1: the distance from these four bytes to the TIFF header, then the block.
  private func parse(
    exif location: HEIFItems.ItemLocation, _ header: inout MediaHeader, _ boxes: inout BoxReader
  ) throws(CodecError) {
    var bytes: [UInt8] = []
    for part in location.parts where bytes.count < EXIFSummary.maximumBytes {
      bytes += try boxes.reader.bytes(
        at: part.lowerBound, count: min(part.count, EXIFSummary.maximumBytes - bytes.count))
    }
    guard bytes.count > 12 else { return }
    // Some programs write 0 although a JPEG-style signature comes first.
    let skipped = 4 + bytes[...].bigEndian(at: 0, bytes: 4)
    guard let start = [skipped, 4, 10].first(where: { $0 < bytes.count && TIFFBlock(bytes[$0...]) != nil }) else {
      return
    }
    let length = Int(min(location.length, Int64(Int32.max))) - start
    header.parse(exif: bytes[start...], at: location.whole.map { $0.lowerBound + Int64(start) }, length: length)
    // A thumbnail has the orientation of its EXIF block, which can differ from the item's.
    if header.exif.orientation != header.orientation { header.thumbnail = nil }
  }
}
