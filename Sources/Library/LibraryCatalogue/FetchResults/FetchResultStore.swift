// Fetch results that clients hold by name, and transient collections. Both are leased, limited in number and bytes, and
// visible only to their owner.

import PhotoModel
import Primitives

package struct FetchResultStore: Sendable {
  package struct Limits: Sendable {
    /// The maximum number of fetch results, and separately of transient collections.
    package var handles = 1024
    /// The maximum bytes of both together; a fetch result takes ``FetchResult/bytesPerAsset`` for each asset.
    package var bytes = 128 << 20
    package var lease = Duration.seconds(300)
    /// The maximum number of assets of a transient collection.
    package var transientAssets = 100_000

    package init() {}
  }

  /// A collection that is not saved in the library and exists only while it is leased.
  package struct TransientCollection: Sendable {
    package let title: String?
    /// The row numbers of its assets, each at most once.
    package let rows: [UInt32]

    package init(title: String?, rows: [UInt32]) {
      self.title = title
      self.rows = rows
    }

    var bytes: Int { 256 + (title?.utf8.count ?? 0) + rows.count * MemoryLayout<UInt32>.stride }
  }

  package let limits: Limits
  package let handles: LeaseTable<FetchResult>
  package let transientCollections: LeaseTable<TransientCollection>
  private let budget: ByteBudget

  package init(limits: Limits, now: @escaping @Sendable () -> ContinuousClock.Instant = { .now }) {
    self.limits = limits
    budget = ByteBudget(capacityBytes: limits.bytes)
    handles = LeaseTable(limit: limits.handles, budget: budget, lease: limits.lease, now: now)
    transientCollections = LeaseTable(limit: limits.handles, budget: budget, lease: limits.lease, now: now)
  }

  /// The maximum number of assets that a new fetch result can have now.
  package var assetCapacity: Int { max(0, budget.capacityBytes - budget.bytesInUse) / FetchResult.bytesPerAsset }

  package func keep(_ result: FetchResult, owner: Principal) throws(LeaseTable<FetchResult>.Refusal) -> String {
    // Reserved once for all results that share the list, until the last of them is freed.
    try reserve(result)
    return try handles.keep(result, bytes: result.ownBytes, owner: owner)
  }

  /// Reserves memory for a result without a name, held while that result or another one with the same list exists.
  package func reserve(_ result: FetchResult) throws(LeaseTable<FetchResult>.Refusal) {
    guard result.list.reserve(in: budget) else { throw .tooLarge(limitBytes: budget.capacityBytes) }
  }

  /// The oldest state that a leased fetch result was read from; `nil` if there is none.
  package var oldestChangeToken: ChangeToken? { handles.values.map(\.changeToken).min() }

  /// Keeps the result that follows from changes of a result that is already kept. If nothing changed it is the same
  /// result, and a repeated request for the same state gets the same successor, so repeated requests take no further
  /// memory.
  ///
  /// - Parameters:
  ///   - after: the result of ``Catalogue/changes(of:mayReadAll:atMost:deadline:for:)``.
  ///   - name: the name of `result`, whose changes were requested.
  /// - Returns: the name of the result after the changes, and that result.
  package func keep(
    _ after: FetchResult, after result: FetchResult, named name: String, owner: Principal
  ) throws(LeaseTable<FetchResult>.Refusal) -> (name: String, result: FetchResult) {
    if after === result { return (name, result) }
    if let successor = result.successor, let known = handles.value(successor, owner: owner),
      known.changeToken == after.changeToken
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
}
