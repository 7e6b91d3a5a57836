#if canImport(Glibc)
  import Glibc
#endif

/// What a store asks the disk for, in the order in which a batch asks.
package enum DiskStep: String, Sendable, CaseIterable {
  case openIndex
  /// An entry's file goes, before its row does.
  case removeFile
  case commit
  case createFile
  case writeFile
  case renameFile
  /// Nothing is asked for: a batch is done.
  case batchDone
}

/// What is around a store: time, and what the machine says. Tests bring a clock that is moved by hand and a disk that
/// refuses.
package struct DiskSurroundings: Sendable {
  /// A clock that only goes forward.
  package var now: @Sendable () -> ContinuousClock.Instant
  /// What an ordinary user may still write to the file system of a path; `nil`, with `errno` set: unknown.
  package var freeBytes: @Sendable (_ path: String) -> Int64?
  /// What is another each time that the machine starts; `nil`: unknown.
  package var bootIdentifier: @Sendable () -> String?
  /// Asked before each step: the `errno` to fail it with, or 0.
  package var refuse: @Sendable (DiskStep) -> Int32

  package init(
    now: @escaping @Sendable () -> ContinuousClock.Instant, freeBytes: @escaping @Sendable (String) -> Int64?,
    bootIdentifier: @escaping @Sendable () -> String?, refuse: @escaping @Sendable (DiskStep) -> Int32
  ) {
    self.now = now
    self.freeBytes = freeBytes
    self.bootIdentifier = bootIdentifier
    self.refuse = refuse
  }

  package static let system = DiskSurroundings(
    now: { .now },
    freeBytes: { path in
      var status = statvfs()
      guard statvfs(path, &status) == 0 else { return nil }
      return Int64(clamping: status.f_bavail.multipliedReportingOverflow(by: status.f_frsize).partialValue)
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
    refuse: { _ in 0 })

  func check(_ step: DiskStep) throws(DiskFault) {
    let code = refuse(step)
    if code != 0 { throw .refused(step, code: code) }
  }
}
