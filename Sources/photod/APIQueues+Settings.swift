import Dispatch
import ImageService
import PhotoAPI

extension APIQueues {
  /// As many lookups may wait as four times `render.queueLength`, but at least this many.
  private static let minimumLookups = 64
  private static let maximumFetches = 64
  private static let maximumScrapes = 16
  /// Workers that read files, besides those for archives: two per core, but at least this many.
  private static let minimumFileReaders = 4

  /// The queues of a daemon with these settings. Architecture.md lists all queues.
  init(_ settings: Settings) {
    let cores = UsableCores.count
    self.init(
      lookups: WorkQueue(
        label: "photod.lookup", workers: cores,
        limit: max(Self.minimumLookups, settings.render.queueLength * 4), qos: .userInitiated),
      fetches: WorkQueue(label: "photod.fetch", workers: 1, limit: Self.maximumFetches, qos: .userInitiated),
      batches: WorkQueue(label: "photod.batch", workers: cores, limit: .max, qos: .userInitiated),
      changes: WorkQueue(
        label: "photod.change", workers: 1, limit: settings.changes.queueLength, qos: .userInitiated),
      // At most two workers per core: each one waits for the disk.
      uploads: WorkQueue(
        label: "photod.upload", workers: min(settings.uploads.limits.concurrent, 2 * cores), limit: .max,
        qos: .userInitiated),
      // Each worker may wait for the disk; a few disk reads at a time are enough to keep a disk busy. A part of an
      // archive may need the checksum of a whole file, so archives alone can't take all workers.
      fileReads: WorkQueue(
        label: "photod.file", workers: max(Self.minimumFileReaders, 2 * cores) + settings.archives.concurrent,
        limit: .max, qos: .userInitiated),
      archivePlans: WorkQueue(
        label: "photod.archive", workers: 1, limit: settings.archives.concurrent, qos: .utility),
      // With a higher priority than renders. A longer queue of scrapes would be useless.
      scrapes: WorkQueue(label: "photod.metrics", workers: 1, limit: Self.maximumScrapes, qos: .userInitiated))
  }
}
