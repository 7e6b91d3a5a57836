// GET /v1/changes/stream: all open streams, and one worker that sends their events.
//
//     commit -> ChangeFeed -> libraryDidChange -> each idle stream gets a turn on the worker
//     turn: the source's changes since the last sent state -> one event -> written; the next turn begins when the
//           client has read it
//
// The source of a stream is the library's history (HistoryStream) or a list (FetchResultStream). Unsent changes are
// kept only in the catalogue: a slow client costs the memory of one event, and later changes are combined into its
// next event. A waiting stream holds no thread.

import Dispatch
import HTTPCore
import HTTPServer
import ImageService
import Logging
import PhotoModel
import Synchronization

package final class ChangeStreams: ChangeObserver, Sendable {
  package struct Limits: Sendable, Hashable {
    /// Maximum number of open streams.
    package var streams = 256
    /// Maximum number of open streams of one caller.
    package var streamsPerCaller = 128
    /// Interval between the heartbeats of an idle stream. They keep proxies from closing it and detect dead
    /// connections.
    package var heartbeat = Duration.seconds(15)
    /// Maximum number of changed objects that a slow client may lag behind. Beyond that it gets a `reload` event
    /// instead of single changes.
    package var streamLagObjects = 10_000
    /// Approximate maximum of objects in one event; a commit is not split.
    var objectsPerEvent = 1000
    /// Delay before a client reconnects after losing its stream, in milliseconds.
    var retryMilliseconds = 2000

    package init() {}
  }

  private struct State {
    var streams: [ObjectIdentifier: ChangeStream] = [:]
    /// The number of streams whose response has not begun yet.
    var startingCount = 0
    var isShuttingDown = false
    /// The number of streams of each caller, starting and open.
    var callers: [String: Int] = [:]

    mutating func forget(_ caller: String) {
      let count = (callers[caller] ?? 1) - 1
      callers[caller] = count == 0 ? nil : count
    }
  }

  private let limits: Limits
  private let now: @Sendable () -> ContinuousClock.Instant
  private let state = Mutex(State())
  /// Serial queue for turns: each turn is a few reads.
  private let queue: WorkQueue

  package init(limits: Limits, now: @escaping @Sendable () -> ContinuousClock.Instant = { .now }) {
    self.limits = limits
    self.now = now
    queue = WorkQueue(label: "photod.stream", workers: 1, limit: max(1, limits.streams) * 2, qos: .userInitiated)
  }

  /// `X-Accel-Buffering: no`, because a buffering proxy would hold events back.
  static let fields = [
    (name: "Content-Type", value: "text/event-stream"), ("Cache-Control", "no-store"), ("X-Accel-Buffering", "no"),
  ]

  /// Opens a stream. Throws 429 if there are too many, and 503 during shutdown.
  ///
  /// - Parameter isAdmitted: whether the caller's credential is still valid. The stream ends when it is not.
  func add(
    _ source: any ChangeStreamSource, for caller: String, isAdmitted: @escaping @Sendable () -> Bool, _ reply: Reply
  ) throws(Problem) {
    let problem: Problem? = state.withLock { state in
      if state.isShuttingDown {
        return Problem(
          503, "shutting-down", "Shutting down", detail: "Retry after a moment.", fields: ["Retry-After": "5"])
      }
      let isCallersLimit = state.callers[caller, default: 0] >= limits.streamsPerCaller
      if isCallersLimit || state.streams.count + state.startingCount >= limits.streams {
        let limit = isCallersLimit ? limits.streamsPerCaller : limits.streams
        return Problem(
          429, "too-many-streams", "Too many streams",
          detail: "The limit of \(limit) streams is reached. Close some, or poll GET /v1/changes.",
          fields: ["Retry-After": "30"])
      }
      state.startingCount += 1
      state.callers[caller, default: 0] += 1
      return nil
    }
    if let problem { throw problem }
    let stream = ChangeStream(source: source, caller: caller, isAdmitted: isAdmitted, reply: reply, now: now())
    reply.start(ResponseHead(.ok, Self.fields))
    reply.write([Array("retry: \(limits.retryMilliseconds)\n\(Self.line(source.eventID))\n".utf8)])
    // No other code writes to the response before this point.
    let isShuttingDown = state.withLock { state in
      state.startingCount -= 1
      if state.isShuttingDown { state.forget(caller) } else { state.streams[ObjectIdentifier(stream)] = stream }
      return state.isShuttingDown
    }
    if isShuttingDown { return reply.finish() }
    reply.onClose { [weak self, weak stream] in
      guard let self, let stream else { return }
      stream.ended()
      remove(stream)
    }
    // Send the changes between the token and now.
    wake(stream)
  }

  package func libraryDidChange() {
    for stream in state.withLock({ Array($0.streams.values) }) { wake(stream) }
  }

  /// Ends the streams of callers whose credential has ended, keeps sources alive, and sends heartbeats. Call about once
  /// a second.
  package func tick() {
    let now = now()
    for stream in state.withLock({ Array($0.streams.values) }) {
      // A stream that waits for a heartbeat, or for its client to read, has no turn that would find out.
      guard stream.isAdmitted() else {
        end(stream)
        continue
      }
      stream.source.keepAlive()
      if stream.isDueAfterCooldown(now) || stream.needsHeartbeat(now, limits.heartbeat) { wake(stream) }
    }
  }

  /// Ends all streams and accepts no new ones.
  package func end() {
    let streams = state.withLock { state in
      state.isShuttingDown = true
      defer { state.streams = [:] }
      return Array(state.streams.values)
    }
    for stream in streams where stream.end() { stream.reply.finish() }
  }

  private func end(_ stream: ChangeStream) {
    remove(stream)
    if stream.end() { stream.reply.finish() }
  }

  private func remove(_ stream: ChangeStream) {
    state.withLock { state in
      if state.streams.removeValue(forKey: ObjectIdentifier(stream)) != nil { state.forget(stream.caller) }
    }
  }

  /// Gives a stream a turn, unless it has one already or its client has not read the last event.
  private func wake(_ stream: ChangeStream) {
    guard stream.claimTurn(now()) else { return }
    if !queue.submit({ [self] in runTurn(stream) }) {
      // The next heartbeat retries.
      stream.abandonTurn()
    }
  }

  /// On the worker: sends one event, or skips history that the client does not get.
  private func runTurn(_ stream: ChangeStream) {
    guard stream.beginTurn() else { return }
    handle(stream.isAdmitted() ? stream.source.next(limits) : .end, for: stream)
  }

  private func handle(_ step: ChangeStreamStep, for stream: ChangeStream) {
    let now = now()
    switch step {
    case .idle:
      let isDue = stream.needsHeartbeat(now, limits.heartbeat)
      if isDue { write(Array(":\n\n".utf8), to: stream, now) } else if stream.endTurn() { wake(stream) }
    case .skipped:
      stream.markPending()
      if stream.endTurn() { wake(stream) }
    case .event(let name, let id, let data, let hasMore):
      if hasMore { stream.markPending() }
      var event = Array("\(Self.line(id))event: \(name)\ndata: ".utf8)
      event.reserveCapacity(event.count + data.count + 2)
      event += data
      event += Array("\n\n".utf8)
      write(event, to: stream, now)
    case .deferred(let queue, let work):
      let isAccepted = queue.submit { [self] in
        let begin = self.now()
        let step = work()
        let end = self.now()
        stream.coolDown(end + (end - begin))
        handle(step, for: stream)
      }
      // The next heartbeat retries.
      if !isAccepted { stream.abandonTurn() }
    case .end: end(stream)
    }
  }

  private static func line(_ id: String?) -> String { id.map { "id: \($0)\n" } ?? "" }

  private func write(_ bytes: [UInt8], to stream: ChangeStream, _ now: ContinuousClock.Instant) {
    stream.wrote(now)
    stream.reply.responder.write([bytes]) { [weak self] in
      // The client has read the event.
      if stream.endTurn() { self?.wake(stream) }
    }
  }
}
