// The lane of heavy work: renders. Each takes one core and an amount of memory that is known before it starts.
//
// Callers take turns, and the work of one caller goes by priority (RenderQueue). Work starts when a worker and the
// work's memory are free. While the first entry of the queue waits for memory that running work will return, no
// later entry may overtake it, however little memory that entry needs; otherwise small pictures could starve a large
// one. If no work is running, others hold the memory, such as a client that reads a large frame slowly: then later
// entries that fit may start, one at a time. Background work leaves one worker free for interactive work.

import CPhotodSystem
import Dispatch
import ImageRender
import PhotoModel
import Primitives
import Synchronization

package final class RenderLane: Sendable {
  /// Identifies work that waits in the lane. Numbers are never reused.
  package struct Ticket: Sendable, Hashable {
    fileprivate let number: UInt64
  }

  package typealias Work = @Sendable (ByteBudget.Reservation) -> Void

  private struct Entry {
    var priority: ImagePriority
    var caller: String
    let bytes: Int
    let work: Work
  }

  private struct State {
    var entries: [UInt64: Entry] = [:]
    /// The places of all entries.
    var queue = RenderQueue()
    var nextNumber: UInt64 = 0
    var running = 0
    var runningBackground = 0
    /// The callback of each holder of memory that can be given back: called once, when the next entry waits for memory
    /// and is not background work.
    var onMemoryShortage: [ObjectIdentifier: @Sendable () -> Void] = [:]

    /// The next entry to start.
    var first: (position: RenderQueue.Position, entry: Entry)? {
      guard let position = queue.first, let entry = entries[position.number] else { return nil }
      return (position, entry)
    }

    /// The next entry whose memory is free, with a reservation of it, for when the first entry can't start. Linear.
    func laterEntry(fitting budget: ByteBudget) -> (RenderQueue.Position, Entry, ByteBudget.Reservation)? {
      for position in queue.inOrder {
        guard let entry = entries[position.number], let reservation = budget.tryReserve(entry.bytes) else { continue }
        return (position, entry, reservation)
      }
      return nil
    }

    func position(of entry: Entry, _ number: UInt64) -> RenderQueue.Position {
      RenderQueue.Position(priority: entry.priority, caller: entry.caller, number: number)
    }

    mutating func add(_ entry: Entry, _ number: UInt64) {
      entries[number] = entry
      queue.insert(position(of: entry, number))
    }

    mutating func remove(_ number: UInt64) -> Entry? {
      guard let entry = entries.removeValue(forKey: number) else { return nil }
      queue.remove(position(of: entry, number))
      return entry
    }

    /// Moves an entry to another place in the queue. Its age and its caller's turn are kept.
    mutating func move(_ number: UInt64, _ change: (inout Entry) -> Void) {
      guard let former = entries[number] else { return }
      var entry = former
      change(&entry)
      // Before the former place is removed: a caller without work loses its turn.
      add(entry, number)
      queue.remove(position(of: former, number))
    }
  }

  /// Work with its reserved memory.
  private struct AdmittedWork {
    let work: Work
    let reservation: ByteBudget.Reservation
    let isBackground: Bool
  }

  private let workers: Int
  private let backgroundWorkers: Int
  private let budget: ByteBudget
  private let interactive: DispatchQueue
  private let background: DispatchQueue
  private let onIdle: (@Sendable () -> Void)?
  private let state = Mutex(State())

  /// - Parameters:
  ///   - workers: how many renders run at once.
  ///   - budget: memory for all renders together. No other user of the budget may be served before this lane.
  ///   - onIdle: called on a worker when no work is running or waiting.
  package init(
    label: String, workers: Int, budget: ByteBudget, onIdle: (@Sendable () -> Void)? = nil
  ) {
    self.workers = max(1, workers)
    backgroundWorkers = max(1, self.workers - 1)
    self.budget = budget
    self.onIdle = onIdle
    // Dispatch keeps one thread pool for each quality-of-service class. No other work in these two classes is urgent,
    // so their threads can get a low scheduling priority (`nice`) permanently. Responses from memory then get a core at
    // once.
    interactive = DispatchQueue(label: label, qos: .utility, attributes: .concurrent)
    background = DispatchQueue(label: label + ".background", qos: .background, attributes: .concurrent)
    budget.onRelease { [weak self] in self?.admit() }
  }

  /// The memory of all renders together. Work that needs more never fits.
  package var capacityBytes: Int { budget.capacityBytes }

  /// Number of waiting renders: interactive and background. Linear; for metrics.
  package var waitingCounts: (interactive: Int, background: Int) {
    state.withLock { state in
      let interactive = state.entries.values.count { $0.priority.isInteractive }
      return (interactive, state.entries.count - interactive)
    }
  }

  /// The callers that have waiting work in the level of this priority (``RenderQueue``).
  package func callers(waitingAt priority: ImagePriority) -> Set<String> {
    state.withLock { Set($0.queue.callers(at: priority)) }
  }

  /// Whether the lane has work besides one running render.
  var hasOtherWork: Bool { state.withLock { $0.running > 1 || !$0.entries.isEmpty } }

  /// Number of running renders.
  package var runningCount: Int { state.withLock { $0.running } }

  /// A ticket for work that is submitted later, so that the caller can record it before the work may start. Its age
  /// begins now.
  func makeTicket() -> Ticket {
    state.withLock { state in
      defer { state.nextNumber += 1 }
      return Ticket(number: state.nextNumber)
    }
  }

  /// Adds work to the queue. `bytes` must be at most ``capacityBytes``. `work` is called once on a worker, unless it is
  /// withdrawn first.
  ///
  /// - Parameter caller: in whose turn the work comes: the name of a principal; empty for photod's own work.
  @discardableResult
  package func submit(
    _ priority: ImagePriority, bytes: Int, for caller: String = "", _ work: @escaping Work
  ) -> Ticket {
    let ticket = makeTicket()
    submit(priority, bytes: bytes, for: caller, as: ticket, work)
    return ticket
  }

  /// Adds work to the queue, under a ticket of ``makeTicket()`` that no other work has.
  func submit(
    _ priority: ImagePriority, bytes: Int, for caller: String, as ticket: Ticket, _ work: @escaping Work
  ) {
    precondition(bytes <= budget.capacityBytes, "work that can never fit")
    state.withLock { state in
      state.add(Entry(priority: priority, caller: caller, bytes: bytes, work: work), ticket.number)
    }
    admit()
  }

  /// Moves waiting work to the turn of another caller that waits for it too, if the work starts earlier there. So it
  /// never starts later because callers join. Has no effect on work that has started.
  package func share(_ ticket: Ticket, with caller: String) {
    let isMoved = state.withLock { state in
      guard let entry = state.entries[ticket.number],
        state.queue.startsEarlier(state.position(of: entry, ticket.number), inTurnOf: caller)
      else { return false }
      state.move(ticket.number) { $0.caller = caller }
      return true
    }
    if isMoved { admit() }
  }

  /// Changes the priority of waiting work; its age is kept. Has no effect on work that has started.
  package func setPriority(_ priority: ImagePriority, of ticket: Ticket) {
    changePriority(to: priority, of: ticket) { $0 != priority }
  }

  /// Raises the priority of waiting work; never lowers it.
  func raisePriority(to priority: ImagePriority, of ticket: Ticket) {
    changePriority(to: priority, of: ticket) { $0 < priority }
  }

  /// - Parameter isReplaced: whether to replace this priority, the present one. Called with the lock held.
  private func changePriority(
    to priority: ImagePriority, of ticket: Ticket, where isReplaced: (ImagePriority) -> Bool
  ) {
    let isMoved = state.withLock { state in
      guard let old = state.entries[ticket.number]?.priority, isReplaced(old) else { return false }
      state.move(ticket.number) { $0.priority = priority }
      return true
    }
    if isMoved { admit() }
  }

  /// Removes work from the queue. Returns false if the work has started or was already withdrawn.
  @discardableResult
  package func withdraw(_ ticket: Ticket) -> Bool {
    // Released after the lock: what the work holds may be memory of the budget, whose release calls `admit`.
    let withdrawn = state.withLock { $0.remove(ticket.number) }
    guard withdrawn != nil else { return false }
    // Later work may fit into memory where this work did not.
    admit()
    return true
  }

  /// Starts threads for parts of one render. `nil` if the lane has a single worker, so that it uses a single core.
  var stages: StageStarter? {
    guard workers > 1 else { return nil }
    return { work in
      // A serial queue: Dispatch gives each a thread at once, and its work waits for other threads of the render.
      DispatchQueue(label: "photod.render.stage", qos: .utility).async {
        photod_set_thread_niceness(Self.niceness)
        work()
      }
    }
  }

  /// Calls `body` once, on the lane's queue, when the next entry waits for memory and is not background work: then the
  /// holder can give back memory that it does not need at once. Replaces an earlier body of the same holder that was
  /// not called yet.
  func onMemoryShortage(of holder: AnyObject, _ body: @escaping @Sendable () -> Void) {
    let holder = ObjectIdentifier(holder)
    // Released after the lock.
    let replaced = state.withLock { $0.onMemoryShortage.updateValue(body, forKey: holder) }
    withExtendedLifetime(replaced) {}
  }

  /// Starts all work that can start now.
  private func admit() {
    while let admitted = next() {
      (admitted.isBackground ? background : interactive).async { [self] in run(admitted) }
    }
  }

  /// Takes the next work and its memory, if a worker is free for it.
  private func next() -> AdmittedWork? {
    var onMemoryShortage: [@Sendable () -> Void] = []
    let admitted = state.withLock { state -> AdmittedWork? in
      guard state.running < workers, let (first, entry) = state.first else { return nil }
      guard entry.priority.isInteractive || state.runningBackground < backgroundWorkers else { return nil }
      var found = budget.tryReserve(entry.bytes).map { (first, entry, $0) }
      if found == nil {
        // For background work, holders are not asked: it waits until they release the memory.
        if entry.priority > .background {
          onMemoryShortage = Array(state.onMemoryShortage.values)
          state.onMemoryShortage = [:]
        }
        if state.running == 0 { found = state.laterEntry(fitting: budget) }
      }
      guard let (position, entry, reservation) = found else { return nil }
      let isBackground = !entry.priority.isInteractive
      state.entries[position.number] = nil
      state.queue.start(position)
      state.running += 1
      if isBackground { state.runningBackground += 1 }
      return AdmittedWork(work: entry.work, reservation: reservation, isBackground: isBackground)
    }
    // On the queue, because the caller may hold a lock.
    for body in onMemoryShortage { interactive.async(execute: body) }
    return admitted
  }

  private func run(_ admitted: AdmittedWork) {
    photod_set_thread_niceness(admitted.isBackground ? Self.backgroundNiceness : Self.niceness)
    // Memory that must outlive the work has been split off from the reservation by the work itself.
    admitted.work(admitted.reservation)
    admitted.reservation.release()
    let isIdle = state.withLock { state in
      state.running -= 1
      if admitted.isBackground { state.runningBackground -= 1 }
      return state.running == 0 && state.entries.isEmpty
    }
    admit()
    if isIdle { onIdle?() }
  }

  private static let niceness: Int32 = 5
  private static let backgroundNiceness: Int32 = 15
}
