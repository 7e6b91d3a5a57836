import PhotoModel

/// Where a fetch looks for assets.
package enum AssetScope: Sendable, Hashable {
  /// The whole library.
  case library
  /// What a smart album's rule says, in its order if nothing else is asked for.
  case smartAlbum(SmartAlbum)
  /// The members of an album, by its row, in the order that somebody gave them if nothing else is asked for.
  case album(row: Int64)
  /// Everything that was taken between two moments, both included.
  case dates(ClosedRange<Int64>)
  /// These assets, by their rows, in this order.
  case rows([UInt32])

  /// Whether how many there are is kept, and need not be counted.
  package var isCounted: Bool {
    switch self {
    case .library, .smartAlbum, .album: true
    case .dates, .rows: false
    }
  }
}

/// Which assets a listing leaves out, as a set of the values of `asset.listing`.
struct Listings: Sendable, Hashable {
  /// For the end of a comparison: `asset.listing \(sql)`. A literal, so that SQLite finds the index that is made for it.
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

  /// What is in the order of the date, with nothing in it that is left out where it can be helped.
  var indexByDate: AssetIndex { sql == "= 0" ? .visibleByDate : .byDate }

  private init(sql: String) { self.sql = sql }

  /// What the album of hidden assets lists: they are asked for by asking for it.
  static func hidden(includesAllBurstAssets: Bool) -> Listings {
    Listings(sql: includesAllBurstAssets ? "IN (2, 3)" : "= 2")
  }
}
