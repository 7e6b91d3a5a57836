// Shared by all routes that query the library: the queues for queries, the fetch deadline, and what happens if the
// catalogue can't be read.

import HTTPCore
import ImageService
import LibraryCatalogue
import Logging
import PhotoModel

struct QueryService: Sendable {
  static let cacheControl = "private, max-age=0, must-revalidate"

  /// Its methods block while SQLite works, so never call them on a connection's queue.
  let library: Catalogue
  /// Converts the library's change tokens and cursors to and from the text that clients see.
  let tokens: TokenCodec
  let results: FetchResultStore
  /// Knows which originals are in the cloud.
  let originals: OriginalStore
  /// Maximum duration of a fetch, from its start.
  let timeLimit: Duration
  /// Queue for lookups in the catalogue.
  let lookups: WorkQueue
  /// Queue for work that may read every asset.
  let fetches: WorkQueue
  let logger: Logger

  /// Queries the library. Its errors are logged and mapped to problems.
  func run<Value>(_ query: (Catalogue) throws(AssetSourceError) -> Value) throws(Problem) -> Value {
    do throws(AssetSourceError) {
      return try query(library)
    } catch {
      log(error)
      throw Problem(error)
    }
  }

  /// Logs an error of the catalogue, unless the request is its cause.
  func log(_ error: AssetSourceError) {
    switch error {
    case .catalogueFailed(let reason):
      logger.error("catalogue failed", metadata: ["error": "\(reason)"])
    case .storageFailed(.busy, let reason):
      logger.warning("catalogue busy", metadata: ["error": "\(reason)"])
    case .storageFailed(let fault, let reason):
      logger.error("catalogue failed", metadata: ["error": "\(reason)", "fault": "\(fault)"])
    case .malformedCursor, .noSuchCollection, .queryTooExpensive, .tooManyAssets, .noSuchAsset, .issuerLostAccess: break
    }
  }

  /// An asset that the principal may see.
  ///
  /// - Throws: 404 if there is none.
  func asset(_ identifier: LocalIdentifier, _ principal: Principal) throws(Problem) -> Asset {
    let asset = try run { library throws(AssetSourceError) in try library.asset(identifier, for: principal) }
    guard let asset else { throw .assetNotFound }
    return asset
  }

  /// An asset as clients see it.
  func json(_ asset: Asset, fields: AssetFields? = nil) -> AssetJSON {
    AssetJSON(asset, tokens, isInCloud: originals.isInCloud(asset.original), fields: fields)
  }

  /// The deadline of a fetch that starts now.
  var deadline: ContinuousClock.Instant { .now + timeLimit }

  /// A fetch result of the principal, or of any owner if the principal sees all owners. Renews the lease only for the
  /// owner. `nil` if there is none, or if the principal may not read the places and names that it depends on.
  func leasedFetchResult(_ id: String, _ principal: Principal) -> (any LeasedFetchResult)? {
    guard let result = results.handles.value(id, owner: principal, includingOtherOwners: principal.seesAllOwners)
    else { return nil }
    return result.isReadable(by: principal) ? result : nil
  }

  /// A fetch result over assets or collections. Throws 404.
  func anyFetchResult(_ id: String, _ principal: Principal) throws(Problem) -> any LeasedFetchResult {
    guard let result = leasedFetchResult(id, principal) else { throw .fetchResultNotFound }
    return result
  }

  /// A fetch result over assets. Throws 404, and 400 for one over collections.
  func fetchResult(_ id: String, _ principal: Principal) throws(Problem) -> FetchResult {
    guard let result = try anyFetchResult(id, principal) as? FetchResult else { throw .fetchResultOfCollections }
    return result
  }

  /// A fetch result over collections. Throws 404, and 400 for one over assets.
  func collectionFetchResult(_ id: String, _ principal: Principal) throws(Problem) -> CollectionFetchResult {
    guard let result = try anyFetchResult(id, principal) as? CollectionFetchResult else {
      throw .fetchResultOfAssets
    }
    return result
  }

  /// A transient collection of the principal, or of any owner if the principal sees all owners. Renews the lease only
  /// for the owner. `nil` if there is none, or if the principal may not read the places and names that it depends on.
  func transientCollection(
    _ identifier: LocalIdentifier, _ principal: Principal
  ) -> FetchResultStore.TransientCollection? {
    let collection = results.transientCollections.value(
      identifier.rawValue, owner: principal, includingOtherOwners: principal.seesAllOwners)
    guard let collection, collection.isReadable(by: principal) else { return nil }
    return collection
  }

  /// Whether the principal may read a transient collection with that name. Renews no lease.
  func hasTransientCollection(_ identifier: LocalIdentifier, _ principal: Principal) -> Bool {
    let collection = results.transientCollections.valueWithoutRenewal(
      identifier.rawValue, owner: principal, includingOtherOwners: principal.seesAllOwners)
    return collection?.isReadable(by: principal) ?? false
  }

  /// Limits a fetch to the assets of a collection. Throws 404.
  func limit(
    _ fetch: inout AssetFetch, to identifier: LocalIdentifier, _ principal: Principal
  ) throws(Problem) {
    if let transient = transientCollection(identifier, principal) {
      guard transient.collections == nil else { throw .collectionNotFound }
      return transient.limit(&fetch)
    }
    guard
      let scope = try run({ library throws(AssetSourceError) in try library.scope(of: identifier, for: principal) })
    else {
      throw .collectionNotFound
    }
    fetch.scope = scope
  }

  /// The path of the next page: the same request with a new cursor. The rest of the query is as it was sent, because
  /// encoding it again could make it longer than a request line may be. The path has one slash between components:
  /// `//v1` would name a host (RFC 3986 §4.2).
  func nextPagePath(_ target: RequestTarget, cursor: PageCursor) -> String {
    "/" + target.path.split(separator: "/").joined(separator: "/") + "?"
      + target.queryReplacing("cursor", with: tokens.text(of: cursor))
  }
}
