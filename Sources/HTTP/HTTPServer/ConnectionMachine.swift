// The protocol state of one connection: an event goes in, one action comes out, and the time is a parameter. It owns no
// socket, no clock and no parser. `Connection` carries out the actions, and the tests drive this type with tables of
// events.
//
//     idle --bytes--> readingHead --announced--> readingBody --+
//      |                  |                                    |
//      |                  +---------------- request -----------+--> responding --complete--> sending --sent--> idle
//      |                  |                                            ^                        |
//      |                  | rejected, timed out ---------------------+                        +--> lingering -> closed
//      |                  |                                            |
//      |                  +-streamed-> bodyPaused <---> streamingBody: ended, failed, early response
//      +-- drained, timed out, peer closed ---------------------------------------------------------------> closed

import HTTPCore
import Primitives

struct ConnectionMachine {
  enum Phase: Hashable, CaseIterable {
    /// Between two requests: no byte of the next request has arrived.
    case idle
    /// Part of a request head has arrived.
    case readingHead
    /// The request head is complete, its body is not.
    case readingBody
    /// A handler streams the body and has not asked for the first piece, or the body window is full. Nothing is read
    /// from the socket, and the client has no deadline.
    case bodyPaused
    /// A handler streams the body, and the connection reads it into the body window, also while the handler has not
    /// asked for the next piece. The client has a deadline.
    case streamingBody
    /// A handler has the request. Parts of the response may already have been sent.
    case responding
    /// The response is complete and its last bytes are being sent.
    case sending
    /// The sending side is shut down. Further input of a rejected client is discarded, so that the client can read the
    /// response (RFC 9112 §9.6).
    case lingering
    case closed
  }

  enum Event: Hashable {
    /// Bytes have arrived, or are left over after the previous request.
    case bytesReceived
    case bodyAnnounced
    /// A complete request has arrived.
    case requestReceived(keepsAlive: Bool, version: HTTPVersion)
    /// The head of a request whose body is streamed has arrived.
    case streamedRequestReceived(keepsAlive: Bool, version: HTTPVersion)
    /// The handler asks for a piece, and the body window has room.
    case bodyReadRequested
    /// The body window is full until the handler reads.
    case bodyWindowFull
    /// This many bytes of the body have arrived.
    case bodyReceived(Int)
    case bodyEnded
    /// The body is malformed, or the handler needs no more of it. The handler's read fails.
    case bodyFailed
    /// The message is malformed, and an error response follows.
    case requestRejected
    /// The client has stopped sending. It may still be reading.
    case peerHalfClosed
    /// The response head is queued.
    case responseBegan
    /// The response is complete: no more of its body follows.
    case responseCompleted
    /// The peer's system has acknowledged this many more bytes; `all` is true if nothing remains queued here.
    case sent(Int, all: Bool)
    /// Bytes wait for the client: the socket's send buffer is full, or other connections have their turn.
    case writeBlocked
    /// The next bytes of the response are being read from a disk, so the response does not wait for the client.
    case fileLoadBegan
    /// The server drains: this connection accepts no further request. In `idle` the event comes twice, before and after
    /// the last read.
    case drainRequested
    case timerFired
    /// The socket failed, or the server closes the connection.
    case connectionFailed
  }

  enum Action: Hashable {
    case none
    /// Parse the next request from the buffered bytes.
    case readNext
    /// Read what the kernel has received: a request that arrived before the drain still gets its response.
    case readBeforeDrain
    /// Respond with 408 (Request Timeout) and close.
    case sendTimeoutResponse
    /// Fail the handler's read of the body: the body arrived too slowly.
    case failBody
    /// Send an interim response to find out whether a client that stopped sending is still connected: a closed socket
    /// replies with a reset.
    case probe
    /// Find out the same between two pieces of a response: send the first digit of the next chunk's size.
    case probeInBody
    /// Shut down the sending side, and read and discard further input.
    case linger
    case close
  }

