import HTTPCore
import Primitives
import Testing

@testable import HTTPServer

/// A table of every phase and event with the next phase and the action. Times are in seconds.
@Suite("Connection machine")
struct ConnectionMachineTests {
  typealias Machine = ConnectionMachine

  static let limits = ServerLimits(
    requestsPerConnection: 3, headerTimeout: .seconds(10), bodyTimeout: .seconds(20), minimumBodyBytesPerSecond: 100,
    keepAliveTimeout: .seconds(30),
    sendTimeout: .seconds(5), minimumSendBytesPerSecond: 100, lingeringTime: .seconds(2))

  static let streamed = Machine.Event.streamedRequestReceived(keepsAlive: true, version: .http11)
  static let request = Machine.Event.requestReceived(keepsAlive: true, version: .http11)

  /// The events that lead from the start to each phase.
  static func machine(in phase: Machine.Phase, now: UInt64 = 0) -> Machine {
    var machine = Machine(limits: limits, now: now)
    let way: [Machine.Event] =
      switch phase {
      case .idle: []
      case .readingHead: [.bytesReceived]
      case .readingBody: [.bytesReceived, .bodyAnnounced]
      case .bodyPaused: [.bytesReceived, streamed]
      case .streamingBody: [.bytesReceived, streamed, .bodyReadRequested]
      case .responding: [.bytesReceived, request]
      case .sending: [.bytesReceived, request, .responseBegan, .responseCompleted]
      case .lingering: [.bytesReceived, .requestRejected, .responseBegan, .responseCompleted, .sent(1, all: true)]
      case .closed: [.connectionFailed]
      }
    for event in way { _ = machine.handle(event, now: now) }
    precondition(machine.phase == phase)
    return machine
  }

  struct Row: CustomTestStringConvertible, Sendable {
    let from: Machine.Phase
    let event: Machine.Event
    let to: Machine.Phase
    var action = Machine.Action.none
    var testDescription: String { "\(from) + \(event)" }
  }

  /// All combinations that change the phase or give an action.
  static let rows: [Row] = [
    Row(from: .idle, event: .bytesReceived, to: .readingHead),
    Row(from: .idle, event: .bodyAnnounced, to: .readingBody),
    Row(from: .idle, event: request, to: .responding),
    Row(from: .idle, event: streamed, to: .bodyPaused),
    Row(from: .idle, event: .requestRejected, to: .responding),
    Row(from: .idle, event: .peerHalfClosed, to: .closed, action: .close),
    Row(from: .idle, event: .drainRequested, to: .idle, action: .readBeforeDrain),
    Row(from: .idle, event: .connectionFailed, to: .closed, action: .close),

    Row(from: .readingHead, event: .bodyAnnounced, to: .readingBody),
    Row(from: .readingHead, event: request, to: .responding),
    Row(from: .readingHead, event: streamed, to: .bodyPaused),
    Row(from: .readingHead, event: .requestRejected, to: .responding),
    Row(from: .readingHead, event: .peerHalfClosed, to: .closed, action: .close),
    Row(from: .readingHead, event: .connectionFailed, to: .closed, action: .close),

    Row(from: .readingBody, event: request, to: .responding),
    Row(from: .readingBody, event: .requestRejected, to: .responding),
    Row(from: .readingBody, event: .peerHalfClosed, to: .closed, action: .close),
    Row(from: .readingBody, event: .connectionFailed, to: .closed, action: .close),

    Row(from: .bodyPaused, event: .bodyReadRequested, to: .streamingBody),
    Row(from: .bodyPaused, event: .responseBegan, to: .responding),
    Row(from: .bodyPaused, event: .connectionFailed, to: .closed, action: .close),

    Row(from: .streamingBody, event: .bodyWindowFull, to: .bodyPaused),
    Row(from: .streamingBody, event: .bodyEnded, to: .responding),
    Row(from: .bodyPaused, event: .bodyFailed, to: .responding),
    Row(from: .streamingBody, event: .bodyFailed, to: .responding),
    Row(from: .streamingBody, event: .responseBegan, to: .responding),
    Row(from: .streamingBody, event: .peerHalfClosed, to: .closed, action: .close),
    Row(from: .streamingBody, event: .connectionFailed, to: .closed, action: .close),

    Row(from: .responding, event: .peerHalfClosed, to: .responding, action: .probe),
    Row(from: .responding, event: .responseCompleted, to: .sending),
    Row(from: .responding, event: .connectionFailed, to: .closed, action: .close),

    Row(from: .sending, event: .sent(1, all: true), to: .idle, action: .readNext),
    Row(from: .sending, event: .connectionFailed, to: .closed, action: .close),

    Row(from: .lingering, event: .peerHalfClosed, to: .closed, action: .close),
    Row(from: .lingering, event: .connectionFailed, to: .closed, action: .close),
  ]

