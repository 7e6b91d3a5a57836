import PhotoModel

#if canImport(Glibc)
  import Glibc
#endif

/// The file descriptors of this process, for callers of libraries that fail without an `errno`.
package enum FileDescriptors {
  /// The number of descriptors that may have become free since the call failed.
  private static let slack: UInt = 32

  /// Whether no descriptor is free, or so few that a call may have failed for lack of one. Three system calls.
  package static var areExhausted: Bool {
    let lowest = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard lowest >= 0 else { return SystemError(code: errno).isOutOfDescriptors }
    close(lowest)
    var limit = rlimit()
    guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return false }
    return areAlmostAllTaken(lowestFree: lowest, limit: UInt(limit.rlim_cur))
  }

  /// - Parameters:
  ///   - lowestFree: the number that the next file gets; all below it are taken.
  ///   - limit: RLIMIT_NOFILE.
  package static func areAlmostAllTaken(lowestFree: Int32, limit: UInt) -> Bool { limit <= UInt(lowestFree) + slack }
}
