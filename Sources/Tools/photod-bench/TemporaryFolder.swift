import Foundation
import PhotoFixtures
import Synchronization

/// A temporary folder of a benchmark, removed when its work is done.
enum TemporaryFolder {
  static func with<Result>(_ work: (String) throws -> Result) throws -> Result {
    let folder = FileManager.default.temporaryDirectory.appending(path: "photod-bench-\(UUID().uuidString)").path
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    folders.withLock { _ = $0.insert(folder) }
    defer {
      try? FileManager.default.removeItem(atPath: folder)
      folders.withLock { _ = $0.remove(folder) }
    }
    return try work(folder)
  }

  private static let folders = Mutex<Set<String>>([])

  /// Removes all such folders, when a benchmark is interrupted.
  static func removeAll() {
    for folder in folders.withLock({ $0 }) { try? FileManager.default.removeItem(atPath: folder) }
  }

  /// Places a file under another name, as a hard link if possible.
  static func place(_ path: String, as name: String) throws {
    let original = URL(filePath: path).resolvingSymlinksInPath().path
    do {
      try FileManager.default.linkItem(atPath: original, toPath: name)
    } catch {
      try FileManager.default.copyItem(atPath: original, toPath: name)
    }
  }

  /// Creates a library with one photograph in a folder. Returns its path.
  static func library(in folder: String, width: Int, height: Int) throws -> String {
    let library = folder + "/library"
    try FileManager.default.createDirectory(atPath: library, withIntermediateDirectories: true)
    try Data(JPEGFile { _ in }.encoded(Scene(seed: 1, grain: 14).pixels(width: width, height: height)))
      .write(to: URL(filePath: library + "/photo.jpg"))
    return library
  }
}
