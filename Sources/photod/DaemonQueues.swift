// The queues that requests run on. A queue without a limit has callers that are limited: by connections, or by a limit
// of their own. Architecture.md lists all queues.

import Dispatch
import ImageService

struct DaemonQueues: Sendable {
  /// As many lookups may wait as four times `render.queueLength`, but at least this many.
  private static let minimumLookups = 64
  private static let maximumFetches = 64
  private static let maximumScrapes = 16
  /// Workers that read files, besides those for archives: two per core, but at least this many.
  private static let minimumFileReaders = 4

  let lookups: WorkQueue
  /// Serial: each fetch may use a core until its deadline.
  let fetches: WorkQueue
  let batches: WorkQueue
  /// Serial: one change list at a time; transactions of scans run in between.
  let changes: WorkQueue
  /// Workers up to the allowed concurrent uploads, but at most two per core: each one waits for the disk. Without a
  /// limit, because each piece of a body is work of its own: an upload that was admitted is never refused halfway. Each
  /// connection has at most one piece or request in it.
  let uploads: WorkQueue
  /// Each worker may wait for the disk; a few disk reads at a time are enough to keep a disk busy. A part of an archive
  /// may need the checksum of a whole file, so archives alone can't take all workers.
  let fileReads: WorkQueue
  /// Opens all files of an archive; one plan at a time leaves the disk to others.
  let archivePlans: WorkQueue
  /// Serial, with a higher priority than renders. A longer queue of scrapes would be useless.
  let scrapes: WorkQueue

  init(_ settings: Settings) {
    let cores = UsableCores.count
    lookups = WorkQueue(
      label: "photod.lookup", workers: cores,
      limit: max(Self.minimumLookups, settings.render.queueLength * 4), qos: .userInitiated)
    fetches = WorkQueue(label: "photod.fetch", workers: 1, limit: Self.maximumFetches, qos: .userInitiated)
    batches = WorkQueue(label: "photod.batch", workers: cores, limit: .max, qos: .userInitiated)
    changes = WorkQueue(
      label: "photod.change", workers: 1, limit: settings.changes.queueLength, qos: .userInitiated)
    uploads = WorkQueue(
      label: "photod.upload", workers: min(settings.uploads.limits.concurrent, 2 * cores), limit: .max,
      qos: .userInitiated)
    fileReads = WorkQueue(
      label: "photod.file", workers: max(Self.minimumFileReaders, 2 * cores) + settings.archives.concurrent,
      limit: .max, qos: .userInitiated)
    archivePlans = WorkQueue(
      label: "photod.archive", workers: 1, limit: settings.archives.concurrent, qos: .utility)
    scrapes = WorkQueue(label: "photod.metrics", workers: 1, limit: Self.maximumScrapes, qos: .userInitiated)
  }
}
