import ImageService
import PhotoFixtures
import PhotoModel
import Primitives
import Synchronization
import Testing

@Suite("Render lane: the turns of callers")
struct RenderTurnsTests {
  @Test("callers take turns, and the work of one caller goes by its priority and its age")
  func turns() async {
    let busy = await BusyLane(for: "a")
    for (caller, count) in [("a", 4), ("b", 2), ("c", 1)] {
      for number in 1...count { busy.submit(for: caller, "\(caller) \(number)") }
    }
    busy.submit(.high, for: "a", "urgent")
    #expect(await busy.started(8) == ["urgent", "b 1", "c 1", "a 1", "b 2", "a 2", "a 3", "a 4"])
  }

  @Test("urgent work does not pass the turns of other callers, and work that nobody waits for comes last")
  func urgency() async {
    let busy = await BusyLane()
    busy.submit(.preheat, for: "b", "b window")
    for number in 1...3 { busy.submit(.high, for: "a", "a urgent \(number)") }
    for number in 1...2 { busy.submit(.low, for: "b", "b \(number)") }
    busy.submit(.background, "background")
    let order = ["a urgent 1", "b 1", "a urgent 2", "b 2", "a urgent 3", "b window", "background"]
    #expect(await busy.started(7) == order)
  }

  @Test("work that becomes more or less urgent keeps the turn of its caller")
  func keptTurn() async {
    let busy = await BusyLane()
    let first = busy.submit(for: "a", "a")
    let second = busy.submit(for: "b", "b")
    busy.submit(for: "c", "c")
    busy.lane.setPriority(.low, of: first)
    busy.lane.setPriority(.high, of: second)
    #expect(await busy.started(3) == ["a", "b", "c"])
  }

  @Test("work that another caller waits for too comes in the turn of the one in which it is earlier")
  func shared() async {
    let busy = await BusyLane()
    let tickets = (1...4).map { busy.submit(for: "a", "a \($0)") }
    busy.lane.share(tickets[0], with: "b")
    busy.lane.share(tickets[2], with: "b")
    busy.submit(for: "b", "b 1")
    busy.submit(for: "b", "b 2")
    // It is older than the other caller's own work.
    busy.lane.share(tickets[3], with: "b")
    #expect(await busy.started(6) == ["a 1", "a 3", "a 2", "a 4", "b 1", "b 2"])
  }

  @Test("work never starts later because callers join it, however often")
  func joined() async {
    let busy = await BusyLane()
    let tickets = ["w", "x", "a", "y", "z"].map { busy.submit(for: $0, $0) }
    for caller in ["b", "a", "b", "a"] { busy.lane.share(tickets[2], with: caller) }
    #expect(await busy.started(5) == ["w", "x", "a", "y", "z"])
  }

  @Test("the callers that wait are known for each level, without those whose work runs or has left")
  func waitingCallers() async {
    let busy = await BusyLane(for: "running")
    busy.submit(.high, for: "a", "a")
    busy.submit(.low, for: "b", "b")
    busy.submit(.preheat, for: "c", "c")
    busy.lane.withdraw(busy.submit(for: "d", "d"))
    #expect(busy.lane.callers(waitingAt: .normal) == ["a", "b"] && busy.lane.callers(waitingAt: .preheat) == ["c"])
    #expect(busy.lane.callers(waitingAt: .background).isEmpty)
    #expect(await busy.started(3) == ["a", "b", "c"])
    #expect(busy.lane.callers(waitingAt: .normal).isEmpty)
  }

  @Test("the order is that of a simple model, whatever is submitted, withdrawn and changed", arguments: 1...20)
  func model(_ seed: Int) async throws {
    let driver = LaneDriver(seed: UInt64(seed))
    driver.start()
    try await eventually { driver.hasEnded }
    #expect(driver.mistake == nil)
    #expect(driver.lane.waitingCounts == (0, 0))
  }
}

/// A lane whose only worker is busy, so that other work waits. All work logs its start.
private struct BusyLane {
  let lane = RenderLane(label: "test", workers: 1, budget: ByteBudget(capacityBytes: 100))
  private let log = EventLog()
  private let gate = Gate()

  /// - Parameter caller: in whose turn the work comes that keeps the worker busy.
  init(for caller: String = "") async {
    gate.shut()
    lane.submit(.normal, bytes: 1, for: caller) { [log, gate] _ in
      log.append("running")
      gate.pass()
    }
    #expect(await log.lines(1) == ["running"])
  }

