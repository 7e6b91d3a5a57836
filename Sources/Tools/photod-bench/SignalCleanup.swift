import Foundation

#if canImport(Glibc)
  import Glibc
#endif

/// Removes servers and folders when a benchmark is interrupted.
enum SignalCleanup {
  // Because a signal handler may do no more than write. Set once, before a handler is installed.
  private nonisolated(unsafe) static var wakeDescriptor: Int32 = -1

  /// Waits for SIGINT and SIGTERM on its own thread. The signals are handled and not ignored, because child processes
  /// inherit ignored signals.
  static func watch() {
    var ends: [Int32] = [-1, -1]
    guard pipe(&ends) == 0 else { return }
    wakeDescriptor = ends[1]
    for number in [SIGINT, SIGTERM] { signal(number) { _ in write(SignalCleanup.wakeDescriptor, "!", 1) } }
    let end = ends[0]
    Thread.detachNewThread {
      var byte: UInt8 = 0
      while read(end, &byte, 1) != 1 {}
      ServerProcess.endAll()
      TemporaryFolder.removeAll()
      _exit(1)
    }
  }
}
