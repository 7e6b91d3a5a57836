// How many files a library has, by their names alone, counted beside its first scan: so that whoever looks is told how
// far that is. Reads folders and looks at no file, so it is done long before the scan; links are not followed.

import Dispatch
import LibraryFolder
import PhotoModel
import Synchronization

final class NameCount: Sendable {
  private let root: LibraryFolder
  private let stop = StopFlag()
  private let counted = Atomic<Int>(-1)
  private let done = DispatchGroup()

  /// Begins to count, on a thread of its own.
  init(root: LibraryFolder) {
    self.root = root
    DispatchQueue.global(qos: .utility).async(group: done) { [self] in
      if let count = count() { counted.store(count, ordering: .relaxed) }
    }
  }

  /// `nil` while it counts, and for good where it was ended before.
  var result: Int? {
    let count = counted.load(ordering: .relaxed)
    return count < 0 ? nil : count
  }

  /// Gives it up, and waits until it has.
  func end() {
    stop.raise()
    done.wait()
  }

  private func count() -> Int? {
    var files = 0
    var folders: [(path: [UInt8], depth: Int)] = [([], 0)]
    while let (path, depth) = folders.popLast() {
      if stop.isRaised { return nil }
      // What can't be listed has no files, as far as anybody can tell.
      guard let folder = try? root.open(path, isFolder: true),
        var names = try? FolderNames(
          of: folder,
          isFolder: { name, isLink in
            guard !isLink, let entry = try? folder.entry(name) else { return false }
            return entry.kind == .other
          })
      else { continue }
      files += names.count
      while let (name, isFolder) = names.next() {
        guard isFolder else { continue }
        files -= 1
        if depth + 1 < LibraryWalk.maximumDepth {
          folders.append((path.isEmpty ? name : path + [UInt8(ascii: "/")] + name, depth + 1))
        }
      }
    }
    return files
  }
}
