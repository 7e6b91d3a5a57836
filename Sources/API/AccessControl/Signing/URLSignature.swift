// The signature parameters of a signed URL, and how they are created and checked. The signature is an HMAC-SHA256 (RFC
// 2104) over method, path, query, key, issuer and expiry, in an unambiguous encoding: two different inputs never have
// the same bytes. This file does not decide what a signature grants; `AccessRegistry` does.

import Cryptography
import FoundationEssentials
import HTTPCore
import Primitives

package struct URLSignature: Sendable, Hashable {
  /// The query parameters of a signature, in the order in which they are written.
  package static let parameterNames = ["signedCollection", "signedBy", "signedKey", "signedUntil", "signature"]

  /// The signed resource: a path as decoded segments, and the other query parameters.
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

  /// The issuer of URLs that the operator signed on this machine without a token.
  package static let operatorIssuer = "operator"

  /// The album that the URL grants, with its whole content; `nil`: the URL grants only the signed resource.
  package let collection: String?
  /// The identifier of the issuing token, or ``operatorIssuer``.
  let issuer: String
  package let key: String
  /// Seconds since 1970.
  package let expires: Int64
  let mac: [UInt8]

  /// Whether a query contains any signature parameter. Such a request needs a valid signature.
  package static func isPresent(in parameters: [(name: String, value: String)]) -> Bool {
    parameters.contains { parameterNames.contains($0.name) }
  }

  /// Parses a signature from a query. Returns `nil` if a parameter is missing, repeated or malformed.
  package init?(_ parameters: [(name: String, value: String)]) {
    var values: [String: String] = [:]
    for (name, value) in parameters where Self.parameterNames.contains(name) {
      guard values.updateValue(value, forKey: name) == nil else { return nil }
    }
    guard let issuer = values["signedBy"], let key = values["signedKey"], let until = values["signedUntil"],
      until.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }), let expires = Int64(until),
      let mac = values["signature"].flatMap(Base64URL.decode), mac.count == HMACSHA256.byteCount
    else { return nil }
    (collection, self.issuer, self.key) = (values["signedCollection"], issuer, key)
    (self.expires, self.mac) = (expires, mac)
  }

  /// Signs a subject.
  init(_ subject: Subject, collection: String?, issuer: String, expires: Int64, with key: SigningKey) {
    (self.collection, self.issuer, self.key, self.expires) = (collection, issuer, key.identifier, expires)
    let message = Self.message(subject, collection, issuer, key.identifier, expires)
    mac = key.hmac.code(of: message)
  }

  /// The query parameters of this signature.
  package var parameters: [(name: String, value: String)] {
    let values = [collection, issuer, key, String(expires), Base64URL.encode(mac)]
    return zip(Self.parameterNames, values).compactMap { name, value in value.map { (name, $0) } }
  }

  /// Whether `key` signed `subject`. Compares in constant time.
  func isValid(for subject: Subject, with key: SigningKey) -> Bool {
    key.hmac.isValid(mac, of: Self.message(subject, collection, issuer, key.identifier, expires))
  }

  /// The signed bytes. The method is always GET, which also covers HEAD. Every part is escaped, so that parts can't run
  /// into each other.
  private static func message(
    _ subject: Subject, _ collection: String?, _ issuer: String, _ key: String, _ expires: Int64
  ) -> [UInt8] {
    let path = subject.segments.map { "/" + RequestTarget.percentEncoded($0) }.joined()
    let query = subject.parameters.map {
      "\(RequestTarget.percentEncoded($0.name))=\(RequestTarget.percentEncoded($0.value))"
    }
    .joined(separator: "&")
    let parts = [
      "photod signed URL 1", "GET", path, query, RequestTarget.percentEncoded(collection ?? ""),
      RequestTarget.percentEncoded(issuer),
      RequestTarget.percentEncoded(key),
    ]
    return Array((parts + [String(expires)]).joined(separator: "\n").utf8)
  }
}
