import ImageService

/// The queues that requests run on. A queue without a limit has callers that are limited: by connections, or by a limit
/// of their own.
package struct APIQueues: Sendable {
  /// Catalogue lookups.
  package let lookups: WorkQueue
  /// Work that may read every asset, so that lookups do not wait for it. Serial: each fetch may use a core until its
  /// deadline.
  package let fetches: WorkQueue
  /// Responses with many images. Each one has at most one step in it.
  let batches: WorkQueue
  /// Serial: one change list at a time; transactions of scans run in between.
  let changes: WorkQueue
  /// Writes of uploaded files. Without a limit, because each piece of a body is work of its own: an upload that was
  /// admitted is never refused halfway. Each connection has at most one piece or request in it.
  let uploads: WorkQueue
  /// Reads of originals: for metadata, for previews, and while they are sent. Each connection has at most two steps in
  /// it.
  let fileReads: WorkQueue
  /// Opens all files of an archive; one plan at a time leaves the disk to others.
  let archivePlans: WorkQueue
  /// Builds the responses of `/metrics`.
  let scrapes: WorkQueue

  package init(
    lookups: WorkQueue, fetches: WorkQueue, batches: WorkQueue, changes: WorkQueue, uploads: WorkQueue,
    fileReads: WorkQueue, archivePlans: WorkQueue, scrapes: WorkQueue
  ) {
    self.lookups = lookups
    self.fetches = fetches
    self.batches = batches
    self.changes = changes
    self.uploads = uploads
    self.fileReads = fileReads
    self.archivePlans = archivePlans
    self.scrapes = scrapes
  }
}
