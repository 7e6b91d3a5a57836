// Derivatives in a bucket that several daemons share: an object for each original, under a name that stands for its
// content. So nothing is ever out of date, and a daemon with an empty disk makes small pictures without originals.
//
//     read    one GET for all callers that wait -> FrameStore checks and stores the content -> the callers continue
//     write   waiting writes, within a limit -> PUT                   (SharedDerivatives+Writing.swift)
//
// A failing store costs at most the time of a few reads: then the circuit breaker opens, and no more requests are sent.
// Reads and writes have one breaker each, because a key may be allowed to read and not to write.

import Dispatch
import ImageService
import Logging
import ObjectStores
import PhotoModel
import Synchronization

package final class SharedDerivatives: SharedDerivativeStore {
  package struct Limits: Sendable, Hashable {
    /// Maximum number of writes that wait; further ones are dropped.
    package var waitingWrites = 256
    /// Maximum number of writes at a time.
    package var writes = 2
    /// Maximum length of an object. A longer one is neither written nor read.
    package var objectBytes = 4 << 20
    /// Maximum number of objects that are remembered as being in the store, and of those remembered as damaged there:
    /// 16 bytes each. A full set is cleared.
    var knownObjects = 262_144
    /// Maximum number of objects that are not read again for a while, because they were missing or damaged.
    var missingObjects = 4096
    /// How long a missing or damaged object is not read again.
    var missingLifetime: Duration = .seconds(60)
    var breaker = CircuitBreaker.Limits()

    package init() {}
  }

  /// Counters since the start.
  package struct Counts: Sendable, Hashable {
    /// Objects that were read.
    package internal(set) var hits = 0
    /// Objects that the store does not have, or did not have a moment ago.
    package internal(set) var misses = 0
    /// Objects with another content than their name stands for.
    package internal(set) var damaged = 0
    package internal(set) var failedReads = 0
    /// Reads that were left out because the store had failed repeatedly.
    package internal(set) var suspendedReads = 0
    package internal(set) var written = 0
    package internal(set) var failedWrites = 0
    /// Writes that were left out: too many waited, the store had failed repeatedly, or the object is too large.
    package internal(set) var droppedWrites = 0
    package internal(set) var waitingWrites = 0
    package internal(set) var isSuspended = false
  }

  struct PendingRead {
    let number: UInt64
    let take: @Sendable ([UInt8]) -> String?
    var waiters: [UInt64: @Sendable () -> Void]
    /// `nil` for a moment, until the store has accepted the operation.
    var operation: (any ObjectOperation)?
  }

  struct PendingWrite {
    let name: String
    let content: @Sendable () -> [UInt8]?
  }

  struct State {
    var readBreaker: CircuitBreaker
    var writeBreaker: CircuitBreaker
    var reads: [String: PendingRead] = [:]
    var lastNumber: UInt64 = 0
    var waitingWrites: [PendingWrite] = []
    var pendingNames: Set<String> = []
    var runningWrites = 0
    /// Hash values of names: they differ from process to process, and are never stored.
    var known: Set<Int> = []
    /// Hash values of the names of damaged objects, which are to be written again.
    var damaged: Set<Int> = []
    var missingUntil: [String: Duration] = [:]
    var counts = Counts()
    /// The last failure that was logged; `nil` after a success.
    var loggedFailure: String?
    var isClosed = false
  }

  let store: any ObjectStore
  let limits: Limits
  let now: @Sendable () -> Duration
  let logger: Logger
  let queue = DispatchQueue(label: "photod.derivatives", qos: .userInitiated)
  /// Ends the operations that background work waits for.
  let stop = StopFlag()
  let state: Mutex<State>

  /// Sends no request to the store.
  ///
  /// - Parameters:
  ///   - store: should try each operation once, and end reads soon: pictures wait for them.
  ///   - now: the time since some moment in the past; tests pass their own.
  package init(
    _ store: any ObjectStore, limits: Limits = Limits(), logger: Logger,
    now: @escaping @Sendable () -> Duration = { .nanoseconds(Int64(clamping: DispatchTime.now().uptimeNanoseconds)) }
  ) {
    (self.store, self.limits, self.logger, self.now) = (store, limits, logger, now)
    let breaker = CircuitBreaker(limits: limits.breaker)
    state = Mutex(State(readBreaker: breaker, writeBreaker: breaker))
  }

  package var counts: Counts {
    state.withLock { state in
      var counts = state.counts
      counts.waitingWrites = state.waitingWrites.count
      counts.isSuspended = !state.readBreaker.isClosed
      return counts
    }
  }

  /// Ends the calls that wait, drops the writes that wait, and accepts no more. Reads and writes that were sent end by
  /// themselves.
  package func close() {
    stop.raise()
    state.withLock { state in
      state.isClosed = true
      state.waitingWrites = []
      state.pendingNames = []
    }
  }

  // MARK: Reading

  package func read(
    _ name: String, take: @escaping @Sendable ([UInt8]) -> String?, ended: @escaping @Sendable () -> Void
  ) -> RemoteWait? {
    let now = now()
    let (number, isFirst) = state.withLock { state -> (UInt64?, Bool) in
      if state.isClosed { return (nil, false) }
      state.lastNumber += 1
      let number = state.lastNumber
      if state.reads[name] != nil {
        state.reads[name]?.waiters[number] = ended
        return (number, false)
      }
      if let until = state.missingUntil[name], now < until {
        state.counts.misses += 1
        return (nil, false)
      }
      guard state.readBreaker.admit(now: now) == nil else {
        state.counts.suspendedReads += 1
        return (nil, false)
      }
      state.reads[name] = PendingRead(number: number, take: take, waiters: [number: ended])
      return (number, true)
    }
    guard let number else { return nil }
    if isFirst { begin(name, number) }
    return RemoteWait { [weak self] in self?.leave(name, number) }
  }

  private func begin(_ name: String, _ number: UInt64) {
    guard let key = ObjectKey(name) else { preconditionFailure("a name of FrameStore is a key") }
    let operation = store.get(key, maximumBytes: limits.objectBytes) { [self] result in
      queue.async { [self] in readEnded(name, number, result) }
    }
    let isWanted = state.withLock { state in
      guard state.reads[name]?.number == number else { return false }
      state.reads[name]?.operation = operation
      return true
    }
    if !isWanted { operation.cancel() }
  }

  private func leave(_ name: String, _ number: UInt64) {
    let abandoned = state.withLock { state -> (any ObjectOperation)? in
      guard state.reads[name]?.waiters.removeValue(forKey: number) != nil, let read = state.reads[name],
        read.waiters.isEmpty
      else { return nil }
      state.reads[name] = nil
      return read.operation
    }
    abandoned?.cancel()
  }

  private func readEnded(_ name: String, _ number: UInt64, _ result: Result<[UInt8], ObjectStoreError>) {
    dispatchPrecondition(condition: .onQueue(queue))
    let missingUntil = now() + limits.missingLifetime
    let read = state.withLock { $0.reads[name].flatMap { $0.number == number ? $0 : nil } }
    var result = result
    var defect: String?
    switch result {
    case .success(let bytes): defect = read?.take(bytes)
    case .failure(.limitExceeded(.objectBytes)):
      defect = "too large"
      result = .success([])
    case .failure: break
    }
    if let defect {
      logger.warning("damaged shared derivatives", metadata: ["object": "\(name)", "reason": "\(defect)"])
    }
    report(\.readBreaker, result.map { _ in }, "reading shared derivatives failed") { state in
      switch result {
      case .success where defect != nil:
        state.counts.damaged += 1
        noteDamaged(name, &state)
        noteMissing(name, until: missingUntil, &state)
      case .success where read != nil:
        state.counts.hits += 1
        noteKnown(name, &state)
      case .failure(.notFound):
        state.counts.misses += 1
        noteMissing(name, until: missingUntil, &state)
      case .failure(.cancelled), .success: break
      case .failure: state.counts.failedReads += 1
      }
    }
    // Includes callers that joined during the read.
    let waiters = state.withLock { state -> [@Sendable () -> Void] in
      guard state.reads[name]?.number == number else { return [] }
      return state.reads.removeValue(forKey: name).map { Array($0.waiters.values) } ?? []
    }
    for ended in waiters { ended() }
  }

  // MARK: Reading and writing

  /// Records the result of an operation, and logs a failure unless it is the same as the last one. `notFound` counts as
  /// a success for the breaker: the store answered.
  func report(
    _ breaker: WritableKeyPath<State, CircuitBreaker>, _ result: Result<Void, ObjectStoreError>, _ message: String,
    _ note: (inout State) -> Void
  ) {
    let now = now()
    let failure = state.withLock { state -> String? in
      note(&state)
      switch result {
      case .success, .failure(.notFound):
        state[keyPath: breaker].succeeded()
        state.loggedFailure = nil
        return nil
      case .failure(.cancelled), .failure(.limitExceeded(.pendingOperations)):
        state[keyPath: breaker].abandoned(now: now)
        return nil
      case .failure(.suspended):
        state[keyPath: breaker].failed(now: now)
        return nil
      case .failure(let error):
        state[keyPath: breaker].failed(now: now)
        let text = error.description
        defer { state.loggedFailure = text }
        return state.loggedFailure == text ? nil : text
      }
    }
    if let failure {
      logger.warning("\(message)", metadata: ["store": "\(store.name)", "error": "\(failure)"])
    }
  }

  func noteKnown(_ name: String, _ state: inout State) {
    if state.known.count >= limits.knownObjects { state.known = [] }
    state.known.insert(name.hashValue)
    state.damaged.remove(name.hashValue)
    state.missingUntil[name] = nil
  }

  private func noteDamaged(_ name: String, _ state: inout State) {
    if state.damaged.count >= limits.knownObjects { state.damaged = [] }
    state.damaged.insert(name.hashValue)
    state.known.remove(name.hashValue)
  }

  private func noteMissing(_ name: String, until time: Duration, _ state: inout State) {
    if state.missingUntil.count >= limits.missingObjects { state.missingUntil = [:] }
    state.missingUntil[name] = time
  }
}
