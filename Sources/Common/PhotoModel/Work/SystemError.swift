#if canImport(Glibc)
  import Glibc
#endif

/// A system call's error number.
package struct SystemError: Error, Sendable, Hashable, CustomStringConvertible {
  package let code: Int32

  package init(code: Int32) { self.code = code }

  /// The process or the system has no free file descriptor. The same call may succeed a moment later.
  package var isOutOfDescriptors: Bool { code == EMFILE || code == ENFILE }

  /// The disk or the quota of the user is full, or the file would be larger than the system allows.
  package var isOutOfSpace: Bool { code == ENOSPC || code == EDQUOT || code == EFBIG }

  /// The user of the process lacks a permission.
  package var isPermissionDenied: Bool { code == EACCES || code == EPERM }

  package var description: String { String(cString: strerror(code)) }
}
