/// What a metadata entry holds, as JSON can say it.
package enum MetadataValue: Sendable, Hashable {
  /// An entry that is there and says nothing: a rational over zero.
  case null
  case boolean(Bool)
  case integer(Int)
  /// Finite.
  case number(Double)
  case text(String)
  case array([MetadataValue])
  case object([String: MetadataValue])

  /// In place of bytes that mean nothing to a reader: how many they are.
  package static func bytes(_ count: Int) -> MetadataValue { .object(["length": .integer(count)]) }

  /// `nil` and what is no number become ``null``.
  static func decimal(_ value: Double?) -> MetadataValue {
    guard let value, value.isFinite else { return .null }
    return .number(value)
  }

  /// One value alone, several as an array.
  static func list(_ values: [MetadataValue]) -> MetadataValue {
    values.count == 1 ? values[0] : .array(values)
  }
}

extension MetadataValue: Encodable {
  package func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    switch self {
    case .null: try container.encodeNil()
    case .boolean(let value): try container.encode(value)
    case .integer(let value): try container.encode(value)
    case .number(let value): try container.encode(value)
    case .text(let value): try container.encode(value)
    case .array(let values): try container.encode(values)
    case .object(let fields): try container.encode(fields)
    }
  }
}
