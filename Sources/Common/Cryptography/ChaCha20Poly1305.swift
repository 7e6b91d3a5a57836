import CLibCrypto

/// Authenticated encryption (RFC 8439 §2.8) without additional data.
package enum ChaCha20Poly1305 {
  static let keyBytes = 32
  package static let nonceBytes = 12
  static let tagBytes = 16

  /// Encrypts a message. Returns the nonce, the ciphertext, which is as long as the message, and the tag, in this
  /// order.
  ///
  /// - Parameters:
  ///   - key: ``keyBytes``.
  ///   - nonce: ``nonceBytes``. Never use one nonce for two messages under the same key: that would reveal both.
  package static func seal(_ message: [UInt8], key: [UInt8], nonce: [UInt8]) -> [UInt8] {
    precondition(key.count == keyBytes && nonce.count == nonceBytes, "a key or nonce of another length")
    return withContext { context in
      var encrypted = [UInt8](repeating: 0, count: message.count)
      var tag = [UInt8](repeating: 0, count: tagBytes)
      var (count, rest): (Int32, [UInt8]) = (0, [0])
      LibCrypto.check(EVP_EncryptInit_ex2(context, LibCrypto.shared.chaChaPoly, key, nonce, nil), "EVP_EncryptInit_ex2")
      LibCrypto.check(
        EVP_EncryptUpdate(context, &encrypted, &count, message, Int32(message.count)), "EVP_EncryptUpdate")
      // A stream cipher has no last block.
      LibCrypto.check(EVP_EncryptFinal_ex(context, &rest, &count), "EVP_EncryptFinal_ex")
      LibCrypto.check(EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_GET_TAG, Int32(tagBytes), &tag), "EVP_CIPHER_CTX_ctrl")
      return nonce + encrypted + tag
    }
  }

  /// Decrypts the result of ``seal(_:key:nonce:)``; `nil` if it was changed, or sealed with another key.
  package static func open(_ sealed: [UInt8], key: [UInt8]) -> [UInt8]? {
    precondition(key.count == keyBytes, "a key of another length")
    guard sealed.count >= nonceBytes + tagBytes, sealed.count <= Int(Int32.max) else { return nil }
    let nonce = Array(sealed.prefix(nonceBytes))
    let encrypted = Array(sealed.dropFirst(nonceBytes).dropLast(tagBytes))
    var tag = Array(sealed.suffix(tagBytes))
    return withContext { context in
      var message = [UInt8](repeating: 0, count: encrypted.count)
      var (count, rest): (Int32, [UInt8]) = (0, [0])
      LibCrypto.check(EVP_DecryptInit_ex2(context, LibCrypto.shared.chaChaPoly, key, nonce, nil), "EVP_DecryptInit_ex2")
      LibCrypto.check(EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_TAG, Int32(tagBytes), &tag), "EVP_CIPHER_CTX_ctrl")
      LibCrypto.check(
        EVP_DecryptUpdate(context, &message, &count, encrypted, Int32(encrypted.count)), "EVP_DecryptUpdate")
      return EVP_DecryptFinal_ex(context, &rest, &count) == 1 ? message : nil
    }
  }

  private static func withContext<Result>(_ body: (OpaquePointer) -> Result) -> Result {
    let context = LibCrypto.check(EVP_CIPHER_CTX_new(), "EVP_CIPHER_CTX_new")
    defer { EVP_CIPHER_CTX_free(context) }
    return body(context)
  }
}
