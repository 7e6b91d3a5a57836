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

  /// Throws for text that is not such a list, which this program never writes: an empty list in its place could be
  /// stored.
  static func strings(_ json: String?) throws -> [String] {
    guard let json else { return [] }
    return try withoutEscapes(json.utf8) ?? JSONDecoder().decode([String].self, from: Data(json.utf8))
  }

  /// Like ``strings(_:)``, but a damaged list reads as empty, so that it fails no list of other assets. `photod check`
  /// reports it.
  static func readableStrings(_ json: String?) -> [String] { (try? strings(json)) ?? [] }

  /// The strings of a list without escapes and white space, in which every quote is a delimiter; `nil` for another
  /// text. Pages of assets decode thousands of lists. It compares bytes: a quote and a combining mark after it are one
  /// `Character`.
  private static func withoutEscapes(_ json: String.UTF8View) -> [String]? {
    guard !json.contains(UInt8(ascii: "\\")) else { return nil }
    // Each second part is a string, between "[", "," and "]".
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
