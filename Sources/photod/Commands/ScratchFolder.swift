import Foundation

/// A folder for files that a command needs only while it runs. SIGHUP, SIGINT and SIGTERM remove it before they end the
/// process.
final class ScratchFolder: Sendable {
  let path: String
  private let signals: EndingSignals

  init() async throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "photod-\(UUID().uuidString)")
    let path = folder.path
    self.path = path
    // Before the folder exists: an early signal must not run the default action.
    signals = await EndingSignals { exit in
      ScratchFolder.remove(path)
      exit()
    }
    // Only for this user, because the catalogue in it describes the library.
    try FileManager.default.createDirectory(
      at: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
  }

  func remove() { ScratchFolder.remove(path) }

  private static func remove(_ path: String) { try? FileManager.default.removeItem(atPath: path) }
}
