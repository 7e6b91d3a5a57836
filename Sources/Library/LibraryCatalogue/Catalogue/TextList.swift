import Foundation

/// Lists of strings as the catalogue stores them: a JSON array, NULL for an empty list.
enum TextList {
  private static let separator = #"",""#

  static func json(_ strings: [String]) -> String? {
    guard !strings.isEmpty else { return nil }
    let encoder = JSONEncoder()
    encoder.outputFormatting = .withoutEscapingSlashes
    do { return String(decoding: try encoder.encode(strings), as: UTF8.self) } catch {
      preconditionFailure("strings can always be encoded: \(error)")
    }
  }

  /// Empty for text that is not such a list, which this program never writes.
  static func strings(_ json: String?) -> [String] {
    guard let json else { return [] }
    // A quote within a string is escaped, so without escapes every quote is a delimiter. Pages of assets decode
    // thousands of lists.
    if !json.utf8.contains(UInt8(ascii: "\\")), json.hasPrefix("[\""), json.hasSuffix("\"]") {
      return json.dropFirst(2).dropLast(2).split(separator: separator, omittingEmptySubsequences: false).map(
        String.init)
    }
    return (try? JSONDecoder().decode([String].self, from: Data(json.utf8))) ?? []
  }
}
