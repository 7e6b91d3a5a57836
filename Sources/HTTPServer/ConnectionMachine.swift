// What a connection does about what happens to it: events in, one action out, the time passed in. It owns no socket, no
// clock and no parser; `Connection` carries its actions out, and the tests run it through tables.
//
//     waiting --bytes--> head --announced--> body --+
//        |                 |                        |
//        |                 +-------- request -------+--> answering --complete--> sending --sent--> waiting
//        |                 |                                 ^                      |
//        |                 | refused, timed out -------------+                      +--> lingering --> closed
//        |                 |                                 |
//        |                 +-streamed-> holding <---> streaming: ended, failed, answered early
//        +-- drained, timed out, the client went --------------------------------------------------> closed

import HTTPCore

struct ConnectionMachine {
  enum Phase: Hashable, CaseIterable {
    /// Between two requests: not a byte of the next one is here.
    case waiting
    /// Part of a head has arrived.
    case head
    /// The head is complete, its body is not.
    case body
    /// A handler has the head, and takes the body in pieces: it has not asked for any yet, or has not kept up. Nothing is
    /// read.
    case holding
    /// The same, and the next piece is waited for.
    case streaming
    /// A handler has the request. What it has answered so far may be on its way.
    case answering
    /// The answer is complete and its last bytes are on their way.
    case sending
    /// Our side is shut; what a refused client still sends is thrown away, so that it can read why (RFC 9112 §9.6).
    case lingering
    case closed
  }

  enum Event: Hashable {
    /// Bytes have come, or are left over from the request before.
    case received
    case bodyAnnounced
    /// A whole request.
    case requested(keepsAlive: Bool, version: HTTPVersion)
    /// A request whose body comes in pieces.
    case streamed(keepsAlive: Bool, version: HTTPVersion)
    /// There is room for more of the body.
    case bodyWanted
    /// There is none until somebody takes what is here.
    case bodyHeld
    /// So many bytes of the body came.
    case bodyReceived(Int)
    case bodyEnded
    /// What comes is no body; whoever takes it is told.
    case bodyFailed
    /// The message is none, and its sender is about to be told.
    case refused
    /// The client will send nothing more. It may still be reading.
    case peerFinished
    /// The head of the answer is made.
    case answerBegan
    /// No more of the body follows.
    case answerCompleted
    /// So many bytes went to the kernel; whether that was all there were.
    case sent(Int, all: Bool)
    /// The kernel takes no more for now.
    case blocked
    case drained
    case ticked
    /// The socket failed, or its owner wants no more of it.
    case failed
  }

  enum Action: Hashable {
    case none
    /// Look for the next request in what has arrived.
    case readNext
    /// Tell the client that its time is over (408), and close.
    case timeOut
    /// Tell whoever takes the body that no more of it comes: it came too slowly.
    case failBody
    /// Find out with an interim response whether a client that has stopped sending is still there: one who is gone answers
    /// it with a reset.
    case probe
    /// Shut our side and read what still comes.
    case linger
    case close
  }

  private let limits: ServerLimits
  private(set) var phase = Phase.waiting
  /// When the client must have done what it is waited for. `.max`: it is not waited for.
  private(set) var deadline: UInt64
  /// Whether this connection has a next request.
  private(set) var keepsAlive = true
  private(set) var version = HTTPVersion.http11
  private(set) var hasBegunAnswer = false
  private(set) var peerHasFinished = false
  private var isDraining = false
  /// The client may be in the middle of a message that was refused.
  private var wasRefused = false
  private var requestCount = 0
  /// Since when bytes wait for the client, and how many it has taken since.
  private var blockedSince: UInt64?
  private var takenSince = 0
  /// Since when the rest of a body is waited for, and how much of it has come since.
  private var streamingSince: UInt64 = 0
  private var streamedSince = 0

  init(limits: ServerLimits, now: UInt64) {
    self.limits = limits
    deadline = now + limits.headerDeadline.nanoseconds
  }

  /// Whether what arrives belongs to a request that is not all here, and is to be read.
  var isReading: Bool { phase == .waiting || phase == .head || phase == .body || phase == .streaming }

  /// The answer's end is the connection's, as for HTTP/1.0 without a length (RFC 9112 §6.3).
  mutating func endsWithThisAnswer() { keepsAlive = false }

