// Kernel events of folders: inotify(7). One descriptor, a watch for each folder, and events in the order in which the
// kernel sends them.

import CPhotodSystem
import PhotoModel

#if canImport(Glibc)
  import Glibc
#endif

/// An event in a watched folder, or of the folder itself.
package struct FolderEvent: Sendable, Hashable {
  package struct Kinds: OptionSet, Sendable, Hashable {
    package let rawValue: UInt32

    package init(rawValue: UInt32) { self.rawValue = rawValue }

    /// The name was created: a file, which may still be empty, a folder, or another hard link of a file.
    package static let created = Kinds(rawValue: UInt32(IN_CREATE))
    /// A writer has closed the file, and no writable mapping of it is left.
    package static let closedAfterWrite = Kinds(rawValue: UInt32(IN_CLOSE_WRITE))
    package static let movedFrom = Kinds(rawValue: UInt32(IN_MOVED_FROM))
    package static let movedTo = Kinds(rawValue: UInt32(IN_MOVED_TO))
    package static let deleted = Kinds(rawValue: UInt32(IN_DELETE))
    /// Mode, times or link count changed.
    package static let attributes = Kinds(rawValue: UInt32(IN_ATTRIB))
    /// The watched folder itself was renamed or moved.
    package static let movedSelf = Kinds(rawValue: UInt32(IN_MOVE_SELF))
    /// The name belongs to a folder.
    package static let isFolder = Kinds(rawValue: 0x4000_0000)
    /// The file system was unmounted.
    package static let unmounted = Kinds(rawValue: UInt32(IN_UNMOUNT))
    /// The watch was removed, with its folder or by a call.
    package static let watchRemoved = Kinds(rawValue: UInt32(IN_IGNORED))
    /// The event queue overflowed, and events were lost.
    package static let overflow = Kinds(rawValue: UInt32(IN_Q_OVERFLOW))
  }

  /// The watch descriptor; -1 for an overflow.
  package let watch: Int32
  package let kinds: Kinds
  /// Equal for both halves of a rename.
  package let cookie: UInt32
  /// The name within the folder; empty for an event of the folder itself.
  package let name: [UInt8]

  package init(watch: Int32, kinds: Kinds, cookie: UInt32 = 0, name: [UInt8] = []) {
    self.watch = watch
    self.kinds = kinds
    self.cookie = cookie
    self.name = name
  }
}

/// Watches folders. Owns its descriptor; closing it removes all watches.
package final class FolderEvents: Sendable {
  /// The event mask for each folder, and why.
  ///
  /// Not IN_MODIFY: a copy would raise an event for each write, and none of them says that the file is complete. As a
  /// result truncate(2), which opens nothing, raises no event. Not IN_OPEN, which readers cause. Not IN_DELETE_SELF:
  /// the parent folder reports the removal, and IN_IGNORED follows in any case. IN_EXCL_UNLINK: files that were
  /// unlinked need no events. IN_ONLYDIR in case a descriptor does not belong to a folder. IN_DONT_FOLLOW has no use,
  /// because the folder is named by its descriptor, through its link in /proc; links were resolved when it was opened,
  /// beneath the root. Not IN_MASK_CREATE: a scan watches known folders again to verify their watches.
  private static let mask =
    UInt32(IN_CREATE) | UInt32(IN_CLOSE_WRITE) | UInt32(IN_MOVED_FROM) | UInt32(IN_MOVED_TO) | UInt32(IN_DELETE)
    | UInt32(IN_ATTRIB) | UInt32(IN_EXCL_UNLINK) | UInt32(IN_ONLYDIR)
  /// No watched parent folder reports a rename of the root.
  private static let rootMask = mask | UInt32(IN_MOVE_SELF)
  private static let bufferBytes = 65_536
  private static let headBytes = 16

  package let descriptor: Int32

  /// Throws ``SystemError``: EMFILE if this user has no inotify instances left (`fs.inotify.max_user_instances`).
  package init() throws(SystemError) {
    descriptor = photod_inotify_open()
    guard descriptor >= 0 else { throw SystemError(code: errno) }
  }

  deinit { close(descriptor) }

  /// Watches a folder: later changes in it raise events. A folder that is already watched keeps its watch descriptor.
  ///
  /// Throws ``SystemError``: ENOSPC if this user has no watches left (`fs.inotify.max_user_watches`).
  package func watch(_ folder: LibraryFile, isRoot: Bool = false) throws(SystemError) -> Int32 {
    let watch = photod_inotify_watch(descriptor, folder.descriptor, isRoot ? Self.rootMask : Self.mask)
    guard watch >= 0 else { throw SystemError(code: errno) }
    return watch
  }

  /// Removes watches. A watch that is already gone is not an error.
  ///
  /// This is not a method of the `WatchState` that holds the tree: because the argument is the result of a change to
  /// that tree, each call would copy the state with its tree.
  package func unwatch(_ watches: [Int32]) { for watch in watches { _ = photod_inotify_unwatch(descriptor, watch) } }

  /// Reads pending events without blocking. Empty if there are none.
  package func read() -> [FolderEvent] {
    withUnsafeTemporaryAllocation(byteCount: Self.bufferBytes, alignment: 8) { buffer in
      let count = Glibc.read(descriptor, buffer.baseAddress, buffer.count)
      guard count > 0 else { return [] }
      return Self.events(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
    }
  }

  /// Decodes `struct inotify_event` records, each followed by its name, padded with NULs.
  private static func events(_ bytes: UnsafeRawBufferPointer) -> [FolderEvent] {
    var events: [FolderEvent] = []
    var offset = 0
    while offset + headBytes <= bytes.count {
      let length = Int(bytes.loadUnaligned(fromByteOffset: offset + 12, as: UInt32.self))
      let name = bytes[(offset + headBytes)..<min(offset + headBytes + length, bytes.count)]
      events.append(
        FolderEvent(
          watch: bytes.loadUnaligned(fromByteOffset: offset, as: Int32.self),
          kinds: FolderEvent.Kinds(rawValue: bytes.loadUnaligned(fromByteOffset: offset + 4, as: UInt32.self)),
          cookie: bytes.loadUnaligned(fromByteOffset: offset + 8, as: UInt32.self),
          name: Array(name.prefix { $0 != 0 })))
      offset += headBytes + length
    }
    return events
  }

  /// Maximum number of watches of this user, over all programs; `nil` if the kernel does not report it.
  package static var userLimit: Int? {
    guard let file = fopen("/proc/sys/fs/inotify/max_user_watches", "r") else { return nil }
    defer { fclose(file) }
    var line = [CChar](repeating: 0, count: 32)
    guard fgets(&line, Int32(line.count), file) != nil else { return nil }
    return Int(String(decoding: line.prefix { $0 != 10 && $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self))
  }
}
