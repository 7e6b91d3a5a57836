/// What became of a fetch result, and the result that lists what its fetch gives now.
package struct FetchResultDelta: Sendable {
  /// `nil`: there are too many changes to be told one by one, or they were too long ago.
  package let details: FetchResultChangeDetails?
  /// The same object where nothing of it has changed. It shares the old one's list where that is still the same.
  package let after: FetchResult

  init(details: FetchResultChangeDetails?, after: FetchResult) {
    self.details = details
    self.after = after
  }
}
