import PhotoFixtures
import PhotoModel
import PhotoPredicate
import Testing

@Suite("Words of searches")
struct SearchQueryTests {
  @Test(
    "a text is split into folded words without diacritics",
    arguments: [
      ("", []), ("IMG_1234.jpg", ["img", "1234", "jpg"]),
      ("2024/Été à Paris/a-b.JPG", ["2024", "ete", "a", "paris", "a", "b", "jpg"]),
      ("E\u{301}te\u{301}", ["ete"]), ("\u{FB01}n \u{210C}", ["fin", "h"]), ("Straße", ["straße"]), ("ﾊﾟ", ["ハ"]),
      ("ΌΣΟΣ όσος", ["οσοσ", "οσοσ"]), ("Ёлка", ["елка"]), ("日本 x", ["日", "本", "x"]), ("한국", ["한국".decomposedForTest]),
      ("\u{1F600} &%-_ \n", []), ("it's", ["it", "s"]), ("½", ["1", "2"]), ("İstanbul", ["istanbul"]), ("ſ", ["s"]),
      ("\u{E001}x\u{E002}", ["x"]), ("\u{2600}\u{FE0F} beach \u{2764}\u{FE0F}", ["beach"]),
      ("1\u{FE0F}\u{20E3}#\u{FE0F}\u{20E3}", ["1"]), ("葛\u{E0100}城", ["葛", "城"]),
      // Greek letters with an iota below, composed and decomposed.
      ("τ\u{1FF7}", ["τω"]), ("τω\u{342}\u{345}", ["τω"]), ("\u{1FBC}σμα", ["ασμα"]), ("Α\u{345}σμα", ["ασμα"]),
    ] as [(String, [String])])
  func words(_ text: String, _ words: [String]) {
    #expect(SearchText.words(of: text).map { Array($0.unicodeScalars) } == words.map { Array($0.unicodeScalars) })
  }

  @Test(
    "a search is words and phrases; its last word may be the beginning of one",
    arguments: [
      ("beach", "beach*"), ("Beach  SUMMER", "beach|summer*"), ("\"a walk\" in", "a walk|in*"),
      ("\"a walk\"", "a walk"),
      ("in \"a walk\"", "in|a walk"), ("IMG_1234", "img 1234*"), ("img_1234.jpg x", "img 1234 jpg|x*"),
      ("\u{201C}a b\u{201D} c", "a b|c*"), ("a \"b c", "a|b c"), ("\"\" a", "a*"), ("a - b", "a|b*"), ("a &", "a*"),
      ("dog \u{2764}\u{FE0F}", "dog*"),
      ("NEAR(a b) AND c* OR {x}: ^d", "near a|b|and|c|or|x|d*"), ("x\"y\"z", "x|y|z*"), ("日本", "日 本*"),
      ("\"foo ba\"*", "foo ba*"), ("x \"foo ba\"* ", "x|foo ba*"), ("\"foo ba\"* x", "foo ba|x*"),
      ("\"foo ba\" *", "foo ba"), ("\"foo ba*\"", "foo ba"), ("\"foo ba\"*x", "foo ba|x*"), ("x \"\"*", "x*"),
    ])
  func queries(_ text: String, _ terms: String) throws {
    let query = try SearchQuery(text)
    #expect(
      query.terms.map { $0.words.joined(separator: " ") + ($0.isPrefix ? "*" : "") }.joined(separator: "|") == terms)
  }

  @Test(
    "a search without a word, or beyond a limit, is refused",
    arguments: [
      ("", .noWord), ("\"\" - &", .noWord), ("\u{1F600}", .noWord),
      ("\u{2764}", .noWord), ("\u{2764}\u{FE0F}", .noWord),
      (String(repeating: "a", count: 1025), .tooLong(limit: 1024)),
      (String(repeating: "a ", count: 33), .tooManyWords(limit: 32)),
    ] as [(String, SearchError)])
  func refused(_ text: String, _ error: SearchError) {
    #expect(throws: error) { try SearchQuery(text) }
    #expect(throws: Never.self) { try SearchQuery(String(repeating: "a ", count: 32)) }
  }

  @Test(
    "a comparison of a name implies words that the name has",
    arguments: [
      ("originalFilename == 'IMG_1.jpg'", "=img 1 jpg"), ("relativePath ==[c] 'A/b.JPG'", "=a b jpg"),
      ("originalFilename BEGINSWITH 'IMG_1'", "img 1>"), ("originalFilename BEGINSWITH 'IMG_'", "img"),
      ("originalFilename CONTAINS[c] 'mg_1'", "<mg 1>"), ("originalFilename CONTAINS '_1.'", "1"),
      ("originalFilename CONTAINS[cd] '\u{C9}t'", "<et>"),
      ("relativePath CONTAINS 'x'", "<x>"), ("originalFilename == '.'", nil), ("originalFilename ENDSWITH 'x'", nil),
      ("originalFilename != 'x'", nil), ("uniformTypeIdentifier == 'x'", nil), ("NOT (originalFilename == 'x')", nil),
    ] as [(String, String?)])
  func patterns(_ text: String, _ expected: String?) throws {
    let predicate = try FetchPredicate(text, schema: .asset, principal: .local)
    let pattern = SearchPattern(predicate, of: ["originalFilename", "relativePath"])
    #expect(
      pattern.map {
        ($0.isWhole ? "=" : "") + ($0.isFirstOpen ? "<" : "") + $0.words.joined(separator: " ")
          + ($0.isLastOpen ? ">" : "")
      } == expected)
  }

  /// The index may stand in for a comparison only if this holds.
  @Test("if a text contains another, its words contain the other's words", arguments: 0..<4)
  func containment(_ seed: Int) {
    var dice = Dice(seed)
    let alphabet = " _-./aAbBéÉ\u{301}1½ßſİ日本がハﾊﾟ한ﬁ\u{345}ι\u{1FB3}\u{1FF7}\u{1F600}Ωǅ\u{FE0F}\u{20E3}"
    let characters = Array(alphabet.unicodeScalars)
    for _ in 0..<500 {
      let text = (0..<12).map { _ in dice.one(of: characters) }
      let begin = dice.below(12)
      let part = text[begin..<begin + 1 + dice.below(12 - begin)]
      let (whole, words) = (joined(text), joined(part))
      let starts = whole.indices.filter { whole[$0...].starts(with: words) }
      #expect(words.isEmpty || !starts.isEmpty, "\(text) \(part)")
    }
  }

  /// The words with single spaces between. Where a text begins or ends within a word there is no space.
  private func joined(_ text: some Collection<Unicode.Scalar>) -> [Unicode.Scalar] {
    var view = String.UnicodeScalarView()
    view.append(contentsOf: text)
    return Array(SearchText.words(of: String(view)).joined(separator: " ").unicodeScalars)
  }
}

extension String {
  /// The letters of Hangul syllables.
  fileprivate var decomposedForTest: String {
    String(
      String.UnicodeScalarView(
        unicodeScalars.flatMap { scalar -> [Unicode.Scalar] in
          // The Unicode Standard §3.12.
          let index = Int(scalar.value) - 0xAC00
          let last = index % 28
          return [0x1100 + index / 588, 0x1161 + index % 588 / 28].compactMap(Unicode.Scalar.init)
            + (last > 0 ? [Unicode.Scalar(0x11A7 + last)!] : [])
        }))
  }
}
