// Fetch results that clients hold by name, and collections that nobody saved: leased, bounded, each for its owner alone.

import PhotoModel

package struct FetchResults: Sendable {
  package struct Limits: Sendable {
    /// Handles at a time.
    package var handles = 1024
    /// What they take in all; an asset takes ``FetchResult/bytesPerAsset``.
    package var bytes = 128 << 20
    package var lease = Duration.seconds(300)
    /// Transient collections at a time, and the assets of one.
    package var transientCollections = 1024
    package var transientAssets = 100_000

    package init() {}
  }

  /// A collection that nobody saved.
  package struct TransientCollection: Sendable {
    package let title: String?
    package let rows: [Int64]

    package init(title: String?, rows: [Int64]) {
      self.title = title
      self.rows = rows
    }

    var bytes: Int { 64 + (title?.utf8.count ?? 0) + rows.count * 8 }
  }

  package let limits: Limits
  package let handles: LeaseTable<FetchResult>
  package let transients: LeaseTable<TransientCollection>

  package init(limits: Limits, now: @escaping @Sendable () -> ContinuousClock.Instant = { .now }) {
    self.limits = limits
    handles = LeaseTable(limit: limits.handles, limitBytes: limits.bytes, lease: limits.lease, now: now)
    transients = LeaseTable(
      limit: limits.transientCollections, limitBytes: limits.bytes, lease: limits.lease, now: now)
  }

  package func keep(
    _ collection: TransientCollection, owner: Principal
  ) throws(LeaseTable<TransientCollection>.Refusal) -> String {
    try transients.keep(collection, bytes: collection.bytes, owner: owner)
  }

  /// Gives up what was not renewed: to be called now and then.
  package func expire() {
    handles.expire()
    transients.expire()
  }
}
