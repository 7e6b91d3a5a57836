import CLibCrypto

/// A message authentication code (RFC 2104) with SHA-256, of a message that comes in parts.
package struct HMACSHA256: Sendable {
  /// The length of a code.
  package static let byteCount = 32

  /// Owns a context of libcrypto.
  ///
  /// `@unchecked Sendable` because an `HMACSHA256` changes it only while it holds the only reference.
  private final class State: @unchecked Sendable {
    let context: OpaquePointer

    init(_ context: OpaquePointer) { self.context = context }

    deinit { EVP_MAC_CTX_free(context) }

    func copy() -> State { State(LibCrypto.check(EVP_MAC_CTX_dup(context), "EVP_MAC_CTX_dup")) }
  }

  private var state = State(LibCrypto.check(EVP_MAC_CTX_new(LibCrypto.shared.hmac), "EVP_MAC_CTX_new"))

  /// - Parameter key: of any length. Copies of this value share the prepared key, which is quicker than a new value for
  ///   each message.
  package init(key: some Collection<UInt8>) {
    key.withBytes { LibCrypto.check(photod_hmac_sha256_init(state.context, $0, $1), "EVP_MAC_init") }
  }

  package mutating func update(_ bytes: some Collection<UInt8>) {
    if !isKnownUniquelyReferenced(&state) { state = state.copy() }
    bytes.withBytes { LibCrypto.check(EVP_MAC_update(state.context, $0, $1), "EVP_MAC_update") }
  }

  /// The code of all bytes. Called once: no bytes may follow.
  package mutating func finalize() -> [UInt8] {
    if !isKnownUniquelyReferenced(&state) { state = state.copy() }
    return [UInt8](unsafeUninitializedCapacity: Self.byteCount) { buffer, count in
      LibCrypto.check(EVP_MAC_final(state.context, buffer.baseAddress, &count, buffer.count), "EVP_MAC_final")
    }
  }

  /// The code of a message. Only for a value to which no bytes were added.
  package func code(of message: some Collection<UInt8>) -> [UInt8] {
    var code = self
    code.update(message)
    return code.finalize()
  }

  /// Whether a code is that of a message. Compares in constant time.
  package func isValid(_ code: [UInt8], of message: some Collection<UInt8>) -> Bool {
    let expected = self.code(of: message)
    return code.count == expected.count && CRYPTO_memcmp(code, expected, expected.count) == 0
  }

  package static func code(of message: some Collection<UInt8>, key: some Collection<UInt8>) -> [UInt8] {
    HMACSHA256(key: key).code(of: message)
  }
}
