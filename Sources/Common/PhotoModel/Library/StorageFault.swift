/// A fault of the catalogue or its disk. Stored data is not lost by it: a write that could not complete was not stored
/// at all.
package enum StorageFault: Sendable, Hashable, CustomStringConvertible {
  /// No space left, on the disk or within a quota.
  case full
  /// Readable but not writable, because of permissions or a read-only mount.
  case readOnly
  /// The disk returned an I/O error.
  case failing
  /// A file can't be opened or created.
  case unopenable
  /// No file descriptor is free for a file. The same call may succeed a moment later.
  case outOfDescriptors
  /// Another process has locked the catalogue for too long. The same call may succeed a moment later.
  case busy
  /// The file is not a database, or is corrupt.
  case damaged
  /// The file of the open catalogue was moved, deleted or replaced, so everything written to it would be lost.
  case replaced

  package var description: String {
    switch self {
    case .full: "the disk is full; stored data is intact, but free some space to store anything new"
    case .readOnly: "not writable: the folder or its file system is read-only, or belongs to another user"
    case .failing: "the disk returned an I/O error; see the kernel log"
    case .unopenable: "a file in the data folder can't be opened or created"
    case .outOfDescriptors: "no file descriptor is free; raise the limit of open files"
    case .busy: "another process is writing to the catalogue; try again when it has finished"
    case .damaged:
      "the catalogue is damaged; stop photod and run photod check --repair, which says whether a backup is needed"
    case .replaced:
      "the catalogue's file was moved, deleted or replaced while photod had it open; start photod again"
    }
  }
}
