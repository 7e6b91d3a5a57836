import PhotoModel
import Synchronization

/// What a credential gives: who it is that comes with it. Made once for each, and shared by all requests that bring it.
package final class Grant: Sendable {
  package let principal: Principal
  /// Whose cached pictures it may be shown; `nil`: none, for it may not read.
  package let accessClass: AccessClass?
  /// Seconds since 1970; `nil`: it does not end by itself.
  package let expires: Int64?
  /// The token behind it; `nil`: the operator's.
  package let token: String?
  /// For a signed URL of a limited issuer's: a collection that the issuer must still see.
  package let condition: Condition?
  /// Since whoever keeps count of uses looked last.
  let isUsed = Atomic<Bool>(false)

  package struct Condition: Sendable {
    package let collection: LocalIdentifier
    package let issuer: Principal
  }

  init(
    _ principal: Principal, accessClass: AccessClass?, expires: Int64?, token: String?, condition: Condition? = nil
  ) {
    self.principal = principal
    self.accessClass = principal.may(.read) ? accessClass : nil
    self.expires = expires
    self.token = token
    self.condition = condition
  }

  /// Notes a use, and writes to memory that others read only where it is the first.
  func wasUsed() {
    if !isUsed.load(ordering: .relaxed) { isUsed.store(true, ordering: .relaxed) }
  }
}

/// Why a credential gives nothing.
package enum Refusal: Error, Sendable, Hashable {
  case malformed, unknown, expired, revoked
  /// A signature that is none of ours, or on something else.
  case forged
  /// A signature where none can be good.
  case misplaced
  /// Its token has no scope to read with.
  case powerless

  /// Whether it may be a guess. Others were good once.
  package var isSuspicious: Bool { self == .malformed || self == .unknown || self == .forged }
}
