import PhotoModel
import PhotoPredicate

/// What a fetch of assets asks for: PHFetchOptions, and where to look.
package struct AssetFetch: Sendable, Hashable {
  package var scope = AssetScope.library
  /// Read for the principal that fetches: it names no key that this one may not.
  package var predicate: FetchPredicate?
  /// `nil`: in the order of the scope.
  package var sort: FetchSortDescriptors?
  /// At most so many in all, however many pages; `nil`: all.
  package var fetchLimit: Int?
  package var includesHidden = false
  package var includesAllBurstAssets = false

  package init() {}

  /// Whether it may have to look at every asset: then it has a deadline, and a line of its own. What has an index of its own
  /// is not free, however large the library.
  package var isFree: Bool { FetchPlan(self).isFree }
}

/// A page of a fetch.
package struct FetchPageRequest: Sendable, Hashable {
  /// At least 1.
  package var limit: Int
  /// Where the page before ended.
  package var cursor: String?
  package var deadline: ContinuousClock.Instant?

  package init(limit: Int, cursor: String? = nil, deadline: ContinuousClock.Instant? = nil) {
    self.limit = limit
    self.cursor = cursor
    self.deadline = deadline
  }
}

/// Properties of many assets, each in an array of its own; all are of one length.
package struct AssetColumns: Sendable {
  package var localIdentifiers: [String] = []
  /// Width by height of the upright picture.
  package var aspectRatios: [Double] = []
  /// Milliseconds since 1970.
  package var creationDates: [Int64] = []
  package var isFavorites: [Bool] = []
  /// ThumbHashes, base64; `nil` where there is none.
  package var placeholders: [String?] = []
  package var nextCursor: String?
  package var changeToken = ""

  package var count: Int { localIdentifiers.count }
}

/// How many assets are of a day, a month or a year (UTC).
package struct DateBucket: Sendable, Hashable {
  package enum Unit: String, Sendable, Hashable, CaseIterable { case day, month, year }

  /// The first day: `2024-05-06`, or the month or year: `2024-05`, `2024`.
  package var name: String
  package var count: Int
}
