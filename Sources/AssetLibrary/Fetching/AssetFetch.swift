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

  /// About what it takes in memory.
  package var bytes: Int {
    var bytes = 512 + (predicate?.bytes ?? 0)
    if case .rows(let rows) = scope { bytes += rows.count * MemoryLayout<UInt32>.stride }
    return bytes
  }

  /// Whether it names a place: it is nobody's who may not know places, nor is what was found by it.
  package var needsLocationScope: Bool {
    predicate?.needsLocationScope ?? false || sort?.descriptors.contains { $0.key.needsLocationScope } ?? false
  }

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

  package init() {}

  package var count: Int { localIdentifiers.count }
}

/// How many assets are of a day, a month or a year (UTC).
package struct DateBucket: Sendable, Hashable {
  package enum Unit: String, Sendable, Hashable, CaseIterable { case day, month, year }

  /// The first day: `2024-05-06`, or the month or year: `2024-05`, `2024`.
  package var name: String
  package var count: Int

  package init(name: String, count: Int) {
    self.name = name
    self.count = count
  }
}

extension FetchPredicate {
  /// About what it takes in memory: a comparison names its key, with all cases of an enumeration shared, and its values.
  fileprivate var bytes: Int {
    switch self {
    case .constant: 64
    case .not(let predicate): 64 + predicate.bytes
    case .and(let terms), .or(let terms): terms.reduce(64) { $0 + $1.bytes }
    case .comparison(let comparison):
      switch comparison.test {
      case .oneOf(let values): values.reduce(256) { $0 + $1.bytes }
      case .relation(_, let value): 256 + value.bytes
      case .between(let lower, let upper): 256 + lower.bytes + upper.bytes
      case .string(_, let text): 256 + text.utf8.count
      case .property, .isNil: 256
      }
    }
  }
}

extension PropertyValue {
  fileprivate var bytes: Int {
    switch self {
    case .string(let text), .name(let text): 64 + text.utf8.count
    case .boolean, .integer, .real, .date: 32
    }
  }
}