  @discardableResult
  func submit(_ priority: ImagePriority = .normal, for caller: String = "", _ name: String) -> RenderLane.Ticket {
    lane.submit(priority, bytes: 1, for: caller) { [log] _ in log.append(name) }
  }

  /// Lets the worker continue, and returns the names of the work that starts then.
  func started(_ count: Int) async -> [String] {
    gate.open()
    return await log.lines(count)
  }
}

/// The order of a lane with one worker: work that is waited for goes first, then windows. Of these, the caller whose
/// turn was longest ago; of this caller, the highest priority.
private struct LaneModel {
  struct Line: Hashable {
    let caller: String
    let level: Int
  }

  struct Work {
    let caller: String
    let priority: ImagePriority

    var line: Line { Line(caller: caller, level: priority.isInteractive ? 2 : priority == .preheat ? 1 : 0) }
  }

  private(set) var waiting: [Int: Work] = [:]
  /// When a caller last had its turn, or began to wait.
  private var since: [Line: Int] = [:]
  private var time = 0

  mutating func add(_ number: Int, _ work: Work) {
    if !waiting.values.contains(where: { $0.line == work.line }) { touch(work.line) }
    waiting[number] = work
  }

  mutating func withdraw(_ number: Int) { waiting[number] = nil }

  mutating func setPriority(_ priority: ImagePriority, of number: Int) {
    guard let work = waiting[number], work.priority != priority else { return }
    add(number, Work(caller: work.caller, priority: priority))
  }

  /// The number of the work that starts.
  mutating func next() -> Int? {
    let best = waiting.max { rank($0.key, $0.value) < rank($1.key, $1.value) }
    guard let best else { return nil }
    withdraw(best.key)
    touch(best.value.line)
    return best.key
  }

  /// Higher is earlier: by level, turn, priority and age.
  private func rank(_ number: Int, _ work: Work) -> (Int, Int, Int, Int) {
    (work.line.level, -(since[work.line] ?? 0), work.priority.rawValue, -number)
  }

  private mutating func touch(_ line: Line) {
    time += 1
    since[line] = time
  }
}

/// Changes a lane at random, at its start and in each of its renders, and compares each start with the model.
private final class LaneDriver: Sendable {
  private struct State {
    var model = LaneModel()
    var dice: SplitMix
    var tickets: [Int: RenderLane.Ticket] = [:]
    var hasStarted = false
    var mistake: String?
  }

  private static let callers = ["a", "b", "c"]
  private static let maximumWork = 300

  let lane = RenderLane(label: "test", workers: 1, budget: ByteBudget(capacityBytes: 100))
  private let state: Mutex<State>

  init(seed: UInt64) { state = Mutex(State(dice: SplitMix(state: seed))) }

  /// The first start that differs from the model's.
  var mistake: String? { state.withLock { $0.mistake } }

  /// Whether everything has run, by the model, or a mistake was made.
  var hasEnded: Bool {
    state.withLock { $0.hasStarted && ($0.model.waiting.isEmpty || $0.mistake != nil) }
  }

  func start() {
    // Within a render, so that nothing starts meanwhile.
    lane.submit(.high, bytes: 1) { [self] _ in
      state.withLock { state in
        state.hasStarted = true
        for _ in 0..<40 { change(&state) }
      }
    }
  }

  private func ran(_ number: Int) {
    state.withLock { state in
      let expected = state.model.next()
      guard expected == number, state.mistake == nil else {
        if state.mistake == nil { state.mistake = "\(number) instead of \(expected ?? -1)" }
        return
      }
      for _ in 0..<3 { change(&state) }
    }
  }

  private func change(_ state: inout State) {
    let priority = ImagePriority.allCases.randomElement(using: &state.dice) ?? .normal
    let earlier = Int.random(in: 0...state.tickets.count, using: &state.dice)
    switch Int.random(in: 0..<6, using: &state.dice) {
    case 0:
      guard let ticket = state.tickets[earlier], lane.withdraw(ticket) else { return }
      state.model.withdraw(earlier)
    case 1:
      guard let ticket = state.tickets[earlier] else { return }
      lane.setPriority(priority, of: ticket)
      state.model.setPriority(priority, of: earlier)
    default:
      guard state.tickets.count < Self.maximumWork else { return }
      let number = state.tickets.count
      // One caller has most of the work.
      let caller = Bool.random(using: &state.dice) ? "a" : Self.callers.randomElement(using: &state.dice) ?? "a"
      state.model.add(number, LaneModel.Work(caller: caller, priority: priority))
      state.tickets[number] = lane.submit(priority, bytes: 1, for: caller) { [self] _ in ran(number) }
    }
  }
}
