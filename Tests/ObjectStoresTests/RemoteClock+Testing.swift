import Dispatch
import Synchronization

@testable import ObjectStores

/// A clock that jumps over each delay, and keeps a list of them.
final class JumpingClock: Sendable {
  private let state = Mutex<(now: Duration, delays: [Duration])>((.seconds(1), []))

  var delays: [Duration] { state.withLock { $0.delays } }

  func advance(_ duration: Duration) { state.withLock { $0.now += duration } }

  var clock: RemoteClock {
    RemoteClock(
      now: { self.state.withLock { $0.now } }, wall: { 1_700_000_000 },
      after: { delay, body in
        self.state.withLock { state in
          state.now += delay
          state.delays.append(delay)
        }
        DispatchQueue.global().async(execute: body)
      },
      random: { 1 })
  }
}

extension TransferRules {
  /// For servers of these tests.
  static let loopback = TransferRules(
    allowedHosts: ["127.0.0.1", "localhost", "photos.localhost"], allowsPrivateAddresses: true)
}

extension ObjectKey: ExpressibleByStringLiteral {
  public init(stringLiteral text: String) {
    guard let key = ObjectKey(text) else { preconditionFailure("\(text) is no key") }
    self = key
  }
}

/// The bytes of a test object: its index, mixed, so that a wrong range shows.
func pattern(_ count: Int, seed: UInt8 = 1) -> [UInt8] {
  (0..<count).map { UInt8(truncatingIfNeeded: ($0 &* 31) ^ ($0 >> 8)) &+ seed }
}
