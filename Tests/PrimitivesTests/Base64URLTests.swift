import Primitives
import Testing

@Suite("base64url")
struct Base64URLTests {
  @Test(
    "bytes are encoded without padding and decoded again (RFC 4648 §10)",
    arguments: [
      ("", ""), ("f", "Zg"), ("fo", "Zm8"), ("foo", "Zm9v"), ("foob", "Zm9vYg"), ("fooba", "Zm9vYmE"),
      ("foobar", "Zm9vYmFy"), ("\u{00FF}\u{00FE}?", "w7_Dvj8"), ("~>", "fj4"), ("\u{03FB}", "z7s"),
    ])
  func vectors(_ text: String, _ encoded: String) {
    #expect(Base64URL.encode(Array(text.utf8)) == encoded)
    #expect(Base64URL.encode(text.utf8) == encoded)
    #expect(Base64URL.decode(encoded) == Array(text.utf8))
  }

  @Test(
    "text that encodes no bytes is refused",
    arguments: [
      ("padding", "Zg=="), ("the letters of base64", "a+b/"), ("white space", "Zm9v "), ("a single letter", "Z"),
      ("leftover bits that are not zero", "Zh"), ("a letter outside ASCII", "Zm9\u{FF36}"), ("a NUL", "Zm9\u{0}"),
    ])
  func refused(_ name: String, _ text: String) { #expect(Base64URL.decode(text) == nil) }

  @Test("every length of bytes survives the way to text and back")
  func roundTrip() {
    for count in 0...67 {
      let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 151 &+ count) }
      #expect(Base64URL.decode(Base64URL.encode(bytes)) == bytes)
    }
  }

  @Test("a random identifier has 128 bits and is not repeated")
  func randomIdentifiers() {
    let identifiers = (0..<1000).map { _ in Base64URL.randomIdentifier() }
    #expect(Set(identifiers).count == 1000)
    #expect(identifiers.allSatisfy { Base64URL.decode($0)?.count == 16 })
    #expect(!identifiers.contains { $0.hasPrefix("-") }, "commands would take it for an option")
  }
}
