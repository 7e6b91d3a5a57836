import Primitives
import Testing

@Suite("ASCII")
struct ASCIITests {
  @Test("letters and digits of ASCII are recognised, and no other byte")
  func lettersAndDigits() {
    let expected = Array("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz".utf8)
    #expect((UInt8.min...UInt8.max).filter(\.isASCIILetterOrDigit) == expected)
  }
}
