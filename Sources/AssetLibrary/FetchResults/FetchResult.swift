import PhotoModel
import Synchronization

/// The identifiers of a fetch as they were, in their order: PHFetchResult. It stands still while the library changes.
package final class FetchResult: Sendable {
  /// What it takes for each asset: a row number, and one and a half places in the table that `index(of:)` asks.
  package static let bytesPerAsset = 10

  /// The assets' row numbers.
  private let rows: [UInt32]
  /// The library's state that it was read from.
  package let changeToken: String
  /// What was fetched, for who wants to know what changed.
  package let fetch: AssetFetch
  /// Positions by row number, made when somebody first asks: open addressing, linear probing; `UInt32.max` is free.
  private let positions = Mutex<[UInt32]>([])

  package init(rows: [UInt32], changeToken: String, fetch: AssetFetch) {
    self.rows = rows
    self.changeToken = changeToken
    self.fetch = fetch
  }

  package var count: Int { rows.count }
  package var bytes: Int { rows.count * Self.bytesPerAsset + fetch.bytes }

  /// The row numbers of a range, which lies within the result.
  package func rows(in range: Range<Int>) -> ArraySlice<UInt32> { rows[range] }

  /// Where an asset stands. The first call takes a step for each asset of the result, the others a few.
  package func index(ofRow number: UInt32) -> Int? {
    guard !rows.isEmpty else { return nil }
    return positions.withLock { positions in
      if positions.isEmpty { positions = Self.table(of: rows) }
      var place = Self.place(of: number, in: positions.count)
      while positions[place] != .max {
        if rows[Int(positions[place])] == number { return Int(positions[place]) }
        place = place + 1 == positions.count ? 0 : place + 1
      }
      return nil
    }
  }

  private static func table(of rows: [UInt32]) -> [UInt32] {
    var positions = [UInt32](repeating: .max, count: rows.count + rows.count / 2 + 1)
    for (position, row) in rows.enumerated() {
      var place = place(of: row, in: positions.count)
      while positions[place] != .max { place = place + 1 == positions.count ? 0 : place + 1 }
      positions[place] = UInt32(position)
    }
    return positions
  }

  /// Multiplied by the golden ratio, and the upper bits of the product with the number of places.
  private static func place(of row: UInt32, in count: Int) -> Int {
    Int((UInt64(row &* 2_654_435_769) * UInt64(count)) >> 32)
  }
}
