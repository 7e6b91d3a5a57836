import PhotoFixtures
import PhotoModel
import PhotoPredicate
import Testing

@Suite("Case folding")
struct CaseFoldingTests {
  @Test(
    "case folding maps one character to one character, independent of language",
    arguments: [
      ("", ""), ("IMG_0001.JPG", "img_0001.jpg"), ("@AZ[`az{", "@az[`az{"),
      ("\u{C4}\u{D6}\u{DC}", "\u{E4}\u{F6}\u{FC}"),
      ("\u{D7}\u{DF}\u{F7}", "\u{D7}\u{DF}\u{F7}"), ("\u{1E9E}", "\u{DF}"), ("\u{17F}", "s"),
      ("\u{212A}\u{212B}\u{2126}", "k\u{E5}\u{3C9}"),
      ("\u{B5}", "\u{3BC}"), ("\u{3A3}\u{3C2}\u{3C3}", "\u{3C3}\u{3C3}\u{3C3}"), ("\u{130}\u{131}", "\u{130}\u{131}"),
      ("I", "i"),
      ("\u{410}\u{42F}\u{401}", "\u{430}\u{44F}\u{451}"), ("\u{531}", "\u{561}"), ("\u{10A0}", "\u{2D00}"),
      ("\u{1F88}", "\u{1F80}"),
      ("\u{FF21}", "\u{FF41}"), ("\u{10400}", "\u{10428}"), ("\u{1E900}", "\u{1E922}"),
      ("\u{AB70}\u{13A0}", "\u{13A0}\u{13A0}"),
      ("\u{1C4}\u{1C5}\u{1C6}", "\u{1C6}\u{1C6}\u{1C6}"), ("\u{100}\u{101}\u{102}", "\u{101}\u{101}\u{103}"),
      ("E\u{301}", "e\u{301}"), ("\u{391}\u{345}", "\u{3B1}\u{345}"),
      ("\u{65E5}\u{1F600}", "\u{65E5}\u{1F600}"), ("\u{FB00}", "\u{FB00}"), ("\u{10FFFF}", "\u{10FFFF}"),
    ])
  func examples(_ text: String, _ folded: String) {
    #expect(Array(CaseFolding.folded(text).unicodeScalars) == Array(folded.unicodeScalars))
  }

  /// Compared with the Unicode tables of the Swift runtime, for the characters of Unicode 15.0 and where both are equal
  /// by definition.
  @Test("case folding of every character agrees with its upper case")
  func everyCharacter() throws {
    var folding = 0
    for value in UInt32(1)...0x10FFFF {
      guard let scalar = Unicode.Scalar(value), let age = scalar.properties.age, age <= (15, 0) else { continue }
      let text = String(scalar)
      let folded = CaseFolding.folded(text)
      #expect(folded.unicodeScalars.count == 1 && CaseFolding.folded(folded) == folded, "\(value)")
      if !folded.unicodeScalars.elementsEqual(text.unicodeScalars) {
        folding += 1
        // The property belongs to the decomposed character; U+1FBE decomposes to the iota that it folds to.
        #expect(scalar.properties.changesWhenCaseFolded || value == 0x1FBE, "\(value)")
      }
      // A character and its upper case, if that is one character, have the same folding, except for the Turkish i and the
      // iota below a letter.
      let upper = scalar.properties.uppercaseMapping
      guard upper.unicodeScalars.count == 1, scalar != "\u{131}", scalar != "\u{345}" else { continue }
      guard let upperAge = upper.unicodeScalars.first?.properties.age, upperAge <= (15, 0) else { continue }
      #expect(CaseFolding.folded(upper).unicodeScalars.elementsEqual(folded.unicodeScalars), "\(value)")
    }
    #expect(folding == 1453)
  }
}

