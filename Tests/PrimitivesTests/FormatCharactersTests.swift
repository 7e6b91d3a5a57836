import Primitives
import Testing

@Suite("Format characters")
struct FormatCharactersTests {
  /// Joined and non-joined letters, a family, a red heart on fire, and the flag of Wales.
  static let spelt = [
    "a.jpg", "\u{645}\u{6CC}\u{200C}\u{62E}\u{648}\u{627}\u{647}\u{645}.jpg", "\u{915}\u{94D}\u{200D}\u{937}.jpg",
    "\u{1F468}\u{200D}\u{1F469}\u{200D}\u{1F467}", "\u{2764}\u{FE0F}\u{200D}\u{1F525}",
    "\u{1F3F4}\u{E0067}\u{E0062}\u{E0077}\u{E006C}\u{E0073}\u{E007F}.jpg",
  ]

  @Test("those that belong to the spelling stay", arguments: spelt)
  func stay(_ text: String) {
    #expect(Array(text.unicodeScalars.replacingFormatCharacters(with: "_")) == Array(text.unicodeScalars))
  }

  @Test(
    "others are replaced or removed",
    arguments: [
      ("a\u{202E}gpj.exe", "a_gpj.exe", "agpj.exe"), ("a\u{200D}b", "a_b", "ab"), ("\u{200C}", "_", ""),
      ("\u{E9}\u{200D}.jpg", "\u{E9}_.jpg", "\u{E9}.jpg"), ("a\u{E0061}", "a_", "a"), ("1\u{E0061}", "1_", "1"),
      ("\u{E9}\u{200C}\u{202E}\u{E9}", "\u{E9}__\u{E9}", "\u{E9}\u{E9}"), ("\u{FEFF}a", "_a", "a"),
    ])
  func others(_ text: String, _ replaced: String, _ removed: String) {
    #expect(String(text.unicodeScalars.replacingFormatCharacters(with: "_")) == replaced)
    #expect(String(text.unicodeScalars.replacingFormatCharacters(with: nil)) == removed)
  }
}
