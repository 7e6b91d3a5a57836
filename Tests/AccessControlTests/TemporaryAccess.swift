import AccessControl
import Foundation
import Logging
import PhotoModel
import Synchronization
import Testing

/// A manual clock, in seconds since 1970.
final class ManualClock: Sendable {
  private struct State {
    var seconds: Int64 = 1_700_000_000
    var elapsed: Int64 = 0
    var interruption: (@Sendable () -> Void)?
  }

  private let state = Mutex(State())

  var now: Int64 {
    let interruption = state.withLock { state -> (@Sendable () -> Void)? in
      defer { state.interruption = nil }
      return state.interruption
    }
    interruption?()
    return state.withLock { $0.seconds }
  }

  /// Seconds that `set` does not change.
  var elapsed: Int64 { state.withLock { $0.elapsed } }

  func advance(_ by: Int64) {
    state.withLock { state in
      state.seconds += by
      state.elapsed += by
    }
  }

  /// Sets the clock forwards or backwards.
  func set(by seconds: Int64) { state.withLock { $0.seconds += seconds } }

  /// Runs `body` once, when the clock is read next: in the middle of the operation that reads it.
  func interruptNextReading(_ body: @escaping @Sendable () -> Void) { state.withLock { $0.interruption = body } }
}

/// A temporary data folder and the registry of a daemon that uses it.
final class TemporaryAccess: Sendable {
  let folder: String
  let clock = ManualClock()
  let registry: AccessRegistry
  /// The database as another process opens it.
  let outside: AccessDatabase

  init(_ limits: AccessLimits = AccessLimits()) throws {
    folder = FileManager.default.temporaryDirectory.appending(path: "photod-access-\(UUID().uuidString)").path
    registry = try AccessRegistry(
      database: AccessDatabase(dataFolder: folder, limits: limits), logger: Logger(label: "test"),
      now: { [clock] in clock.now }, elapsed: { [clock] in clock.elapsed })
    outside = try AccessDatabase(dataFolder: folder, limits: limits)
  }

  deinit { try? FileManager.default.removeItem(atPath: folder) }

  /// Creates a token as another process would, and refreshes the registry.
  func token(
    _ scopes: Set<Scope> = [.read], limitedTo collections: Set<LocalIdentifier>? = nil, for seconds: Int64? = nil,
    name: String? = nil
  ) throws -> (token: AccessToken, secret: String) {
    let (token, secret) = try outside.createToken(
      name: name, scopes: scopes, collections: collections, expires: seconds.map { clock.now + $0 }, at: clock.now)
    registry.refresh()
    return (token, secret.text)
  }

  /// The cached grant that a request would use.
  func remembered(_ secret: String, _ kind: Secret.Kind = .token) -> Grant? {
    Array(secret.utf8).withUnsafeBytes { registry.cachedGrant(kind, $0) }
  }

  func refusal(_ grant: () throws(CredentialError) -> Grant) -> CredentialError? {
    do throws(CredentialError) {
      _ = try grant()
      return nil
    } catch {
      return error
    }
  }
}
