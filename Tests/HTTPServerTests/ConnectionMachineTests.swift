import HTTPCore
import Testing

@testable import HTTPServer

/// Every phase and every event: what becomes of the phase, and what is to be done. Times are seconds.
@Suite("Connection machine")
struct ConnectionMachineTests {
  typealias Machine = ConnectionMachine

  static let limits = ServerLimits(
    requestsPerConnection: 3, headerDeadline: .seconds(10), bodyDeadline: .seconds(20), bodyBytesPerSecond: 100,
    idleDeadline: .seconds(30),
    writeDeadline: .seconds(5), writeBytesPerSecond: 100, lingerDeadline: .seconds(2))

  static let streamed = Machine.Event.streamed(keepsAlive: true, version: .http11)
  static let request = Machine.Event.requested(keepsAlive: true, version: .http11)

  /// How each phase is reached from the beginning.
  static func machine(in phase: Machine.Phase, now: UInt64 = 0) -> Machine {
    var machine = Machine(limits: limits, now: now)
    let way: [Machine.Event] =
      switch phase {
      case .waiting: []
      case .head: [.received]
      case .body: [.received, .bodyAnnounced]
      case .holding: [.received, streamed]
      case .streaming: [.received, streamed, .bodyWanted]
      case .answering: [.received, request]
      case .sending: [.received, request, .answerBegan, .answerCompleted]
      case .lingering: [.received, .refused, .answerBegan, .answerCompleted, .sent(1, all: true)]
      case .closed: [.failed]
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

  /// All that is no "nothing happens".
  static let rows: [Row] = [
    Row(from: .waiting, event: .received, to: .head),
    Row(from: .waiting, event: .bodyAnnounced, to: .body),
    Row(from: .waiting, event: request, to: .answering),
    Row(from: .waiting, event: streamed, to: .holding),
    Row(from: .waiting, event: .refused, to: .answering),
    Row(from: .waiting, event: .peerFinished, to: .closed, action: .close),
    Row(from: .waiting, event: .drained, to: .closed, action: .close),
    Row(from: .waiting, event: .failed, to: .closed, action: .close),

    Row(from: .head, event: .bodyAnnounced, to: .body),
    Row(from: .head, event: request, to: .answering),
    Row(from: .head, event: streamed, to: .holding),
    Row(from: .head, event: .refused, to: .answering),
    Row(from: .head, event: .peerFinished, to: .closed, action: .close),
    Row(from: .head, event: .failed, to: .closed, action: .close),

    Row(from: .body, event: request, to: .answering),
    Row(from: .body, event: .refused, to: .answering),
    Row(from: .body, event: .peerFinished, to: .closed, action: .close),
    Row(from: .body, event: .failed, to: .closed, action: .close),

    Row(from: .holding, event: .bodyWanted, to: .streaming),
    Row(from: .holding, event: .answerBegan, to: .answering),
    Row(from: .holding, event: .failed, to: .closed, action: .close),

    Row(from: .streaming, event: .bodyHeld, to: .holding),
    Row(from: .streaming, event: .bodyEnded, to: .answering),
    Row(from: .streaming, event: .bodyFailed, to: .answering),
    Row(from: .streaming, event: .answerBegan, to: .answering),
    Row(from: .streaming, event: .peerFinished, to: .closed, action: .close),
    Row(from: .streaming, event: .failed, to: .closed, action: .close),

    Row(from: .answering, event: .peerFinished, to: .answering, action: .probe),
    Row(from: .answering, event: .answerCompleted, to: .sending),
    Row(from: .answering, event: .failed, to: .closed, action: .close),

    Row(from: .sending, event: .sent(1, all: true), to: .waiting, action: .readNext),
    Row(from: .sending, event: .failed, to: .closed, action: .close),

    Row(from: .lingering, event: .peerFinished, to: .closed, action: .close),
    Row(from: .lingering, event: .failed, to: .closed, action: .close),
  ]

  static let events: [Machine.Event] = [
    .received, .bodyAnnounced, request, streamed, .bodyWanted, .bodyHeld, .bodyReceived(1), .bodyEnded, .bodyFailed,
    .refused, .peerFinished, .answerBegan, .answerCompleted, .sent(1, all: false),
    .sent(1, all: true), .blocked, .drained, .ticked, .failed,
  ]

  @Test("every phase and every event is decided")
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
    "who does not do in time what is waited for",
    arguments: [
      (.waiting, 10, .closed, .close), (.head, 10, .answering, .timeOut), (.body, 20, .answering, .timeOut),
      (.streaming, 20, .answering, .failBody), (.lingering, 2, .closed, .close),
    ] as [(Machine.Phase, Double, Machine.Phase, Machine.Action)])
  func deadlines(_ phase: Machine.Phase, _ seconds: Double, _ next: Machine.Phase, _ action: Machine.Action) {
    var machine = Self.machine(in: phase)
    #expect(machine.handle(.ticked, now: Self.seconds(seconds) - 1) == .none && machine.phase == phase)
    #expect(machine.handle(.ticked, now: Self.seconds(seconds)) == action && machine.phase == next)
    #expect(!machine.keepsAlive || action == .close)
  }

  @Test("a head's time runs from its first byte, however the rest trickles in")
  func trickle() {
    var machine = Machine(limits: Self.limits, now: 0)
    _ = machine.handle(.received, now: Self.seconds(1))
    for second in 2..<11 { _ = machine.handle(.received, now: Self.seconds(Double(second))) }
    #expect(machine.handle(.ticked, now: Self.seconds(11)) == .timeOut)
  }

  @Test("between requests the idle deadline counts")
  func idle() {
    var machine = Self.machine(in: .sending)
    #expect(machine.handle(.sent(9, all: true), now: Self.seconds(100)) == .readNext)
    #expect(machine.deadline == Self.seconds(130))
  }

  @Test("a handler has all the time it wants")
  func handlerTime() {
    #expect(Self.machine(in: .answering).deadline == .max)
  }

  @Test("a reader that takes nothing is cut off; one that takes too little too, in the end")
  func slowReaders() {
    var machine = Self.machine(in: .sending)
    _ = machine.handle(.blocked, now: 0)
    #expect(machine.deadline == Self.seconds(5))
    // 300 bytes earn three seconds, counted from when it began to lag.
    _ = machine.handle(.sent(300, all: false), now: Self.seconds(4))
    #expect(machine.deadline == Self.seconds(8))
    _ = machine.handle(.sent(1, all: false), now: Self.seconds(7.9))
    #expect(machine.handle(.ticked, now: Self.seconds(8.1)) == .close)
    // One who is quick enough has five seconds from each byte.
    machine = Self.machine(in: .sending)
    _ = machine.handle(.blocked, now: 0)
    _ = machine.handle(.sent(1_000_000, all: false), now: Self.seconds(4))
    #expect(machine.deadline == Self.seconds(9))
    // And one who has caught up starts anew.
    machine = Self.machine(in: .answering)
    _ = machine.handle(.blocked, now: 0)
    _ = machine.handle(.sent(1, all: true), now: Self.seconds(4))
    #expect(machine.deadline == .max)
    _ = machine.handle(.blocked, now: Self.seconds(50))
    #expect(machine.deadline == Self.seconds(55))
  }

  @Test("a body in pieces may take as long as it likes, but not come to a halt, nor for ever trickle")
  func slowSenders() {
    var machine = Self.machine(in: .streaming)
    #expect(machine.deadline == Self.seconds(20))
    // 1,000 bytes earn ten seconds, counted from when they were waited for.
    _ = machine.handle(.bodyReceived(1000), now: Self.seconds(15))
    #expect(machine.deadline == Self.seconds(30))
    _ = machine.handle(.bodyReceived(1), now: Self.seconds(29))
    #expect(machine.handle(.ticked, now: Self.seconds(31)) == .failBody)
    #expect(machine.phase == .answering && !machine.keepsAlive)
    // One who is quick enough has twenty seconds from each byte.
    machine = Self.machine(in: .streaming)
    _ = machine.handle(.bodyReceived(1_000_000), now: Self.seconds(19))
    #expect(machine.deadline == Self.seconds(39))
    // While nobody takes what came, its sender is not waited for; then he starts anew.
    _ = machine.handle(.bodyHeld, now: Self.seconds(20))
    #expect(machine.deadline == .max)
    _ = machine.handle(.bodyWanted, now: Self.seconds(500))
    #expect(machine.deadline == Self.seconds(520))
  }

  @Test("a body that was read to its end leaves the connection open; an answer before that is the last")
  func bodyInPieces() {
    var machine = Self.machine(in: .streaming)
    for event in [.bodyEnded, .answerBegan, .answerCompleted] as [Machine.Event] { _ = machine.handle(event, now: 0) }
    #expect(machine.handle(.sent(1, all: true), now: 0) == .readNext && machine.keepsAlive)
    for phase in [Machine.Phase.holding, .streaming] {
      machine = Self.machine(in: phase)
      for event in [.answerBegan, .answerCompleted] as [Machine.Event] { _ = machine.handle(event, now: 0) }
      #expect(machine.handle(.sent(1, all: true), now: 0) == .linger && !machine.keepsAlive, "\(phase)")
    }
    machine = Self.machine(in: .streaming)
    for event in [.drained, .bodyEnded, .answerBegan, .answerCompleted] as [Machine.Event] {
      _ = machine.handle(event, now: 0)
    }
    #expect(machine.handle(.sent(1, all: true), now: 0) == .close)
  }

  @Test("a connection has so many requests, and says with the last that it is the last")
  func requestCount() {
    var machine = Machine(limits: Self.limits, now: 0)
    for number in 1...3 {
      _ = machine.handle(Self.request, now: 0)
      #expect(machine.keepsAlive == (number < 3))
      _ = machine.handle(.answerBegan, now: 0)
      _ = machine.handle(.answerCompleted, now: 0)
      #expect(machine.handle(.sent(1, all: true), now: 0) == (number < 3 ? .readNext : .close))
    }
  }

  @Test("a drained connection finishes its answer, says that it is the last, and closes")
  func drained() {
    var machine = Self.machine(in: .answering)
    #expect(machine.handle(.drained, now: 0) == .none)
    _ = machine.handle(.answerBegan, now: 0)
    #expect(!machine.keepsAlive)
    _ = machine.handle(.answerCompleted, now: 0)
    #expect(machine.handle(.sent(1, all: true), now: 0) == .close)
  }

  @Test("the client that is refused is listened to a little longer")
  func refused() {
    var machine = Self.machine(in: .head)
    for event in [.refused, .answerBegan, .answerCompleted] as [Machine.Event] { _ = machine.handle(event, now: 0) }
    #expect(!machine.keepsAlive)
    #expect(machine.handle(.sent(1, all: true), now: 0) == .linger)
  }

  @Test("one who stops sending before the answer is asked whether it is there; in the middle of one it is let go")
  func halfClosed() {
    var machine = Self.machine(in: .answering)
    #expect(machine.handle(.peerFinished, now: 0) == .probe)
    machine = Self.machine(in: .answering)
    _ = machine.handle(.answerBegan, now: 0)
    #expect(machine.handle(.peerFinished, now: 0) == .close)
    machine = Machine(limits: Self.limits, now: 0)
    _ = machine.handle(.requested(keepsAlive: false, version: .http10), now: 0)
    #expect(machine.handle(.peerFinished, now: 0) == .none, "HTTP/1.0 has no interim responses")
    machine = Self.machine(in: .sending)
    #expect(machine.handle(.peerFinished, now: 0) == .none && machine.peerHasFinished)
  }
}
