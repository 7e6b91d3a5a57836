// The request fields of resumable uploads (draft-ietf-httpbis-resumable-upload): integers and booleans of structured
// fields (RFC 9651), here without parameters.

import HTTPCore

struct UploadFields: Sendable {
  /// The media type of a part of a file.
  static let partialType = "application/partial-upload"

  /// The offset of the body's first byte.
  let offset: Int64?
  /// The length of the whole file.
  let length: Int64?
  /// Whether the file ends with this body.
  let isEnd: Bool

  init(_ head: RequestHead) throws(Problem) {
    offset = try Self.integer(head.value(of: .uploadOffset), "Upload-Offset")
    length = try Self.integer(head.value(of: .uploadLength), "Upload-Length")
    switch head.value(of: .uploadComplete) {
    case nil, "?0": isEnd = false
    case "?1": isEnd = true
    default: throw QueryReader.invalid("Upload-Complete", "must be ?0 or ?1")
    }
  }

  /// A structured integer has at most 15 digits (RFC 9651 §3.3.1).
  private static func integer(_ text: String?, _ name: String) throws(Problem) -> Int64? {
    guard let text else { return nil }
    guard (1...15).contains(text.utf8.count), text.utf8.allSatisfy(HTTPGrammar.isDigit), let number = Int64(text) else {
      throw QueryReader.invalid(name, "must be a whole number of at most 15 digits")
    }
    return number
  }
}
