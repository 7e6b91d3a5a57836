import LibraryCatalogue

/// The services that change the library and report its changes.
package struct ChangeServices: Sendable {
  let catalogue: Catalogue
  let lists: ChangeListExecutor
  let streams: ChangeStreams

  package init(catalogue: Catalogue, lists: ChangeListExecutor, streams: ChangeStreams) {
    self.catalogue = catalogue
    self.lists = lists
    self.streams = streams
  }
}
