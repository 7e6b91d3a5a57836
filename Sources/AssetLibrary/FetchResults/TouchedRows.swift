/// A few row numbers, to be looked for in long lists: whether a row is one of them is mostly told by one bit.
package struct TouchedRows: Sendable {
  /// So many bits there are at least for each row: of sixteen rows that are none of them, one looks like one.
  private static let bitsARow = 16

  /// Ascending, each once.
  package let rows: [UInt32]
  private let isChanged: [Bool]
  /// The bit `row & mask` is set for each row.
  private var sieve: [UInt64]
  private let mask: UInt32

  /// - Parameter rows: ascending, each once; with each, whether something was changed that who asks can see.
  package init(_ rows: [(row: UInt32, isChanged: Bool)]) {
    self.rows = rows.map(\.row)
    isChanged = rows.map(\.isChanged)
    var bits = 1024
    while bits < rows.count * Self.bitsARow { bits *= 2 }
    mask = UInt32(bits - 1)
    sieve = [UInt64](repeating: 0, count: bits / 64)
    for (row, _) in rows { sieve[Int((row & mask) / 64)] |= 1 << UInt64(row % 64) }
  }

  package var isEmpty: Bool { rows.isEmpty }

  package func contains(_ row: UInt32) -> Bool { index(of: row) != nil }

  /// `false` also for a row that is none of them.
  package func isChanged(_ row: UInt32) -> Bool { index(of: row).map { isChanged[$0] } ?? false }

  private func index(of row: UInt32) -> Int? {
    guard sieve[Int((row & mask) / 64)] >> UInt64(row % 64) & 1 == 1 else { return nil }
    var range = 0..<rows.count
    while !range.isEmpty {
      let middle = range.lowerBound + range.count / 2
      if rows[middle] == row { return middle }
      range = rows[middle] < row ? middle + 1..<range.upperBound : range.lowerBound..<middle
    }
    return nil
  }
}
