import Foundation
import Synchronization

/// Holds whoever passes while it is shut. `@unchecked Sendable` because all is guarded by the condition's lock.
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

  /// Returns when somebody is held.
  func waitUntilBlocked() async {
    await withCheckedContinuation { continuation in
      condition.withLock {
        if waiting > 0 { continuation.resume() } else { arrivals.append(continuation) }
      }
    }
  }
}

/// What was told, in order, and a way to wait for so much of it.
final class EventLog: Sendable {
  private let (stream, continuation) = AsyncStream.makeStream(of: String.self)

  func append(_ line: String) { continuation.yield(line) }

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
