import Foundation
import JSONText
import PhotoFixtures
import Testing

@Suite("JSON text")
struct JSONTextTests {
  /// What Foundation writes with the same rules.
  private func reference(_ value: some Encodable) throws -> String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    return String(decoding: try encoder.encode(value), as: UTF8.self)
  }

  private func text(_ value: some Encodable) throws -> String {
    String(decoding: try JSONText.encode(value), as: UTF8.self)
  }

  @Test("random values have the text that Foundation's encoder writes")
  func random() throws {
    var random = Sampling.generator("JSON texts")
    for _ in 0..<2000 {
      let value = Value.random(depth: 4, &random)
      let (found, expected) = (try text([value]), try reference([value]))
      #expect(found == expected, "\(Sampling.note)")
    }
  }

  @Test("every character of the first two planes is written as Foundation's encoder does")
  func characters() throws {
    for start in stride(from: UInt32(0), to: 0x20000, by: 0x400) {
      let string = String(String.UnicodeScalarView((start..<start + 0x400).compactMap(Unicode.Scalar.init)))
      #expect(try text([string]) == reference([string]))
      #expect(try text([string: 1]) == reference([string: 1]))
    }
  }

  @Test("numbers are written as Foundation's encoder does")
  func numbers() throws {
    let doubles: [Double] = [
      0, -0.0, 1, -1, 0.1, 1e15, 1e16, 1e22, 1.5e300, .leastNonzeroMagnitude, .greatestFiniteMagnitude, .pi, 123_456.75,
    ]
    #expect(try text(doubles) == reference(doubles))
    let floats = doubles.map { Float($0) }.filter(\.isFinite)
    #expect(try text(floats) == reference(floats))
    #expect(try text([Int.min, .max]) == reference([Int.min, .max]))
    #expect(try text([UInt64.max, 0]) == reference([UInt64.max, 0]))
    #expect(try text([Int8.min, .max]) == "[-128,127]")
  }

  @Test("a number that JSON has no text for is an error", arguments: [Double.infinity, -.infinity, .nan])
  func noNumber(_ number: Double) {
    #expect(throws: EncodingError.self) { try JSONText.encode(["a": [number]]) }
    #expect(throws: EncodingError.self) { try JSONText.encode(Float(number)) }
  }

  @Test("members are sorted by the bytes of their keys, of which one may begin with another")
  func order() throws {
    let object = ["b": 1, "a": 2, "ab": 3, "a!": 4, "": 5, "é": 6, "z": 7, "B": 8]
    #expect(try text(object) == #"{"":5,"B":8,"a":2,"a!":4,"ab":3,"b":1,"z":7,"é":6}"#)
    #expect(try text(object) == reference(object))
    // By the bytes as they are written: a line feed is a backslash and a letter.
    #expect(try text(["\n": 1, "A": 2, "]": 3]) == #"{"A":2,"\n":1,"]":3}"#)
  }

  /// Uses everything that the protocols of encoding offer.
  private struct Nested: Encodable {
    enum Key: String, CodingKey { case z, m, a, none, list }

    func encode(to encoder: any Encoder) throws {
      var object = encoder.container(keyedBy: Key.self)
      var inner = object.nestedContainer(keyedBy: Key.self, forKey: .z)
      try inner.encode([String](), forKey: .m)
      try inner.encode([String: Int](), forKey: .a)
      try object.encode("before the other", forKey: .m)
      try object.encodeNil(forKey: .none)
      var list = object.nestedUnkeyedContainer(forKey: .list)
      try list.encode(1)
      var row = list.nestedUnkeyedContainer()
      try row.encode(true)
      try row.encodeNil()
      _ = list.nestedContainer(keyedBy: Key.self)
      try "super".encode(to: list.superEncoder())
      #expect(list.count == 4)
      // The same object again, as a type does that adds to another one's members.
      var again = encoder.container(keyedBy: Key.self)
      try again.encodeIfPresent(String?.none, forKey: .a)
      try again.encode(Optional<Int>.none, forKey: .a)
      try 5.encode(to: again.superEncoder())
    }
  }

  @Test("nested containers and a reopened object are encoded")
  func nested() throws {
    #expect(try text(Nested()) == reference(Nested()))
    #expect(try text(["x": [Nested(), Nested()]]) == reference(["x": [Nested(), Nested()]]))
  }

  private struct Nothing: Encodable {
    func encode(to encoder: any Encoder) {}
  }

  @Test("a value that encodes nothing is an object without members")
  func nothing() throws {
    #expect(try text(Nothing()) == "{}")
    #expect(try text([Nothing(), Nothing()]) == "[{},{}]")
    #expect(try text(["b": Nothing(), "a": Nothing()]) == #"{"a":{},"b":{}}"#)
    #expect(try text(["a": [Nothing]()]) == #"{"a":[]}"#)
  }

  private struct Twice: Encodable {
    enum Key: String, CodingKey { case a, b }

    func encode(to encoder: any Encoder) throws {
      var object = encoder.container(keyedBy: Key.self)
      try object.encode([1], forKey: .b)
      try object.encode(2, forKey: .a)
      try object.encode(3, forKey: .b)
    }
  }

  @Test("of equal keys, the last one is written")
  func twice() throws { #expect(try text([Twice()]) == #"[{"a":2,"b":3}]"#) }

  @Test(
    "a top-level scalar is encoded",
    arguments: [("true", Value.bool(true)), ("null", .null), (#""/""#, .string("/"))])
  func alone(_ expected: String, _ value: Value) throws {
    #expect(try text(value) == expected)
  }
}

/// Any JSON value.
enum Value: Encodable, Sendable {
  case null, bool(Bool), integer(Int), number(Double), string(String), list([Value]), object([String: Value])

  func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    switch self {
    case .null: try container.encodeNil()
    case .bool(let value): try container.encode(value)
    case .integer(let value): try container.encode(value)
    case .number(let value): try container.encode(value)
    case .string(let value): try container.encode(value)
    case .list(let values): try container.encode(values)
    case .object(let members): try container.encode(members)
    }
  }

  static func random(depth: Int, _ random: inout some RandomNumberGenerator) -> Value {
    func string(_ more: String = "") -> String {
      let letters = Array("abcdeAB _-/é漢😀" + more)
      return String((0..<Int.random(in: 0...12, using: &random)).map { _ in letters.randomElement(using: &random)! })
    }
    switch Int.random(in: 0..<(depth > 0 ? 7 : 5), using: &random) {
    case 0: return .null
    case 1: return .bool(.random(using: &random))
    case 2: return .integer(.random(in: .min ... .max, using: &random))
    case 3:
      let number = Double(bitPattern: .random(in: 0...UInt64.max, using: &random))
      return .number(number.isFinite ? number : 0.5)
    case 4: return .string(string("\"\\\n\t\u{1}"))
    case 5:
      return .list((0..<Int.random(in: 0...5, using: &random)).map { _ in .random(depth: depth - 1, &random) })
    default:
      return .object(
        Dictionary(
          (0..<Int.random(in: 0...6, using: &random)).map { _ in (string(), .random(depth: depth - 1, &random)) },
          uniquingKeysWith: { $1 }))
    }
  }
}