  static let events: [Machine.Event] = [
    .bytesReceived, .bodyAnnounced, request, streamed, .bodyReadRequested, .bodyWindowFull, .bodyReceived(1),
    .bodyEnded, .bodyFailed,
    .requestRejected, .peerHalfClosed, .responseBegan, .responseCompleted, .sent(1, all: false),
    .sent(1, all: true), .writeBlocked, .fileLoadBegan, .drainRequested, .timerFired, .connectionFailed,
  ]

  @Test("every event in every phase gives the expected phase and action")
  func table() {
    for phase in Machine.Phase.allCases {
      for event in Self.events {
        let row =
          Self.rows.first { $0.from == phase && $0.event == event } ?? Row(from: phase, event: event, to: phase)
        var machine = Self.machine(in: phase)
        let action = machine.handle(event, now: 0)
        #expect(machine.phase == row.to && action == row.action, "\(phase) + \(event): \(machine.phase), \(action)")
      }
    }
  }

  static func seconds(_ value: Double) -> UInt64 { UInt64(value * 1e9) }

  @Test(
    "a missed deadline gives the action of the phase",
    arguments: [
      (.idle, 10, .closed, .close), (.readingHead, 10, .responding, .sendTimeoutResponse),
      (.readingBody, 20, .responding, .sendTimeoutResponse),
      (.streamingBody, 20, .responding, .failBody), (.lingering, 2, .closed, .close),
    ] as [(Machine.Phase, Double, Machine.Phase, Machine.Action)])
  func deadlines(_ phase: Machine.Phase, _ seconds: Double, _ next: Machine.Phase, _ action: Machine.Action) {
    var machine = Self.machine(in: phase)
    #expect(machine.handle(.timerFired, now: Self.seconds(seconds) - 1) == .none && machine.phase == phase)
    #expect(machine.handle(.timerFired, now: Self.seconds(seconds)) == action && machine.phase == next)
    #expect(!machine.keepsAlive || action == .close)
  }

  @Test("the header timeout runs from the first byte of the head, even if more bytes arrive")
  func trickle() {
    var machine = Machine(limits: Self.limits, now: 0)
    _ = machine.handle(.bytesReceived, now: Self.seconds(1))
    for second in 2..<11 { _ = machine.handle(.bytesReceived, now: Self.seconds(Double(second))) }
    #expect(machine.handle(.timerFired, now: Self.seconds(11)) == .sendTimeoutResponse)
  }

  @Test("the keep-alive timeout applies between requests")
  func idle() {
    var machine = Self.machine(in: .sending)
    #expect(machine.handle(.sent(9, all: true), now: Self.seconds(100)) == .readNext)
    #expect(machine.deadline == Self.seconds(130))
  }

  @Test("a handler has no deadline")
  func handlerTime() {
    #expect(Self.machine(in: .responding).deadline == .max)
  }

