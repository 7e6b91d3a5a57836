import Foundation
import Synchronization

/// Blocks threads while it is shut. `@unchecked Sendable` because the condition's lock guards all fields.
final class Gate: @unchecked Sendable {
  private let condition = NSCondition()
  private var isShut = false
  private var waiting = 0
  private var arrivals: [CheckedContinuation<Void, Never>] = []

  func shut() { condition.withLock { isShut = true } }

  func open() {
    condition.withLock {
      isShut = false
      condition.broadcast()
    }
  }

  /// Blocks the thread while the gate is shut.
  func pass() {
    condition.lock()
    defer { condition.unlock() }
    guard isShut else { return }
    waiting += 1
    for arrival in arrivals { arrival.resume() }
    arrivals = []
    while isShut { condition.wait() }
    waiting -= 1
  }

  /// Returns when a thread is blocked.
  func waitUntilBlocked() async {
    await withCheckedContinuation { continuation in
      condition.withLock {
        if waiting > 0 { continuation.resume() } else { arrivals.append(continuation) }
      }
    }
  }
}

/// An ordered log of events that a test can wait for.
final class EventLog: Sendable {
  private let (stream, continuation) = AsyncStream.makeStream(of: String.self)

  func append(_ line: String) { continuation.yield(line) }

  func next() async -> String { await lines(1).first ?? "nothing" }

  /// The next lines.
  func lines(_ count: Int) async -> [String] {
    var lines: [String] = []
    for await line in stream {
      lines.append(line)
      if lines.count == count { break }
    }
    return lines
  }
}
