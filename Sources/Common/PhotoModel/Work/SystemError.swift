#if canImport(Glibc)
  import Glibc
#endif

/// A system call's error number.
package struct SystemError: Error, Sendable, Hashable, CustomStringConvertible {
  package let code: Int32

  package init(code: Int32) { self.code = code }

  package var description: String { String(cString: strerror(code)) }
}
