// GET /v1/changes/stream: who listens, and one worker that tells them.
//
//     commit -> ChangeFeed -> libraryDidChange -> each stream that is free: its turn on the worker
//     turn: what its source tells since the state that it told last -> one event -> written, and the next turn when the
//           client has taken it
//
// A source tells of the library's history (HistoryStream), or of a list (FetchResultStream). What a listener has not been
// told lies in the catalogue and nowhere else: a client that reads slowly costs its last event, and what comes meanwhile is
// told it together. A stream that waits holds no thread.

import AssetLibrary
import Dispatch
import HTTPCore
import HTTPServer
import ImageService
import Logging
import PhotoModel
import Synchronization

package final class ChangeStreams: ChangeObserver, Sendable {
  package struct Limits: Sendable, Hashable {
    /// Streams at a time.
    package var streams = 256
    /// A stream that has nothing to say says so now and then, so that proxies leave it be and the dead are noticed.
    package var heartbeat = Duration.seconds(15)
    /// Objects that one who reads slowly may be behind; more are not told of one by one.
    package var objectsBehind = 10_000
    /// Objects of one event, as far as commits allow.
    package var objectsAnEvent = 1000
    /// When a client that lost its stream comes again, in milliseconds.
    package var retryMilliseconds = 2000

    package init() {}
  }

  private struct State {
    var streams: [ObjectIdentifier: ChangeStream] = [:]
    /// Those whose answer has not begun yet.
    var beginning = 0
    var isEnding = false
  }

  private let limits: Limits
  private let now: @Sendable () -> ContinuousClock.Instant
  private let state = Mutex(State())
  /// One after the other: each turn is a few reads.
  private let queue: WorkQueue

  package init(limits: Limits, now: @escaping @Sendable () -> ContinuousClock.Instant = { .now }) {
    self.limits = limits
    self.now = now
    queue = WorkQueue(label: "photod.stream", workers: 1, limit: max(1, limits.streams) * 2, qos: .userInitiated)
  }

  /// A proxy that gathers what it passes on would keep events to itself.
  static let fields = [
    (name: "Content-Type", value: "text/event-stream"), ("Cache-Control", "no-store"), ("X-Accel-Buffering", "no"),
  ]

  package var count: Int { state.withLock { $0.streams.count } }

  /// Begins to tell a client. Throws where there are too many already.
  func add(_ source: any ChangeStreamSource, _ reply: Reply) throws(Problem) {
    let problem: Problem? = state.withLock { state in
      if state.isEnding {
        return Problem(
          503, "shutting-down", "The daemon is ending", detail: "Ask again in a moment.", fields: ["Retry-After": "5"])
      }
      if state.streams.count + state.beginning >= limits.streams {
        return Problem(
          429, "too-many-streams", "Too many streams",
          detail: "There are \(limits.streams) streams already; close some, or ask GET /v1/changes now and then.",
          fields: ["Retry-After": "30"])
      }
      state.beginning += 1
      return nil
    }
    if let problem { throw problem }
    let stream = ChangeStream(source: source, reply: reply, now: now())
    reply.start(ResponseHead(.ok, Self.fields))
    reply.write([Array("retry: \(limits.retryMilliseconds)\n\(Self.line(source.eventID))\n".utf8)])
    // Nobody else writes to it before this.
    let isEnding = state.withLock { state in
      state.beginning -= 1
      if !state.isEnding { state.streams[ObjectIdentifier(stream)] = stream }
      return state.isEnding
    }
    if isEnding { return reply.finish() }
    reply.onClose { [weak self, weak stream] in
      guard let self, let stream else { return }
      stream.ended()
      remove(stream)
    }
    // What came between the token and now.
    wake(stream)
  }

  package func libraryDidChange() {
    for stream in state.withLock({ Array($0.streams.values) }) { wake(stream) }
  }

  /// To be called about once a second.
  package func tick() {
    let now = now()
    for stream in state.withLock({ Array($0.streams.values) }) {
      stream.source.keepAlive()
      if stream.hasNewsAfterRest(now) || stream.needsHeartbeat(now, limits.heartbeat) { wake(stream) }
    }
  }

  /// Ends all streams, and takes no more.
  package func end() {
    let streams = state.withLock { state in
      state.isEnding = true
      defer { state.streams = [:] }
      return Array(state.streams.values)
    }
    for stream in streams where stream.end() { stream.reply.finish() }
  }

  private func remove(_ stream: ChangeStream) {
    state.withLock { $0.streams[ObjectIdentifier(stream)] = nil }
  }

  /// Gives a stream a turn, if it has none already and its client has taken what it was told.
  private func wake(_ stream: ChangeStream) {
    guard stream.wakes(now()) else { return }
    if !queue.submit({ [self] in turn(stream) }) {
      // Its heartbeat comes back to it.
      stream.missedTurn()
    }
  }

  /// On the worker: tells one event, or goes through history that is none for it.
  private func turn(_ stream: ChangeStream) {
    guard stream.takesTurn() else { return }
    take(stream.source.next(limits), for: stream)
  }

  private func take(_ step: ChangeStreamStep, for stream: ChangeStream) {
    let now = now()
    switch step {
    case .nothing:
      let isDue = stream.needsHeartbeat(now, limits.heartbeat)
      if isDue { write(Array(":\n\n".utf8), to: stream, now) } else if stream.rests() { wake(stream) }
    case .skipped:
      stream.hasNews()
      if stream.rests() { wake(stream) }
    case .event(let name, let id, let data, let hasMore):
      if hasMore { stream.hasNews() }
      var event = Array("\(Self.line(id))event: \(name)\ndata: ".utf8)
      event.reserveCapacity(event.count + data.count + 2)
      event += data
      event += Array("\n\n".utf8)
      write(event, to: stream, now)
    case .elsewhere(let queue, let work):
      let isAccepted = queue.submit { [self] in
        let begin = self.now()
        let step = work()
        let end = self.now()
        stream.restsUntil(end + (end - begin))
        take(step, for: stream)
      }
      // Its heartbeat comes back to it.
      if !isAccepted { stream.missedTurn() }
    case .end:
      remove(stream)
      if stream.end() { stream.reply.finish() }
    }
  }

  private static func line(_ id: String?) -> String { id.map { "id: \($0)\n" } ?? "" }

  private func write(_ bytes: [UInt8], to stream: ChangeStream, _ now: ContinuousClock.Instant) {
    stream.wrote(now)
    stream.reply.responder.write([bytes]) { [weak self] in
      // The client has taken it.
      if stream.rests() { self?.wake(stream) }
    }
  }
}

