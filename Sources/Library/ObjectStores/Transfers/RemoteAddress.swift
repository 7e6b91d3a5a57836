/// An `http` or `https` address, in parts: the signature of a request needs them.
struct RemoteAddress: Sendable, Hashable {
  var isEncrypted: Bool
  /// In lower case; an IPv6 address without brackets.
  var host: String
  /// `nil`: the port of the scheme.
  var port: Int?
  /// Already percent-encoded; begins with a slash.
  var path: String
  /// Already percent-encoded; without the question mark. Empty: none.
  var query: String = ""

  /// Reads `http[s]://host[:port][/path]`. `nil` for anything else, and with credentials, a query or a fragment.
  init?(_ text: String) {
    if text.hasPrefix("https://") {
      isEncrypted = true
    } else if text.hasPrefix("http://") {
      isEncrypted = false
    } else {
      return nil
    }
    let rest = text.dropFirst(isEncrypted ? 8 : 7)
    let slash = rest.firstIndex(of: "/") ?? rest.endIndex
    var authority = rest[..<slash]
    path = slash == rest.endIndex ? "/" : String(rest[slash...])
    guard path.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }), !path.contains("?"), !path.contains("#") else { return nil }
    if authority.hasPrefix("["), let end = authority.firstIndex(of: "]") {
      host = String(authority[authority.index(after: authority.startIndex)..<end]).lowercased()
      guard NetworkAddress(host)?.bytes.count == 16 else { return nil }
      authority = authority[authority.index(after: end)...]
    } else {
      let colon = authority.firstIndex(of: ":") ?? authority.endIndex
      host = authority[..<colon].lowercased()
      authority = authority[colon...]
      let isName = host.utf8.allSatisfy {
        (UInt8(ascii: "a")...UInt8(ascii: "z")).contains($0) || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0)
          || $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: ".")
      }
      guard !host.isEmpty, host.utf8.count <= 253, isName else { return nil }
    }
    if !authority.isEmpty {
      guard authority.first == ":", let number = Int(authority.dropFirst()), (1...65535).contains(number) else {
        return nil
      }
      port = number == (isEncrypted ? 443 : 80) ? nil : number
    }
  }

  /// The `Host` field, as libcurl sends it.
  var authority: String {
    let name = host.contains(":") ? "[\(host)]" : host
    return port.map { "\(name):\($0)" } ?? name
  }

  var text: String { "http\(isEncrypted ? "s" : "")://\(authority)\(path)\(query.isEmpty ? "" : "?\(query)")" }
}

/// Percent-encoding of RFC 3986 as SigV4 requires it: of all but the unreserved characters, with digits in upper case.
enum PercentEncoding {
  static func encode(_ bytes: some Sequence<UInt8>, keepsSlashes: Bool = false) -> String {
    let digits = Array("0123456789ABCDEF".utf8)
    var text: [UInt8] = []
    for byte in bytes {
      switch byte {
      case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
        UInt8(ascii: "~"):
        text.append(byte)
      case UInt8(ascii: "/") where keepsSlashes: text.append(byte)
      default: text += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
      }
    }
    return String(decoding: text, as: UTF8.self)
  }

  /// `nil` if a percent sign has no two digits after it.
  ///
  /// - Parameter plusIsSpace: as in a form, which is how S3 encodes the keys of a list.
  static func decode(_ text: some Collection<UInt8>, plusIsSpace: Bool) -> [UInt8]? {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(text.count)
    var rest = text.makeIterator()
    while let byte = rest.next() {
      switch byte {
      case UInt8(ascii: "%"):
        guard let high = rest.next().flatMap(digit), let low = rest.next().flatMap(digit) else { return nil }
        bytes.append(high << 4 | low)
      case UInt8(ascii: "+") where plusIsSpace: bytes.append(UInt8(ascii: " "))
      default: bytes.append(byte)
      }
    }
    return bytes
  }

  private static func digit(_ byte: UInt8) -> UInt8? {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
    case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
    case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
    default: nil
    }
  }
}
