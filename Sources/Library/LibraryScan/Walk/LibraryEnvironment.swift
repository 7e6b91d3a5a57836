import LibraryFolder
import PhotoModel
import Primitives

#if canImport(Glibc)
  import Glibc
#endif

/// The environment of a library: the file systems and the clock. Tests replace them with simulated disks and a manual
/// clock.
package struct LibraryEnvironment: Sendable {
  /// The device of a folder, given its path below the root and its open descriptor.
  package var device: @Sendable (_ path: [UInt8], _ folder: LibraryFile) -> UInt64
  /// Nanoseconds since 1970, on the clock that file times use.
  package var now: @Sendable () -> Int64
  /// Waits for this many nanoseconds, or until the flag is raised.
  package var wait: @Sendable (_ nanoseconds: Int64, _ stop: StopFlag) -> Void

  package init(
    device: @escaping @Sendable ([UInt8], LibraryFile) -> UInt64, now: @escaping @Sendable () -> Int64,
    wait: @escaping @Sendable (Int64, StopFlag) -> Void
  ) {
    self.device = device
    self.now = now
    self.wait = wait
  }

  package static let system = LibraryEnvironment(
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
        // Raising a flag does not wake this thread, so it polls: a stop takes a twentieth of a second at most.
        usleep(useconds_t(max(1, min(left.microseconds, 50_000))))
      }
    })

  /// The file system of a folder.
  func fileSystem(_ path: [UInt8], _ folder: LibraryFile) throws(SystemError) -> FileSystemIdentity {
    var identity = try folder.fileSystem()
    identity.device = device(path, folder)
    return identity
  }
}
