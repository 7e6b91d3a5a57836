// Digests, message authentication codes and authenticated encryption, by OpenSSL's libcrypto, which libcurl needs
// anyway. Digests and codes are copy-on-write values, so a common prefix can be hashed once and continued in several
// ways.

import CLibCrypto

/// The algorithms, looked up once: a lookup takes longer than a short digest.
///
/// Immutable after its initialization, and OpenSSL allows any number of threads to use what was looked up (`man
/// OSSL_LIB_CTX`, `man EVP_MD_fetch`).
struct LibCrypto: @unchecked Sendable {
  static let shared = LibCrypto()

  let sha256: OpaquePointer
  let sha1: OpaquePointer
  let md5: OpaquePointer
  let hmac: OpaquePointer
  let chaChaPoly: OpaquePointer

  private init() {
    // OpenSSL would free everything at exit, while other threads may still use it.
    OPENSSL_init_crypto(UInt64(OPENSSL_INIT_NO_ATEXIT), nil)
    // A library context of our own has the default algorithms, also if the machine's OpenSSL configuration disables
    // some.
    let context = Self.check(OSSL_LIB_CTX_new(), "OSSL_LIB_CTX_new")
    func digest(_ name: String) -> OpaquePointer { Self.check(EVP_MD_fetch(context, name, nil), name) }
    (sha256, sha1, md5) = (digest("SHA2-256"), digest("SHA1"), digest("MD5"))
    hmac = Self.check(EVP_MAC_fetch(context, "HMAC", nil), "HMAC")
    chaChaPoly = Self.check(EVP_CIPHER_fetch(context, "ChaCha20-Poly1305", nil), "ChaCha20-Poly1305")
  }

  /// libcrypto fails without memory, or if a caller breaks its rules. Neither can be handled.
  static func check(_ pointer: OpaquePointer?, _ call: StaticString) -> OpaquePointer {
    guard let pointer else { preconditionFailure("libcrypto failed: \(call)") }
    return pointer
  }

  private static func check(_ pointer: OpaquePointer?, _ name: String) -> OpaquePointer {
    guard let pointer else { preconditionFailure("libcrypto has no \(name)") }
    return pointer
  }

  static func check(_ result: Int32, _ call: StaticString) {
    if result != 1 { preconditionFailure("libcrypto failed: \(call)") }
  }
}

extension Collection<UInt8> {
  /// Calls a function with the bytes in one piece; the pointer is valid during the call, and not `nil`.
  func withBytes<Result>(_ body: (UnsafePointer<UInt8>, Int) -> Result) -> Result {
    func call(_ bytes: UnsafeBufferPointer<UInt8>) -> Result {
      if let start = bytes.baseAddress { return body(start, bytes.count) }
      return withUnsafePointer(to: 0) { body($0, 0) }
    }
    return withContiguousStorageIfAvailable(call) ?? Array(self).withUnsafeBufferPointer(call)
  }
}
