// The lane of heavy work: renders, each of which takes a core and memory that is known before it begins.
//
// The most pressing goes first, and among equals the one that came first. Work begins when a worker is free and its memory
// is; while the first in line waits for memory nothing behind it is let past, however little that takes, so that a large
// picture is never starved by small ones. What nobody waits for leaves one worker to those for whom somebody does.

import CPhotodSystem
import Dispatch
import HeapModule
import PhotoModel
import Synchronization

package final class RenderLane: Sendable {
  /// Work that waits in the lane, by a number that is never used again.
  package struct Ticket: Sendable, Hashable {
    fileprivate let number: UInt64
  }

  package typealias Work = @Sendable (MemoryBudget.Reservation) -> Void

  private struct Entry {
    var priority: ImagePriority
    let bytes: Int
    let work: Work
  }

  /// A place in line. One whose entry has gone, or presses differently by now, is passed over.
  private struct Place: Comparable {
    let priority: ImagePriority
    let number: UInt64

    static func < (lhs: Place, rhs: Place) -> Bool {
      (lhs.priority, rhs.number) < (rhs.priority, lhs.number)
    }
  }

  private struct State {
    var entries: [UInt64: Entry] = [:]
    var line = Heap<Place>()
    var nextNumber: UInt64 = 0
    var running = 0
    var runningBackground = 0

    /// The entry whose turn it is. Amortised logarithmic.
    mutating func first() -> (place: Place, entry: Entry)? {
      while let place = line.max {
        if let entry = entries[place.number], entry.priority == place.priority { return (place, entry) }
        line.removeMax()
      }
      return nil
    }
  }

  /// Work with its memory in hand.
  private struct Admitted {
    let work: Work
    let reservation: MemoryBudget.Reservation
    let isBackground: Bool
  }

  private let workers: Int
  private let backgroundWorkers: Int
  private let budget: MemoryBudget
  private let interactive: DispatchQueue
  private let background: DispatchQueue
  private let whenIdle: (@Sendable () -> Void)?
  private let state = Mutex(State())

  /// - Parameters:
  ///   - workers: how many renders run at once.
  ///   - budget: what they may hold together; nobody else's line is in front of it.
  ///   - whenIdle: called on a worker when the last of them has nothing left to do.
  package init(
    label: String, workers: Int, budget: MemoryBudget, whenIdle: (@Sendable () -> Void)? = nil
  ) {
    self.workers = max(1, workers)
    backgroundWorkers = max(1, self.workers - 1)
    self.budget = budget
    self.whenIdle = whenIdle
    // Dispatch keeps a pool of threads for each class. Nobody waits for what else runs in these two, so their threads are
    // made nice once and for all, and what is answered from memory finds a core at once.
    interactive = DispatchQueue(label: label, qos: .utility, attributes: .concurrent)
    background = DispatchQueue(label: label + ".background", qos: .background, attributes: .concurrent)
    budget.whenRoom { [weak self] in self?.admit() }
  }

  /// What all renders together may hold: more than this never fits.
  package var capacityBytes: Int { budget.capacityBytes }

  /// How many wait, by whether somebody waits for them. Linear; for metrics.
  package var depths: (interactive: Int, background: Int) {
    state.withLock { state in
      let interactive = state.entries.values.count { $0.priority.isInteractive }
      return (interactive, state.entries.count - interactive)
    }
  }

  /// How many renders run now.
  package var runningCount: Int { state.withLock { $0.running } }

  /// Puts work in line. It must fit: `bytes` is at most ``capacityBytes``. `work` is called on a worker, once, unless it is
  /// withdrawn before.
  @discardableResult
  package func submit(_ priority: ImagePriority, bytes: Int, _ work: @escaping Work) -> Ticket {
    precondition(bytes <= budget.capacityBytes, "work that can never fit")
    let ticket = state.withLock { state in
      let number = state.nextNumber
      state.nextNumber += 1
      state.entries[number] = Entry(priority: priority, bytes: bytes, work: work)
      state.line.insert(Place(priority: priority, number: number))
      return Ticket(number: number)
    }
    admit()
    return ticket
  }

  /// Changes how much something presses; it keeps its age. Nothing, where it has begun.
  package func setPriority(_ priority: ImagePriority, of ticket: Ticket) {
    state.withLock { state in
      guard let old = state.entries[ticket.number]?.priority, old != priority else { return }
      state.entries[ticket.number]?.priority = priority
      state.line.insert(Place(priority: priority, number: ticket.number))
    }
    admit()
  }

  /// Takes work out of the line. False: it has begun, or was withdrawn.
  @discardableResult
  package func withdraw(_ ticket: Ticket) -> Bool {
    let isWithdrawn = state.withLock { $0.entries.removeValue(forKey: ticket.number) != nil }
    // Those behind it may fit where it did not.
    if isWithdrawn { admit() }
    return isWithdrawn
  }

  /// Begins what can begin.
  private func admit() {
    while let admitted = next() {
      (admitted.isBackground ? background : interactive).async { [self] in run(admitted) }
    }
  }

  /// The work whose turn it is, with its memory, if there is a worker for it.
  private func next() -> Admitted? {
    state.withLock { state in
      guard state.running < workers, let (place, entry) = state.first() else { return nil }
      let isBackground = !entry.priority.isInteractive
      guard !isBackground || state.runningBackground < backgroundWorkers,
        let reservation = budget.tryReserve(entry.bytes)
      else { return nil }
      state.line.removeMax()
      state.entries[place.number] = nil
      state.running += 1
      if isBackground { state.runningBackground += 1 }
      return Admitted(work: entry.work, reservation: reservation, isBackground: isBackground)
    }
  }

  private func run(_ admitted: Admitted) {
    photod_yield_to_others(admitted.isBackground ? Self.backgroundNiceness : Self.niceness)
    // What the work keeps of its reservation it splits off.
    admitted.work(admitted.reservation)
    admitted.reservation.release()
    let isIdle = state.withLock { state in
      state.running -= 1
      if admitted.isBackground { state.runningBackground -= 1 }
      return state.running == 0 && state.entries.isEmpty
    }
    admit()
    if isIdle { whenIdle?() }
  }

  private static let niceness: Int32 = 5
  private static let backgroundNiceness: Int32 = 15
}