  @Test("a client that reads nothing, or below the minimum rate, is disconnected")
  func slowReaders() {
    var machine = Self.machine(in: .sending)
    _ = machine.handle(.writeBlocked, now: 0)
    #expect(machine.deadline == Self.seconds(5))
    // 300 bytes extend the deadline by three seconds, counted from the moment the send buffer became full.
    _ = machine.handle(.sent(300, all: false), now: Self.seconds(4))
    #expect(machine.deadline == Self.seconds(8))
    // A producer that adds more to the full buffer, or a buffer that is still full, extends nothing.
    _ = machine.handle(.writeBlocked, now: Self.seconds(7))
    _ = machine.handle(.sent(0, all: false), now: Self.seconds(7))
    #expect(machine.deadline == Self.seconds(8))
    _ = machine.handle(.sent(1, all: false), now: Self.seconds(7.9))
    #expect(machine.handle(.timerFired, now: Self.seconds(8.1)) == .close)
    // A client above the minimum rate has five seconds after each byte.
    machine = Self.machine(in: .sending)
    _ = machine.handle(.writeBlocked, now: 0)
    _ = machine.handle(.sent(1_000_000, all: false), now: Self.seconds(4))
    #expect(machine.deadline == Self.seconds(9))
    // After the client has read everything, the next block starts a new deadline.
    machine = Self.machine(in: .responding)
    _ = machine.handle(.writeBlocked, now: 0)
    _ = machine.handle(.sent(1, all: true), now: Self.seconds(4))
    #expect(machine.deadline == .max)
    _ = machine.handle(.writeBlocked, now: Self.seconds(50))
    #expect(machine.deadline == Self.seconds(55))
    // While the server reads a disk, the client has no deadline, and a new one after that.
    _ = machine.handle(.fileLoadBegan, now: Self.seconds(51))
    #expect(machine.deadline == .max && !machine.isBlockedSending)
    _ = machine.handle(.writeBlocked, now: Self.seconds(90))
    #expect(machine.deadline == Self.seconds(95))
  }

  @Test("a transfer at the lowest minimum rate has a deadline at any size", arguments: [1 << 34, 1 << 40, Int.max])
  func longTransfers(_ bytes: Int) {
    let limits = ServerLimits(
      bodyTimeout: .seconds(20), minimumBodyBytesPerSecond: 1, sendTimeout: .seconds(5), minimumSendBytesPerSecond: 1)
    var machine = Machine(limits: limits, now: 0)
    for event in [Self.request, .responseBegan, .responseCompleted, .writeBlocked] as [Machine.Event] {
      _ = machine.handle(event, now: Self.seconds(1))
    }
    _ = machine.handle(.sent(bytes, all: false), now: Self.seconds(4))
    #expect(machine.deadline == Self.seconds(9))
    machine = Machine(limits: limits, now: 0)
    for event in [Self.streamed, .bodyReadRequested] as [Machine.Event] {
      _ = machine.handle(event, now: Self.seconds(1))
    }
    _ = machine.handle(.bodyReceived(bytes), now: Self.seconds(19))
    #expect(machine.deadline == Self.seconds(39))
  }

  @Test("a streamed body has no total time limit, but fails when it stalls or falls below the minimum rate")
  func slowSenders() {
    var machine = Self.machine(in: .streamingBody)
    #expect(machine.deadline == Self.seconds(20))
    // 1,000 bytes extend the deadline by ten seconds, counted from the start of the wait.
    _ = machine.handle(.bodyReceived(1000), now: Self.seconds(15))
    #expect(machine.deadline == Self.seconds(30))
    _ = machine.handle(.bodyReceived(1), now: Self.seconds(29))
    #expect(machine.handle(.timerFired, now: Self.seconds(31)) == .failBody)
    #expect(machine.phase == .responding && !machine.keepsAlive)
    // A client above the minimum rate has twenty seconds after each byte.
    machine = Self.machine(in: .streamingBody)
    _ = machine.handle(.bodyReceived(1_000_000), now: Self.seconds(19))
    #expect(machine.deadline == Self.seconds(39))
    // No deadline runs while the handler does not read; the next read starts a new one.
    _ = machine.handle(.bodyWindowFull, now: Self.seconds(20))
    #expect(machine.deadline == .max)
    _ = machine.handle(.bodyReadRequested, now: Self.seconds(500))
    #expect(machine.deadline == Self.seconds(520))
  }

  @Test("the connection stays open after a fully read body and closes after an early response")
  func bodyInPieces() {
    var machine = Self.machine(in: .streamingBody)
    for event in [.bodyEnded, .responseBegan, .responseCompleted] as [Machine.Event] {
      _ = machine.handle(event, now: 0)
    }
    #expect(machine.handle(.sent(1, all: true), now: 0) == .readNext && machine.keepsAlive)
    for phase in [Machine.Phase.bodyPaused, .streamingBody] {
      machine = Self.machine(in: phase)
      for event in [.responseBegan, .responseCompleted] as [Machine.Event] { _ = machine.handle(event, now: 0) }
      #expect(machine.handle(.sent(1, all: true), now: 0) == .linger && !machine.keepsAlive, "\(phase)")
    }
    machine = Self.machine(in: .streamingBody)
    for event in [.drainRequested, .bodyEnded, .responseBegan, .responseCompleted] as [Machine.Event] {
      _ = machine.handle(event, now: 0)
    }
    #expect(machine.handle(.sent(1, all: true), now: 0) == .close)
  }

