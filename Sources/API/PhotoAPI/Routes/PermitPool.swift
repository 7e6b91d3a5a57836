import Synchronization

/// A counting semaphore that never waits. Its permits are objects: a permit that is released is free again. Limits, for
/// example, the archives that are sent at a time.
final class PermitPool: Sendable {
  private let capacity: Int
  private let used = Mutex(0)

  init(capacity: Int) { self.capacity = capacity }

  /// In use until it is released.
  final class Permit: Sendable {
    private let pool: PermitPool

    fileprivate init(_ pool: PermitPool) { self.pool = pool }

    deinit { pool.used.withLock { $0 -= 1 } }
  }

  /// `nil` if all are in use.
  func acquire() -> Permit? {
    let isFree = used.withLock { used in
      guard used < capacity else { return false }
      used += 1
      return true
    }
    return isFree ? Permit(self) : nil
  }
}
