import CPhotodDecoder
import Synchronization

#if canImport(Glibc)
  import Glibc
#endif

/// A worker process of a zygote, as the daemon sees it: the status socket and, where the kernel has them, a pidfd.
final class DecoderChild: Sendable {
  /// The daemon's end of the status socket.
  private let status: Descriptor
  private let pidfd = Atomic<Int32>(-1)

  init(status: consuming Descriptor) { self.status = status }

  deinit {
    let number = pidfd.load(ordering: .acquiring)
    if number >= 0 { close(number) }
  }

  var statusDescriptor: Int32 { status.number }

  /// Takes ownership of the pidfd. Called once.
  func started(pidfd number: Int32) { pidfd.store(number, ordering: .releasing) }

  /// Ends the process. From any thread, also before it has started and after it has ended.
  func kill() {
    let number = pidfd.load(ordering: .acquiring)
    if number >= 0 { _ = photod_decoder_kill(number) }
    // The zygote kills a child whose status socket is closed for writing.
    shutdown(status.number, Int32(SHUT_WR))
  }
}