@Suite("Comparisons that ignore case and marks")
struct TextFoldingTests {
  @Test(
    "[c] ignores case, and [d] the marks that attach to a character, in composed and decomposed texts",
    arguments: [
      ("title ==[c] '\u{391}\u{345}'", "\u{3B1}\u{345}", true),
      ("title ==[c] '\u{3B1}\u{345}'", "\u{3B1}\u{3B9}", false),
      ("title ==[d] '\u{3B1}'", "\u{3B1}\u{345}", true), ("title ==[d] '\u{3B1}'", "\u{1FB3}", true),
      ("title ==[cd] '\u{1FBC}'", "\u{3B1}\u{345}", true),
      ("title ==[cd] '\u{1FF7}'", "\u{3C9}\u{342}\u{345}", true),
      ("title ==[d] '\u{2764}'", "\u{2764}\u{FE0F}", true), ("title == '\u{2764}'", "\u{2764}\u{FE0F}", false),
      ("title ==[cd] '\u{2764}\u{FE0F}'", "\u{2764}", true), ("title ==[d] '1'", "1\u{FE0F}\u{20E3}", true),
      ("title CONTAINS[d] '\u{845B}\u{57CE}'", "\u{845B}\u{E0100}\u{57CE}", true),
    ])
  func comparisons(_ predicate: String, _ title: String, _ matches: Bool) throws {
    let row = TestRow(values: ["title": .string(title)])
    #expect(try FetchPredicate(predicate, schema: .asset, principal: .local).matches(row) == matches)
  }
}

@Suite("LIKE patterns")
struct LikePatternTests {
  @Test(
    "a pattern matches the whole text",
    arguments: [
      ("", "", true), ("a", "", false), ("", "a", false), ("", "*", true), ("", "**", true), ("", "?", false),
      ("abc", "abc", true),
      ("abc", "ab", false), ("abc", "abcd", false), ("abc", "a*", true), ("abc", "*c", true), ("abc", "*b*", true),
      ("abc", "a?c", true),
      ("abc", "a??c", false), ("abc", "???", true), ("abc", "????", false), ("abc", "*?*?*?*", true),
      ("abc", "*?*?*?*?*", false),
      ("aab", "*ab", true), ("mississippi", "m*iss*ip*", true), ("mississippi", "m*issx*", false),
      ("abcabc", "*abc", true), ("ABC", "abc", false),
      ("a*c", "a\\*c", true), ("abc", "a\\*c", false), ("a?c", "a\\?c", true), ("abc", "a\\?c", false),
      ("a\\c", "a\\\\c", true), ("a\\", "a\\", true),
      ("ab", "a\\b", true), ("%_", "%_", true), ("ab", "%_", false), ("[a]", "[a]", true), ("\u{E9}", "?", true),
      ("e\u{301}", "?", false), ("e\u{301}", "??", true),
      ("\u{1F600}x", "?x", true), ("\u{1F600}", "??", false), ("\u{1F600}\u{E9}a", "*?a", true),
      ("\u{E9}", "*?*?*", false), ("\u{E9}\u{E8}", "*\u{E8}", true),
      ("\n", "?", true),
    ])
  func examples(_ text: String, _ pattern: String, _ matches: Bool) {
    #expect(LikePattern.matches(text, pattern: pattern) == matches)
  }

  /// Tries all possibilities. Exponential, so only for short texts.
  private func tried(_ text: ArraySlice<Unicode.Scalar>, _ pattern: ArraySlice<Unicode.Scalar>) -> Bool {
    guard let first = pattern.first else { return text.isEmpty }
    let rest = pattern.dropFirst()
    switch first {
    case "*": return (text.startIndex...text.endIndex).contains { tried(text[$0...], rest) }
    case "?": return !text.isEmpty && tried(text.dropFirst(), rest)
    case "\\" where !rest.isEmpty: return text.first == rest.first && tried(text.dropFirst(), rest.dropFirst())
    default: return text.first == first && tried(text.dropFirst(), rest)
    }
  }

  @Test("matching agrees with a search of all possibilities", arguments: 0..<10)
  func random(_ seed: Int) {
    var dice = Dice(seed)
    for _ in 0..<2000 {
      let text = (0..<dice.below(7)).map { _ in dice.one(of: ["a", "b", "\u{E9}", "*", "\\"]) }.joined()
      let pattern = (0..<dice.below(7)).map { _ in dice.one(of: ["a", "b", "\u{E9}", "*", "?", "\\"]) }.joined()
      let expected = tried(Array(text.unicodeScalars)[...], Array(pattern.unicodeScalars)[...])
      #expect(LikePattern.matches(text, pattern: pattern) == expected, "\(text) LIKE \(pattern)")
    }
  }

  @Test("matching takes at most time proportional to the product of both lengths", .timeLimit(.minutes(1)))
  func worst() {
    let text = String(repeating: "a", count: 20_000)
    #expect(!LikePattern.matches(text, pattern: String(repeating: "*a", count: 32) + "*b"))
    #expect(!LikePattern.matches(text, pattern: "*" + String(repeating: "a", count: 500) + "b"))
  }
}
