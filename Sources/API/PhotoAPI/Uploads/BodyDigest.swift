// The SHA-256 that a sender announces for the body of an upload, in `Content-Digest` or `Repr-Digest` (RFC 9530):
//
//     Content-Digest: sha-256=:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=:
//
// Members of other algorithms are ignored. Trailers are not read.

import Cryptography
import FoundationEssentials
import HTTPCore

struct BodyDigest: Sendable {
  private static let algorithm = "sha-256"
  private static let byteCount = 32

  private let expected: Set<[UInt8]>
  private var digest = Digest(.sha256)

  /// `nil`: the fields name no SHA-256.
  ///
  /// - Parameter isWhole: the body is the whole file, so `Repr-Digest` is its digest too.
  /// - Throws: 400 for a malformed field.
  init?(_ head: RequestHead, isWhole: Bool) throws(Problem) {
    var expected: Set<[UInt8]> = []
    if let digest = try Self.digest(head.value(of: .contentDigest), "Content-Digest") { expected.insert(digest) }
    let whole = try Self.digest(head.value(of: .reprDigest), "Repr-Digest")
    if isWhole, let whole { expected.insert(whole) }
    if expected.isEmpty { return nil }
    self.expected = expected
  }

  mutating func update(_ piece: [UInt8]) { digest.update(piece) }

  /// Whether the bytes have the digest of each field. Called once, after the last of them.
  mutating func matches() -> Bool { expected == [digest.finalize()] }

  /// The SHA-256 in a dictionary of byte sequences (RFC 9651 §3.2, §3.3.5). If there are several, the last one counts
  /// (§4.2.2).
  private static func digest(_ field: String?, _ name: String) throws(Problem) -> [UInt8]? {
    guard let field, !HTTPGrammar.trimmed(field[...]).isEmpty else { return nil }
    var digest: [UInt8]?
    for member in field.split(separator: ",", omittingEmptySubsequences: false) {
      let pair = HTTPGrammar.trimmed(member).split(separator: "=", maxSplits: 1)
      guard pair.count == 2, pair[1].count >= 2, pair[1].hasPrefix(":"), pair[1].hasSuffix(":") else {
        throw malformed(name)
      }
      guard pair[0] == algorithm else { continue }
      var text = String(pair[1].dropFirst().dropLast())
      // Padding may be missing (§4.2.7).
      while text.utf8.count % 4 != 0 { text += "=" }
      guard let bytes = Data(base64Encoded: text), bytes.count == byteCount else { throw malformed(name) }
      digest = [UInt8](bytes)
    }
    return digest
  }

  private static func malformed(_ name: String) -> Problem {
    QueryReader.invalid(name, "must have digests such as sha-256=:BASE64:, separated by commas (RFC 9530)")
  }
}

extension Problem {
  /// - Parameter fields: further response fields.
  static func digestMismatch(fields: [String: String] = [:]) -> Problem {
    Problem(
      400, "digest-mismatch", "The body does not match its digest",
      detail: "The SHA-256 of the received body is not the announced one. None of its bytes are kept. Send it again.",
      fields: fields)
  }
}
