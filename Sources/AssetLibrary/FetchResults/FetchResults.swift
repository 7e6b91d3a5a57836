// Fetch results that clients hold by name, and collections that nobody saved: leased, bounded, each for its owner alone.

import PhotoModel

package struct FetchResults: Sendable {
  package struct Limits: Sendable {
    /// Handles at a time, and transient collections at a time.
    package var handles = 1024
    /// What all of both take; an asset of a handle takes ``FetchResult/bytesPerAsset``.
    package var bytes = 128 << 20
    package var lease = Duration.seconds(300)
    /// The assets of one transient collection.
    package var transientAssets = 100_000

    package init() {}
  }

  /// A collection that nobody saved.
  package struct TransientCollection: Sendable {
    package let title: String?
    /// Its assets' row numbers, each once.
    package let rows: [UInt32]

    package init(title: String?, rows: [UInt32]) {
      self.title = title
      self.rows = rows
    }

    var bytes: Int { 256 + (title?.utf8.count ?? 0) + rows.count * MemoryLayout<UInt32>.stride }
  }

  package let limits: Limits
  package let handles: LeaseTable<FetchResult>
  package let transients: LeaseTable<TransientCollection>
  private let room: MemoryBudget

  package init(limits: Limits, now: @escaping @Sendable () -> ContinuousClock.Instant = { .now }) {
    self.limits = limits
    room = MemoryBudget(capacityBytes: limits.bytes)
    handles = LeaseTable(limit: limits.handles, room: room, lease: limits.lease, now: now)
    transients = LeaseTable(limit: limits.handles, room: room, lease: limits.lease, now: now)
  }

  /// How many assets a handle that is made now may have.
  package var mostAssets: Int { max(0, room.capacityBytes - room.bytesInUse) / FetchResult.bytesPerAsset }

  package func keep(_ result: FetchResult, owner: Principal) throws(LeaseTable<FetchResult>.Refusal) -> String {
    // Once for all results that share it, and as long as anybody has one of them.
    try reserve(result)
    return try handles.keep(result, bytes: result.ownBytes, owner: owner)
  }

  /// Takes room for a result that has no name: for as long as anybody has it, or another that shares its list.
  package func reserve(_ result: FetchResult) throws(LeaseTable<FetchResult>.Refusal) {
    guard result.list.reserve(in: room) else { throw .tooLarge(limitBytes: room.capacityBytes) }
  }

  /// The oldest state that somebody holds a list of; `nil`: nobody holds any.
  package func oldestChangeToken(_ tokens: ChangeTokenText) -> ChangeToken? {
    handles.values.compactMap { tokens.token(of: $0.changeToken) }.min()
  }

  /// Keeps the result after changes of one that is kept already. Where nothing changed that is the same one, and who asks
  /// again in the same state gets what he got before; so asking fills no memory.
  ///
  /// - Parameters:
  ///   - after: what ``Catalogue/changes(of:mayReadAll:atMost:deadline:for:)`` gave.
  ///   - name: of `result`, which was asked about.
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
    try transients.keep(collection, bytes: collection.bytes, owner: owner)
  }

  /// Gives up what was not renewed: to be called now and then.
  package func expire() {
    handles.expire()
    transients.expire()
  }
}
