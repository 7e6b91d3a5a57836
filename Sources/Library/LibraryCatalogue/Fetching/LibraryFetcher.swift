import PhotoModel

/// The read interface of the library for fetches. Calls block while SQLite works, so never call them on a connection's
/// queue.
package protocol LibraryFetcher: AssetSource {
  func hasPreparedLibrary(of principal: Principal) -> Bool
  func prepareLibrary(of principal: Principal) throws(AssetSourceError)
  func assets(
    _ fetch: AssetFetch, _ page: FetchPageRequest, for principal: Principal
  ) throws(AssetSourceError) -> AssetPage
  func columns(
    _ fetch: AssetFetch, _ page: FetchPageRequest, fields: Set<AssetColumns.Field>, for principal: Principal
  ) throws(AssetSourceError) -> AssetColumns
  func count(
    _ fetch: AssetFetch, deadline: ContinuousClock.Instant?, for principal: Principal
  ) throws(AssetSourceError) -> Int
  func summary(
    of fetch: AssetFetch, deadline: ContinuousClock.Instant?, for principal: Principal
  ) throws(AssetSourceError) -> FetchSummary
  func rows(
    _ fetch: AssetFetch, atMost limit: Int, deadline: ContinuousClock.Instant?, for principal: Principal
  ) throws(AssetSourceError) -> (rows: [UInt32], changeToken: ChangeToken)
  func dateBuckets(
    _ fetch: AssetFetch, by unit: DateBucket.Unit, deadline: ContinuousClock.Instant?, for principal: Principal
  ) throws(AssetSourceError) -> [DateBucket]
  func adjustedAsset(
    _ identifier: LocalIdentifier, for principal: Principal
  ) throws(AssetSourceError) -> AdjustedAsset?
  func assetFiles(
    of identifier: LocalIdentifier, includesSidecars: Bool, for principal: Principal
  ) throws(AssetSourceError) -> AssetFiles?
  func resources(
    of identifiers: [LocalIdentifier], for principal: Principal
  ) throws(AssetSourceError) -> [[AssetResource]]
  func scope(of identifier: LocalIdentifier, for principal: Principal) throws(AssetSourceError) -> AssetScope?
  func changes(
    of result: FetchResult, mayReadAll: Bool, atMost limit: Int, deadline: ContinuousClock.Instant?,
    for principal: Principal
  ) throws(AssetSourceError) -> FetchResultDelta?
  func members(_ rows: ArraySlice<UInt32>, for principal: Principal) throws(AssetSourceError) -> [FetchResultMember]
  func row(of identifier: LocalIdentifier, for principal: Principal) throws(AssetSourceError) -> UInt32?
  func rows(
    of identifiers: [LocalIdentifier], deadline: ContinuousClock.Instant?, for principal: Principal
  ) throws(AssetSourceError) -> [UInt32]
  /// The collection with that identifier; `nil` if it does not exist or the principal may not see it.
  func collection(
    _ identifier: LocalIdentifier, _ query: CollectionQuery, for principal: Principal
  ) throws(AssetSourceError) -> AssetCollection?
  func collections(
    _ fetch: CollectionFetch, deadline: ContinuousClock.Instant?, for principal: Principal
  ) throws(AssetSourceError) -> CollectionPage
  func collections(
    _ fetch: CollectionFetch, among identifiers: [LocalIdentifier], deadline: ContinuousClock.Instant?,
    for principal: Principal
  ) throws(AssetSourceError) -> CollectionPage
  func collections(
    named identifiers: [LocalIdentifier], _ query: CollectionQuery, deadline: ContinuousClock.Instant?,
    for principal: Principal
  ) throws(AssetSourceError) -> [AssetCollection?]
  func collectionFetchResult(
    _ fetch: CollectionFetch, atMost limit: Int, deadline: ContinuousClock.Instant?, for principal: Principal
  ) throws(AssetSourceError) -> CollectionFetchResult
  func changes(
    of result: CollectionFetchResult, mayReadAll: Bool, atMost limit: Int, deadline: ContinuousClock.Instant?,
    for principal: Principal
  ) throws(AssetSourceError) -> CollectionFetchResultDelta?
}

extension Catalogue: LibraryFetcher {}
