#if canImport(Glibc)
  import Glibc
#endif

/// An open file descriptor with one owner.
struct Descriptor: ~Copyable, Sendable {
  let number: Int32

  init(_ number: Int32) { self.number = number }

  deinit { close(number) }
}
