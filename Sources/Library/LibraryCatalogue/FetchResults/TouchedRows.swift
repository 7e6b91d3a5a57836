import Primitives

/// A small set of row numbers, for membership tests of long lists. A bit filter rejects most rows before the binary
/// search.
package struct TouchedRows: Sendable {
  /// The minimum number of filter bits per row: about one in sixteen other rows passes the filter.
  private static let bitsPerRow = 16

  /// Ascending, without duplicates.
  let rows: [UInt32]
  private let isChanged: [Bool]
  /// The bit `row & mask` is set for each row in the set.
  private var filterBits: [UInt64]
  private let mask: UInt32

  /// - Parameter rows: ascending, without duplicates; each with whether it changed visibly for the principal.
  package init(_ rows: [(row: UInt32, isChanged: Bool)]) {
    self.rows = rows.map(\.row)
    isChanged = rows.map(\.isChanged)
    var bits = 1024
    while bits < rows.count * Self.bitsPerRow { bits *= 2 }
    mask = UInt32(bits - 1)
    filterBits = [UInt64](repeating: 0, count: bits / 64)
    for (row, _) in rows { filterBits[Int((row & mask) / 64)] |= 1 << UInt64(row % 64) }
  }

  package func contains(_ row: UInt32) -> Bool { index(of: row) != nil }

  /// `false` also for a row that is not in the set.
  package func isChanged(_ row: UInt32) -> Bool { index(of: row).map { isChanged[$0] } ?? false }

  private func index(of row: UInt32) -> Int? {
    guard filterBits[Int((row & mask) / 64)] >> UInt64(row % 64) & 1 == 1 else { return nil }
    let index = rows.indices.partitioningIndex { rows[$0] >= row }
    return index < rows.count && rows[index] == row ? index : nil
  }
}
