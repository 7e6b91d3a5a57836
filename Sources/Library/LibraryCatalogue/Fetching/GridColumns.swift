import PhotoModel

/// The columns `dimensions` and `grid` of `asset` and `libraryAsset`. Each packs several properties into one integer.
///
/// - `dimensions`: the width of the upright picture in pixels from bit 32, its height in bits 0 to 31.
/// - `grid`: the media type in bits 0 and 1, the favourite flag in bit 2, the UTC offset in minutes plus 2,048 in bits
///   3 to 14 (0 without an offset), and the subtypes from bit 15.
///
/// `CatalogueSchema+Assets` computes them in SQL.
struct GridColumns {
  static let dimensions = "dimensions"
  static let grid = "grid"

  /// A value of `grid`.
  let grid: Int64

  var mediaType: MediaType { MediaType(number: Int(grid & 3)) ?? .unknown }
  var isFavorite: Bool { grid >> 2 & 1 != 0 }
  var mediaSubtypes: MediaSubtypes { MediaSubtypes(rawValue: grid >> 15) }
  /// Minutes east of UTC.
  var utcOffset: Int? {
    let biased = Int(grid >> 3 & 0xFFF)
    return biased == 0 ? nil : biased - 2048
  }

  /// Width divided by height, from a value of `dimensions`.
  static func aspectRatio(_ dimensions: Int64) -> Double {
    Double(dimensions >> 32) / Double(max(1, dimensions & 0xFFFF_FFFF))
  }

  /// SQL expressions of the packed properties that predicates and sort descriptors name.
  static func expressions(in table: String) -> [String: String] {
    [
      "pixelWidth": "(\(table).dimensions >> 32)",
      "pixelHeight": "(\(table).dimensions & 4294967295)",
      "mediaType": "(\(table).grid & 3)",
      "mediaSubtypes": "(\(table).grid >> 15)",
    ]
  }
}
