// Files that changed a moment ago may not be whole yet. They are left until the end of the scan, and looked at again
// once they would have been quiet for long enough: one that is as it was is taken, any other is the next scan's.

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

  init(quiet: Duration) { self.quiet = Int64(quiet / .nanoseconds(1)) }

  /// Whether a file that is new or changed has to wait; it does so here. One from the future is a clock's fault, and
  /// waits for nothing.
  mutating func holdsBack(_ file: WalkedFile, known: KnownFile?, now: Int64) -> Bool {
    guard isRestless(file.identity.modified, now) || isRestless(file.changed, now) else { return false }
    if waiting.count < Self.limit { waiting.append((file, known)) } else { leave(file.identity, known) }
    return true
  }

  /// When the last of those that wait will have been quiet for long enough, if nothing happens.
  func end(now: Int64) -> Int64 {
    waiting.reduce(now) { end, entry in
      [entry.file.identity.modified, entry.file.changed].filter { isRestless($0, now) }.reduce(end) {
        max($0, $1 + quiet)
      }
    }
  }

  mutating func leave(_ identity: FileIdentity, _ known: KnownFile?) {
    left += 1
    if known == nil { smallestNew = min(smallestNew ?? .max, identity.size) }
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
    state.progress.notQuiet = written.left
  }
}
