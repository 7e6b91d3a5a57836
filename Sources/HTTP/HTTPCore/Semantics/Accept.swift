/// A parsed `Accept` field (RFC 9110 §12.5.1).
package struct Accept: Sendable {
  private struct Range: Sendable {
    let type: String
    let subtype: String
    /// 0...1000.
    let quality: Int

    /// How closely the range matches a media type: 0 no match, 1 by `*/*`, 2 by `type/*`, 3 by name.
    func specificity(type: String, subtype: String) -> Int {
      if self.type == "*" { return 1 }
      guard self.type == type else { return 0 }
      if self.subtype == "*" { return 2 }
      return self.subtype == subtype ? 3 : 0
    }
  }

  private let ranges: [Range]

  /// A missing field accepts everything, and so does an empty one, which names no type. Malformed elements are ignored.
  package init(_ value: String?) {
    let elements = value.map { HTTPGrammar.elements(of: $0) } ?? []
    guard !elements.isEmpty else {
      ranges = [Range(type: "*", subtype: "*", quality: 1000)]
      return
    }
    ranges = elements.compactMap { element in
      let parts = HTTPGrammar.elements(of: element, separatedBy: UInt8(ascii: ";"))
      guard let range = parts.first?.lowercased() else { return nil }
      // Java's HttpURLConnection sends `*` for `*/*`.
      let names = (range == "*" ? "*/*" : range).split(separator: "/")
      guard names.count == 2 else { return nil }
      guard let quality = Self.quality(inParameters: parts.dropFirst()) else { return nil }
      return Range(type: String(names[0]), subtype: String(names[1]), quality: quality)
    }
  }

  /// The quality of a media type, 0...1000, from the most specific range that matches.
  package func quality(of mediaType: String) -> Int {
    let names = mediaType.split(separator: "/")
    guard names.count == 2 else { return 0 }
    var best = (specificity: 0, quality: 0)
    for range in ranges {
      let specificity = range.specificity(type: String(names[0]), subtype: String(names[1]))
      if specificity > best.specificity { best = (specificity, range.quality) }
    }
    return best.quality
  }

  /// Whether a media type is listed by name, not only covered by a wildcard, and with a quality above 0.
  package func namesExplicitly(_ mediaType: String) -> Bool {
    let names = mediaType.split(separator: "/")
    return ranges.contains { $0.quality > 0 && $0.type == names[0] && $0.subtype == names[1] }
  }

  /// Whether a media type is excluded with q=0, by name or by `type/*`.
  package func refuses(_ mediaType: String) -> Bool {
    let names = mediaType.split(separator: "/")
    return quality(of: mediaType) == 0
      && ranges.contains { $0.quality == 0 && $0.type == names[0] && ($0.subtype == names[1] || $0.subtype == "*") }
  }

  /// Whether any subtype of `type` is listed, as by `image/*` or `image/webp`.
  package func namesType(_ type: String) -> Bool {
    ranges.contains { $0.quality > 0 && $0.type == type }
  }

  /// Whether any subtype of `type` is listed, even with q=0.
  package func mentionsType(_ type: String) -> Bool { ranges.contains { $0.type == type } }

  /// Whether the field contains only `*/*`.
  package var isOnlyWildcard: Bool {
    !ranges.isEmpty && ranges.allSatisfy { $0.type == "*" && $0.quality > 0 }
  }

  /// The quality among an element's parameters, 1000 by default; `nil` if it is malformed.
  static func quality(inParameters parameters: ArraySlice<String>) -> Int? {
    var quality = 1000
    for parameter in parameters {
      let pair = parameter.split(separator: "=", maxSplits: 1)
      guard pair.count == 2, HTTPGrammar.trimmed(pair[0]).lowercased() == "q" else { continue }
      guard let value = Self.quality(HTTPGrammar.trimmed(pair[1])) else { return nil }
      quality = value
    }
    return quality
  }

  /// qvalue (RFC 9110 §12.4.2) in thousandths. Clients also send `.2`, as Java's HttpURLConnection does, and more than
  /// three decimals; the further ones do not count.
  private static func quality(_ text: String) -> Int? {
    let parts = text.split(separator: ".", omittingEmptySubsequences: false)
    let (whole, decimals) = (String(parts[0]), parts.count > 1 ? String(parts[1]) : "")
    guard parts.count <= 2, whole == "0" || whole == "1" || (whole.isEmpty && !decimals.isEmpty),
      decimals.utf8.allSatisfy(HTTPGrammar.isDigit)
    else { return nil }
    let thousandths = Int(String((decimals + "000").prefix(3))) ?? 0
    let value = (whole == "1" ? 1000 : 0) + thousandths
    return value <= 1000 ? value : nil
  }
}
