// Creates fetch results over collections, and computes their changes.
//
//     fetch -> the whole list, read again -> identifiers and fingerprints
//     -> with those of the old list: FetchResultChangeDetails
//
// The list is read again whenever the library has changed for the principal, because it is short compared with a list
// of assets, and most changes affect the counts, dates or key assets of some collections.

import GRDB
import PhotoModel

extension Catalogue {
  /// The longest list of collections that is read again without `mayReadAll`.
  private static let shortCollectionListLimit = 200
  /// The number of collections read at a time.
  private static let readSize = 256

  /// The list of a fetch of collections.
  ///
  /// - Parameter limit: the maximum number of collections.
  /// - Throws: `noSuchCollection` if the parent does not exist, `noSuchAsset` for the asset that the collections must
  ///   contain, `tooManyAssets` for a longer list, and `queryTooExpensive` at the deadline.
  package func collectionFetchResult(
    _ fetch: CollectionFetch, atMost limit: Int, deadline: ContinuousClock.Instant?, for principal: Principal
  ) throws(AssetSourceError) -> CollectionFetchResult {
    try read(for: principal, before: deadline) { db, library in
      let members = try Self.members(of: fetch, atMost: limit, deadline, for: principal, library, db)
      guard let members else { throw AssetSourceError.tooManyAssets(limit: limit) }
      return CollectionFetchResult(
        members, changeToken: try Self.visibleToken(db, library, principal), fetch: fetch,
        needsLocationScope: fetch.listsMoments && principal.may(.location))
    }
  }

  /// The changes of a fetch result over collections since the state that it was read from. If the parent, or the asset
  /// that the collections must contain, no longer exists, the new list is empty.
  ///
  /// - Parameters:
  ///   - mayReadAll: whether a list may be read again that is long or whose fetch needs all collections. Without
  ///     permission, the result is `nil` for such a list.
  ///   - limit: the maximum number of collections in the new list.
  /// - Throws: `tooManyAssets`, and `queryTooExpensive` at the deadline.
  package func changes(
    of result: CollectionFetchResult, mayReadAll: Bool, atMost limit: Int, deadline: ContinuousClock.Instant?,
    for principal: Principal
  ) throws(AssetSourceError) -> CollectionFetchResultDelta? {
    try read(for: principal, before: deadline) { db, library in
      let changeToken = try Self.visibleToken(db, library, principal)
      // Moments are recomputed after the assets have changed, and this creates no token.
      if changeToken == result.changeToken, !result.fetch.listsMoments {
        return CollectionFetchResultDelta(details: FetchResultChangeDetails(), after: result)
      }
      if !mayReadAll, result.fetch.needsFullScan || result.count > Self.shortCollectionListLimit { return nil }
      let most = mayReadAll ? limit : min(limit, Self.shortCollectionListLimit)
      var members: [CollectionFetchResult.Member]?
      do {
        members = try Self.members(of: result.fetch, atMost: most, deadline, for: principal, library, db)
      } catch AssetSourceError.noSuchCollection {
        members = []
      } catch AssetSourceError.noSuchAsset {
        members = []
      }
      guard let members else {
        if mayReadAll || most == limit { throw AssetSourceError.tooManyAssets(limit: limit) }
        return nil
      }
      if members == result.members {
        result.advance(to: changeToken)
        return CollectionFetchResultDelta(details: FetchResultChangeDetails(), after: result)
      }
      return CollectionFetchResultDelta(
        details: FetchResultChangeDetails(from: result.members, to: members),
        after: CollectionFetchResult(
          members, changeToken: changeToken, fetch: result.fetch, needsLocationScope: result.needsLocationScope))
    }
  }

  /// Collections by identifier, with the filters of a query for their counts, dates and key assets. `nil` for one that
  /// does not exist or that the principal may not see.
  package func collections(
    named identifiers: [LocalIdentifier], _ query: CollectionQuery, deadline: ContinuousClock.Instant?,
    for principal: Principal
  ) throws(AssetSourceError) -> [AssetCollection?] {
    try read(for: principal, before: deadline) { db, library in
      let reader = CollectionReader(db, query, principal, library)
      return try identifiers.map { identifier in
        if let deadline, ContinuousClock.now >= deadline { throw AssetSourceError.queryTooExpensive }
        return try reader.collection(identifier)
      }
    }
  }

  /// A page of a list whose members are given: a transient list of collections. Those that no longer exist are left
  /// out.
  package func collections(
    _ fetch: CollectionFetch, among identifiers: [LocalIdentifier], deadline: ContinuousClock.Instant?,
    for principal: Principal
  ) throws(AssetSourceError) -> CollectionPage {
    try read(for: principal, before: deadline) { db, library in
      let reader = CollectionReader(db, fetch.query, principal, library)
      return try fetch.page(of: reader.list(of: identifiers), isInOrder: false, deadline: deadline)
    }
  }

  /// The number of these collections that exist for a principal.
  package func collectionCount(
    among identifiers: [LocalIdentifier], _ query: CollectionQuery, deadline: ContinuousClock.Instant?,
    for principal: Principal
  ) throws(AssetSourceError) -> Int {
    try read(for: principal, before: deadline) { db, library in
      let reader = CollectionReader(db, query, principal, library)
      var count = 0
      for identifier in identifiers {
        if let deadline, ContinuousClock.now >= deadline { throw AssetSourceError.queryTooExpensive }
        if try reader.exists(identifier) { count += 1 }
      }
      return count
    }
  }

  /// `nil` if there are more than `limit`.
  private static func members(
    of fetch: CollectionFetch, atMost limit: Int, _ deadline: ContinuousClock.Instant?, for principal: Principal,
    _ library: LibraryID, _ db: Database
  ) throws -> [CollectionFetchResult.Member]? {
    let list = try CollectionReader(db, fetch.query, principal, library).list(momentOrder: fetch.momentOrder)
    let isInOrder = fetch.momentOrder != nil
    var fetch = fetch
    fetch.query.cursor = nil
    // A page of a sorted list reads the whole list.
    fetch.query.limit = fetch.sort == nil || isInOrder ? readSize : limit + 1
    var members: [CollectionFetchResult.Member] = []
    repeat {
      let page = try fetch.page(of: list, isInOrder: isInOrder, deadline: deadline)
      members += page.collections.map(CollectionFetchResult.Member.init)
      if members.count > limit { return nil }
      fetch.query.cursor = page.nextCursor
    } while fetch.query.cursor != nil
    return members
  }
}

extension CollectionReader {
  /// The list of given collections, in the given order.
  fileprivate func list(of identifiers: [LocalIdentifier]) -> CollectionPager {
    { limit, cursor in
      _ = try cursor?.fields(1)
      var position = max(0, try cursor.map { Int(clamping: try $0.integer(0)) } ?? 0)
      var found: [CollectionListItem] = []
      while found.count < limit, position < identifiers.count {
        let identifier = identifiers[position]
        position += 1
        guard let collection = try collection(identifier), query.type.map({ $0 == collection.type }) ?? true,
          query.subtype.map({ $0 == collection.subtype }) ?? true
        else { continue }
        found.append(CollectionListItem(collection: collection, cursor: PageCursor([.integer(Int64(position))])))
      }
      return found
    }
  }
}

extension CollectionFetch {
  /// Whether the list may contain moments, or months with their number of moments. Moments depend on locations and have
  /// no history.
  fileprivate var listsMoments: Bool {
    query.type == .moment || query.subtype == MomentList.monthSubtype
      || query.parent.map { MomentList($0) != nil } ?? false
  }
}