  private let limits: ServerLimits
  private(set) var phase = Phase.idle
  /// When the client must have made progress. `.max`: no deadline.
  private(set) var deadline: UInt64
  /// Whether the connection stays open after this response.
  private(set) var keepsAlive = true
  private(set) var version = HTTPVersion.http11
  private(set) var hasBegunResponse = false
  private(set) var peerHasHalfClosed = false
  /// The rest of the response comes without pauses, so that sending it shows whether the client still reads.
  private var sendsWithoutPauses = false
  private var isDraining = false
  /// The client may still be sending a message that was rejected.
  private var needsLinger = false
  private var requestCount = 0
  /// Bytes that the peer's system has acknowledged since a response began to wait for the client; `nil` while it does
  /// not wait.
  private var blockedSending: TransferProgress?
  /// Bytes that have arrived since the connection began to wait for the streamed body.
  private var bodyReceiving = TransferProgress(began: 0)

  init(limits: ServerLimits, now: UInt64) {
    self.limits = limits
    deadline = now + limits.headerTimeout.unsignedNanoseconds
  }

  /// Whether a response waits for the client.
  var isBlockedSending: Bool { blockedSending != nil }

  /// Whether a request is incomplete and more input should be read.
  var isReading: Bool { phase == .idle || phase == .readingHead || phase == .readingBody || phase == .streamingBody }

  /// Ends the response by closing the connection, as for HTTP/1.0 without a length (RFC 9112 §6.3).
  mutating func closeAfterResponse() { keepsAlive = false }

  /// The body of the response is ready, such as a file, and is sent as fast as the client reads.
  mutating func sendWithoutPauses() { sendsWithoutPauses = true }

  mutating func handle(_ event: Event, now: UInt64) -> Action {
    switch (phase, event) {
    case (.closed, _): return .none
    case (_, .connectionFailed): return close()

    case (.idle, .bytesReceived):
      phase = .readingHead
      deadline = now + limits.headerTimeout.unsignedNanoseconds
    case (.idle, .bodyAnnounced), (.readingHead, .bodyAnnounced):
      phase = .readingBody
      deadline = now + limits.bodyTimeout.unsignedNanoseconds
    case (.idle, .requestReceived(let keepsAlive, let version)),
      (.readingHead, .requestReceived(let keepsAlive, let version)),
      (.readingBody, .requestReceived(let keepsAlive, let version)):
      requestBegan(keepsAlive: keepsAlive, version)
      beginResponding()
    case (.idle, .streamedRequestReceived(let keepsAlive, let version)),
      (.readingHead, .streamedRequestReceived(let keepsAlive, let version)):
      requestBegan(keepsAlive: keepsAlive, version)
      beginResponding()
      phase = .bodyPaused

    case (.bodyPaused, .bodyReadRequested):
      phase = .streamingBody
      bodyReceiving = TransferProgress(began: now)
      waitForBody(now: now)
    case (.streamingBody, .bodyWindowFull):
      phase = .bodyPaused
      deadline = .max
    case (.streamingBody, .bodyReceived(let count)):
      bodyReceiving.add(count)
      waitForBody(now: now)
    case (.streamingBody, .bodyEnded): beginResponding()
    case (.bodyPaused, .bodyFailed), (.streamingBody, .bodyFailed): abandonBody()
    // The response begins before the body has ended, so the start of the next request is unknown.
    case (.bodyPaused, .responseBegan), (.streamingBody, .responseBegan):
      abandonBody()
      hasBegunResponse = true
    case (.streamingBody, .peerHalfClosed): return close()
    case (.idle, .requestRejected), (.readingHead, .requestRejected), (.readingBody, .requestRejected):
      keepsAlive = false
      needsLinger = true
      beginResponding()
    case (.idle, .peerHalfClosed), (.readingHead, .peerHalfClosed), (.readingBody, .peerHalfClosed),
      (.lingering, .peerHalfClosed):
      return close()

    // A client that only stopped sending gets its whole response (RFC 9112 §9.6). A disconnected client, whose work
    // should end, looks the same until something is sent to it. A file that is being sent already shows the difference;
    // otherwise send a probe, which HTTP/1.0 does not have.
    case (.responding, .peerHalfClosed):
      peerHasHalfClosed = true
      if version == .http10 || sendsWithoutPauses { return .none }
      return hasBegunResponse ? .probeInBody : .probe
    case (.sending, .peerHalfClosed): peerHasHalfClosed = true

    case (.responding, .responseBegan):
      hasBegunResponse = true
      if isDraining { keepsAlive = false }
    case (.responding, .responseCompleted): phase = .sending

    case (.responding, .sent(let count, let all)):
      sent(count, all: all, now: now)
    case (.sending, .sent(let count, let all)):
      sent(count, all: all, now: now)
      if all { return responseSent(now: now) }
    case (.responding, .writeBlocked), (.sending, .writeBlocked):
      if blockedSending == nil {
        blockedSending = TransferProgress(began: now)
        waitForReader(now: now)
      }
    case (.responding, .fileLoadBegan), (.sending, .fileLoadBegan):
      blockedSending = nil
      deadline = .max

    case (.idle, .drainRequested):
      guard isDraining else {
        isDraining = true
        return .readBeforeDrain
      }
      // The first request of a new connection may still be in transit: its client has no reason to retry.
      guard requestCount == 0 else { return close() }
      deadline = min(deadline, now + limits.drainGrace.unsignedNanoseconds)
    case (_, .drainRequested): isDraining = true

    case (_, .timerFired):
      guard now >= deadline else { return .none }
      switch phase {
      case .readingHead, .readingBody:
        keepsAlive = false
        needsLinger = true
        beginResponding()
        return .sendTimeoutResponse
      case .streamingBody:
        abandonBody()
        return .failBody
      case .idle, .bodyPaused, .responding, .sending, .lingering, .closed: return close()
      }

    // These events need no action here. `sent` also reports an interim response while the body is still expected; the
    // others come too late to matter.
    case (_, .bytesReceived), (_, .bodyAnnounced), (_, .requestReceived), (_, .requestRejected), (_, .responseBegan),
      (_, .responseCompleted), (_, .sent), (_, .writeBlocked), (_, .fileLoadBegan), (_, .streamedRequestReceived),
      (_, .bodyReadRequested), (_, .bodyWindowFull), (_, .bodyReceived), (_, .bodyEnded), (_, .bodyFailed),
      (.bodyPaused, .peerHalfClosed):
      break
    }
    return .none
  }

