import Foundation

#if canImport(Glibc)
  import Glibc
#endif

/// A benchmark that is told to end leaves nothing behind: no server, no folder.
enum SignalCleanup {
  // Because a signal's handler may do no more than write: it is set once, before there is a handler.
  private nonisolated(unsafe) static var wakeDescriptor: Int32 = -1

  /// Waits for SIGINT and SIGTERM on a thread of its own. They are handled and not ignored, since programs that are
  /// started inherit what is ignored.
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
