import Primitives

/// Writes `Content-Disposition` with a file name (RFC 6266 §4.3).
package enum ContentDisposition {
  /// How a browser treats the response.
  package enum Kind: String, Sendable {
    /// Shows it if it can.
    case inline
    /// Saves it.
    case attachment
  }

  /// The field's value. The name is given twice: in ASCII, where other characters become underscores, and in UTF-8
  /// (RFC 8187 §3.2), which current clients prefer.
  ///
  /// - Parameter name: a name without folders. Slashes, backslashes and control characters become underscores, so that
  ///   no client saves the file in another folder. So do format characters that are not part of the spelling, because
  ///   they make a name look like another one.
  package static func value(_ kind: Kind, name: String) -> String {
    var safe = String.UnicodeScalarView()
    for scalar in name.unicodeScalars.replacingFormatCharacters(with: "_") {
      let isSafe = scalar != "/" && scalar != "\\" && scalar.properties.generalCategory != .control
      safe.append(isSafe ? scalar : "_")
    }
    // A name that consists of dots would be that of a folder.
    if safe.allSatisfy({ $0 == "." }) { safe = "download".unicodeScalars }
    let text = String(safe)
    let ascii = String(
      String.UnicodeScalarView(
        safe.map { $0.isASCII && $0 != "\"" && $0 != "%" ? $0 : "_" }))
    let value = "\(kind.rawValue); filename=\"\(ascii)\""
    return ascii == text ? value : "\(value); filename*=UTF-8''\(RequestTarget.percentEncoded(text))"
  }
}
