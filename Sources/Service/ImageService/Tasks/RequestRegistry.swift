// The active requests by their owner, who is their caller, and for one minute the outcome of requests that have ended.
// Used by `GET /v1/requests`, and for facts that a multipart response can't carry about itself. This file only records:
// it starts and cancels nothing.

import DequeModule
import PhotoModel
import Synchronization

/// The state of a request, as shown to its owner.
package struct RequestState: Sendable {
  package enum Phase: Sendable {
    case active
    case finished
    case cancelled
    case failed(ImageServiceError)
  }

  package let requestID: String
  package let asset: LocalIdentifier
  package let parameters: [String: String]
  package let priority: ImagePriority
  package let age: Duration
  package fileprivate(set) var phase: Phase
  /// The stage of the request's job, while the request is active.
  package var stage: JobStage?
  /// The share of the original that has been received, 0 to 1, while the request waits for a download.
  package var downloadProgress: Double?
  /// The delivered frames, in order.
  package fileprivate(set) var frames: [ImageResult]
}

final class RequestRegistry: Sendable {
  private struct RequestKey: Hashable {
    let owner: String
    let requestID: String
  }

  private struct Entry {
    let task: ImageTask
    var frames: [ImageResult] = []
  }

  /// A batch that found a queue full.
  private struct WaitingBatch: Sendable {
    let requestID: String
    let wake: @Sendable () -> Void
  }

  /// An owner with active requests.
  private struct Owner {
    var activeCount = 0
    /// The batch that has waited longest comes first.
    var waiting: Deque<WaitingBatch> = []
  }

  private struct State {
    var owners: [String: Owner] = [:]
    var active: [RequestKey: Entry] = [:]
    /// Requests for many pictures. Each picture has a task of its own.
    var batches: [RequestKey: @Sendable () -> Void] = [:]
    var ended: [RequestKey: EndedRequest] = [:]
    /// Ended requests, oldest first. An entry whose ID was used again since is skipped.
    var endOrder: Deque<(key: RequestKey, at: ContinuousClock.Instant)> = []

    /// Counts a request as ended, and returns what to call without the lock: the first of the owner's batches that
    /// wait, or all of them if the owner has no other request, whose end would wake them. A refused request frees no
    /// place in a queue, so it wakes none while others are active.
    mutating func requestEnded(of name: String, wasRefused: Bool) -> [@Sendable () -> Void] {
      guard var owner = owners[name] else { return [] }
      owner.activeCount -= 1
      if owner.activeCount == 0 {
        owners[name] = nil
        return owner.waiting.map(\.wake)
      }
      let next = wasRefused ? nil : owner.waiting.popFirst()
      owners[name] = owner
      return next.map { [$0.wake] } ?? []
    }

    mutating func forget(endedBefore limit: ContinuousClock.Instant, keeping maximum: Int) {
      while let oldest = endOrder.first, oldest.at < limit || endOrder.count > maximum {
        endOrder.removeFirst()
        if ended[oldest.key]?.at == oldest.at { ended[oldest.key] = nil }
      }
    }
  }

  private struct EndedRequest {
    let state: RequestState
    let at: ContinuousClock.Instant
  }

  private static let retention = Duration.seconds(60)

  private let maximumRemembered: Int
  private let state = Mutex(State())

  /// - Parameter maximumRemembered: maximum number of ended requests to remember.
  init(maximumRemembered: Int) { self.maximumRemembered = maximumRemembered }

  /// Registers a task. Returns false if its owner already has an active task or batch with that ID.
  func insert(_ task: ImageTask) -> Bool {
    state.withLock { state in
      let key = RequestKey(owner: task.caller, requestID: task.requestID)
      guard state.active[key] == nil, state.batches[key] == nil else { return false }
      state.ended[key] = nil
      state.active[key] = Entry(task: task)
      state.owners[task.caller, default: Owner()].activeCount += 1
      return true
    }
  }

  /// Registers a batch until ``removeBatch(owner:requestID:)``. The ID is the server's own, so it is not in use.
  ///
  /// - Parameter cancel: cancels what is left of the batch.
  func insertBatch(owner: String, requestID: String, cancel: @escaping @Sendable () -> Void) {
    state.withLock { $0.batches[RequestKey(owner: owner, requestID: requestID)] = cancel }
  }

  func removeBatch(owner: String, requestID: String) {
    // Released after the lock: its deinit may run arbitrary code.
    let removed = state.withLock { state in
      let waiting = state.owners[owner]?.waiting.filter { $0.requestID == requestID }
      state.owners[owner]?.waiting.removeAll { $0.requestID == requestID }
      return (state.batches.removeValue(forKey: RequestKey(owner: owner, requestID: requestID)), waiting)
    }
    withExtendedLifetime(removed) {}
  }

