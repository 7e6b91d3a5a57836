/// A path below the library's root as bytes, taken apart.
package enum FilePath {
  /// The folder, without a slash behind it; the root is empty.
  package static func folder(of path: [UInt8]) -> [UInt8] {
    Array(path[..<(path.lastIndex(of: UInt8(ascii: "/")) ?? 0)])
  }

  package static func name(of path: [UInt8]) -> [UInt8] {
    Array(path[(path.lastIndex(of: UInt8(ascii: "/")).map { $0 + 1 } ?? 0)...])
  }

  package static func join(_ folder: [UInt8], _ name: [UInt8]) -> [UInt8] {
    folder.isEmpty ? name : folder + [UInt8(ascii: "/")] + name
  }

  /// Names like this one, for where it is taken: with -2, -3 and so on before its ending, within what a name may hold.
  package static func alternative(_ number: Int, to name: [UInt8]) -> [UInt8] {
    if number < 2 { return name }
    let dot = name.lastIndex(of: UInt8(ascii: ".")).flatMap { $0 > 0 && name.count - $0 <= maximumEnding ? $0 : nil }
    let ending = dot.map { name[$0...] } ?? []
    let suffix = Array("-\(number)".utf8)
    let stem = name[..<(dot ?? name.count)]
    return truncated(stem, to: maximumName - suffix.count - ending.count) + suffix + ending
  }

  /// What the common file systems take (NAME_MAX).
  package static let maximumName = 255
  /// A dot and what is behind it; more is no ending.
  package static let maximumEnding = 16

  /// So many bytes at most, and no part of a character at the end.
  package static func truncated(_ bytes: some Collection<UInt8>, to count: Int) -> [UInt8] {
    var short = Array(bytes.prefix(max(0, count)))
    guard short.count < bytes.count else { return short }
    // What is cut in the middle: the bytes behind the last one that begins a character, and that one, if it has not all.
    if let first = short.lastIndex(where: { $0 & 0xC0 != 0x80 }) {
      let length = short[first] < 0x80 ? 1 : short[first] < 0xE0 ? 2 : short[first] < 0xF0 ? 3 : 4
      if short[first] >= 0xC0 && short.count - first < length { short.removeLast(short.count - first) }
    }
    return short
  }
}