  @Test("a connection serves the maximum number of requests and announces the close in the last response")
  func requestCount() {
    var machine = Machine(limits: Self.limits, now: 0)
    for number in 1...3 {
      _ = machine.handle(Self.request, now: 0)
      #expect(machine.keepsAlive == (number < 3))
      _ = machine.handle(.responseBegan, now: 0)
      _ = machine.handle(.responseCompleted, now: 0)
      #expect(machine.handle(.sent(1, all: true), now: 0) == (number < 3 ? .readNext : .close))
    }
  }

  @Test("a draining connection completes its response, announces the close and closes")
  func drained() {
    var machine = Self.machine(in: .responding)
    #expect(machine.handle(.drainRequested, now: 0) == .none)
    _ = machine.handle(.responseBegan, now: 0)
    #expect(!machine.keepsAlive)
    _ = machine.handle(.responseCompleted, now: 0)
    #expect(machine.handle(.sent(1, all: true), now: 0) == .close)
  }

  @Test("draining a connection between two requests closes it after a last read")
  func drainedBetweenRequests() {
    var machine = Self.machine(in: .responding)
    for event in [.responseBegan, .responseCompleted, .sent(1, all: true)] as [Machine.Event] {
      _ = machine.handle(event, now: 0)
    }
    #expect(machine.phase == .idle && machine.handle(.drainRequested, now: 0) == .readBeforeDrain)
    #expect(machine.handle(.drainRequested, now: 0) == .close)
  }

  @Test("a new connection that is drained has the grace period for its first request")
  func drainedBeforeTheFirstRequest() {
    var machine = Machine(limits: Self.limits, now: 0)
    #expect(machine.handle(.drainRequested, now: 0) == .readBeforeDrain)
    #expect(machine.handle(.drainRequested, now: 0) == .none && machine.phase == .idle)
    let grace = Self.limits.drainGrace.unsignedNanoseconds
    #expect(machine.deadline == grace)
    var late = machine
    #expect(late.handle(.timerFired, now: grace) == .close)
    for event in [Self.request, .responseBegan, .responseCompleted] as [Machine.Event] {
      _ = machine.handle(event, now: 1)
    }
    #expect(!machine.keepsAlive && machine.handle(.sent(1, all: true), now: 1) == .close)
  }

  @Test("the connection of a rejected client lingers before it closes")
  func refused() {
    var machine = Self.machine(in: .readingHead)
    for event in [.requestRejected, .responseBegan, .responseCompleted] as [Machine.Event] {
      _ = machine.handle(event, now: 0)
    }
    #expect(!machine.keepsAlive)
    #expect(machine.handle(.sent(1, all: true), now: 0) == .linger)
  }

  @Test("a client that half-closes is probed before the response and in it, except in a file and in HTTP/1.0")
  func halfClosed() {
    var machine = Self.machine(in: .responding)
    #expect(machine.handle(.peerHalfClosed, now: 0) == .probe)
    machine = Self.machine(in: .responding)
    _ = machine.handle(.responseBegan, now: 0)
    #expect(machine.handle(.peerHalfClosed, now: 0) == .probeInBody && machine.phase == .responding)
    machine = Self.machine(in: .responding)
    _ = machine.handle(.responseBegan, now: 0)
    machine.sendWithoutPauses()
    #expect(machine.handle(.peerHalfClosed, now: 0) == .none, "sending a file shows whether the client reads")
    machine = Machine(limits: Self.limits, now: 0)
    _ = machine.handle(.requestReceived(keepsAlive: false, version: .http10), now: 0)
    #expect(machine.handle(.peerHalfClosed, now: 0) == .none, "HTTP/1.0 has no interim responses")
    machine = Machine(limits: Self.limits, now: 0)
    _ = machine.handle(.requestReceived(keepsAlive: false, version: .http10), now: 0)
    _ = machine.handle(.responseBegan, now: 0)
    #expect(machine.handle(.peerHalfClosed, now: 0) == .none, "HTTP/1.0 has no chunks")
    machine = Self.machine(in: .sending)
    #expect(machine.handle(.peerHalfClosed, now: 0) == .none && machine.peerHasHalfClosed)
  }
}
