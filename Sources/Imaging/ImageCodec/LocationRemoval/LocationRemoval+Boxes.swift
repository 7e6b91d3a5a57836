// The first level of all files of boxes: HEIF, AVIF, JPEG XL, CR3, QuickTime and MPEG-4. Only the heads of boxes and
// metadata are read. A box of a kind that is not known is turned into a free one, because it may hold a location.

import MediaMetadata

/// The facts about a file that the walk over its boxes needs.
struct BoxFile {
  /// Offsets of items and samples count from its start.
  let range: Range<Int64>
  /// Whether samples are also described outside of the movie box.
  let hasFragments: Bool
  /// The boxes of the first level without their data, and what follows the last one; in order.
  let structure: [Range<Int64>]

  /// - Throws: `overlap` if an item or a sample shares bytes with structure: replacing it would damage the file.
  func checkIsData(_ range: Range<Int64>) throws(LocationRemovalError) {
    // The first box that ends after the start of the range.
    var (low, high) = (0, structure.count)
    while low < high {
      let middle = (low + high) / 2
      if structure[middle].upperBound > range.lowerBound { high = middle } else { low = middle + 1 }
    }
    if low < structure.count, structure[low].overlaps(range) { throw .overlap(offset: range.lowerBound) }
  }
}

extension LocationRemoval {
  /// Boxes of a file that hold pictures, samples or structure.
  private static let kept: Set<FourCC> = [
    "ftyp", "styp", "mdat", "imda", "wide", "pnot", "PICT", "pdin", "sidx", "ssix", "mfra", "prft", "idat",
    "JXL ", "jxll", "jxlc", "jxlp", "jxli", "jhgm",
  ]

  /// Boxes that hold nothing but data.
  private static let data: Set<FourCC> = ["mdat", "imda", "idat"]

  /// - Parameter range: the whole file. Offsets in it count from its start.
  static func boxFile(
    _ range: Range<Int64>, _ context: inout LocationRemovalContext
  ) throws(LocationRemovalError) {
    var boxes: [PlacedBox] = []
    var position = range.lowerBound
    var rest = range.upperBound..<range.upperBound
    while let box = try fileBox(at: position, before: range.upperBound, &context) {
      // A file that follows this one: the movie of a motion photo.
      if box.type == "ftyp", !boxes.isEmpty, boxes.last?.type != "JXL " {
        rest = position..<range.upperBound
        break
      }
      boxes.append(box)
      position = box.whole.upperBound
      rest = min(position, range.upperBound)..<range.upperBound
    }
    if boxes.isEmpty { throw .malformed("a file without boxes", offset: range.lowerBound) }

    let structure = boxes.map { box in
      data.contains(box.type) ? box.whole.lowerBound..<box.content.lowerBound : box.whole
    }
    let file = BoxFile(range: range, hasFragments: boxes.contains { $0.type == "moof" }, structure: structure + [rest])
    for box in boxes {
      switch box.type {
      case "moov": try movie(box, file, &context)
      case "moof": try fragment(box, file, &context)
      case "meta": try metadata(box, file, &context)
      case "udta": try userData(box, file, &context)
      case "uuid": try userBox(box, &context)
      case "mpvd":
        // Motion photo format 1.0: the content is a movie.
        if box.content.count > 0 { try remove(from: box.content, &context) }
      case "Exif": try exifBox(box, &context)
      case "xml ": if !box.content.isEmpty { try context.removeXMP(in: box.content) }
      case "sefd": try samsungTrailer(box.content, &context)
      case _ where kept.contains(box.type): break
      default: try context.erase(box)
      }
    }
    if !rest.isEmpty { try trailing(rest, &context) }
  }

  /// The box at a position of the first level. The last one may be cut off by the end of the file. `nil` where no box
  /// begins.
  private static func fileBox(
    at position: Int64, before end: Int64, _ context: inout LocationRemovalContext
  ) throws(LocationRemovalError) -> PlacedBox? {
    let box: PlacedBox?
    do throws(LocationRemovalError) {
      box = try context.box(at: position, before: end)
    } catch {
      if case .malformed = error { return nil }
      throw error
    }
    guard let box else { return nil }
    if box.whole.upperBound <= end { return box }
    // Only the samples of an incomplete file are cut off harmlessly.
    guard box.type == "mdat" else { return nil }
    return PlacedBox(type: box.type, whole: position..<end, content: min(box.content.lowerBound, end)..<end)
  }

  /// A box whose type is the first 16 bytes of its content.
  static func userBox(_ box: PlacedBox, _ context: inout LocationRemovalContext) throws(LocationRemovalError) {
    let type = Array(try context.head(of: box.content, count: 16))
    guard type.count == 16 else { return try context.erase(box) }
    let content = box.content.lowerBound + 16..<box.content.upperBound
    switch type {
    case BMFFHeader.xmp:
      if !content.isEmpty { try context.removeXMP(in: content) }
    case canonDirectories: try canon(content, &context)
    case canonPreview: try embeddedPicture(content, &context)
    case spherical, protection: break
    default: try context.erase(box)
    }
  }

  /// The projection of a spherical video (Spherical Video RFC version 1).
  private static let spherical: [UInt8] = [
    0xFF, 0xCC, 0x82, 0x63, 0xF8, 0x55, 0x4A, 0x93, 0x88, 0x14, 0x58, 0x7A, 0x02, 0x52, 0x1F, 0xDD,
  ]
  /// The protection system of an encrypted movie (PIFF §5.3.1).
  private static let protection: [UInt8] = [
    0xD0, 0x8A, 0x4F, 0x18, 0x10, 0xF3, 0x4A, 0x82, 0xB6, 0xC8, 0x32, 0xD8, 0xAB, 0xA1, 0x83, 0xD3,
  ]
}
