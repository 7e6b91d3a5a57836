import Synchronization

/// Limits how many of something there are at a time, such as archives that are sent.
final class Slots: Sendable {
  private let capacity: Int
  private let used = Mutex(0)

  init(capacity: Int) { self.capacity = capacity }

  /// A place for one of them, free again when this is released.
  final class Slot: Sendable {
    private let slots: Slots

    fileprivate init(_ slots: Slots) { self.slots = slots }

    deinit { slots.used.withLock { $0 -= 1 } }
  }

  /// `nil` if all are in use.
  func acquire() -> Slot? {
    let isFree = used.withLock { used in
      guard used < capacity else { return false }
      used += 1
      return true
    }
    return isFree ? Slot(self) : nil
  }
}
