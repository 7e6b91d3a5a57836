/// Callers that may see the same pictures. A prepared response made for one member of the class is valid for all
/// members.
package struct AccessClass: Sendable, Hashable {
  package let rawValue: UInt64

  /// Every caller, while no token was ever created.
  package static let everyone = AccessClass(rawValue: 0)
  /// Callers that see the whole library.
  static let everything = AccessClass(rawValue: 1)
  /// The first class with limited visibility. Each visibility has its own number, which is never reused.
  static let firstLimited: UInt64 = 2

  /// Callers without a token that present a signed URL, while tokens exist. Only the URL determines the access, until
  /// the access list changes, which starts a new epoch.
  static func signed(epoch: UInt64) -> AccessClass { AccessClass(rawValue: 1 << 63 | epoch) }
}