  private mutating func requestBegan(keepsAlive: Bool, _ version: HTTPVersion) {
    requestCount += 1
    self.version = version
    self.keepsAlive = keepsAlive && requestCount < limits.requestsPerConnection && !isDraining
  }

  /// Stops reading a body: the response follows and the connection closes after it.
  private mutating func abandonBody() {
    keepsAlive = false
    needsLinger = true
    beginResponding()
  }

  private mutating func beginResponding() {
    phase = .responding
    hasBegunResponse = false
    sendsWithoutPauses = false
    deadline = .max
    blockedSending = nil
  }

  private mutating func responseSent(now: UInt64) -> Action {
    guard keepsAlive, !isDraining else {
      guard needsLinger else { return close() }
      phase = .lingering
      deadline = now + limits.lingeringTime.unsignedNanoseconds
      return .linger
    }
    phase = .idle
    deadline = now + limits.keepAliveTimeout.unsignedNanoseconds
    return .readNext
  }

  private mutating func sent(_ count: Int, all: Bool, now: UInt64) {
    if all {
      blockedSending = nil
      deadline = .max
    } else if blockedSending != nil, count > 0 {
      blockedSending?.add(count)
      waitForReader(now: now)
    }
  }

  private mutating func waitForReader(now: UInt64) {
    guard let blockedSending else { return }
    deadline = blockedSending.deadline(
      now: now, timeout: limits.sendTimeout, minimumBytesPerSecond: limits.minimumSendBytesPerSecond)
  }

  /// A streamed body has no total time limit.
  private mutating func waitForBody(now: UInt64) {
    deadline = bodyReceiving.deadline(
      now: now, timeout: limits.bodyTimeout, minimumBytesPerSecond: limits.minimumBodyBytesPerSecond)
  }

  private mutating func close() -> Action {
    phase = .closed
    deadline = .max
    return .close
  }
}
