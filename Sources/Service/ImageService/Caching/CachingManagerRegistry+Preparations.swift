// Scheduling of preparations: a few run at a time, and managers take turns (round robin).

import Dispatch
import PhotoModel

extension CachingManagerRegistry {
  /// Continues after entries or frames were released.
  func roomFreed() {
    var room = dependencies.cache.pinnedCapacityBytes - dependencies.cache.pinnedByteCount
    for manager in roundRobin { room = manager.retryLeftOut(room) }
    startNextPreparations()
  }

  /// Starts the next preparations, one manager after the other.
  func startNextPreparations() {
    dispatchPrecondition(condition: .onQueue(queue))
    var passed = 0
    while activePreparations < maximumPreparations, passed < roundRobin.count {
      let manager = roundRobin.removeFirst()
      roundRobin.append(manager)
      let hasBegun = manager.startNext { asset, request, withoutOriginal, entry in
        begin(asset, request, withoutOriginal, entry, of: manager)
      }
      passed = hasBegun ? 0 : passed + 1
    }
  }

  private func begin(
    _ asset: Asset, _ request: ImageRequest, _ withoutOriginal: Bool, _ entry: CachingManager.EntryKey,
    of manager: CachingManager
  ) -> Preparation {
    activePreparations += 1
    let instanceID = manager.instanceID
    let managerKey = managerKey(of: manager)
    return images.prepare(asset, request, owner: manager.owner.name, withoutOriginal: withoutOriginal) {
      [self] preparation, outcome in
      queue.async { [self] in
        activePreparations -= 1
        if let manager = managers[managerKey], manager.instanceID == instanceID {
          manager.preparationEnded(entry, preparation, outcome)
        }
        startNextPreparations()
      }
    }
  }
}
