import Foundation

/// Finds a member that an object of a JSON text has twice. Foundation's decoder keeps one of the values, and does not
/// say which.
enum RepeatedMember {
  private struct Container {
    let isObject: Bool
    /// Of the members so far.
    var names: Set<String> = []
    /// Of the last member.
    var name = ""
  }

  /// The first repeated member, with the names of the objects around it: `http.bodyBytes`. Comments may be repeated.
  ///
  /// - Parameter text: valid JSON in UTF-8. The brackets, commas and quotation marks between strings are then the
  ///   structure.
  static func first(in text: [UInt8]) throws -> String? {
    var containers: [Container] = []
    // The next string is the name of a member.
    var isBeforeName = false
    var index = 0
    while index < text.count {
      switch text[index] {
      case UInt8(ascii: "{"):
        containers.append(Container(isObject: true))
        isBeforeName = true
      case UInt8(ascii: "["):
        containers.append(Container(isObject: false))
        isBeforeName = false
      case UInt8(ascii: "}"), UInt8(ascii: "]"):
        _ = containers.popLast()
        isBeforeName = false
      case UInt8(ascii: ","):
        isBeforeName = containers.last?.isObject ?? false
      case UInt8(ascii: "\""):
        let end = endOfString(in: text, from: index)
        if isBeforeName, !containers.isEmpty {
          isBeforeName = false
          let name = try JSONDecoder().decode(String.self, from: Data(text[index..<end]))
          let last = containers.count - 1
          containers[last].name = name
          if !name.hasPrefix("//"), !containers[last].names.insert(name).inserted {
            return containers.filter(\.isObject).map(\.name).joined(separator: ".")
          }
        }
        index = end - 1
      default: break
      }
      index += 1
    }
    return nil
  }

  /// The index after the closing quotation mark.
  private static func endOfString(in text: [UInt8], from start: Int) -> Int {
    var index = start + 1
    while index < text.count, text[index] != UInt8(ascii: "\"") { index += text[index] == UInt8(ascii: "\\") ? 2 : 1 }
    return min(index + 1, text.count)
  }
}
