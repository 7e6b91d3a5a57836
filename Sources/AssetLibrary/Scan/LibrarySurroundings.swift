import LibraryFolder
import PhotoModel

#if canImport(Glibc)
  import Glibc
#endif

/// What is around a library: what the kernel says of its file systems, and time. Tests bring disks that come and go and
/// a clock that is moved by hand.
package struct LibrarySurroundings: Sendable {
  /// The device that a folder is on, by its path below the root and as it was opened.
  package var device: @Sendable (_ path: [UInt8], _ folder: LibraryFile) -> UInt64
  /// Nanoseconds since 1970, by the clock that files' times are told by.
  package var now: @Sendable () -> Int64
  /// Lets that many nanoseconds go by, or fewer where the flag is raised.
  package var wait: @Sendable (_ nanoseconds: Int64, _ stop: StopFlag) -> Void

  package init(
    device: @escaping @Sendable ([UInt8], LibraryFile) -> UInt64, now: @escaping @Sendable () -> Int64,
    wait: @escaping @Sendable (Int64, StopFlag) -> Void
  ) {
    self.device = device
    self.now = now
    self.wait = wait
  }

  package static let system = LibrarySurroundings(
    device: { $1.device },
    now: {
      var now = timespec()
      clock_gettime(CLOCK_REALTIME, &now)
      return Int64(now.tv_sec) * 1_000_000_000 + Int64(now.tv_nsec)
    },
    wait: { nanoseconds, stop in
      let end = ContinuousClock.now + .nanoseconds(nanoseconds)
      while !stop.isRaised {
        let left = end - .now
        guard left > .zero else { return }
        // A flag wakes nobody; who raised it waits a twentieth of a second at most.
        usleep(useconds_t(max(1, min(left / .microseconds(1), 50_000))))
      }
    })

  /// The file system that a folder is on.
  func fileSystem(_ path: [UInt8], _ folder: LibraryFile) throws(SystemError) -> FileSystemIdentity {
    var identity = try folder.fileSystem()
    identity.device = device(path, folder)
    return identity
  }
}
