/// Functions on paths below the library root, as bytes.
package enum LibraryPath {
  /// The parent folder, without a trailing slash; the root is empty.
  package static func folder(of path: [UInt8]) -> [UInt8] {
    Array(path[..<(path.lastIndex(of: UInt8(ascii: "/")) ?? 0)])
  }

  /// The last component.
  package static func name(of path: [UInt8]) -> [UInt8] {
    Array(path[(path.lastIndex(of: UInt8(ascii: "/")).map { $0 + 1 } ?? 0)...])
  }

  /// The path of a name in a folder.
  package static func join(_ folder: [UInt8], _ name: [UInt8]) -> [UInt8] {
    folder.isEmpty ? name : folder + [UInt8(ascii: "/")] + name
  }

  /// Whether a path lies below a folder, at any depth. The root is the empty path.
  package static func isPath(_ path: [UInt8], below folder: [UInt8]) -> Bool {
    folder.isEmpty || path.starts(with: folder + [UInt8(ascii: "/")])
  }

  /// A variant of a name that is taken: with -2, -3 and so on before the extension, within the maximum length.
  package static func alternative(_ number: Int, to name: [UInt8]) -> [UInt8] {
    number < 2 ? name : suffixed(name, with: Array("-\(number)".utf8))
  }

  /// A name with a suffix before its extension, within the maximum length.
  package static func suffixed(_ name: [UInt8], with suffix: [UInt8]) -> [UInt8] {
    let (stem, fileExtension) = split(name)
    return truncated(stem, to: maximumNameBytes - suffix.count - fileExtension.count) + suffix + fileExtension
  }

  /// The name without its extension, and the extension with its dot.
  package static func split(_ name: [UInt8]) -> (stem: ArraySlice<UInt8>, fileExtension: ArraySlice<UInt8>) {
    let dot = name.lastIndex(of: UInt8(ascii: ".")).flatMap {
      $0 > 0 && name.count - $0 <= maximumExtensionBytes ? $0 : nil
    }
    return (name[..<(dot ?? name.count)], name[(dot ?? name.count)...])
  }

  /// The limit of common file systems (NAME_MAX).
  package static let maximumNameBytes = 255
  /// The longest extension, including its dot; a longer one counts as part of the name.
  package static let maximumExtensionBytes = 16

  /// Truncates to a number of bytes without splitting a character.
  package static func truncated(_ bytes: some Collection<UInt8>, to count: Int) -> [UInt8] {
    var short = Array(bytes.prefix(max(0, count)))
    guard short.count < bytes.count else { return short }
    // Drop the last character if its bytes are incomplete.
    if let first = short.lastIndex(where: { $0 & 0xC0 != 0x80 }) {
      let length = scalarLength(short[first])
      if short[first] >= 0xC0 && short.count - first < length { short.removeLast(short.count - first) }
    }
    return short
  }

  /// The number of bytes of a Unicode scalar in UTF-8, by its first byte. Does not check that the byte is a first one.
  static func scalarLength(_ first: UInt8) -> Int { first < 0x80 ? 1 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4 }
}
