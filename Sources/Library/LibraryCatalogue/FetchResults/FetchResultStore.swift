// Fetch results that clients hold by name, and transient collections. Both are leased, limited in number and bytes, and
// visible only to their owner.

import PhotoModel

package struct FetchResultStore: Sendable {
  package struct Limits: Sendable {
    /// The maximum number of fetch results, and separately of transient collections.
    package var handles = 1024
    /// The same limit for one caller.
    package var handlesPerCaller = 512
    /// The maximum bytes of fetch results and transient collections together. One caller may use half of them. A fetch
    /// result takes ``FetchResult/bytesPerAsset`` for each asset.
    package var bytes = 128 << 20
    package var lease = Duration.seconds(300)
    /// The maximum number of assets of a transient collection, or of collections of a transient list.
    package var transientAssets = 100_000

    package init() {}
  }

  /// A collection, or a list of collections, that is not saved in the library and exists only while it is leased.
  package struct TransientCollection: Sendable {
    package let title: String?
    /// The row numbers of its assets, each at most once; empty for a list of collections.
    package let rows: [UInt32]
    /// The members of a list of collections, each at most once; `nil` for a collection of assets.
    package let collections: [LocalIdentifier]?
    /// The scopes needed to read the fetch results that the rows were copied from, if any.
    package let neededScopes: Set<Scope>

    package init(title: String?, rows: [UInt32], neededScopes: Set<Scope> = []) {
      self.title = title
      self.rows = rows
      self.neededScopes = neededScopes
      collections = nil
    }

    package init(title: String?, collections: [LocalIdentifier]) {
      self.title = title
      rows = []
      self.collections = collections
      neededScopes = []
    }

    /// Whether a principal may read the places and names that the list depends on.
    package func isReadable(by principal: Principal) -> Bool { principal.mayRead(needing: neededScopes) }

    /// Bytes for each member of a list, with the heap memory of its identifier.
    private static let bytesPerCollection = 96

    var bytes: Int {
      256 + (title?.utf8.count ?? 0) + rows.count * MemoryLayout<UInt32>.stride
        + (collections?.count ?? 0) * Self.bytesPerCollection
    }
  }

  package let limits: Limits
  /// The fetch results, over assets and over collections.
  package let handles: LeaseTable<any LeasedFetchResult>
  package let transientCollections: LeaseTable<TransientCollection>
  private let budget: LeaseBudget

  package init(limits: Limits, now: @escaping @Sendable () -> ContinuousClock.Instant = { .now }) {
    self.limits = limits
    budget = LeaseBudget(capacityBytes: limits.bytes)
    handles = LeaseTable(
      limit: limits.handles, limitPerOwner: limits.handlesPerCaller, budget: budget, lease: limits.lease, now: now)
    transientCollections = LeaseTable(
      limit: limits.handles, limitPerOwner: limits.handlesPerCaller, budget: budget, lease: limits.lease, now: now)
  }

  /// The maximum number of assets that a new fetch result of a caller can have now.
  package func assetCapacity(for owner: Principal) -> Int {
    budget.share(of: owner).availableBytes / FetchResult.bytesPerAsset
  }

  /// The maximum number of collections that a new fetch result of a caller can have now.
  package func collectionCapacity(for owner: Principal) -> Int {
    budget.share(of: owner).availableBytes / CollectionFetchResult.bytesPerCollection
  }

  package func keep(
    _ result: any LeasedFetchResult, owner: Principal
  ) throws(LeaseTable<any LeasedFetchResult>.Refusal) -> String {
    // The list's bytes are reserved once for all results that share it, until the last of them is freed.
    try reserve(result, owner: owner)
    return try handles.keep(result, bytes: result.ownBytes, owner: owner)
  }

  /// Reserves memory for a result without a name, held while that result or another one with the same list exists.
  package func reserve(
    _ result: any LeasedFetchResult, owner: Principal
  ) throws(LeaseTable<any LeasedFetchResult>.Refusal) {
    do throws(LeaseBudget.BudgetExceeded) {
      try result.reserve(in: budget.share(of: owner))
    } catch {
      throw LeaseTable<any LeasedFetchResult>.Refusal(error)
    }
  }

  /// The oldest state that a leased fetch result over assets was read from; `nil` if there is none. Results over
  /// collections need no history.
  package var oldestChangeToken: ChangeToken? {
    handles.values.compactMap { ($0 as? FetchResult)?.changeToken }.min()
  }

  /// Keeps the new result that the changes of a leased result led to. Repeated requests take no further memory: if
  /// nothing changed, the leased result itself is returned, and a repeated request for the same state gets the same
  /// successor.
  ///
  /// - Parameters:
  ///   - after: the result of ``Catalogue/changes(of:mayReadAll:atMost:deadline:for:)``.
  ///   - name: the name of `result`, whose changes were requested.
  /// - Returns: the name of the result after the changes, and that result.
  package func keep(
    _ after: any LeasedFetchResult, after result: any LeasedFetchResult, named name: String, owner: Principal
  ) throws(LeaseTable<any LeasedFetchResult>.Refusal) -> (name: String, result: any LeasedFetchResult) {
    if after === result { return (name, result) }
    if let successor = result.successor, let known = handles.value(successor, owner: owner),
      known.hasSameState(as: after)
    {
      return (successor, known)
    }
    let successor = try keep(after, owner: owner)
    result.successor = successor
    return (successor, after)
  }

  package func keep(
    _ collection: TransientCollection, owner: Principal
  ) throws(LeaseTable<TransientCollection>.Refusal) -> String {
    try transientCollections.keep(collection, bytes: collection.bytes, owner: owner)
  }

  /// Ends the leases that were not renewed in time. Call it periodically.
  package func expire() {
    handles.expire()
    transientCollections.expire()
  }

  /// Ends the leases of callers that can no longer use them. Call it periodically.
  ///
  /// - Parameter isAdmitted: whether a caller, by the name of its principal, can still send requests.
  package func endAll(unlessAdmitted isAdmitted: (String) -> Bool) {
    handles.endAll(unlessAdmitted: isAdmitted)
    transientCollections.endAll(unlessAdmitted: isAdmitted)
  }
}
