/// The end of a page of a list: the sort keys of its last entry. Clients get it as encrypted text, see `TokenCodec`.
package struct PageCursor: Sendable, Hashable {
  package enum Field: Codable, Sendable, Hashable {
    case null
    case integer(Int64)
    case real(Double)
    case text(String)

    package init(from decoder: any Decoder) throws {
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

    package func encode(to encoder: any Encoder) throws {
      var value = encoder.singleValueContainer()
      switch self {
      case .null: try value.encodeNil()
      case .integer(let integer): try value.encode(integer)
      case .real(let real): try value.encode(real)
      case .text(let text): try value.encode(text)
      }
    }
  }

  package let fields: [Field]

  /// Represents text that is not a cursor of this library. Every list rejects it with `malformedCursor`.
  package static let invalid = PageCursor([])

  package init(_ fields: [Field]) { self.fields = fields }

  /// The fields; throws `malformedCursor` if their number differs from `count`.
  package func fields(_ count: Int) throws(AssetSourceError) -> [Field] {
    guard fields.count == count else { throw .malformedCursor }
    return fields
  }

  /// The text at an index, which must be less than the number of fields; throws `malformedCursor` for another type.
  package func text(_ index: Int) throws(AssetSourceError) -> String {
    guard case .text(let value) = fields[index] else { throw .malformedCursor }
    return value
  }

  /// The integer at an index, which must be less than the number of fields; throws `malformedCursor` for another type.
  package func integer(_ index: Int) throws(AssetSourceError) -> Int64 {
    guard case .integer(let value) = fields[index] else { throw .malformedCursor }
    return value
  }
}
