// The words of a text, as the search index stores them and as a search names them: compatibility decomposition (NFKD),
// marks removed (accents, enclosing marks, variation selectors), case folded, split where a character is neither a
// letter, a number nor a mark.
//
// Each character maps to the same characters wherever it stands. So if one text contains another, its words contain the
// other's words, and the index may stand in for a comparison of texts: see `SearchPattern`.

import Foundation

package enum SearchText {
  /// Increase this when a text or an asset gets other words than before: then all assets are indexed again.
  package static let version = 4

  /// The words of a text, in order.
  package static func words(of text: String) -> [String] {
    var bytes: [UInt8] = []
    append(text, to: &bytes)
    return bytes.split(separator: UInt8(ascii: " ")).map { String(decoding: $0, as: UTF8.self) }
  }

  /// Appends the words of a text to UTF-8 text: each with `mark` before it and a space after it.
  ///
  /// - Parameter mark: the UTF-8 bytes of a character that is not part of any word.
  package static func append(_ text: String, mark: [UInt8] = [], to bytes: inout [UInt8]) {
    if text.utf8.allSatisfy({ $0 < 0x80 }) { return appendASCII(text.utf8, mark, to: &bytes) }
    // Folded before as well, so that texts which fold to the same text have the same words.
    let decomposed = CaseFolding.folded(text).decomposedStringWithCompatibilityMapping
    var isInWord = false
    for character in decomposed.unicodeScalars {
      if character.isIgnoredMark { continue }
      let properties = character.properties
      guard isPartOfWord(properties.generalCategory) else {
        if isInWord { bytes.append(UInt8(ascii: " ")) }
        isInWord = false
        continue
      }
      // These scripts write no spaces, so each character is a word, and a word that a user types is a phrase of them.
      let isWhole = properties.isIdeographic || (0x3040...0x30FF).contains(character.value)
      if isInWord && isWhole { bytes.append(UInt8(ascii: " ")) }
      if !isInWord || isWhole { bytes += mark }
      bytes += Array(String(CaseFolding.folded(character)).utf8)
      if isWhole { bytes.append(UInt8(ascii: " ")) }
      isInWord = !isWhole
    }
    if isInWord { bytes.append(UInt8(ascii: " ")) }
  }

  private static func appendASCII(_ text: String.UTF8View, _ mark: [UInt8], to bytes: inout [UInt8]) {
    var isInWord = false
    for byte in text {
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"),
        UInt8(ascii: "A")...UInt8(ascii: "Z"):
        if !isInWord { bytes += mark }
        // Sets the bit that distinguishes small letters, which digits have set already.
        bytes.append(byte | 0x20)
        isInWord = true
      default:
        if isInWord { bytes.append(UInt8(ascii: " ")) }
        isInWord = false
      }
    }
    if isInWord { bytes.append(UInt8(ascii: " ")) }
  }

  private static func isPartOfWord(_ category: Unicode.GeneralCategory) -> Bool {
    switch category {
    case .uppercaseLetter, .lowercaseLetter, .titlecaseLetter, .modifierLetter, .otherLetter, .decimalNumber,
      .letterNumber, .otherNumber, .nonspacingMark, .spacingMark:
      true
    default: false
    }
  }
}
