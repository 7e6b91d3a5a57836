// Counts the files of a library by name, in parallel to its first scan, so that the progress has a total. It lists
// folders and opens no file, so it ends long before the scan. Links are not followed.

import Dispatch
import LibraryFolder
import PhotoModel
import Synchronization

final class FileCountEstimate: Sendable {
  private let root: LibraryFolder
  private let stop = StopFlag()
  private let counted = Atomic<Int>(-1)
  private let done = DispatchGroup()

  /// Starts counting on its own thread.
  init(root: LibraryFolder) {
    self.root = root
    DispatchQueue.global(qos: .utility).async(group: done) { [self] in
      if let count = count() { counted.store(count, ordering: .relaxed) }
    }
  }

  /// The result; `nil` while counting, or if it was cancelled.
  var result: Int? {
    let count = counted.load(ordering: .relaxed)
    return count < 0 ? nil : count
  }

  /// Cancels the count and waits for its thread to end.
  func cancel() {
    stop.raise()
    done.wait()
  }

  private func count() -> Int? {
    var files = 0
    var folders: [(path: [UInt8], depth: Int)] = [([], 0)]
    while let (path, depth) = folders.popLast() {
      if stop.isRaised { return nil }
      // A folder that can't be listed counts as empty.
      guard let folder = try? root.open(path, isFolder: true),
        var names = try? FolderNames(notFollowingLinksOf: folder)
      else { continue }
      files += names.count
      while let (name, isFolder) = names.next() {
        guard isFolder else { continue }
        files -= 1
        if depth + 1 < LibraryWalk.maximumDepth { folders.append((LibraryPath.join(path, name), depth + 1)) }
      }
    }
    return files
  }
}
