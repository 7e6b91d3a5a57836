// Where tests end the process, to see what the next one finds. Only debug builds heed it.

#if canImport(Glibc)
  import Glibc
#endif

/// A step of a change of files behind which the process may end.
enum FaultPoint: String, Sendable, CaseIterable {
  /// The intents of a change list are committed.
  case intended
  /// A file was moved to the trash or back.
  case moved
  /// What is to be purged is known to be.
  case purging
  /// A file of the trash is removed.
  case removed
  /// The first bytes of an upload are written.
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

/// Ends this process where `PHOTOD_TEST_FAULT` names the point, as the kernel would end it.
@inline(__always)
func fault(_ point: FaultPoint) {
  #if DEBUG
    if FaultPlan.point == point { kill(getpid(), SIGKILL) }
  #endif
}

#if DEBUG
  private enum FaultPlan {
    static let point: FaultPoint? = getenv("PHOTOD_TEST_FAULT").flatMap { FaultPoint(rawValue: String(cString: $0)) }
  }
#endif
