import PhotoModel
import Synchronization

/// Row numbers of assets in an order, four bytes each, and where each of them stands.
final class RowList: Sendable {
  /// A row number, and one and a half places in the table of positions.
  static let bytesPerRow = 10

  /// Each once.
  let rows: [UInt32]
  /// Positions by row number, made when somebody first asks: open addressing, linear probing; `UInt32.max` is free.
  private let positions = Mutex<[UInt32]>([])
  /// What it takes of a budget, held until the last result that shares it is gone.
  private let room = Mutex<MemoryBudget.Reservation?>(nil)

  init(_ rows: [UInt32]) { self.rows = rows }

  var bytes: Int { rows.count * Self.bytesPerRow }

  /// Takes its bytes out of a budget, once for all results that share it. `false`: there is no room.
  func reserve(in budget: MemoryBudget) -> Bool {
    room.withLock { room in
      if room == nil { room = budget.tryReserve(bytes) }
      return room != nil
    }
  }

  func index(of number: UInt32) -> Int? {
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
