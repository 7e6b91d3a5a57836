// The order of the work that waits in the render lane: higher priority first. Within one priority, callers take turns,
// so that a caller with a thousand requests delays another one by a single render. The work of one caller goes by age.

import DequeModule

struct RenderQueue {
  /// The place of a piece of work.
  struct Position {
    let priority: ImagePriority
    let caller: String
    /// Its age: the smallest number is the oldest.
    let number: UInt64
  }

  /// The waiting work of one priority.
  private struct Level {
    /// The callers that have work; the next one first.
    var turns: Deque<String> = []
    /// The numbers of each caller's work, oldest first. Never empty.
    var numbers: [String: Deque<UInt64>] = [:]
  }

  private var levels = Array(repeating: Level(), count: ImagePriority.allCases.count)

  /// The next work to start. It stays the next one until it starts or leaves, or until work of a higher priority or
  /// older work of its caller arrives.
  var first: Position? {
    for priority in ImagePriority.allCases.reversed() {
      let level = levels[priority.rawValue]
      guard let caller = level.turns.first, let number = level.numbers[caller]?.first else { continue }
      return Position(priority: priority, caller: caller, number: number)
    }
    return nil
  }

  /// All work, in the order in which it would start. Linear.
  var inOrder: [Position] {
    var order: [Position] = []
    for priority in ImagePriority.allCases.reversed() {
      let level = levels[priority.rawValue]
      let rounds = level.numbers.values.map(\.count).max() ?? 0
      for round in 0..<rounds {
        for caller in level.turns {
          guard let numbers = level.numbers[caller], round < numbers.count else { continue }
          order.append(Position(priority: priority, caller: caller, number: numbers[round]))
        }
      }
    }
    return order
  }

  /// How much work of a caller waits with this priority.
  func count(of caller: String, _ priority: ImagePriority) -> Int {
    levels[priority.rawValue].numbers[caller]?.count ?? 0
  }

  mutating func insert(_ position: Position) {
    let (index, caller) = (position.priority.rawValue, position.caller)
    if levels[index].numbers[caller] == nil { levels[index].turns.append(caller) }
    // Almost always the last one.
    let older = levels[index].numbers[caller]?.lastIndex { $0 < position.number }
    levels[index].numbers[caller, default: []].insert(position.number, at: older.map { $0 + 1 } ?? 0)
  }

  /// Removes work that has left. Linear in the work of its caller.
  mutating func remove(_ position: Position) {
    let (index, caller) = (position.priority.rawValue, position.caller)
    guard let place = levels[index].numbers[caller]?.firstIndex(of: position.number) else { return }
    levels[index].numbers[caller]?.remove(at: place)
    guard levels[index].numbers[caller]?.isEmpty == true else { return }
    levels[index].numbers[caller] = nil
    levels[index].turns.removeAll { $0 == caller }
  }

  /// Removes work that starts: the turn of its caller ends.
  mutating func start(_ position: Position) {
    remove(position)
    let index = position.priority.rawValue
    guard let place = levels[index].turns.firstIndex(of: position.caller) else { return }
    levels[index].turns.remove(at: place)
    levels[index].turns.append(position.caller)
  }
}
