import Primitives
import Testing

@Suite("Digits")
struct DigitsTests {
  @Test(
    "numbers are padded with zeros and never truncated",
    arguments: [
      (7, 2, 10, "07"), (7, 1, 10, "7"), (12_345, 4, 10, "12345"), (0, 3, 10, "000"), (-5, 4, 10, "-0005"),
      (0xAB, 4, 16, "00ab"), (.min, 2, 10, "-9223372036854775808"),
    ] as [(Int, Int, Int, String)])
  func padding(_ number: Int, _ digits: Int, _ radix: Int, _ text: String) {
    #expect(number.zeroPadded(digits, radix: radix) == text)
  }

  @Test(
    "64 bits are 16 hexadecimal digits",
    arguments: [
      (0, "0000000000000000"), (0xABC, "0000000000000abc"), (.max, "ffffffffffffffff"),
    ] as [(UInt64, String)])
  func hexadecimal(_ number: UInt64, _ text: String) { #expect(number.hexadecimal == text) }

  @Test(
    "nanoseconds are written as milliseconds with three decimal places, rounded down",
    arguments: [
      (0, "0.000"), (999, "0.000"), (1000, "0.001"), (1_250_999, "1.250"), (61_000_000_000, "61000.000"),
    ] as [(UInt64, String)])
  func milliseconds(_ nanoseconds: UInt64, _ text: String) {
    #expect(nanoseconds.nanosecondsAsMilliseconds == text)
  }
}
