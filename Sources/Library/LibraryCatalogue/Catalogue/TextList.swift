import Foundation

/// Lists of strings as the catalogue stores them: a JSON array, NULL for an empty list.
enum TextList {
  static func json(_ strings: [String]) -> String? {
    guard !strings.isEmpty else { return nil }
    let encoder = JSONEncoder()
    encoder.outputFormatting = .withoutEscapingSlashes
    do { return String(decoding: try encoder.encode(strings), as: UTF8.self) } catch {
      preconditionFailure("strings can always be encoded: \(error)")
    }
  }

  /// Throws for any other text, which only damage can have caused. Reading it as an empty list could lead to storing
  /// the empty list.
  static func strings(_ json: String?) throws -> [String] {
    guard let json else { return [] }
    return try withoutEscapes(json.utf8) ?? JSONDecoder().decode([String].self, from: Data(json.utf8))
  }

  /// Like ``strings(_:)``, but a damaged list reads as empty, so that one damaged asset does not fail a page of assets.
  /// `photod check` reports the damage.
  static func readableStrings(_ json: String?) -> [String] { (try? strings(json)) ?? [] }

  /// Fast path, because pages of assets decode thousands of lists: the strings of a list without escapes and white
  /// space, in which every quote is a delimiter; `nil` for any other text. Compares bytes, because a quote and a
  /// combining mark after it are one `Character`.
  private static func withoutEscapes(_ json: String.UTF8View) -> [String]? {
    guard !json.contains(UInt8(ascii: "\\")) else { return nil }
    // Every second part is a string; the parts between are "[", "," and "]".
    let parts = json.split(separator: UInt8(ascii: "\""), omittingEmptySubsequences: false)
    guard parts.count >= 3, !parts.count.isMultiple(of: 2) else { return nil }
    var strings: [String] = []
    strings.reserveCapacity(parts.count / 2)
    for (index, part) in parts.enumerated() {
      if !index.isMultiple(of: 2) {
        strings.append(String(decoding: part, as: UTF8.self))
        continue
      }
      let delimiter: Unicode.Scalar = index == 0 ? "[" : index == parts.count - 1 ? "]" : ","
      guard part.elementsEqual(CollectionOfOne(UInt8(ascii: delimiter))) else { return nil }
    }
    return strings
  }
}
