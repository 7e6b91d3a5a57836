extension LibraryPath {
  /// A path for display: invalid UTF-8 becomes U+FFFD.
  package static func display(_ path: [UInt8]) -> String { String(decoding: path, as: UTF8.self) }

  /// A path on one line that can be decoded to the same bytes: each byte of invalid UTF-8 or invisible text is written
  /// as `\xHH`, a backslash as two.
  package static func escaped(_ path: [UInt8]) -> String {
    var text = ""
    func escape(_ bytes: some Sequence<UInt8>) {
      for byte in bytes {
        let digits = String(byte, radix: 16, uppercase: true)
        text += "\\x" + (byte < 16 ? "0" : "") + digits
      }
    }
    var rest = path[...]
    while let first = rest.first {
      // The decoder checks that the bytes are valid.
      let length = scalarLength(first)
      let bytes = rest.prefix(length)
      guard let scalar = String(validating: bytes, as: UTF8.self)?.unicodeScalars.first, bytes.count == length else {
        escape([first])
        rest = rest.dropFirst()
        continue
      }
      switch scalar.properties.generalCategory {
      case .control, .lineSeparator, .paragraphSeparator, .format, .unassigned, .privateUse: escape(bytes)
      default: text += scalar == "\\" ? "\\\\" : String(scalar)
      }
      rest = rest.dropFirst(length)
    }
    return text
  }
}
