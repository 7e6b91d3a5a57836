// What the kernel tells of folders: inotify(7). One descriptor, a watch for each folder, and events as they were read.

import CPhotodSystem

#if canImport(Glibc)
  import Glibc
#endif

/// What happened in a watched folder, or to it.
package struct FolderEvent: Sendable, Hashable {
  package struct Kinds: OptionSet, Sendable, Hashable {
    package let rawValue: UInt32

    package init(rawValue: UInt32) { self.rawValue = rawValue }

    /// Something came under that name: a file, which may still be empty, a folder, or one more name of a file.
    package static let created = Kinds(rawValue: UInt32(IN_CREATE))
    /// Who had the file open for writing has closed it; a mapping of it is gone too.
    package static let written = Kinds(rawValue: UInt32(IN_CLOSE_WRITE))
    package static let movedFrom = Kinds(rawValue: UInt32(IN_MOVED_FROM))
    package static let movedTo = Kinds(rawValue: UInt32(IN_MOVED_TO))
    package static let deleted = Kinds(rawValue: UInt32(IN_DELETE))
    /// Rights, times or the number of names.
    package static let attributes = Kinds(rawValue: UInt32(IN_ATTRIB))
    /// The watched folder itself has another name, or lies elsewhere.
    package static let folderMoved = Kinds(rawValue: UInt32(IN_MOVE_SELF))
    /// What the name stands for is a folder.
    package static let isFolder = Kinds(rawValue: 0x4000_0000)
    /// The file system was unmounted.
    package static let unmounted = Kinds(rawValue: UInt32(IN_UNMOUNT))
    /// The watch is gone, with its folder or because somebody took it back.
    package static let ended = Kinds(rawValue: UInt32(IN_IGNORED))
    /// Events were lost: more happened than was read.
    package static let overflow = Kinds(rawValue: UInt32(IN_Q_OVERFLOW))
  }

  /// -1 where it is nobody's: an overflow.
  package let watch: Int32
  package let kinds: Kinds
  /// The same for both halves of a rename.
  package let cookie: UInt32
  /// Within the folder; empty where it is about the folder itself.
  package let name: [UInt8]

  package init(watch: Int32, kinds: Kinds, cookie: UInt32 = 0, name: [UInt8] = []) {
    self.watch = watch
    self.kinds = kinds
    self.cookie = cookie
    self.name = name
  }
}

/// Watches folders. It owns its descriptor; watches go with it.
package final class FolderEvents: Sendable {
  /// What is asked of each folder, and why.
  ///
  /// Not IN_MODIFY: a copy would be an event for each of its writes, and none says that it is whole; so nothing tells of
  /// truncate(2), which opens nothing. Not IN_OPEN, which readers cause. Not IN_DELETE_SELF: the folder above tells, and
  /// IN_IGNORED follows in any case. IN_EXCL_UNLINK: what goes on in a file without a name is nobody's business.
  /// IN_ONLYDIR for the case that a descriptor is no folder's. IN_DONT_FOLLOW is of no use, for what is named is a
  /// descriptor, by its link in /proc; which link led there was decided when it was opened, beneath the root. Not
  /// IN_MASK_CREATE: to watch a folder again is how a scan makes sure of it.
  private static let mask =
    UInt32(IN_CREATE) | UInt32(IN_CLOSE_WRITE) | UInt32(IN_MOVED_FROM) | UInt32(IN_MOVED_TO) | UInt32(IN_DELETE)
    | UInt32(IN_ATTRIB) | UInt32(IN_EXCL_UNLINK) | UInt32(IN_ONLYDIR)
  /// The root has no folder above that would tell of its renaming.
  private static let rootMask = mask | UInt32(IN_MOVE_SELF)
  private static let bufferBytes = 65_536
  private static let headBytes = 16

  package let descriptor: Int32

  /// Throws ``SystemError``: EMFILE where this user has no more of these (`fs.inotify.max_user_instances`).
  package init() throws(SystemError) {
    descriptor = photod_inotify_open()
    guard descriptor >= 0 else { throw SystemError(code: errno) }
  }

  deinit { close(descriptor) }

  /// Watches a folder: what happens in it from now on is an event. One that is watched already keeps its number.
  ///
  /// Throws ``SystemError``: ENOSPC where this user's watches are all taken (`fs.inotify.max_user_watches`).
  package func watch(_ folder: LibraryFile, isRoot: Bool = false) throws(SystemError) -> Int32 {
    let watch = photod_inotify_watch(descriptor, folder.descriptor, isRoot ? Self.rootMask : Self.mask)
    guard watch >= 0 else { throw SystemError(code: errno) }
    return watch
  }

  /// Takes watches back. One that is gone already is no error.
  ///
  /// A method of these events and not of a value that holds the tree: called with what a change of that tree returns, such a
  /// value would be copied for the call, tree and all, and a scan would copy it for each folder.
  package func unwatch(_ watches: [Int32]) { for watch in watches { _ = photod_inotify_unwatch(descriptor, watch) } }

  /// Reads what has happened, and does not wait. Empty: nothing more, for now.
  package func read() -> [FolderEvent] {
    withUnsafeTemporaryAllocation(byteCount: Self.bufferBytes, alignment: 8) { buffer in
      let count = Glibc.read(descriptor, buffer.baseAddress, buffer.count)
      guard count > 0 else { return [] }
      return Self.events(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
    }
  }

  /// The events in bytes as the kernel lays them out: `struct inotify_event`, and behind it the name, filled up with NULs.
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

  /// How many folders this user may watch, by all programs together; `nil` where the kernel does not tell.
  package static var userLimit: Int? {
    guard let file = fopen("/proc/sys/fs/inotify/max_user_watches", "r") else { return nil }
    defer { fclose(file) }
    var line = [CChar](repeating: 0, count: 32)
    guard fgets(&line, Int32(line.count), file) != nil else { return nil }
    return Int(String(decoding: line.prefix { $0 != 10 && $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self))
  }
}
