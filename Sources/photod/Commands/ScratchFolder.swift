import Foundation

#if canImport(Glibc)
  import Glibc
#endif

/// A folder for files that a command needs only while it runs. SIGINT and SIGTERM remove it before they end the process.
final class ScratchFolder: Sendable {
  let path: String
  private let signals = DispatchSources()

  init() async throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "photod-\(UUID().uuidString)")
    let path = folder.path
    self.path = path
    // Before the folder exists: an early signal must not run the default action.
    for number in [SIGINT, SIGTERM] {
      await signals.onSignal(number) {
        ScratchFolder.remove(path)
        ScratchFolder.runDefaultAction(of: number)
      }
    }
    // The catalogue in it holds what is in the library.
    try FileManager.default.createDirectory(
      at: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
  }

  func remove() { ScratchFolder.remove(path) }

  private static func remove(_ path: String) { try? FileManager.default.removeItem(atPath: path) }

  /// Ends the process by a signal, so that its parent sees which one it was. Threads of Dispatch block signals.
  private static func runDefaultAction(of number: Int32) {
    signal(number, SIG_DFL)
    var numbers = sigset_t()
    sigemptyset(&numbers)
    sigaddset(&numbers, number)
    pthread_sigmask(SIG_UNBLOCK, &numbers, nil)
    raise(number)
  }
}
