import PhotoModel

/// A query parameter in the OpenAPI document. The words of an enumeration come from the enumeration itself.
struct QueryParameter: Sendable {
  let name: String
  let description: String?
  let schema: [String: JSONValue]
  private(set) var isRequired = false
  private(set) var example: String?
  /// Another parameter, with its value, that a request with this one must have.
  private(set) var needs: String?

  /// Not inlined, as the functions below: the endpoint table has many parameters.
  @inline(never)
  private init(_ name: String, _ description: String?, _ schema: [String: JSONValue], default standard: JSONValue?) {
    self.name = name
    self.description = description
    var schema = schema
    if let standard { schema["default"] = standard }
    self.schema = schema
  }

  /// - Parameter pattern: a regular expression (ECMA-262) that valid values match.
  @inline(never)
  static func text(
    _ name: String, _ description: String? = nil, default standard: String? = nil, pattern: String? = nil,
    example: String? = nil, isRequired: Bool = false
  ) -> QueryParameter {
    var schema: [String: JSONValue] = ["type": "string"]
    if let pattern { schema["pattern"] = .string(pattern) }
    var parameter = QueryParameter(name, description, schema, default: standard.map { .string($0) })
    parameter.example = example
    parameter.isRequired = isRequired
    return parameter
  }

  static func flag(_ name: String, _ description: String? = nil) -> QueryParameter {
    QueryParameter(name, description, ["type": "boolean"], default: false)
  }

  @inline(never)
  static func number(
    _ name: String, _ range: ClosedRange<Int>, default standard: Int? = nil, _ description: String? = nil,
    needs: String? = nil
  ) -> QueryParameter {
    var parameter = QueryParameter(
      name, description,
      ["type": "integer", "minimum": .integer(range.lowerBound), "maximum": .integer(range.upperBound)],
      default: standard.map { .integer($0) })
    parameter.needs = needs
    return parameter
  }

  /// One of a few numbers, in ascending order.
  static func oneOf(
    _ name: String, _ numbers: [Int], default standard: Int, _ description: String, needs: String? = nil
  ) -> QueryParameter {
    var schema: [String: JSONValue] = ["type": "integer", "enum": .array(numbers.map { .integer($0) })]
    // Redundant, and easier for tools without enumerations of numbers.
    schema["minimum"] = numbers.first.map { .integer($0) }
    schema["maximum"] = numbers.last.map { .integer($0) }
    var parameter = QueryParameter(name, description, schema, default: .integer(standard))
    parameter.needs = needs
    return parameter
  }

  /// One of the raw values of an enumeration.
  static func word<Word: RawRepresentable & CaseIterable>(
    _ name: String, _ words: Word.Type, default standard: Word? = nil, _ description: String? = nil,
    needs other: String? = nil
  ) -> QueryParameter where Word.RawValue == String {
    word(name, words.allCases.map(\.rawValue), default: standard?.rawValue, description, needs: other)
  }

  @inline(never)
  private static func word(
    _ name: String, _ words: [String], default standard: String?, _ description: String?, needs other: String?
  ) -> QueryParameter {
    var parameter = QueryParameter(
      name, description, ["enum": .array(words.map { .string($0) })], default: standard.map { .string($0) })
    parameter.needs = other
    return parameter
  }

  /// The parameter object (OpenAPI 3.1 §4.8.12).
  var json: JSONValue {
    var object: [String: JSONValue] = ["name": .string(name), "in": "query", "schema": .object(schema)]
    if let description { object["description"] = .string(description) }
    if let example { object["example"] = .string(example) }
    if let needs { object["x-requires"] = .string(needs) }
    if isRequired { object["required"] = true }
    return .object(object)
  }
}
