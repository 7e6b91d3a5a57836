import Crypto
import Foundation
import PhotoModel
import Primitives

/// The end of a page as clients carry it: the sort keys of the last row as a JSON array. It is encrypted, because it
/// contains row numbers and positions in folders, from which a client could estimate how much it does not see.
struct PageCursor {
  enum Field: Codable, Sendable, Hashable {
    case null
    case integer(Int64)
    case real(Double)
    case text(String)

    init(from decoder: any Decoder) throws {
      let value = try decoder.singleValueContainer()
      if value.decodeNil() {
        self = .null
      } else if let integer = try? value.decode(Int64.self) {
        self = .integer(integer)
      } else if let real = try? value.decode(Double.self) {
        self = .real(real)
      } else {
        self = .text(try value.decode(String.self))
      }
    }

    func encode(to encoder: any Encoder) throws {
      var value = encoder.singleValueContainer()
      switch self {
      case .null: try value.encodeNil()
      case .integer(let integer): try value.encode(integer)
      case .real(let real): try value.encode(real)
      case .text(let text): try value.encode(text)
      }
    }
  }

  let fields: [Field]

  init(_ fields: [Field]) { self.fields = fields }

  init(text: String, _ cipher: CursorCipher) throws(AssetSourceError) {
    guard let opened = cipher.open(text), let fields = try? JSONDecoder().decode([Field].self, from: opened) else {
      throw .malformedCursor
    }
    self.fields = fields
  }

  /// The fields; throws if their number differs from `count`.
  func fields(_ count: Int) throws(AssetSourceError) -> [Field] {
    guard fields.count == count else { throw .malformedCursor }
    return fields
  }

  func text(_ index: Int) throws(AssetSourceError) -> String {
    guard case .text(let value) = fields[index] else { throw .malformedCursor }
    return value
  }

  func integer(_ index: Int) throws(AssetSourceError) -> Int64 {
    guard case .integer(let value) = fields[index] else { throw .malformedCursor }
    return value
  }

  func text(_ cipher: CursorCipher) -> String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = .withoutEscapingSlashes
    return cipher.seal((try? encoder.encode(fields)) ?? Data())
  }
}

/// Encrypts and decrypts cursors with ChaCha20-Poly1305 (RFC 8439) and a key derived from the catalogue's secret. The
/// nonce is derived from the plaintext, so equal cursors have equal texts and pages keep their entity tags.
struct CursorCipher: Sendable {
  private static let nonceBytes = 12
  private static let tagBytes = 16

  private let key: SymmetricKey
  private let nonceKey: SymmetricKey

  init(secret: Data) {
    func derived(_ name: String) -> SymmetricKey {
      SymmetricKey(data: HMAC<SHA256>.authenticationCode(for: Data(name.utf8), using: SymmetricKey(data: secret)))
    }
    key = derived("cursor")
    nonceKey = derived("cursor nonce")
  }

  func seal(_ bytes: Data) -> String {
    let nonce = Array(HMAC<SHA256>.authenticationCode(for: bytes, using: nonceKey).prefix(Self.nonceBytes))
    guard let nonce = try? ChaChaPoly.Nonce(data: nonce),
      let box = try? ChaChaPoly.seal(bytes, using: key, nonce: nonce)
    else { preconditionFailure("ChaCha20-Poly1305 failed with a twelve-byte nonce") }
    return Base64URL.encode(box.combined)
  }

  /// `nil` if the text was not encrypted with this key.
  func open(_ text: String) -> Data? {
    var base64 = text.replacing("-", with: "+").replacing("_", with: "/")
    base64 += String(repeating: "=", count: (4 - base64.utf8.count % 4) % 4)
    guard let bytes = Data(base64Encoded: base64), bytes.count >= Self.nonceBytes + Self.tagBytes,
      let box = try? ChaChaPoly.SealedBox(combined: bytes)
    else { return nil }
    return try? ChaChaPoly.open(box, using: key)
  }
}
