import CLibCrypto

/// Computes the digest of bytes that come in parts.
package struct Digest: Sendable {
  package enum Algorithm: Sendable {
    /// FIPS 180-4.
    case sha256
    /// Only to compare with digests of others: collisions can be made.
    case sha1
    /// Only to compare with digests of others: collisions can be made.
    case md5

    fileprivate var function: OpaquePointer {
      switch self {
      case .sha256: LibCrypto.shared.sha256
      case .sha1: LibCrypto.shared.sha1
      case .md5: LibCrypto.shared.md5
      }
    }
  }

  private static let maximumBytes = 64

  /// Owns a context of libcrypto.
  ///
  /// `@unchecked Sendable` because a `Digest` changes it only while it holds the only reference.
  private final class State: @unchecked Sendable {
    let context = LibCrypto.check(EVP_MD_CTX_new(), "EVP_MD_CTX_new")

    deinit { EVP_MD_CTX_free(context) }

    func copy() -> State {
      let copy = State()
      LibCrypto.check(EVP_MD_CTX_copy_ex(copy.context, context), "EVP_MD_CTX_copy_ex")
      return copy
    }
  }

  private var state = State()

  package init(_ algorithm: Algorithm) {
    LibCrypto.check(EVP_DigestInit_ex2(state.context, algorithm.function, nil), "EVP_DigestInit_ex2")
  }

  package mutating func update(_ bytes: some Collection<UInt8>) {
    if !isKnownUniquelyReferenced(&state) { state = state.copy() }
    bytes.withBytes { LibCrypto.check(EVP_DigestUpdate(state.context, $0, $1), "EVP_DigestUpdate") }
  }

  /// The digest of all bytes. Called once: no bytes may follow.
  package mutating func finalize() -> [UInt8] {
    if !isKnownUniquelyReferenced(&state) { state = state.copy() }
    return Self.collect { LibCrypto.check(EVP_DigestFinal_ex(state.context, $0, &$1), "EVP_DigestFinal_ex") }
  }

  /// SHA-256 of bytes: 32 bytes.
  package static func sha256(_ bytes: some Collection<UInt8>) -> [UInt8] { digest(bytes, .sha256) }

  package static func digest(_ bytes: some Collection<UInt8>, _ algorithm: Algorithm) -> [UInt8] {
    bytes.withBytes { start, count in
      collect { LibCrypto.check(EVP_Digest(start, count, $0, &$1, algorithm.function, nil), "EVP_Digest") }
    }
  }

  private static func collect(_ write: (UnsafeMutablePointer<UInt8>?, inout UInt32) -> Void) -> [UInt8] {
    [UInt8](unsafeUninitializedCapacity: maximumBytes) { buffer, count in
      var length: UInt32 = 0
      write(buffer.baseAddress, &length)
      count = Int(length)
    }
  }
}
