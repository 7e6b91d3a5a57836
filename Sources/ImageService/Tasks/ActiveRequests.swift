// The requests that are under way, by whose they are, and for a minute what became of those that are over: what a multipart
// answer can't say of itself, and what `GET /v1/requests` lists.

import Collections
import PhotoModel
import Synchronization

/// A request as its owner may see it.
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
  /// While it is active, how far its job has come.
  package var stage: JobStage?
  /// What was delivered, in order.
  package fileprivate(set) var frames: [ImageResult]
}

final class ActiveRequests: Sendable {
  private struct Name: Hashable {
    let owner: String
    let requestID: String
  }

  private struct Entry {
    let task: ImageTask
    var frames: [ImageResult] = []
  }

  private struct State {
    var active: [Name: Entry] = [:]
    var over: [Name: Ended] = [:]
    /// Those that are over, the oldest first; one whose name was used again meanwhile is passed over.
    var ends: Deque<(name: Name, at: ContinuousClock.Instant)> = []

    mutating func forget(endedBefore limit: ContinuousClock.Instant, keeping maximum: Int) {
      while let oldest = ends.first, oldest.at < limit || ends.count > maximum {
        ends.removeFirst()
        if over[oldest.name]?.at == oldest.at { over[oldest.name] = nil }
      }
    }
  }

  private struct Ended {
    let state: RequestState
    let at: ContinuousClock.Instant
  }

  private static let rememberedFor = Duration.seconds(60)

  private let maximumRemembered: Int
  private let state = Mutex(State())

  /// - Parameter maximumRemembered: requests that are over and still known, at most.
  init(maximumRemembered: Int) { self.maximumRemembered = maximumRemembered }

  /// Notes a task. False: its owner has an active one of that name.
  func insert(_ task: ImageTask) -> Bool {
    state.withLock { state in
      let name = Name(owner: task.owner, requestID: task.requestID)
      guard state.active[name] == nil else { return false }
      state.over[name] = nil
      state.active[name] = Entry(task: task)
      return true
    }
  }

  /// Notes what a task was told.
  func note(_ delivery: ImageDelivery, to task: ImageTask, at now: ContinuousClock.Instant) {
    let name = Name(owner: task.owner, requestID: task.requestID)
    state.withLock { state in
      guard state.active[name]?.task === task else { return }
      switch delivery {
      case .degraded(let frame): state.active[name]?.frames.append(frame.result)
      case .final(let frame):
        state.active[name]?.frames.append(frame.result)
        end(name, .finished, now, &state)
      case .failed(.cancelled): end(name, .cancelled, now, &state)
      case .failed(let error): end(name, .failed(error), now, &state)
      }
    }
  }

  /// The active task of that name: the owner's, else anybody's where that is allowed.
  func task(owner: String, requestID: String, orAnybodys: Bool) -> ImageTask? {
    state.withLock { state in
      if let entry = state.active[Name(owner: owner, requestID: requestID)] { return entry.task }
      guard orAnybodys else { return nil }
      return state.active.first { $0.key.requestID == requestID }?.value.task
    }
  }

  /// One request, active or over for less than a minute: the owner's, else anybody's where that is allowed.
  func request(
    owner: String, requestID: String, orAnybodys: Bool, at now: ContinuousClock.Instant
  ) -> (RequestState, JobKey?)? {
    state.withLock { state in
      state.forget(endedBefore: now - Self.rememberedFor, keeping: maximumRemembered)
      var names = [Name(owner: owner, requestID: requestID)]
      if orAnybodys {
        names += state.active.keys.filter { $0.requestID == requestID }
        names += state.over.keys.filter { $0.requestID == requestID }
      }
      for name in names {
        if let entry = state.active[name] { return (describe(entry, .active, now), entry.task.key) }
        if let ended = state.over[name] { return (ended.state, nil) }
      }
      return nil
    }
  }

  /// The active requests of an owner, or of all, the oldest first.
  func all(owner: String?, at now: ContinuousClock.Instant) -> [(RequestState, JobKey)] {
    state.withLock { state in
      state.active.values.filter { owner == nil || $0.task.owner == owner }
        .sorted { $0.task.created < $1.task.created }
        .map { (describe($0, .active, now), $0.task.key) }
    }
  }

  /// Active tasks that are older than they may be.
  func tasks(createdBefore limit: ContinuousClock.Instant) -> [ImageTask] {
    state.withLock { state in state.active.values.lazy.map(\.task).filter { $0.created < limit } }
  }

  private func end(
    _ name: Name, _ phase: RequestState.Phase, _ now: ContinuousClock.Instant, _ state: inout State
  ) {
    guard let entry = state.active.removeValue(forKey: name) else { return }
    state.over[name] = Ended(state: describe(entry, phase, now), at: now)
    state.ends.append((name, now))
    state.forget(endedBefore: now - Self.rememberedFor, keeping: maximumRemembered)
  }

  private func describe(_ entry: Entry, _ phase: RequestState.Phase, _ now: ContinuousClock.Instant) -> RequestState {
    RequestState(
      requestID: entry.task.requestID, asset: entry.task.asset.localIdentifier, parameters: entry.task.parameters,
      priority: entry.task.priority, age: now - entry.task.created, phase: phase, stage: nil, frames: entry.frames)
  }
}
