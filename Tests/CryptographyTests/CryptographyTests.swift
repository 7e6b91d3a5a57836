import Cryptography
import Testing

@Suite("Digests, codes and encryption")
struct CryptographyTests {
  private static func bytes(_ hexadecimal: String) -> [UInt8] {
    let digits = hexadecimal.compactMap(\.hexDigitValue)
    return stride(from: 0, to: digits.count, by: 2).map { UInt8(digits[$0] * 16 + digits[$0 + 1]) }
  }

  /// FIPS 180-4's examples, RFC 1321 §A.5.
  static let digests: [(message: String, algorithm: Digest.Algorithm, digest: String)] = [
    ("", .sha256, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
    ("abc", .sha256, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
    (
      "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", .sha256,
      "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"
    ),
    ("abc", .sha1, "a9993e364706816aba3e25717850c26c9cd0d89d"),
    ("message digest", .md5, "f96b697d7cb7938d525a2f31aaf161d0"),
  ]

  @Test("bytes are written as two lower-case digits each")
  func hexadecimal() { #expect([0, 9, 10, 171, 255].hexadecimal == "00090aabff" && [UInt8]().hexadecimal.isEmpty) }

  @Test("digests of published messages, whole and in two parts of every length", arguments: digests.indices)
  func digest(_ i: Int) {
    let (message, algorithm, digest) = Self.digests[i]
    let bytes = Array(message.utf8)
    #expect(Digest.digest(bytes, algorithm) == Self.bytes(digest))
    for length in 0...bytes.count {
      var parts = Digest(algorithm)
      parts.update(bytes.prefix(length))
      // Not stored as an array.
      parts.update(bytes.dropFirst(length).lazy.map { $0 })
      #expect(parts.finalize() == Self.bytes(digest))
    }
    if algorithm == .sha256 { #expect(Digest.sha256(message.utf8) == Self.bytes(digest)) }
  }

  @Test("a copy of a digest continues on its own")
  func copies() {
    var first = Digest(.sha256)
    first.update("ab".utf8)
    var second = first
    first.update("c".utf8)
    second.update("d".utf8)
    var third = second
    #expect(first.finalize() == Digest.sha256("abc".utf8))
    #expect(second.finalize() == Digest.sha256("abd".utf8))
    third.update("e".utf8)
    #expect(third.finalize() == Digest.sha256("abde".utf8))
  }

  /// RFC 4231 §4; the third has an empty key and an empty message.
  static let codes: [(key: [UInt8], message: [UInt8], code: String)] = [
    (
      [UInt8](repeating: 0x0B, count: 20), Array("Hi There".utf8),
      "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"
    ),
    (
      [UInt8](repeating: 0xAA, count: 131), Array("Test Using Larger Than Block-Size Key - Hash Key First".utf8),
      "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"
    ),
    ([], [], "b613679a0814d9ec772f95d778c35fc5ff1697c493715653c6c712144292c5ad"),
  ]

  @Test("HMAC-SHA-256 matches the published test vectors, and no other code is valid", arguments: codes.indices)
  func code(_ i: Int) {
    let (key, message, text) = Self.codes[i]
    let code = Self.bytes(text)
    #expect(HMACSHA256.code(of: message, key: key) == code)
    #expect(HMACSHA256(key: key).isValid(code, of: message))
    let keyed = HMACSHA256(key: key)
    for bit in 0..<256 {
      var other = code
      other[bit / 8] ^= 1 << (bit % 8)
      #expect(!keyed.isValid(other, of: message))
    }
    #expect(!keyed.isValid(Array(code.prefix(31)), of: message))
    var (first, second) = (keyed, keyed)
    first.update(message)
    second.update(message + [0])
    #expect(first.finalize() == code && second.finalize() == HMACSHA256.code(of: message + [0], key: key))
  }

  private static let sentence = "Ladies and Gentlemen of the class of '99"

  @Test("what is sealed opens only unchanged and with its key, and is what another implementation gives")
  func sealing() {
    let key = Array(UInt8(0x80)...0x9F)
    let nonce = Array(UInt8(1)...12)
    // By Python's package cryptography.
    let known = Self.bytes(
      """
      d74fbbd855fbdc6132e36c2c4be8cd495ba5e088eb42d094877e0a32e7b95d67fd6d4a4cb2f60405\
      794023481f2a003740f611aabd0d5d9c
      """)
    #expect(ChaCha20Poly1305.seal(Array(Self.sentence.utf8), key: key, nonce: nonce).dropFirst(12).elementsEqual(known))
    for message in ["", "a", Self.sentence].map({ Array($0.utf8) }) {
      let sealed = ChaCha20Poly1305.seal(message, key: key, nonce: nonce)
      #expect(sealed.count == message.count + 28 && Array(sealed.prefix(12)) == nonce)
      #expect(ChaCha20Poly1305.open(sealed, key: key) == message)
      #expect(ChaCha20Poly1305.open(sealed, key: key.reversed()) == nil)
      for i in sealed.indices {
        var other = sealed
        other[i] ^= 1
        #expect(ChaCha20Poly1305.open(other, key: key) == nil)
        #expect(ChaCha20Poly1305.open(Array(sealed.prefix(i)), key: key) == nil)
      }
    }
  }
}
