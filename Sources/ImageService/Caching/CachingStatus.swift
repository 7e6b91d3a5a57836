import PhotoModel

/// A caching manager as its owner may see it.
package struct CachingStatus: Sendable, Hashable {
  package let id: String
  package let lease: Duration
  package let allowsHighQuality: Bool
  /// What it keeps, or is about to: `ready` and `pending` together.
  package var pinned: Int { ready + pending }
  package internal(set) var ready = 0
  package internal(set) var pending = 0
  /// What it was asked for and does not prepare: in a fling, for want of room, or because it can't be made.
  package internal(set) var leftOut = 0
  /// What the ready ones take.
  package internal(set) var bytes = 0
  /// Frames that it brought into memory, since it was made.
  package internal(set) var prepared = 0
  /// Of these, those that were asked for while it kept them, and those that it dropped unseen.
  package internal(set) var used = 0
  package internal(set) var wasted = 0
  /// Renders that were stopped half-way, for nobody wanted the frame any more; none of the prepared.
  package internal(set) var givenUp = 0
  package internal(set) var window: WindowStatus?

  /// The share of those that were asked for, of all whose lot is known; `nil`: of none it is.
  package var hitRate: Double? { used + wasted == 0 ? nil : Double(used) / Double(used + wasted) }
}

/// What became of a move of a window.
package struct WindowStatus: Sendable, Hashable {
  /// The positions that it covers.
  package let range: Range<Int>
  package internal(set) var ready = 0
  package internal(set) var pending = 0
  package let quality: PreheatWindow.Quality

  /// Positions of the range that are not prepared.
  package var leftOut: Int { range.count - ready - pending }
}

extension CachingManager {
  var status: CachingStatus {
    sweep()
    var status = CachingStatus(id: id, lease: lease, allowsHighQuality: allowsHighQuality)
    for entry in entries.values {
      switch entry.stage {
      case .waiting, .preparing: status.pending += 1
      case .ready(let frame, _):
        status.ready += 1
        status.bytes += frame.cost
      case .leftOut: status.leftOut += 1
      }
    }
    status.prepared = prepared
    status.used = used
    status.wasted = wasted
    status.givenUp = givenUp
    status.window = windowStatus
    return status
  }

  var windowStatus: WindowStatus? {
    guard let window, let plan = window.plan else { return nil }
    var status = WindowStatus(range: plan.range, quality: allowsHighQuality ? plan.quality : .reduced)
    for position in plan.range {
      guard let asset = window.assets[position] ?? nil,
        let entry = entries[Name(asset: asset.localIdentifier, options: window.options)], entry.isInWindow
      else { continue }
      switch entry.stage {
      case .waiting, .preparing: status.pending += 1
      case .ready: status.ready += 1
      case .leftOut: break
      }
    }
    return status
  }
}
