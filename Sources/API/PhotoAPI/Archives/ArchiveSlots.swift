import Synchronization

/// Limits the archives that are planned or sent at a time.
final class ArchiveSlots: Sendable {
  /// Maximum number of archives at a time.
  private let capacity: Int
  private let used = Mutex(0)

  init(_ limits: ArchiveLimits) { capacity = limits.concurrent }

  /// A place for an archive, free again when it is released.
  final class Slot: Sendable {
    private let slots: ArchiveSlots

    fileprivate init(_ slots: ArchiveSlots) { self.slots = slots }

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
