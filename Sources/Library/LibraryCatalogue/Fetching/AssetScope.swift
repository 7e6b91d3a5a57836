import PhotoModel

/// The assets that a fetch searches.
package enum AssetScope: Sendable, Hashable {
  /// The whole library.
  case library
  /// The assets that match a smart album's rule, by default in its order.
  case smartAlbum(SmartAlbum)
  /// The members of an album, given by its row, by default in the user's order.
  case album(row: Int64)
  /// The assets of all albums below a folder, given by its row, each once; by default newest first.
  case folder(row: Int64)
  /// Assets with a creation date in this range, in milliseconds since 1970, and a day in `days`, in days since 1970.
  /// Both are needed, because the days of assets with different offsets from UTC overlap in time.
  case dates(ClosedRange<Int64>, days: ClosedRange<Int>? = nil)
  /// These assets, by row number, in this order.
  case rows([UInt32])

  /// Whether the catalogue stores the number of assets, so that it need not be counted.
  package var hasStoredCount: Bool {
    switch self {
    case .library, .smartAlbum, .album, .folder: true
    case .dates, .rows: false
    }
  }
}

/// The assets that a listing includes, as a set of values of the column `listing`.
struct ListingFilter: Sendable, Hashable {
  /// The right side of a comparison, `listing \(sql)`.
  let sql: String

  init(includesHidden: Bool, includesAllBurstAssets: Bool) {
    sql =
      switch (includesHidden, includesAllBurstAssets) {
      case (false, false): "= 0"
      case (false, true): "IN (0, 1)"
      case (true, false): "IN (0, 2)"
      case (true, true): "IN (0, 1, 2, 3)"
      }
  }

  private init(sql: String) { self.sql = sql }

  /// The filter of the album of hidden assets: it includes hidden assets even if the fetch excludes them.
  static func hidden(includesAllBurstAssets: Bool) -> ListingFilter {
    ListingFilter(sql: includesAllBurstAssets ? "IN (2, 3)" : "= 2")
  }
}
