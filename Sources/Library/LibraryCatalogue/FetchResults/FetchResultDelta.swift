/// The changes of a fetch result, and the new result with the current objects of its fetch.
package struct ListDelta<List: Sendable>: Sendable {
  /// `nil` if there are too many changes, or the history no longer reaches back to the old result.
  package let details: FetchResultChangeDetails?
  /// The same object if nothing changed. It shares the old result's list if only properties of assets changed.
  package let after: List

  package init(details: FetchResultChangeDetails?, after: List) {
    self.details = details
    self.after = after
  }
}

package typealias FetchResultDelta = ListDelta<FetchResult>
package typealias CollectionFetchResultDelta = ListDelta<CollectionFetchResult>
