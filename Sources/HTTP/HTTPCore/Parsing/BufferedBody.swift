import Primitives

/// The body of a request that is buffered as a whole. Its memory is counted before it is allocated.
struct BufferedBody: Sendable {
  private(set) var bytes: [UInt8] = []
  /// Counts the capacity of `bytes`; `nil` if nothing is counted.
  private(set) var reservation: ByteBudget.Reservation?

  /// Makes room for `size` bytes in total.
  ///
  /// - Parameters:
  ///   - size: at most `limit`.
  ///   - limit: maximum capacity.
  ///   - budget: the budget that the capacity is counted against; `nil` disables counting.
  mutating func reserve(_ size: Int, limit: Int, budget: ByteBudget?) throws(ParseError) {
    guard size > bytes.capacity else { return }
    // Double the capacity, so that many chunks do not cause as many copies; grow by less if the budget is short.
    var capacity = min(limit, max(size, bytes.capacity * 2))
    if let budget {
      let reservation = reservation ?? ByteBudget.Reservation(of: budget)
      if !reservation.grow(to: capacity) {
        capacity = size
        guard reservation.grow(to: capacity) else { throw .overloaded }
      }
      self.reservation = reservation
    }
    bytes.reserveCapacity(capacity)
  }

  mutating func append(_ piece: ArraySlice<UInt8>) { bytes.append(contentsOf: piece) }
}
