import PhotoModel

/// Columns of asset properties for a grid: parallel arrays, which are empty for fields that were not requested.
///
/// The values are stored compactly, because a page has up to ten thousand assets: text is not one object per value.
package struct AssetColumns: Sendable {
  /// A property that a grid can read without opening the assets' own rows.
  package enum Field: String, Sendable, Hashable, CaseIterable {
    case aspectRatio, contentVersion, creationDate, duration, isFavorite, localIdentifier, mediaSubtypes, mediaType
    case placeholder, utcOffset
  }

  /// The number of assets.
  package var count = 0
  /// Width divided by height, after the orientation is applied.
  package var aspectRatios: [Double] = []
  package var contentVersions = ByteStrings()
  /// Milliseconds since 1970.
  package var creationDates: [Int64] = []
  /// Seconds; 0 for pictures.
  package var durations: [Double] = []
  package var favoriteFlags: [Bool] = []
  package var localIdentifiers = ByteStrings()
  package var mediaSubtypes: [MediaSubtypes] = []
  package var mediaTypes: [MediaType] = []
  /// ThumbHashes; empty for an asset without one.
  package var placeholders = ByteStrings()
  /// Minutes east of UTC; `nil` if neither the file nor a user gives it.
  package var utcOffsets: [Int?] = []
  package var nextCursor: PageCursor?
  package var changeToken = ChangeToken(0)

  package init() {}
}
