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
  /// Frames that the manager brought into memory since it was made.
  package internal(set) var prepared = 0
  /// Of the prepared frames, `used` were requested while the manager kept them; `wasted` were released without a
  /// request.
  package internal(set) var used = 0
  package internal(set) var wasted = 0
  /// Renders that were stopped because the frame was no longer wanted. Not included in `prepared`.
  package internal(set) var cancelled = 0
  package internal(set) var window: WindowStatus?

  /// Used frames divided by used and wasted frames; `nil` if there are neither.
  package var hitRate: Double? { used + wasted == 0 ? nil : Double(used) / Double(used + wasted) }
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
    self.init(id: id, client: client, lease: lease, allowsHighQuality: state.allowsHighQuality)
    for entry in state.entries.values {
      switch entry.state {
      case .waiting, .preparing, .awaitingOriginal, .downloading: pending += 1
      case .ready(let frame, _):
        ready += 1
        bytes += frame.cost
      case .leftOut: leftOut += 1
      }
    }
    leftOut += state.window?.cutCount ?? 0
    prepared = state.counts.prepared
    used = state.counts.used
    wasted = state.counts.wasted
    cancelled = state.counts.cancelled
    window = state.windowStatus
  }
}

extension CachingState {
  /// Number of entries that wait or are being prepared. Linear.
  package var pendingCount: Int {
    entries.values.count { entry in
      switch entry.state {
      case .waiting, .preparing, .awaitingOriginal, .downloading: true
      case .ready, .leftOut: false
      }
    }
  }

  package var windowStatus: WindowStatus? {
    guard let window, let plan = window.plan else { return nil }
    var status = WindowStatus(range: plan.range, quality: allowsHighQuality ? plan.quality : .reduced)
    for position in plan.range {
      guard let asset = window.assets[position] ?? nil,
        let entry = entries[EntryKey(asset: asset.localIdentifier, options: window.options)], entry.isInWindow
      else { continue }
      switch entry.state {
      case .waiting, .preparing, .awaitingOriginal, .downloading: status.pending += 1
      case .ready: status.ready += 1
      case .leftOut: break
      }
    }
    return status
  }
}
