// Where tests end the process in the middle of a change list, to see what the next one finds. Only debug builds heed it.

#if canImport(Glibc)
  import Glibc
#endif

/// A step of a change list behind which the process may end.
enum ChangeStep: String, Sendable, CaseIterable {
  /// Files are where the list puts them; its transaction has not begun.
  case filesMoved
  /// An entry is carried out within the transaction.
  case entryWritten
  /// All of them are, and the transaction is not committed.
  case written
  /// It is committed, and nobody was told.
  case committed
}

/// Ends this process, as the kernel would end it, where `PHOTOD_TEST_CHANGE_FAULT` is the step's name, a colon, and which
/// time it is taken.
@inline(__always)
func fault(_ step: ChangeStep) {
  #if DEBUG
    FaultPlan.taken(step)
  #endif
}

#if DEBUG
  import Synchronization

  private enum FaultPlan {
    private static let words: [String] =
      getenv("PHOTOD_TEST_CHANGE_FAULT").map { String(cString: $0).split(separator: ":").map(String.init) } ?? []
    private static let step = words.first.flatMap(ChangeStep.init)
    private static let left = Atomic(words.count == 2 ? Int(words[1]) ?? 0 : 0)

    static func taken(_ step: ChangeStep) {
      guard self.step == step else { return }
      if left.subtract(1, ordering: .relaxed).newValue == 0 { kill(getpid(), SIGKILL) }
    }
  }
#endif
