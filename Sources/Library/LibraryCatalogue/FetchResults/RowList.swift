import PhotoModel
import Synchronization

/// An ordered list of asset row numbers, four bytes each, with a table of their positions.
final class RowList: Sendable {
  /// A row number (4 bytes), and one and a half slots (6 bytes) in the table of positions.
  static let bytesPerRow = 10

  /// Each row number at most once.
  let rows: [UInt32]
  /// Positions by row number, built at the first lookup: open addressing, linear probing; `UInt32.max` marks a free
  /// slot.
  private let positions = Mutex<[UInt32]>([])
  /// The reserved memory, held until the last result that shares this list is freed.
  private let reservation = Mutex<LeaseBudget.Reservation?>(nil)

  init(_ rows: [UInt32]) { self.rows = rows }

  var bytes: Int { rows.count * Self.bytesPerRow }

  /// Reserves the list's bytes once for all results that share it.
  func reserve(in share: LeaseBudget.Share) throws(LeaseBudget.BudgetExceeded) {
    try reservation.withLock { reservation throws(LeaseBudget.BudgetExceeded) in
      if reservation == nil { reservation = try share.reserve(bytes) }
    }
  }

  func index(of number: UInt32) -> Int? {
    guard !rows.isEmpty else { return nil }
    return positions.withLock { positions in
      if positions.isEmpty { positions = Self.table(of: rows) }
      var slot = Self.slot(of: number, in: positions.count)
      while positions[slot] != .max {
        if rows[Int(positions[slot])] == number { return Int(positions[slot]) }
        slot = slot + 1 == positions.count ? 0 : slot + 1
      }
      return nil
    }
  }

  private static func table(of rows: [UInt32]) -> [UInt32] {
    var positions = [UInt32](repeating: .max, count: rows.count + rows.count / 2 + 1)
    for (position, row) in rows.enumerated() {
      var slot = Self.slot(of: row, in: positions.count)
      while positions[slot] != .max { slot = slot + 1 == positions.count ? 0 : slot + 1 }
      positions[slot] = UInt32(position)
    }
    return positions
  }

  /// The first slot to try. Fibonacci hashing: multiplies by 2^32 divided by the golden ratio, and scales the product
  /// to the number of slots.
  private static func slot(of row: UInt32, in count: Int) -> Int {
    Int((UInt64(row &* 2_654_435_769) * UInt64(count)) >> 32)
  }
}
