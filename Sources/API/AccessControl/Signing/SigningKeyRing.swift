import Synchronization

/// The valid signing keys, in memory.
final class SigningKeyRing: Sendable {
  /// Newest first.
  private let keys = Mutex<[SigningKey]>([])

  /// The key that signs; `nil` if there is none.
  var newest: SigningKey? { keys.withLock { $0.first } }

  /// A valid key by its identifier.
  func key(_ identifier: String) -> SigningKey? { keys.withLock { $0.first { $0.identifier == identifier } } }

  /// Replaces all keys.
  ///
  /// - Parameter new: newest first.
  func replace(with new: [SigningKey]) { keys.withLock { $0 = new } }
}
