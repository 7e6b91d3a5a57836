import DequeModule
import Dispatch
import Synchronization

/// A fixed number of workers with a bounded queue.
///
/// Each worker is a serial queue of Dispatch, which gets a thread at once. All concurrent queues of one quality of
/// service share one thread pool, limited by the number of cores: a few threads that wait for a disk would stop every
/// other queue.
///
/// A worker that submits work to another queue may run that work itself, after its current work (`afterCurrentWork`).
/// It then counts as a worker of that queue, and this queue may start another one.
package final class WorkQueue: Sendable {
  package typealias Work = @Sendable () -> Void

  private struct Item {
    let work: Work
    /// Runs only while no other work waits, and leaves one worker free.
    var isLowPriority = false
  }

  /// A thread that runs work of this queue, or after that of another one.
  private struct Worker {
    let thread: DispatchQueue
    /// What the worker does after its current work.
    let continuation = Continuation()

    init(label: String, qos: DispatchQoS) {
      thread = DispatchQueue(label: label, qos: qos)
      thread.setSpecific(key: Continuation.key, value: continuation)
    }
  }

  private final class Continuation: Sendable {
    static let key = DispatchSpecificKey<Continuation>()
    private let next = Mutex<(@Sendable (Worker) -> Void)?>(nil)

    /// Returns false if one is already set.
    func set(_ next: @escaping @Sendable (Worker) -> Void) -> Bool {
      self.next.withLock { current in
        guard current == nil else { return false }
        current = next
        return true
      }
    }

    func take() -> (@Sendable (Worker) -> Void)? { next.withLock { $0.take() } }
  }

  private struct State {
    /// The workers that run no work, of this queue or another.
    var idle: [Worker] = []
    /// Number of workers that run this queue's work.
    var running = 0
    var runningLowPriority = 0
    var waiting: Deque<Work> = []
    var lowPriority: Deque<Work> = []
    /// Called when a worker finishes its next work.
    var probes: [Work] = []

    /// The next work for a worker.
    mutating func next(lowPriorityWorkers: Int) -> Item? {
      if let work = waiting.popFirst() { return Item(work: work) }
      guard runningLowPriority < lowPriorityWorkers, let work = lowPriority.popFirst() else { return nil }
      runningLowPriority += 1
      return Item(work: work, isLowPriority: true)
    }
  }

  private enum Admission { case runs, waits, refused }

  private let label: String
  private let qos: DispatchQoS
  private let workers: Int
  private let limit: Int
  /// Calls the probes while a worker is free.
  private let probed: DispatchQueue
  private let onIdle: (@Sendable () -> Void)?
  private let state = Mutex(State())

  /// - Parameters:
  ///   - workers: how many run at once.
  ///   - limit: how many may wait; further work is refused.
  ///   - onIdle: called on the last busy worker when no work is left.
  package init(
    label: String, workers: Int, limit: Int, qos: DispatchQoS, onIdle: (@Sendable () -> Void)? = nil
  ) {
    self.label = label
    self.qos = qos
    self.onIdle = onIdle
    self.workers = max(1, workers)
    self.limit = limit
    probed = DispatchQueue(label: label + ".probe", qos: qos)
  }

  /// Runs `work` on a worker, now or in its turn. Returns false if the queue is full; `work` is then dropped.
  ///
  /// - Parameter afterCurrentWork: the caller's own work is nearly done. If the caller is a worker of any queue, and
  ///   this queue has a free one, `work` runs on the caller's thread when that work has returned. This saves waking
  ///   another thread, which takes as much CPU as opening a file. The caller must not wait for `work`: that would
  ///   deadlock.
  package func submit(_ work: @escaping Work, afterCurrentWork: Bool = false) -> Bool {
    let admission = state.withLock { state -> Admission in
      if state.running < workers {
        state.running += 1
        return .runs
      }
      if state.waiting.count >= limit { return .refused }
      state.waiting.append(work)
      return .waits
    }
    guard admission == .runs else { return admission == .waits }
    let item = Item(work: work)
    if afterCurrentWork, let continuation = DispatchQueue.getSpecific(key: Continuation.key),
      continuation.set({ [self] worker in process(item, on: worker) })
    {
      return true
    }
    start(item)
    return true
  }

  /// Runs `work` on a worker when no other work waits. If there is more than one worker, low-priority work leaves one
  /// free. The low-priority queue has no limit.
  package func submitLowPriority(_ work: @escaping Work) {
    let next = state.withLock { state -> Item? in
      state.lowPriority.append(work)
      guard state.running < workers, let next = state.next(lowPriorityWorkers: lowPriorityWorkers) else { return nil }
      state.running += 1
      return next
    }
    if let next { start(next) }
  }

  /// Calls `answered` when a worker is free: now, or as soon as one has finished its work, before all waiting work.
  /// Shows that the queue makes progress, however full it is.
  package func probe(_ answered: @escaping Work) {
    let isFree = state.withLock { state in
      if state.running < workers { return true }
      state.probes.append(answered)
      return false
    }
    if isFree { probed.async(execute: answered) }
  }

  /// Number of running and waiting work items.
  package var depth: (running: Int, waiting: Int) {
    state.withLock { ($0.running, $0.waiting.count + $0.lowPriority.count) }
  }

  private var lowPriorityWorkers: Int { max(1, workers - 1) }

  /// Starts work, which is counted as running, on a thread of this queue.
  private func start(_ item: Item) {
    let worker = state.withLock { $0.idle.popLast() } ?? Worker(label: label, qos: qos)
    worker.thread.async { [self] in
      process(item, on: worker)
      state.withLock { $0.idle.append(worker) }
    }
  }

  /// Does the work of this queue on a worker's thread until none is left for it, or until the worker continues
  /// elsewhere.
  private func process(_ first: Item, on worker: Worker) {
    var next: Item? = first
    while let item = next {
      item.work()
      let continuation = worker.continuation.take()
      next = finished(item)
      guard let continuation else { continue }
      if let item = next.take() { start(item) }
      continuation(worker)
    }
  }

  /// Returns the next work for the worker that has finished `item`. If there is none, the worker counts as free.
  private func finished(_ item: Item) -> Item? {
    var probes: [Work] = []
    let (next, isLast) = state.withLock { state -> (Item?, Bool) in
      swap(&probes, &state.probes)
      if item.isLowPriority { state.runningLowPriority -= 1 }
      if let next = state.next(lowPriorityWorkers: lowPriorityWorkers) { return (next, false) }
      state.running -= 1
      return (nil, state.running == 0)
    }
    for answered in probes { answered() }
    if isLast { onIdle?() }
    return next
  }
}
