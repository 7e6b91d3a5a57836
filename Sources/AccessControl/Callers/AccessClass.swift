/// Callers who may be shown the same picture: an answer that was prepared for one of them is good for all.
package struct AccessClass: Sendable, Hashable {
  package let rawValue: UInt64

  /// Anybody, where no token was ever made.
  package static let anybody = AccessClass(rawValue: 0)
  /// Whoever sees all of the library.
  static let everything = AccessClass(rawValue: 1)
  /// The first of those that see a part of it: each part has a number that no other ever gets.
  static let firstLimited: UInt64 = 2

  /// Whoever comes without a token where there are tokens, with a URL that was signed: the URL is all there is to know, as
  /// long as nothing has changed of who may come in.
  static func signed(epoch: UInt64) -> AccessClass { AccessClass(rawValue: 1 << 63 | epoch) }
}
