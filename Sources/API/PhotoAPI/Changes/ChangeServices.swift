import ImageService
import LibraryCatalogue

/// The services that change the library and report its changes.
package struct ChangeServices: Sendable {
  let catalogue: Catalogue
  let lists: ChangeListExecutor
  let streams: ChangeStreams
  /// Serial queue that executes change lists.
  let queue: WorkQueue

  package init(catalogue: Catalogue, lists: ChangeListExecutor, streams: ChangeStreams, queue: WorkQueue) {
    self.catalogue = catalogue
    self.lists = lists
    self.streams = streams
    self.queue = queue
  }
}
