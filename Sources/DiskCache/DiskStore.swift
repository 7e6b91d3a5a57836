// The cache on disk: blobs of some kilobytes, found by a key of 128 bits, kept within a number of bytes.
//
//     entry(for:)  what waits to be written -> one file: open, read, checksum -> entry, or nothing
//     store(...)   what waits to be written -> DiskWriter, on a queue of its own:
//                    rows into the index -> commit -> files under a temporary name -> rename
//
// A file is believed for its checksum alone, so nothing is ever flushed for its sake, and whatever was cut off by a kill
// or a power cut is found out by the first who reads it. The index (SQLite) is there for what a folder can't tell quickly:
// what all take together, and what has not been used for longest. No look-up asks it.
//
// Nothing here throws: a disk that is full, read-only or broken makes a cache that forgets, a counter and one log line.

import Dispatch
import Logging
import Synchronization

package final class DiskStore: Sendable {
  private let folder: CacheFolder
  private let epochs: Epochs
  private let limits: DiskStoreLimits
  private let writer: DiskWriter
  /// What entries may take on disk.
  package let capacityBytes: Int64

  /// Opens a cache folder, and makes it where it is missing. Takes milliseconds however much is in it; what there is to
  /// clear away goes later, on the store's own queue.
  ///
  /// Never fails: a folder that can't be used is tried again, at the first `store` after `limits.retryDelay`. A folder
  /// that another store has open, in this process or another, is left to that one, and this store stays off.
  ///
  /// - Parameters:
  ///   - folder: an absolute path, of a folder that holds nothing else.
  ///   - capacityBytes: what entries may take on disk, each counted as its file in whole blocks of 4 KiB, and
  ///     `EntryCost.rowBytes` for its rows and its name. SQLite's journal comes on top, at most 32 MiB. 0: the store is
  ///     off, and touches nothing.
  ///   - epochs: of what is stored and found now. What was stored in another epoch is not found, and goes in the
  ///     background.
  ///   - surroundings: the clock and the disk; tests bring their own.
  package init(
    folder: String, capacityBytes: Int64, epochs: Epochs, limits: DiskStoreLimits = DiskStoreLimits(), logger: Logger,
    surroundings: DiskSurroundings = .system
  ) {
    self.folder = CacheFolder(path: folder, surroundings: surroundings)
    self.epochs = epochs
    self.capacityBytes = max(0, capacityBytes)
    self.limits = limits
    writer = DiskWriter(
      folder: self.folder, capacityBytes: max(0, capacityBytes), epochs: epochs, limits: limits, logger: logger,
      surroundings: surroundings)
    writer.open()
  }

  /// The entry for a key, if it is there and whole. Blocks on opening and reading one file of at most
  /// `limits.entryBytes`; the bytes are the caller's own.
  ///
  /// What is damaged, cut short, another's or not of this epoch is not returned; it is counted, and removed by the writer.
  /// An entry that was stored and not written yet is found as well.
  package func entry(for key: Key, _ kind: Kind) -> DiskEntry? {
    let name = name(key, kind)
    switch writer.buffer.withLock({ $0.lookUp(name) }) {
    case .off: return nil
    case .waiting(let entry): return entry
    case .elsewhere: break
    }
    let reading = folder.read(name, entryBytes: limits.entryBytes)
    writer.lookedUp(name, reading)
    guard case .entry(let entry) = reading else { return nil }
    return entry
  }

  /// Whether there seems to be an entry for a key: a hint for planning. One system call, nothing is read, and it is no use
  /// of the entry; what `entry` then finds may be damaged or gone.
  package func contains(_ key: Key, _ kind: Kind) -> Bool {
    let name = name(key, kind)
    return switch writer.buffer.withLock({ $0.state(of: name) }) {
    case .off: false
    case .waiting: true
    case .elsewhere: folder.contains(name)
    }
  }

  /// Keeps an entry, in the place of one with the same key. Returns at once; it is written in the background, or dropped
  /// and counted: where it is larger than `limits.entryBytes` or a quarter of the capacity, where `limits.pendingBytes`
  /// wait already, and while the disk can't be written.
  ///
  /// - Parameters:
  ///   - bytes: held until they are written; as large as their `count`, with no room for more.
  ///   - info: what the caller wants to know of them when they come back; at most `DiskEntry.maximumInfoBytes`.
  package func store(_ bytes: [UInt8], info: [UInt8], for key: Key, _ kind: Kind) {
    precondition(info.count <= DiskEntry.maximumInfoBytes, "an entry's info has its limit")
    writer.store(DiskEntry(bytes: bytes, info: info), as: name(key, kind))
  }

  /// What is in it, and what it has done since it was opened. Takes one lock and no disk.
  package var statistics: DiskStoreStatistics { writer.buffer.withLock { $0.statistics } }

  /// Writes what waits, at most `limits.pendingBytes`, and lets go of the folder; the store is off from then on. A store
  /// that is not closed loses no more than what waited.
  package func close() { writer.close() }

  /// Waits until nothing waits to be written or cleared away, or the disk can't be written. For tests and benchmarks.
  package func waitUntilIdle() { writer.waitUntilIdle() }

  private func name(_ key: Key, _ kind: Kind) -> EntryName {
    EntryName(group: EntryGroup(kind: kind, epoch: epochs[kind]), key: key)
  }
}
