// The order of the work that waits in the render lane. Work that clients wait for goes first, then that of preheat
// windows, then background work. Within each of these levels, callers take turns (round robin), so that a caller with a
// thousand requests delays another one by a single render. While others wait, `JobTable.siblings` limits how many
// frames one render makes. The work of one caller goes by priority, and then by age.
//
// Priorities are compared only within one caller. Clients choose them, so a high priority must not overtake another
// caller's turn, and browsers differ: Firefox requests pictures with urgency 4 or 5, others with 1 to 3 or with none.

import DequeModule

struct RenderQueue {
  /// The place of a piece of work.
  struct Position: Equatable {
    let priority: ImagePriority
    let caller: String
    /// Its age: the smallest number is the oldest.
    let number: UInt64

    /// Whether it goes before other work of its level and caller.
    func precedes(_ other: Position) -> Bool {
      priority == other.priority ? number < other.number : priority > other.priority
    }
  }

  private struct Level {
    /// The callers that have work; the next one first.
    var turns: Deque<String> = []
    /// Each caller's work, the next one first. Never empty.
    var work: [String: Deque<Position>] = [:]

    /// The number of entries that would start before an entry at `position` if no more arrived. Linear in the callers,
    /// and in the work of the entry's caller.
    ///
    /// - Parameter former: the caller in whose queue the entry is now, if `position` is one that it could move to.
    func count(before position: Position, movedFrom former: String? = nil) -> Int {
      let own = work[position.caller]?.count { $0.precedes(position) } ?? 0
      let turn = turns.firstIndex(of: position.caller) ?? turns.count
      var count = own
      for (index, caller) in turns.enumerated() where caller != position.caller {
        let waiting = (work[caller]?.count ?? 0) - (caller == former ? 1 : 0)
        // Each round has one of each caller; the last round ends with this work.
        count += min(waiting, index < turn ? own + 1 : own)
      }
      return count
    }
  }

  /// Indexed by level; the highest level starts first.
  private var levels = Array(repeating: Level(), count: Self.level(of: .low) + 1)

  private static func level(of priority: ImagePriority) -> Int {
    (priority.isInteractive ? ImagePriority.low : priority).rawValue
  }

  /// The next work to start. It stays the next one until it starts or leaves, or until work arrives that is in a higher
  /// level, or goes before it in its caller's queue.
  var first: Position? {
    for level in levels.reversed() {
      guard let caller = level.turns.first, let position = level.work[caller]?.first else { continue }
      return position
    }
    return nil
  }

  /// All work, in the order in which it would start. Linear.
  var inOrder: [Position] {
    var order: [Position] = []
    for level in levels.reversed() {
      let rounds = level.work.values.map(\.count).max() ?? 0
      for round in 0..<rounds {
        for caller in level.turns {
          guard let work = level.work[caller], round < work.count else { continue }
          order.append(work[round])
        }
      }
    }
    return order
  }

  /// The callers that have work in the level of a priority, the next one first.
  func callers(at priority: ImagePriority) -> [String] { Array(levels[Self.level(of: priority)].turns) }

  /// Whether waiting work would start earlier in the turn of another caller. Linear in the callers and their work.
  func startsEarlier(_ position: Position, inTurnOf caller: String) -> Bool {
    if caller == position.caller { return false }
    let level = levels[Self.level(of: position.priority)]
    let other = Position(priority: position.priority, caller: caller, number: position.number)
    return level.count(before: other, movedFrom: position.caller) < level.count(before: position)
  }

  mutating func insert(_ position: Position) {
    let (index, caller) = (Self.level(of: position.priority), position.caller)
    if levels[index].work[caller] == nil { levels[index].turns.append(caller) }
    // Almost always the last one.
    let before = levels[index].work[caller]?.lastIndex { $0.precedes(position) }
    levels[index].work[caller, default: []].insert(position, at: before.map { $0 + 1 } ?? 0)
  }

  /// Removes work that has left. Linear in the work of its caller.
  mutating func remove(_ position: Position) {
    let (index, caller) = (Self.level(of: position.priority), position.caller)
    guard let place = levels[index].work[caller]?.firstIndex(of: position) else { return }
    levels[index].work[caller]?.remove(at: place)
    guard levels[index].work[caller]?.isEmpty == true else { return }
    levels[index].work[caller] = nil
    levels[index].turns.removeAll { $0 == caller }
  }

  /// Removes work that starts: the turn of its caller ends.
  mutating func start(_ position: Position) {
    remove(position)
    let index = Self.level(of: position.priority)
    guard let place = levels[index].turns.firstIndex(of: position.caller) else { return }
    levels[index].turns.remove(at: place)
    levels[index].turns.append(position.caller)
  }
}
