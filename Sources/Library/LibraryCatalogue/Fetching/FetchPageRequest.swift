import PhotoModel

/// A page of a fetch.
package struct FetchPageRequest: Sendable, Hashable {
  /// At least 1.
  package var limit: Int
  /// The cursor that the previous page returned.
  package var cursor: PageCursor?
  package var deadline: ContinuousClock.Instant?
  /// Whether the page also has the number of assets of the whole fetch.
  package var includesCount = false

  package init(limit: Int, cursor: PageCursor? = nil, deadline: ContinuousClock.Instant? = nil) {
    self.limit = limit
    self.cursor = cursor
    self.deadline = deadline
  }
}
