/// The value of a metadata entry, in JSON's types.
package enum MetadataValue: Sendable, Hashable {
  /// An entry without a value, such as a rational with denominator zero.
  case null
  case boolean(Bool)
  case integer(Int)
  /// Finite.
  case number(Double)
  case text(String)
  case array([MetadataValue])
  case object([String: MetadataValue])

  /// Stands for bytes without a readable meaning: their count.
  package static func bytes(_ count: Int) -> MetadataValue { .object(["length": .integer(count)]) }

  /// `nil`, infinities and NaN become ``null``.
  static func decimal(_ value: Double?) -> MetadataValue {
    guard let value, value.isFinite else { return .null }
    return .number(value)
  }

  /// A single value itself; several values as an array.
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
