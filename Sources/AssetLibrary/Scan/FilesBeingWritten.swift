// Files that changed a moment ago may not be whole yet. A scan that was told nothing leaves them until its end, and looks
// again once they would have been quiet for long enough: one that is as it was is taken, any other is the next scan's. A
// scan that follows events waits for nobody: it asks the kernel who is writing, and says what is to be looked at again.

import LibraryFolder
import PhotoModel

struct FilesBeingWritten {
  /// So many are remembered; of more, the others are left to the next scan without a second look.
  private static let limit = 10_000

  /// Nanoseconds without a change after which a file is whole; 0: every file is.
  let quiet: Int64
  private(set) var waiting: [(file: WalkedFile, known: KnownFile?)] = []
  /// Files that are left to the next scan.
  private(set) var left = 0
  /// The size of the smallest of these that is not known yet. It may become any file that is missing and no smaller.
  private(set) var smallestNew: Int64?
  /// Files that are to be looked at again, and in how many nanoseconds.
  private(set) var again: [(path: [UInt8], after: Int64)] = []

  init(quiet: Duration) { self.quiet = Int64(quiet / .nanoseconds(1)) }

  /// Whether a file that is new or changed has to wait; it does so here. One from the future is a clock's fault, and
  /// waits for nothing.
  mutating func holdsBack(_ file: WalkedFile, known: KnownFile?, now: Int64) -> Bool {
    guard isRestless(file.identity.modified, now) || isRestless(file.changed, now) else { return false }
    if waiting.count < Self.limit { waiting.append((file, known)) } else { leave(file.identity, known) }
    return true
  }

  /// The same of a file that something was told of.
  ///
  /// - Parameter isClosed: one who wrote it has closed it, or it came under its name as it is.
  mutating func holdsBack(
    _ file: WalkedFile, known: KnownFile?, now: Int64, isClosed: Bool, in root: LibraryFolder
  ) -> Bool {
    switch (try? root.open(file.path))?.hasWriters {
    case false: return false
    case true:
      leave(file.identity, known)
      // Its end is told. But the kernel tells of an end before it counts one writer less.
      if isClosed { again.append((file.path, 0)) }
      return true
    default:
      // It can't be told. Who closes a file has mostly written it; of one that was only met nobody knows.
      if isClosed { return false }
      let rest = end(of: file, now: now) - now
      guard rest > 0 else { return false }
      leave(file.identity, known)
      again.append((file.path, rest))
      return true
    }
  }

  /// When the last of those that wait will have been quiet for long enough, if nothing happens.
  func end(now: Int64) -> Int64 { waiting.reduce(now) { max($0, end(of: $1.file, now: now)) } }

  mutating func leave(_ identity: FileIdentity, _ known: KnownFile?) {
    left += 1
    if known == nil { smallestNew = min(smallestNew ?? .max, identity.size) }
  }

  /// Leaves all that wait to who will look again.
  mutating func handOver(now: Int64) {
    for (file, known) in waiting {
      leave(file.identity, known)
      again.append((file.path, end(of: file, now: now) - now))
    }
    waiting = []
  }

  private func end(of file: WalkedFile, now: Int64) -> Int64 {
    [file.identity.modified, file.changed].filter { isRestless($0, now) }.reduce(now) { max($0, $1 + quiet) }
  }

  private func isRestless(_ time: Int64, _ now: Int64) -> Bool {
    let (age, overflow) = now.subtractingReportingOverflow(time)
    return !overflow && age.magnitude < quiet.magnitude
  }
}

extension LibraryScanner {
  /// Waits for the files that were being written, and takes those that were quiet.
  func revisit(
    _ written: inout FilesBeingWritten, _ state: inout Batch, _ probe: FileProbe, _ stop: StopFlag
  ) throws(AssetSourceError) {
    guard !written.waiting.isEmpty else { return }
    let now = surroundings.now()
    surroundings.wait(written.end(now: now) - now, stop)
    for (file, known) in written.waiting {
      if stop.isRaised { return }
      let again: LibraryFile
      do throws(SystemError) {
        again = try state.root.open(file.path)
      } catch {
        // Gone again, as temporary files are, or not ours to read: the next scan sees what is there then.
        written.leave(file.identity, known)
        continue
      }
      if again.identity == file.identity && again.changed == file.changed {
        try state.add(file, known: known)
        if state.count >= BatchLimit.least { try flush(&state, probe) }
      } else {
        written.leave(again.identity, known)
      }
    }
    try flush(&state, probe)
  }
}
