// Collections as clients see them. What a list of them needs is read off counters and the ends of indexes, so that a
// million assets cost no more than ten.

import GRDB
import PhotoModel

extension Catalogue: CollectionSource {
  package func collections(
    _ query: CollectionQuery, for principal: Principal
  ) throws(AssetSourceError) -> CollectionPage {
    try collections(CollectionFetch(query), deadline: nil, for: principal)
  }

  /// Those that fulfil a predicate, in an order: all of the kind that is asked for are looked at, one by one.
  ///
  /// - Throws: `malformedCursor` for a cursor of another order, `queryTooExpensive` at the deadline.
  package func collections(
    _ fetch: CollectionFetch, deadline: ContinuousClock.Instant?, for principal: Principal
  ) throws(AssetSourceError) -> CollectionPage {
    try read(for: principal) { db, part in
      try FetchDeadline.run(deadline, on: db) {
        let list = try CollectionReader(db, fetch.query, principal, part).list()
        return try fetch.page(of: list, deadline: deadline, seal)
      }
    }
  }

  package func collection(
    _ identifier: LocalIdentifier, _ query: CollectionQuery, for principal: Principal
  ) throws(AssetSourceError) -> AssetCollection? {
    try read(for: principal) { db, part in try CollectionReader(db, query, principal, part).collection(identifier) }
  }

  /// Where the assets of a collection are; `nil`: there is none of that name, or it holds collections.
  package func scope(
    of identifier: LocalIdentifier, for principal: Principal
  ) throws(AssetSourceError) -> AssetScope? {
    try read(for: principal) { db, part in
      try CollectionReader(db, CollectionQuery(), principal, part).scope(of: identifier)
    }
  }
}
