#if canImport(Glibc)
  import Glibc
#endif

/// The operations that a store performs on the disk, in the order of a batch.
package enum DiskStep: String, Sendable, CaseIterable {
  case openIndex
  /// Remove an entry's file, before its row.
  case removeFile
  case commit
  case createFile
  case writeFile
  case renameFile
  /// No operation: marks the end of a batch.
  case batchDone
}

/// The environment of a store: the clock and facts about the machine. Tests pass a manual clock and a disk with
/// injected errors.
package struct DiskEnvironment: Sendable {
  /// A monotonic clock.
  var now: @Sendable () -> ContinuousClock.Instant
  /// Free bytes for an ordinary user in the file system of a path; `nil`, with `errno` set, if unknown.
  package var freeBytes: @Sendable (_ path: String) -> Int64?
  /// An identifier that changes with every start of the machine; `nil` if unknown.
  package var bootIdentifier: @Sendable () -> String?
  /// Called before each step: returns the `errno` with which the step fails, or 0.
  package var injectedError: @Sendable (DiskStep) -> Int32

  package init(
    now: @escaping @Sendable () -> ContinuousClock.Instant, freeBytes: @escaping @Sendable (String) -> Int64?,
    bootIdentifier: @escaping @Sendable () -> String?, injectedError: @escaping @Sendable (DiskStep) -> Int32
  ) {
    self.now = now
    self.freeBytes = freeBytes
    self.bootIdentifier = bootIdentifier
    self.injectedError = injectedError
  }

  package static let system = DiskEnvironment(
    now: { .now },
    freeBytes: { path in
      var status = statvfs()
      guard statvfs(path, &status) == 0 else { return nil }
      // A file system without a limit may report any number of blocks.
      let (bytes, overflows) = status.f_bavail.multipliedReportingOverflow(by: status.f_frsize)
      return overflows ? .max : Int64(clamping: bytes)
    },
    // random(4): boot_id.
    bootIdentifier: {
      let descriptor = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC)
      guard descriptor >= 0 else { return nil }
      defer { close(descriptor) }
      let bytes = [UInt8](unsafeUninitializedCapacity: 64) { buffer, count in
        count = max(0, read(descriptor, buffer.baseAddress, buffer.count))
      }
      return bytes.count < 36 ? nil : String(decoding: bytes.prefix(36), as: UTF8.self)
    },
    injectedError: { _ in 0 })

  func check(_ step: DiskStep) throws(DiskFault) {
    let code = injectedError(step)
    if code != 0 { throw .systemCallFailed(step, code: code) }
  }
}
