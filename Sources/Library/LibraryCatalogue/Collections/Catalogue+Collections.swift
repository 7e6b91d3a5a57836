// Reads of collections. Counts and dates come from stored counters and the ends of indexes, so their cost does not grow
// with the number of assets.

import GRDB
import PhotoModel

extension Catalogue {
  /// Smart albums and albums by position, moments and lists newest first. The cost depends on the limit and the number
  /// of albums, not on the number of assets.
  package func collections(
    _ query: CollectionQuery, for principal: Principal
  ) throws(AssetSourceError) -> CollectionPage {
    try collections(CollectionFetch(query), deadline: nil, for: principal)
  }

  /// A page of collections that match a predicate, in the requested order. With a sort order, all collections of the
  /// kind are read, except for moments by their start. With a predicate only, collections are read up to the end of the
  /// page.
  ///
  /// - Throws: `malformedCursor` for a cursor of another order, `queryTooExpensive` at the deadline.
  package func collections(
    _ fetch: CollectionFetch, deadline: ContinuousClock.Instant?, for principal: Principal
  ) throws(AssetSourceError) -> CollectionPage {
    try read(for: principal, before: deadline) { db, library in
      let list = try CollectionReader(db, fetch.query, principal, library).list(momentOrder: fetch.momentOrder)
      return try fetch.page(of: list, isInOrder: fetch.momentOrder != nil, deadline: deadline)
    }
  }

  /// The collection with that identifier; `nil` if it does not exist or the principal may not see it.
  package func collection(
    _ identifier: LocalIdentifier, _ query: CollectionQuery, for principal: Principal
  ) throws(AssetSourceError) -> AssetCollection? {
    try read(for: principal) { db, library in
      try CollectionReader(db, query, principal, library).collection(identifier)
    }
  }

  /// The scope of a collection's assets. `nil` if no collection has this identifier, or it contains collections.
  package func scope(
    of identifier: LocalIdentifier, for principal: Principal
  ) throws(AssetSourceError) -> AssetScope? {
    try read(for: principal) { db, library in
      try CollectionReader(db, CollectionQuery(), principal, library).scope(of: identifier)
    }
  }
}
