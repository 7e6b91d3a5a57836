/// The changes of a fetch result, and the result that lists the current assets of its fetch.
package struct FetchResultDelta: Sendable {
  /// `nil` if there are too many changes, or the history no longer reaches back to the old result.
  package let details: FetchResultChangeDetails?
  /// The same object if nothing changed. It shares the old result's list if only properties of assets changed.
  package let after: FetchResult

  init(details: FetchResultChangeDetails?, after: FetchResult) {
    self.details = details
    self.after = after
  }
}
