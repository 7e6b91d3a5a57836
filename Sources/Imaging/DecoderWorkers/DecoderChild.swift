import CPhotodDecoder

#if canImport(Glibc)
  import Glibc
#endif

/// A worker process of a zygote, as the daemon sees it: the status socket and, where the kernel has them, a pidfd.
/// Used by one thread, that of its channel.
final class DecoderChild {
  /// The daemon's end of the status socket.
  private let status: Descriptor
  private var pidfd: Int32 = -1

  init(status: consuming Descriptor) { self.status = status }

  deinit {
    if pidfd >= 0 { close(pidfd) }
  }

  var statusDescriptor: Int32 { status.number }

  /// Takes ownership of the pidfd. Called once.
  func started(pidfd number: Int32) { pidfd = number }

  /// Ends the process. Also before it has started and after it has ended.
  func kill() {
    if pidfd >= 0 { _ = photod_decoder_kill(pidfd) }
    // The zygote kills a child whose status socket is closed for writing.
    shutdown(status.number, Int32(SHUT_WR))
  }
}
