import Synchronization

/// Finds the grant of an accepted credential by the credential's bytes: the only lookup of most requests.
///
/// The cache only refers to grants. A grant that has ended or expired is not valid here either, also if it is inserted
/// after its end, so the cache needs no invalidation; ``removeInvalid(at:)`` frees memory. There are about as many
/// entries as active tokens and sessions, which are limited.
final class GrantCache: Sendable {
  private struct Entry {
    let kind: Secret.Kind
    let bytes: [UInt8]
    let grant: Grant
  }

  /// Entries by the hash of the credential.
  private let entries = Mutex<[Int: Entry]>([:])

  /// The grant of a credential, valid or not. Costs one hash with this process's random seed, one lookup under the
  /// lock, and a comparison in constant time.
  func grant(_ kind: Secret.Kind, _ secret: UnsafeRawBufferPointer) -> Grant? {
    guard !secret.isEmpty, secret.count <= Secret.maximumBytes else { return nil }
    let hash = Self.hash(secret)
    guard let found = entries.withLock({ $0[hash] }), found.kind == kind, Self.areEqual(found.bytes, secret)
    else { return nil }
    return found.grant
  }

  func insert(_ grant: Grant, for secret: Secret) {
    let entry = Entry(kind: secret.kind, bytes: Array(secret.text.utf8), grant: grant)
    let hash = entry.bytes.withUnsafeBytes(Self.hash)
    entries.withLock { $0[hash] = entry }
  }

  /// Removes grants that have ended or expired.
  ///
  /// - Parameter now: seconds since 1970.
  func removeInvalid(at now: Int64) {
    entries.withLock { entries in entries = entries.filter { $0.value.grant.isValid(at: now) } }
  }

  /// `Hasher` is seeded randomly in every process, so that attackers can't construct credentials with colliding hashes.
  private static func hash(_ bytes: UnsafeRawBufferPointer) -> Int {
    var hasher = Hasher()
    hasher.combine(bytes: bytes)
    return hasher.finalize()
  }

  /// Compares in constant time for equal lengths.
  private static func areEqual(_ a: [UInt8], _ b: UnsafeRawBufferPointer) -> Bool {
    guard a.count == b.count else { return false }
    var difference: UInt8 = 0
    for i in a.indices { difference |= a[i] ^ b[i] }
    return difference == 0
  }
}