  /// Lets a batch wait until one of its owner's requests has ended. Returns false if the owner has no active request.
  ///
  /// - Parameter wake: called once, from any thread, without a lock held; not after ``removeBatch(owner:requestID:)``,
  ///   unless it is being called.
  func awaitEnd(owner: String, requestID: String, wake: @escaping @Sendable () -> Void) -> Bool {
    state.withLock { state in
      guard let waiting = state.owners[owner]?.waiting else { return false }
      if !waiting.contains(where: { $0.requestID == requestID }) {
        state.owners[owner]?.waiting.append(WaitingBatch(requestID: requestID, wake: wake))
      }
      return true
    }
  }

  /// How to cancel an active batch: the owner's, or, if `includingOtherOwners` is set, any owner's.
  func batch(owner: String, requestID: String, includingOtherOwners: Bool) -> (@Sendable () -> Void)? {
    state.withLock { state in
      if let cancel = state.batches[RequestKey(owner: owner, requestID: requestID)] { return cancel }
      guard includingOtherOwners else { return nil }
      return state.batches.first { $0.key.requestID == requestID }?.value
    }
  }

  /// Records a delivery to a task. Wakes a batch if the task has ended.
  func record(_ delivery: ImageDelivery, to task: ImageTask, at now: ContinuousClock.Instant) {
    let key = RequestKey(owner: task.caller, requestID: task.requestID)
    let woken = state.withLock { state -> [@Sendable () -> Void] in
      guard state.active[key]?.task === task else { return [] }
      var wasRefused = false
      switch delivery {
      case .progress: return []
      case .degraded(let frame):
        state.active[key]?.frames.append(frame.result)
        return []
      case .final(let frame):
        state.active[key]?.frames.append(frame.result)
        end(key, .finished, now, &state)
      case .failed(.cancelled): end(key, .cancelled, now, &state)
      case .failed(let error):
        wasRefused = error == .queueFull
        end(key, .failed(error), now, &state)
      }
      return state.requestEnded(of: key.owner, wasRefused: wasRefused)
    }
    for wake in woken { wake() }
  }

  /// The active task with an ID: the owner's, or, if `includingOtherOwners` is set, any owner's.
  func task(owner: String, requestID: String, includingOtherOwners: Bool) -> ImageTask? {
    state.withLock { state in
      if let entry = state.active[RequestKey(owner: owner, requestID: requestID)] { return entry.task }
      guard includingOtherOwners else { return nil }
      return state.active.first { $0.key.requestID == requestID }?.value.task
    }
  }

  /// One request that is active or ended less than a minute ago: the owner's, or, if `includingOtherOwners` is set, any
  /// owner's.
  func request(
    owner: String, requestID: String, includingOtherOwners: Bool, at now: ContinuousClock.Instant
  ) -> (RequestState, JobKey?)? {
    state.withLock { state in
      state.forget(endedBefore: now - Self.retention, keeping: maximumRemembered)
      var keys = [RequestKey(owner: owner, requestID: requestID)]
      if includingOtherOwners {
        keys += state.active.keys.filter { $0.requestID == requestID }
        keys += state.ended.keys.filter { $0.requestID == requestID }
      }
      for key in keys {
        if let entry = state.active[key] { return (describe(entry, .active, now), entry.task.key) }
        if let ended = state.ended[key] { return (ended.state, nil) }
      }
      return nil
    }
  }

  /// The active requests of an owner, oldest first; of all owners if `owner` is `nil`.
  func all(owner: String?, at now: ContinuousClock.Instant) -> [(RequestState, JobKey)] {
    state.withLock { state in
      state.active.values.filter { owner == nil || $0.task.caller == owner }
        .sorted { $0.task.created < $1.task.created }
        .map { (describe($0, .active, now), $0.task.key) }
    }
  }

  /// Active tasks that were created before `limit`.
  func tasks(createdBefore limit: ContinuousClock.Instant) -> [ImageTask] {
    state.withLock { state in state.active.values.lazy.map(\.task).filter { $0.created < limit } }
  }

  private func end(
    _ key: RequestKey, _ phase: RequestState.Phase, _ now: ContinuousClock.Instant, _ state: inout State
  ) {
    guard let entry = state.active.removeValue(forKey: key) else { return }
    state.ended[key] = EndedRequest(state: describe(entry, phase, now), at: now)
    state.endOrder.append((key, now))
    state.forget(endedBefore: now - Self.retention, keeping: maximumRemembered)
  }

  private func describe(_ entry: Entry, _ phase: RequestState.Phase, _ now: ContinuousClock.Instant) -> RequestState {
    RequestState(
      requestID: entry.task.requestID, asset: entry.task.wanted.asset.localIdentifier,
      parameters: entry.task.parameters, priority: entry.task.priority, age: now - entry.task.created, phase: phase,
      stage: nil, frames: entry.frames)
  }
}