  mutating func handle(_ event: Event, now: UInt64) -> Action {
    switch (phase, event) {
    case (.closed, _): return .none
    case (_, .failed): return close()

    case (.waiting, .received):
      phase = .head
      deadline = now + limits.headerDeadline.nanoseconds
    case (.waiting, .bodyAnnounced), (.head, .bodyAnnounced):
      phase = .body
      deadline = now + limits.bodyDeadline.nanoseconds
    case (.waiting, .requested(let keepsAlive, let version)), (.head, .requested(let keepsAlive, let version)),
      (.body, .requested(let keepsAlive, let version)):
      requestBegins(keepsAlive: keepsAlive, version)
      beginAnswering()
    case (.waiting, .streamed(let keepsAlive, let version)), (.head, .streamed(let keepsAlive, let version)):
      requestBegins(keepsAlive: keepsAlive, version)
      beginAnswering()
      phase = .holding

    case (.holding, .bodyWanted):
      phase = .streaming
      streamingSince = now
      streamedSince = 0
      waitForBody(now: now)
    case (.streaming, .bodyHeld):
      phase = .holding
      deadline = .max
    case (.streaming, .bodyReceived(let count)):
      streamedSince += count
      waitForBody(now: now)
    case (.streaming, .bodyEnded): beginAnswering()
    case (.streaming, .bodyFailed): abandonBody()
    // The answer does not wait for the rest of the body, so nobody can tell where the next request would begin.
    case (.holding, .answerBegan), (.streaming, .answerBegan):
      abandonBody()
      hasBegunAnswer = true
    case (.streaming, .peerFinished): return close()
    case (.waiting, .refused), (.head, .refused), (.body, .refused):
      keepsAlive = false
      wasRefused = true
      beginAnswering()
    case (.waiting, .peerFinished), (.head, .peerFinished), (.body, .peerFinished), (.lingering, .peerFinished):
      return close()

    // Between two pieces of an answer nothing can tell one who has finished from one who is gone, and what is still to be
    // made would most likely be made for nobody. What is made already is sent.
    case (.answering, .peerFinished):
      peerHasFinished = true
      if hasBegunAnswer { return close() }
      return version == .http10 ? .none : .probe
    case (.sending, .peerFinished): peerHasFinished = true

    case (.answering, .answerBegan):
      hasBegunAnswer = true
      if isDraining { keepsAlive = false }
    case (.answering, .answerCompleted): phase = .sending

    case (.answering, .sent(let count, let all)):
      sent(count, all: all, now: now)
    case (.sending, .sent(let count, let all)):
      sent(count, all: all, now: now)
      if all { return answerIsSent(now: now) }
    case (.answering, .blocked), (.sending, .blocked):
      if blockedSince == nil {
        blockedSince = now
        takenSince = 0
      }
      waitForReader(now: now)

    case (.waiting, .drained): return close()
    case (_, .drained): isDraining = true

    case (_, .ticked):
      guard now >= deadline else { return .none }
      switch phase {
      case .head, .body:
        keepsAlive = false
        wasRefused = true
        beginAnswering()
        return .timeOut
      case .streaming:
        abandonBody()
        return .failBody
      case .waiting, .holding, .answering, .sending, .lingering, .closed: return close()
      }

    // An interim response goes out while the body is still to come; and what nobody waits for any more, nobody heeds.
    case (_, .received), (_, .bodyAnnounced), (_, .requested), (_, .refused), (_, .answerBegan), (_, .answerCompleted),
      (_, .sent), (_, .blocked), (_, .streamed), (_, .bodyWanted), (_, .bodyHeld), (_, .bodyReceived), (_, .bodyEnded),
      (_, .bodyFailed), (.holding, .peerFinished):
      break
    }
    return .none
  }

  private mutating func requestBegins(keepsAlive: Bool, _ version: HTTPVersion) {
    requestCount += 1
    self.version = version
    self.keepsAlive = keepsAlive && requestCount < limits.requestsPerConnection && !isDraining
  }

  /// The rest of a body is nobody's.
  private mutating func abandonBody() {
    keepsAlive = false
    wasRefused = true
    beginAnswering()
  }

  private mutating func beginAnswering() {
    phase = .answering
    hasBegunAnswer = false
    deadline = .max
    blockedSince = nil
  }

  private mutating func answerIsSent(now: UInt64) -> Action {
    guard keepsAlive, !isDraining else {
      guard wasRefused else { return close() }
      phase = .lingering
      deadline = now + limits.lingerDeadline.nanoseconds
      return .linger
    }
    phase = .waiting
    deadline = now + limits.idleDeadline.nanoseconds
    return .readNext
  }

  private mutating func sent(_ count: Int, all: Bool, now: UInt64) {
    if all {
      blockedSince = nil
      deadline = .max
    } else if blockedSince != nil {
      takenSince += count
      waitForReader(now: now)
    }
  }

  /// A reader has to take something within the write deadline, and not less than so many bytes a second in the long run:
  /// one that takes a byte now and then would otherwise hold a large answer for days.
  private mutating func waitForReader(now: UInt64) {
    deadline = now + limits.writeDeadline.nanoseconds
    guard limits.writeBytesPerSecond > 0, let blockedSince else { return }
    let earned = UInt64(Double(takenSince) / Double(limits.writeBytesPerSecond) * 1e9)
    deadline = min(deadline, blockedSince + limits.writeDeadline.nanoseconds + earned)
  }

  /// A body that is taken in pieces may be as long as it likes, but not as slow: something has to come within the body
  /// deadline, and not less than so many bytes a second in the long run.
  private mutating func waitForBody(now: UInt64) {
    deadline = now + limits.bodyDeadline.nanoseconds
    guard limits.bodyBytesPerSecond > 0 else { return }
    let earned = UInt64(Double(streamedSince) / Double(limits.bodyBytesPerSecond) * 1e9)
    deadline = min(deadline, streamingSince + limits.bodyDeadline.nanoseconds + earned)
  }

  private mutating func close() -> Action {
    phase = .closed
    deadline = .max
    return .close
  }
}

extension Duration {
  var nanoseconds: UInt64 { UInt64(max(0, self / .nanoseconds(1))) }
}
