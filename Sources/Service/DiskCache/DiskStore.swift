// The cache on disk: blobs of some kilobytes, found by a key of 128 bits, within a limit of total bytes.
//
//     entry(for:)  write buffer -> one file: open, read, checksum -> entry, or nothing
//     store(...)   write buffer -> DiskWriter, on its own queue:
//                    rows into the index -> commit -> files under a temporary name -> rename
//
// Only the checksum decides whether a file is valid. Files are therefore never flushed: the first reader detects a file
// that a kill or a power failure cut off. The index (SQLite) answers what a folder can't answer quickly: the total
// size, and which entry is the least recently used. Lookups never query it.
//
// No method throws. If the disk is full, read-only or broken, the cache stores nothing, counts the failures and writes
// one log line.

import Dispatch
import Logging
import Synchronization

package final class DiskStore: Sendable {
  private let folder: CacheFolder
  private let epochs: Epochs
  private let limits: DiskStoreLimits
  private let writer: DiskWriter
  /// Maximum bytes of all entries on disk.
  package let capacityBytes: Int64

  /// Opens a cache folder, and creates it if it is missing. Takes milliseconds for a cache of any size; old
  /// entries are removed later on the store's own queue.
  ///
  /// Never fails. If the folder is unusable, the next `store` after `limits.retryDelay` tries again. If another store
  /// has the folder open, in this process or another, this store is off until `reopen` finds the folder free.
  ///
  /// - Parameters:
  ///   - folder: the absolute path of a folder that contains nothing else.
  ///   - capacityBytes: maximum bytes of all entries on disk. Each counts as its file in whole blocks of 4 KiB, plus
  ///     `EntryCost.rowBytes` for its rows and its name. SQLite's journal is extra, at most 32 MiB. 0: the store is off
  ///     and touches nothing.
  ///   - epochs: the current epoch of each kind. Entries of other epochs are not found and are removed in the
  ///     background.
  ///   - environment: the clock and the disk; tests pass their own.
  package init(
    folder: String, capacityBytes: Int64, epochs: Epochs, limits: DiskStoreLimits = DiskStoreLimits(), logger: Logger,
    environment: DiskEnvironment = .system
  ) {
    self.folder = CacheFolder(path: folder, environment: environment)
    self.epochs = epochs
    self.capacityBytes = max(0, capacityBytes)
    self.limits = limits
    writer = DiskWriter(
      folder: self.folder, capacityBytes: max(0, capacityBytes), epochs: epochs, limits: limits, logger: logger,
      environment: environment)
    writer.open()
  }

  /// The entry for a key, if it exists and is valid. Blocks while one file of at most `limits.entryBytes` is opened and
  /// read; the caller owns the bytes.
  ///
  /// An entry that is damaged, truncated, of another key or of another epoch is not returned; it is counted, and the
  /// writer removes it. An entry that waits to be written is found too.
  package func entry(for key: Key, _ kind: Kind) -> DiskEntry? {
    let name = name(key, kind)
    switch writer.buffer.withLock({ $0.lookUp(name) }) {
    case .off: return nil
    case .waiting(let entry): return entry
    case .notBuffered: break
    }
    let reading = folder.read(name, entryBytes: limits.entryBytes)
    writer.recordLookup(name, reading)
    guard case .entry(let entry) = reading else { return nil }
    return entry
  }

  /// Whether an entry for a key appears to exist: a hint for planning. One system call; nothing is read, and it does
  /// not count as a use. `entry` may still find the file damaged or gone.
  package func contains(_ key: Key, _ kind: Kind) -> Bool {
    let name = name(key, kind)
    return switch writer.buffer.withLock({ $0.state(of: name) }) {
    case .off: false
    case .waiting: true
    case .notBuffered: folder.contains(name)
    }
  }

  /// Stores an entry and replaces one with the same key. Returns at once; the entry is written in the background. It is
  /// dropped and counted if it is larger than `limits.entryBytes` or a quarter of the capacity, if
  /// `limits.pendingBytes` are already waiting, or if the disk is not writable.
  ///
  /// - Parameters:
  ///   - bytes: kept in memory until they are written; the array should have no spare capacity.
  ///   - info: facts for the caller that are returned with the bytes; at most `DiskEntry.maximumInfoBytes`.
  package func store(_ bytes: [UInt8], info: [UInt8], for key: Key, _ kind: Kind) {
    precondition(info.count <= DiskEntry.maximumInfoBytes, "an entry's info has its limit")
    writer.store(DiskEntry(bytes: bytes, info: info), as: name(key, kind))
  }

  /// Removes all entries of these subjects, including those that wait to be written. Blocks while their files are
  /// removed, and while the writer ends its turn. Entries that are stored later stay.
  ///
  /// - Returns: false if some entries may be left: the disk is not writable now, a file can't be removed, or the store
  ///   is off although it has a capacity.
  package func removeEntries(of subjects: some Sequence<Subject>) -> Bool { writer.remove(Set(subjects)) }

  /// Opens the folder if another store had it open before and has closed it. Call it at intervals: a daemon that
  /// replaces another may start before that has ended. Takes one lock, unless the store waits for its folder.
  ///
  /// - Returns: whether the store was off for that reason and is on now.
  package func reopen() -> Bool { writer.reopen() }

  /// The content of the store, and counters since it was opened. Takes one lock and does not touch the disk.
  package var statistics: DiskStoreStatistics { writer.buffer.withLock { $0.statistics } }

  /// Writes all waiting entries, at most `limits.pendingBytes`, unless a sweep is in progress, and releases the folder;
  /// the store is then off. A process that ends without `close` loses only the waiting entries.
  package func close() { writer.close() }

  /// The names of files and folders that were in the way of the folder's entries and were renamed, sorted. Neither
  /// creates nor locks the folder.
  package static func displacedNames(in folder: String) -> [String] {
    CacheFolder(path: folder, environment: .system).displacedNames()
  }

  /// Waits until every entry that was stored before this call is written or dropped, so that a caller that stores fast
  /// does not exceed `limits.pendingBytes`. Does not wait until all old entries are removed. Returns at once while the
  /// writer writes nothing: the store is off, or not writable, or removes the traces of a power failure.
  package func waitForRoom() { writer.waitForRoom() }

  /// Waits until nothing is left to write or remove, or the disk is not writable. For tests and benchmarks.
  package func waitUntilIdle() { writer.waitUntilIdle() }

  private func name(_ key: Key, _ kind: Kind) -> EntryName {
    EntryName(group: EntryGroup(kind: kind, epoch: epochs[kind]), key: key)
  }
}
