/// What is wrong with the disk that the catalogue is on, or with the catalogue itself. Nothing that was stored is lost by
/// it: what could not be stored as a whole was not stored at all.
package enum StorageFault: Sendable, Hashable, CustomStringConvertible {
  /// There is no room for more, by the disk or by a quota.
  case full
  /// It may be read but not written: by rights, or because the file system is mounted so.
  case readOnly
  /// The disk gave an error.
  case failing
  /// A file can't be opened or made.
  case unopenable
  /// The file is no database, or one that contradicts itself.
  case damaged

  package var description: String {
    switch self {
    case .full: "the disk is full; nothing was lost, and nothing new can be noted until there is room"
    case .readOnly: "it can't be written: the folder or its file system is read-only, or belongs to another user"
    case .failing: "the disk failed to read or write; the kernel's log says more"
    case .unopenable: "a file there can't be opened or made"
    case .damaged: "the catalogue is damaged; photod restore brings back a copy of photod backup"
    }
  }
}
