import PhotoModel
import Synchronization

/// The tokens of the access list in memory, and the grants made from them.
final class TokenRegistry: Sendable {
  private struct State {
    /// By the SHA-256 of the secret.
    var byDigest: [[UInt8]: AccessToken] = [:]
    var byIdentifier: [String: AccessToken] = [:]
    /// The grants of the tokens that were presented, by the token's identifier.
    var grants: [String: Grant] = [:]
    var classes: [Visibility: AccessClass] = [:]
    var nextClass = AccessClass.firstLimited
    /// Incremented each time the tokens are replaced.
    var epoch: UInt64 = 0

    /// The class of the callers with this visibility. A visibility keeps its class while a token has it.
    mutating func accessClass(of visibility: Visibility) -> AccessClass {
      if visibility == .everything { return .everything }
      if let known = classes[visibility] { return known }
      defer { nextClass += 1 }
      let new = AccessClass(rawValue: nextClass)
      classes[visibility] = new
      return new
    }

    mutating func grant(of token: AccessToken) -> Grant {
      if let existing = grants[token.identifier] { return existing }
      let grant = Grant(
        token.principal, accessClass: accessClass(of: token.visibility), expires: token.expires,
        token: token.identifier)
      grants[token.identifier] = grant
      return grant
    }
  }

  private let state = Mutex(State())
  /// Raw value of the ``AccessClass`` of callers without a credential.
  private let unauthenticatedClassValue = Atomic<UInt64>(0)

  /// The class of prepared responses that a caller without a credential may get: ``AccessClass/everyone`` until the
  /// first token exists.
  var unauthenticatedClass: AccessClass {
    AccessClass(rawValue: unauthenticatedClassValue.load(ordering: .acquiring))
  }

  /// A token by its identifier.
  func token(_ identifier: String) -> AccessToken? { state.withLock { $0.byIdentifier[identifier] } }

  /// The grant of the token with this SHA-256 of its secret.
  ///
  /// - Parameter now: seconds since 1970.
  func grant(_ digest: [UInt8], at now: Int64) throws(CredentialError) -> Grant {
    let result = state.withLock { state -> Result<Grant, CredentialError> in
      guard let token = state.byDigest[digest] else { return .failure(.unknown) }
      if let refusal = token.refusal(at: now) { return .failure(refusal) }
      return .success(state.grant(of: token))
    }
    return try result.get()
  }

  /// Replaces all tokens and ends the grants of the previous ones.
  ///
  /// Publishes a new ``unauthenticatedClass`` last: a request that reads the new class also finds the new tokens.
  func replace(with tokens: [AccessList.Entry]) {
    state.withLock { state in
      for grant in state.grants.values { grant.end() }
      state.grants = [:]
      state.byDigest = Dictionary(tokens.map { ($0.digest, $0.token) }) { $1 }
      state.byIdentifier = Dictionary(tokens.map { ($0.token.identifier, $0.token) }) { $1 }
      let visibilities = Set(tokens.map(\.token.visibility))
      state.classes = state.classes.filter { visibilities.contains($0.key) }
      // A new epoch makes the responses that were prepared for signed URLs unreachable.
      state.epoch += 1
      let unauthenticatedClass = tokens.isEmpty ? AccessClass.everyone : .signed(epoch: state.epoch)
      unauthenticatedClassValue.store(unauthenticatedClass.rawValue, ordering: .releasing)
    }
  }

  /// The identifiers of the tokens that were used since the last call. Does not include uses of their sessions.
  func takeUsage() -> [String] {
    state.withLock { state in state.grants.compactMap { $0.value.takeUsage() ? $0.key : nil } }
  }
}
