// Where tests end the process, to see what the next one finds. Only debug builds heed it.

#if canImport(Glibc)
  import Glibc
#endif

/// A step of what changes the library behind which the process may end.
enum FaultPoint: String, Sendable, CaseIterable {
  // Files of a change list.

  /// The intents of a change list are committed.
  case intended
  /// The folder that a file moves to is there.
  case folderMade
  /// A file has its new name, in the trash or in the library.
  case renamed
  /// It would have it behind a power cut.
  case moved
  /// Files that were moved for nothing are back, and their intent has ended.
  case putRight

  // A change list.

  /// Files are where the list puts them; its transaction has not begun.
  case filesMoved
  /// An entry is carried out within the transaction.
  case entryWritten
  /// All of them are, and the transaction is not committed.
  case written
  /// It is committed, and nobody was told.
  case committed

  // The end of what is in the trash.

  /// What is to be purged is known to be.
  case purging
  /// A file of the trash is removed.
  case removed
  /// Nobody knows any more that it was there.
  case purged

  // An upload.

  /// Its first bytes are written.
  case received
  /// All of them are, and would be there behind a power cut.
  case synced
  /// It has its name.
  case named
  /// Its name would be there behind a power cut.
  case placed
  /// It is in the catalogue; nobody has been told.
  case recorded
}

/// Ends this process, as the kernel would end it, where `PHOTOD_TEST_FAULT` names the point, or the point, a colon, and which
/// time it is passed. What is passed is written to the file that `PHOTOD_TEST_FAULT_TRACE` names, a line each.
@inline(__always)
func fault(_ point: FaultPoint) {
  #if DEBUG
    FaultPlan.passed(point)
  #endif
}

#if DEBUG
  import Synchronization

  private enum FaultPlan {
    private static let words = value("PHOTOD_TEST_FAULT").split(separator: ":").map(String.init)
    private static let point = words.first.flatMap(FaultPoint.init)
    private static let left = Atomic(words.count > 1 ? Int(words[1]) ?? 0 : 1)
    private static let trace: Int32 = {
      let path = value("PHOTOD_TEST_FAULT_TRACE")
      return path.isEmpty ? -1 : open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
    }()

    static func passed(_ point: FaultPoint) {
      if trace >= 0 {
        let line = point.rawValue + "\n"
        _ = write(trace, line, line.utf8.count)
      }
      guard self.point == point else { return }
      if left.subtract(1, ordering: .relaxed).newValue == 0 { kill(getpid(), SIGKILL) }
    }

    private static func value(_ name: String) -> String { getenv(name).map { String(cString: $0) } ?? "" }
  }
#endif
