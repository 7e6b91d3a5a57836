/// A JSON value that a client sent.
package indirect enum JSONValue: Decodable, Sendable, Hashable {
  case null
  case bool(Bool)
  case integer(Int)
  case number(Double)
  case string(String)
  case array([JSONValue])
  case object([String: JSONValue])

  package init(from decoder: any Decoder) throws {
    let value = try decoder.singleValueContainer()
    // Most frequent types first, because each failed attempt throws an error: one body may hold a hundred thousand
    // strings, but only thousands of objects.
    if let text = try? value.decode(String.self) {
      self = .string(text)
    } else if value.decodeNil() {
      self = .null
    } else if let object = try? value.decode([String: JSONValue].self) {
      self = .object(object)
    } else if let flag = try? value.decode(Bool.self) {
      self = .bool(flag)
    } else if let integer = try? value.decode(Int.self) {
      self = .integer(integer)
    } else if let number = try? value.decode(Double.self) {
      self = .number(number)
    } else {
      self = .array(try value.decode([JSONValue].self))
    }
  }
}
