// Points at which a test can end the process, to check how the next process recovers. Only debug builds act on them.

#if canImport(Glibc)
  import Glibc
#endif

/// A step of a library change after which the process may end.
package enum FaultPoint: String, Sendable, CaseIterable {
  // The files of a change list.

  /// The intents of a change list are committed.
  case intended
  /// The target folder of a file exists.
  case folderMade
  /// A file has its new name, in the trash or in the library; not yet synced.
  case renamed
  /// The new name is synced and survives a power failure.
  case moved
  /// The files of a failed change are back, and their intent is deleted.
  case recovered

  // A change list.

  /// All files are moved; the transaction of the list has not begun.
  case filesMoved
  /// One entry is written within the transaction.
  case entryWritten
  /// All entries are written; the transaction is not committed.
  case written
  /// The transaction is committed; observers are not notified and no response is sent.
  case committed

  // Purging the trash.

  /// The assets to purge are selected.
  case purging
  /// A file in the trash is removed.
  case removed
  /// The trash record is deleted.
  case purged

  // An upload.

  /// The first bytes are written.
  case received
  /// All bytes are written and synced: they survive a power failure.
  case synced
  /// The file has its name.
  case named
  /// The name is synced: it survives a power failure.
  case placed
  /// The file is in the catalogue; no response is sent.
  case recorded
}

/// Kills this process at a fault point if `PHOTOD_TEST_FAULT` names the point, optionally followed by a colon and the
/// number of the pass at which to act. Each passed point is appended as a line to the file that
/// `PHOTOD_TEST_FAULT_TRACE` names.
package func fault(_ point: FaultPoint) {
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
