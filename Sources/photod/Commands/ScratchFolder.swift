import Foundation

/// A folder for files that a command needs only while it runs.
struct ScratchFolder {
  let path: String

  init() throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "photod-\(UUID().uuidString)")
    // The catalogue in it holds what is in the library.
    try FileManager.default.createDirectory(
      at: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    path = folder.path
  }

  func remove() { try? FileManager.default.removeItem(atPath: path) }
}
