/// A path with parameters, such as `/v1/assets/{localIdentifier}/image`. A parameter matches one whole segment.
package struct PathTemplate: Sendable, Hashable, ExpressibleByStringLiteral {
  private enum Part: Sendable, Hashable {
    case literal(String)
    case parameter(String)
  }

  package let text: String
  private let parts: [Part]

  /// Not inlined: the endpoint table has many paths.
  @inline(never)
  package init(stringLiteral text: String) {
    self.text = text
    parts = text.split(separator: "/").map { part in
      part.hasPrefix("{") ? .parameter(String(part.dropFirst().dropLast())) : .literal(String(part))
    }
  }

  /// The number of segments.
  var count: Int { parts.count }

  /// The names of the parameters, in the order of the path.
  package var parameters: [String] {
    parts.compactMap { part -> String? in
      if case .parameter(let name) = part { name } else { nil }
    }
  }

  func matches(_ segments: [String]) -> Bool {
    guard segments.count == parts.count else { return false }
    for index in parts.indices {
      if case .literal(let text) = parts[index], text != segments[index] { return false }
    }
    return true
  }

  /// The index of the segment that a parameter matches.
  func index(of parameter: String) -> Int? { parts.firstIndex(of: .parameter(parameter)) }
}
