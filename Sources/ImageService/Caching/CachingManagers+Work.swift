// Whose turn it is: what waits in all managers is prepared a few at a time, one manager after the other.

import Dispatch
import PhotoModel

extension CachingManagers {
  /// Goes on where something was let go of.
  func thereMayBeRoom() {
    var room = tools.cache.pinnedCapacityBytes - tools.cache.pinnedByteCount
    for manager in turns { room = manager.tryAgain(room) }
    feed()
  }

  /// Begins what is next in line, one manager after the other.
  func feed() {
    dispatchPrecondition(condition: .onQueue(queue))
    var passed = 0
    while underWay < width, passed < turns.count {
      let manager = turns.removeFirst()
      turns.append(manager)
      let hasBegun = manager.beginNext { asset, request, onlyIfNearlyFree, entry in
        begin(asset, request, onlyIfNearlyFree, entry, of: manager)
      }
      passed = hasBegun ? 0 : passed + 1
    }
  }

  private func begin(
    _ asset: Asset, _ request: ImageRequest, _ onlyIfNearlyFree: Bool, _ entry: CachingManager.Name,
    of manager: CachingManager
  ) -> Preparation {
    underWay += 1
    let number = manager.number
    let name = name(of: manager)
    return images.prepare(asset, request, owner: manager.owner.name, onlyIfNearlyFree: onlyIfNearlyFree) {
      [self] preparation, outcome in
      queue.async { [self] in
        underWay -= 1
        if let manager = managers[name], manager.number == number { manager.ended(entry, preparation, outcome) }
        feed()
      }
    }
  }
}
