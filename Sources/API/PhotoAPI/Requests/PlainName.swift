/// The syntax of identifiers, of clients' own names for requests and other things, and of presets. Such a name needs no
/// escapes in a URL.
enum PlainName {
  static let maximumLength = 64
  /// The valid names, as a regular expression.
  static let pattern = "^[A-Za-z0-9._-]{1,\(maximumLength)}$"

  static func isValid(_ text: String) -> Bool {
    (1...maximumLength).contains(text.utf8.count)
      && text.utf8.allSatisfy { byte in
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
          UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "-"):
          true
        default: false
        }
      }
  }
}
