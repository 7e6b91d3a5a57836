import Foundation
import PhotoModel

/// Where a page ended, as clients carry it: opaque to them, base64url of a JSON array of the last row's sort keys.
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

  init(text: String) throws(AssetSourceError) {
    var base64 = text.replacing("-", with: "+").replacing("_", with: "/")
    base64 += String(repeating: "=", count: (4 - base64.utf8.count % 4) % 4)
    let fields = Data(base64Encoded: base64).flatMap { try? JSONDecoder().decode([Field].self, from: $0) }
    guard let fields else { throw .malformedCursor }
    self.fields = fields
  }

  /// The fields, where there are as many as a cursor of that list has.
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

  var text: String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = .withoutEscapingSlashes
    return Base64URL.encode((try? encoder.encode(fields)) ?? Data())
  }
}
