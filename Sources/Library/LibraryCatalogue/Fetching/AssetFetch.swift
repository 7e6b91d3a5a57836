import PhotoModel
import PhotoPredicate

/// A fetch of assets: PHFetchOptions, and the scope to search.
package struct AssetFetch: Sendable, Hashable {
  package var scope = AssetScope.library
  /// The scopes needed to read the fetch results that the rows of `scope` were copied from, if any.
  package var scopesOfRows: Set<Scope> = []
  /// The parser has already rejected keys that the fetching principal may not use.
  package var predicate: FetchPredicate?
  /// The words that assets must have, in addition to the predicate.
  package var search: AssetSearch?
  /// `nil`: the order of the scope.
  package var sort: FetchSortDescriptors?
  /// The maximum number of assets over all pages; `nil`: no limit.
  package var fetchLimit: Int?
  package var includesHidden = false
  package var includesAllBurstAssets = false

  package init() {}

  /// Approximate memory in bytes.
  var bytes: Int {
    var bytes = 512 + (predicate?.bytes ?? 0) + (search?.bytes ?? 0)
    if case .rows(let rows) = scope { bytes += rows.count * MemoryLayout<UInt32>.stride }
    return bytes
  }

  /// Whether a principal may run the fetch and see its results: it may read the places and names that they depend on.
  package func isReadable(by principal: Principal) -> Bool { principal.mayRead(needing: neededScopes) }

  /// The scopes of the places and names that the predicate, the search and the sort order use, and the rows depend on.
  package var neededScopes: Set<Scope> {
    var scopes = scopesOfRows
    if usesLocations { scopes.insert(.location) }
    if search?.includesNames == true { scopes.insert(.people) }
    return scopes
  }

  private var usesLocations: Bool {
    predicate?.needsLocationScope ?? false || search?.includesPlaces ?? false
      || sort?.descriptors.contains { $0.key.needsLocationScope } ?? false
  }

  /// Whether the fetch has neither a predicate nor a search.
  package var isUnfiltered: Bool { predicate == nil && search == nil }

  /// Whether the fetch of a principal may have to read every asset. Such fetches have a deadline and a queue of their
  /// own. Fetches that an index answers are cheap however large the library is.
  package func needsFullScan(for principal: Principal) -> Bool {
    let search = SearchAccess(estimating: self, isWhole: principal.visibility == .everything)
    return FetchPlan(self, search: search).needsFullScan
  }
}

extension FetchPredicate {
  /// Approximate memory in bytes. A comparison counts its key (with the shared list of enumeration cases) and its
  /// values.
  var bytes: Int {
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
    case .strings(let texts): texts.reduce(64) { $0 + 64 + $1.utf8.count }
    case .boolean, .integer, .real, .date: 32
    }
  }
}
