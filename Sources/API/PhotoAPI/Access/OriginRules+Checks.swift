import HTTPCore
import Primitives

/// A host name or an origin that browsers never send, so that it would allow nothing.
package struct UnmatchableNameError: Error, Sendable, CustomStringConvertible {
  package let description: String
}

extension OriginRules {
  /// Checks a host name as `Host` has it, with or without a port: `photos.example`, `photos.example:8443`.
  package static func check(host text: String) throws(UnmatchableNameError) {
    guard let port = portText(after: text[...]) else {
      throw UnmatchableNameError(
        description: "\(text) is not a host name; write photos.example, without a scheme or a path")
    }
    guard port != "80", port != "443" else {
      throw UnmatchableNameError(description: "\(text): browsers leave out the port \(port); write the name only")
    }
  }

  /// Checks an origin as browsers serialize it (RFC 6454 §6.2): `https://photos.example`, `http://localhost:5173`. The
  /// schemes of apps and of browser extensions have origins of the same form.
  package static func check(origin text: String) throws(UnmatchableNameError) {
    let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
    guard parts.count == 2, isScheme(parts[0]), parts[1].hasPrefix("//"),
      let port = portText(after: parts[1].dropFirst(2))
    else {
      throw UnmatchableNameError(
        description: "\(text) is not an origin; write https://photos.example, with the scheme and without a path")
    }
    let standard = ["http": "80", "https": "443"][parts[0].lowercased()]
    if let standard, port == standard {
      throw UnmatchableNameError(
        description: "\(text): browsers leave out the port \(port) of this scheme; write no port")
    }
  }

  /// The port after a host name or an address; empty if there is none, `nil` if the text is something else.
  private static func portText(after text: Substring) -> Substring? {
    var rest = text
    if text.hasPrefix("[") {
      guard let end = text.firstIndex(of: "]") else { return nil }
      let address = text[..<end].dropFirst()
      guard !address.isEmpty, address.utf8.allSatisfy(HTTPGrammar.addressCharacters.contains) else { return nil }
      rest = text[end...].dropFirst()
    } else {
      let host = text.prefix { $0 != ":" }
      guard !host.isEmpty, host.utf8.allSatisfy(isHostCharacter) else { return nil }
      rest = text[host.endIndex...]
    }
    if rest.isEmpty { return rest }
    let port = rest.dropFirst()
    guard rest.hasPrefix(":"), let number = UInt16(port), String(number) == port else { return nil }
    return port
  }

  /// Browsers send names in ASCII (`xn--…`), without wildcards.
  private static func isHostCharacter(_ byte: UInt8) -> Bool {
    byte.isASCIILetterOrDigit || byte == UInt8(ascii: "-") || byte == UInt8(ascii: ".") || byte == UInt8(ascii: "_")
  }

  private static func isScheme(_ text: Substring) -> Bool {
    guard let first = text.utf8.first, first.isASCIILetterOrDigit, !HTTPGrammar.isDigit(first) else { return false }
    return text.utf8.allSatisfy { $0.isASCIILetterOrDigit || "+-.".utf8.contains($0) }
  }
}
