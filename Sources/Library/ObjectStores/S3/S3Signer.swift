// AWS Signature Version 4 in the `Authorization` field, for S3: the path is encoded once, and the payload's hash is a
// field of its own. "Signature Calculations for the Authorization Header: Transferring Payload in a Single Chunk" in
// the API reference of Amazon S3.

import Cryptography
import Primitives

struct S3Signer: Sendable {
  static let emptyPayloadHash = payloadHash([])

  let credentials: S3Credentials
  let region: String

  /// SHA-256 in hexadecimal.
  static func payloadHash(_ bytes: [UInt8]) -> String { Digest.sha256(bytes).hexadecimal }

  /// A query from its parameters, in the order of a signature.
  static func query(_ parameters: [(name: String, value: String)]) -> String {
    parameters.map { (PercentEncoding.encode($0.name.utf8), PercentEncoding.encode($0.value.utf8)) }
      .sorted { $0 < $1 }.map { "\($0)=\($1)" }.joined(separator: "&")
  }

  /// The fields of a request with its signature.
  ///
  /// - Parameters:
  ///   - address: its path and its query are encoded by ``PercentEncoding`` and ``query(_:)``.
  ///   - fields: all are signed except `Accept-Encoding`, which proxies change; so is `Host`, which libcurl adds.
  ///   - time: seconds since 1970.
  func sign(
    _ method: TransferRequest.Method, _ address: RemoteAddress, _ fields: [(name: String, value: String)],
    payloadHash: String, time: Int64
  ) -> [(name: String, value: String)] {
    let (day, moment) = Self.timestamps(time)
    var fields = fields + [("x-amz-content-sha256", payloadHash), ("x-amz-date", moment)]
    if let token = credentials.sessionToken { fields.append(("x-amz-security-token", token)) }
    let lowercased = fields.map { (name: $0.name.lowercased(), value: $0.value) }
    let signed = (lowercased.filter { $0.name != "accept-encoding" } + [("host", address.authority)])
      .sorted { $0.name < $1.name }
    let names = signed.map(\.name).joined(separator: ";")
    let canonical = [
      method.rawValue, address.path, address.query,
      signed.map { "\($0.name):\(Self.trimmed($0.value))\n" }.joined(), names, payloadHash,
    ].joined(separator: "\n")
    let scope = "\(day)/\(region)/s3/aws4_request"
    let text = "AWS4-HMAC-SHA256\n\(moment)\n\(scope)\n\(Self.payloadHash(Array(canonical.utf8)))"
    var key = Array("AWS4\(credentials.secretAccessKey)".utf8)
    for part in [day, region, "s3", "aws4_request"] {
      key = HMACSHA256.code(of: part.utf8, key: key)
    }
    let signature = HMACSHA256.code(of: text.utf8, key: key).hexadecimal
    fields.append(
      (
        "Authorization",
        "AWS4-HMAC-SHA256 Credential=\(credentials.accessKeyID)/\(scope),SignedHeaders=\(names),Signature=\(signature)"
      ))
    return fields
  }

  /// The day and the moment in the form of ISO 8601 without punctuation: `20130524` and `20130524T000000Z`.
  private static func timestamps(_ time: Int64) -> (day: String, moment: String) {
    let date = UTCDateTime(secondsSince1970: time)
    let day = "\(date.year.zeroPadded(4))\(date.month.zeroPadded(2))\(date.day.zeroPadded(2))"
    return (day, "\(day)T\(date.hour.zeroPadded(2))\(date.minute.zeroPadded(2))\(date.second.zeroPadded(2))Z")
  }

  /// A field's value without spaces around it, and with single spaces inside.
  private static func trimmed(_ value: String) -> String { value.split(separator: " ").joined(separator: " ") }
}
