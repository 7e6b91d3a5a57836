// What a signed URL carries beside what it asks for, and how it is made and checked. HMAC-SHA256 (RFC 2104) over method,
// path, query, key, issuer and end, in a form in which no two different ones are the same bytes.

import Crypto
import FoundationEssentials
import HTTPCore

package struct URLSignature: Sendable, Hashable {
  /// Names of the parameters of a query that belong to a signature, in the order in which they are written.
  package static let names = ["signedCollection", "signedBy", "signedKey", "signedUntil", "signature"]

  /// What was signed: a path, by its decoded segments, and the other parameters of its query.
  package struct Subject: Sendable, Hashable {
    package let segments: [String]
    let parameters: [Parameter]

    package init(segments: [String], parameters: [(name: String, value: String)] = []) {
      self.segments = segments
      self.parameters = parameters.map { Parameter(name: $0.name, value: $0.value) }.sorted()
    }
  }

  package struct Parameter: Sendable, Hashable, Comparable {
    let name: String
    let value: String

    package static func < (a: Parameter, b: Parameter) -> Bool { (a.name, a.value) < (b.name, b.value) }
  }

  /// The issuer of what the operator signed at this machine, and not in any token's name.
  package static let operatorIssuer = "operator"

  /// The album that it opens, with all that is in it; `nil`: it opens what it was written on alone.
  package let collection: String?
  /// The token that it was made with, or ``operatorIssuer``.
  package let issuer: String
  package let key: String
  /// Seconds since 1970.
  package let expires: Int64
  let code: [UInt8]

  /// Whether a query has anything of a signature: then it has to be a good one.
  package static func isIn(_ parameters: [(name: String, value: String)]) -> Bool {
    parameters.contains { names.contains($0.name) }
  }

  /// Reads a signature from a query. `nil`: something is missing, twice there, or malformed.
  package init?(_ parameters: [(name: String, value: String)]) {
    var values: [String: String] = [:]
    for (name, value) in parameters where Self.names.contains(name) {
      guard values.updateValue(value, forKey: name) == nil else { return nil }
    }
    guard let issuer = values["signedBy"], let key = values["signedKey"], let until = values["signedUntil"],
      until.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }), let expires = Int64(until),
      let code = values["signature"].flatMap(Base64URL.bytes), code.count == SHA256.byteCount
    else { return nil }
    (collection, self.issuer, self.key) = (values["signedCollection"], issuer, key)
    (self.expires, self.code) = (expires, code)
  }

  /// Signs.
  init(_ subject: Subject, collection: String?, issuer: String, expires: Int64, with key: SigningKey) {
    (self.collection, self.issuer, self.key, self.expires) = (collection, issuer, key.identifier, expires)
    let message = Self.message(subject, collection, issuer, key.identifier, expires)
    code = Array(HMAC<SHA256>.authenticationCode(for: message, using: key.key))
  }

  /// The parameters that it adds to a query.
  package var parameters: [(name: String, value: String)] {
    let values = [collection, issuer, key, String(expires), Base64URL.text(code)]
    return zip(Self.names, values).compactMap { name, value in value.map { (name, $0) } }
  }

  /// Whether this key signed this; in constant time.
  func isGood(for subject: Subject, with key: SigningKey) -> Bool {
    HMAC<SHA256>.isValidAuthenticationCode(
      code, authenticating: Self.message(subject, collection, issuer, key.identifier, expires), using: key.key)
  }

  /// GET stands for HEAD too, and for nothing else. Every part is escaped, so none runs into the next.
  private static func message(
    _ subject: Subject, _ collection: String?, _ issuer: String, _ key: String, _ expires: Int64
  ) -> [UInt8] {
    let path = subject.segments.map { "/" + RequestTarget.encoded($0) }.joined()
    let query = subject.parameters.map { "\(RequestTarget.encoded($0.name))=\(RequestTarget.encoded($0.value))" }
      .joined(separator: "&")
    let parts = [
      "photod signed URL 1", "GET", path, query, RequestTarget.encoded(collection ?? ""), RequestTarget.encoded(issuer),
      RequestTarget.encoded(key),
    ]
    return Array((parts + [String(expires)]).joined(separator: "\n").utf8)
  }
}
