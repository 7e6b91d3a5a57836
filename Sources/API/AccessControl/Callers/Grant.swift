import PhotoModel
import Synchronization

/// The rights that a credential gives to a request. Created once per credential and shared by all requests that present
/// it. The registry that created a grant ends it; after that it is not valid, even if a cache still refers to it.
package final class Grant: Sendable {
  package let principal: Principal
  /// The class of prepared responses that the caller may get; `nil` for none, for example without the read scope.
  package let accessClass: AccessClass?
  /// Seconds since 1970; `nil`: the grant does not expire.
  package let expires: Int64?
  /// The identifier of the token that the grant comes from; `nil` for the operator.
  package let token: String?
  private let isUsed = Atomic<Bool>(false)
  private let hasEnded = Atomic<Bool>(false)

  init(_ principal: Principal, accessClass: AccessClass?, expires: Int64?, token: String?) {
    self.principal = principal
    self.accessClass = principal.may(.read) ? accessClass : nil
    self.expires = expires
    self.token = token
  }

  /// Whether the grant has neither ended nor expired.
  ///
  /// - Parameter now: seconds since 1970; evaluated only if the grant expires.
  func isValid(at now: @autoclosure () -> Int64) -> Bool {
    guard !hasEnded.load(ordering: .acquiring) else { return false }
    return expires.map { $0 > now() } ?? true
  }

  /// Makes the grant invalid.
  func end() { hasEnded.store(true, ordering: .releasing) }

  /// Records a use. Writes only if the flag is not yet set, so that cores do not contend for the cache line.
  func markUsed() {
    if !isUsed.load(ordering: .relaxed) { isUsed.store(true, ordering: .relaxed) }
  }

  /// Whether the grant was used since the last call.
  func takeUsage() -> Bool { isUsed.exchange(false, ordering: .relaxed) }
}

/// Why a credential was rejected.
package enum CredentialError: Error, Sendable, Hashable {
  case malformed, unknown, expired, revoked
  /// The signature was not made with our key, or covers a different resource.
  case invalidSignature
  /// The resource does not accept signatures.
  case wrongResource
  /// The issuing token does not have the read scope.
  case missingReadScope

  /// Whether the credential may be a guess. The other errors need a credential that was once valid.
  package var isSuspicious: Bool { self == .malformed || self == .unknown || self == .invalidSignature }
}
