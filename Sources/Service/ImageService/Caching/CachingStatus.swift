import PhotoModel

/// The state of a caching manager, as shown to its owner or to an administrator.
package struct CachingStatus: Sendable, Hashable {
  /// `default` only for its owner: administrators see the manager's name.
  package let id: String
  /// The client whose `default` manager it is.
  package let client: String?
  package let lease: Duration
  package let allowsHighQuality: Bool
  /// Entries that are kept or about to be: `ready` plus `pending`.
  package var pinned: Int { ready + pending }
  package internal(set) var ready = 0
  package internal(set) var pending = 0
  /// Wanted entries that are not prepared: during a fling, for lack of room, or because the frame can't be made.
  package internal(set) var leftOut = 0
  /// Bytes of the ready frames.
  package internal(set) var bytes = 0
  package let counts: CachingState.Counts
  package internal(set) var window: WindowStatus?
}

/// The result of moving a window.
package struct WindowStatus: Sendable, Hashable {
  /// The positions that the window covers.
  package let range: Range<Int>
  package internal(set) var ready = 0
  package internal(set) var pending = 0
  package let quality: PreheatWindow.Quality

  /// Positions of the range that are not prepared.
  package var leftOut: Int { range.count - ready - pending }
}

extension CachingStatus {
  /// - Parameter state: with its uses recorded.
  init(id: String, client: String?, lease: Duration, _ state: CachingState) {
    self.init(
      id: id, client: client, lease: lease, allowsHighQuality: state.allowsHighQuality, counts: state.counts)
    leftOut = state.window?.cutCount ?? 0
    for entry in state.entries.values {
      if case .ready(let frame, _) = entry.state {
        ready += 1
        bytes += frame.cost
      } else if entry.isWanted && !entry.state.isPending {
        leftOut += 1
      }
    }
    pending = state.pendingCount
    window = state.windowStatus
  }
}

extension CachingState {
  /// Number of entries that wait or are being prepared. Linear.
  package var pendingCount: Int { entries.values.count { $0.state.isPending } }

  package var windowStatus: WindowStatus? {
    guard let window, let plan = window.plan else { return nil }
    var status = WindowStatus(range: plan.range, quality: allowsHighQuality ? plan.quality : .reduced)
    for position in plan.range {
      guard let asset = window.assets[position] ?? nil,
        let entry = entries[EntryKey(asset: asset.localIdentifier, options: window.options)], entry.isInWindow
      else { continue }
      if entry.state.isPending { status.pending += 1 }
      if case .ready = entry.state { status.ready += 1 }
    }
    return status
  }
}