/// What a stream tells of.
protocol ChangeStreamSource: Sendable {
  /// Names the state that the client knows: what it says when it comes back. `nil`: it goes on saying what it said.
  var eventID: String? { get }

  /// What it is to be told now. On the worker; never at the same time for one stream.
  func next(_ limits: ChangeStreams.Limits) -> ChangeStreamStep

  /// The stream is still there. About once a second, perhaps during ``next(_:)``.
  func keepAlive()
}

enum ChangeStreamStep: Sendable {
  case nothing
  /// There was something that the client is not told of, and there is more.
  case skipped
  case event(String, id: String?, data: [UInt8], hasMore: Bool)
  /// To find it out takes longer than others should wait for the worker. That queue gives the step; afterwards the stream
  /// rests for as long as it took, so that it takes no more than half of anybody's time.
  case elsewhere(WorkQueue, @Sendable () -> ChangeStreamStep)
  /// The client may not be told any more, or can't be.
  case end
}

/// One client that listens.
final class ChangeStream: Sendable {
  private struct State {
    /// It waits for its turn, has it, or waits for its client.
    var isBusy = false
    var hasNews = true
    var isEnded = false
    /// It has no turn before that.
    var restEnd: ContinuousClock.Instant?
    var lastWrite: ContinuousClock.Instant
  }

  let source: any ChangeStreamSource
  let reply: Reply
  private let state: Mutex<State>

  init(source: any ChangeStreamSource, reply: Reply, now: ContinuousClock.Instant) {
    self.source = source
    self.reply = reply
    state = Mutex(State(lastWrite: now))
  }

  func hasNews() { state.withLock { $0.hasNews = true } }

  func restsUntil(_ instant: ContinuousClock.Instant) { state.withLock { $0.restEnd = instant } }

  /// Whether its rest is over, and it heard of something meanwhile.
  func hasNewsAfterRest(_ now: ContinuousClock.Instant) -> Bool {
    state.withLock { state in
      guard let end = state.restEnd, end <= now else { return false }
      return state.hasNews
    }
  }

  /// There may be something to tell. True: it is to be given a turn.
  func wakes(_ now: ContinuousClock.Instant) -> Bool {
    state.withLock { state in
      state.hasNews = true
      if state.isBusy || state.isEnded { return false }
      if let end = state.restEnd, end > now { return false }
      state.restEnd = nil
      state.isBusy = true
      return true
    }
  }

  func missedTurn() { state.withLock { $0.isBusy = false } }

  /// Its turn begins. False: it has ended meanwhile.
  func takesTurn() -> Bool {
    state.withLock { state in
      state.hasNews = false
      return !state.isEnded
    }
  }

  func wrote(_ now: ContinuousClock.Instant) { state.withLock { $0.lastWrite = now } }

  /// Its turn is over, and the client has taken what it was told. True: there is more to tell.
  func rests() -> Bool {
    state.withLock { state in
      state.isBusy = false
      return state.hasNews && !state.isEnded
    }
  }

  func needsHeartbeat(_ now: ContinuousClock.Instant, _ interval: Duration) -> Bool {
    state.withLock { !$0.isEnded && now - $0.lastWrite >= interval }
  }

  func ended() { state.withLock { $0.isEnded = true } }

  /// True: it had not ended before.
  func end() -> Bool {
    state.withLock { state in
      defer { state.isEnded = true }
      return !state.isEnded
    }
  }
}
