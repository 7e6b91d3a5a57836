import Foundation
import PhotoFixtures
import PhotoModel
import PhotoPredicate

typealias Dice = SplitMix

extension Dice {
  init(_ seed: Int) { self.init(state: UInt64(seed) &* 0x2545_F491_4F6C_DD1D) }
}

/// An object with only its properties.
struct TestRow: PropertyRow {
  var values: [String: PropertyValue]

  func value(for key: PropertyKey) -> PropertyValue? { values[key.name] }
}

// Values to compare: so few that random ones are often equal, or parts of each other.
extension Dice {
  static let strings = [
    "", "a", "A", "b", "ab", "AB", "aB", "abc", "b.jpg", "IMG_0001.JPG", "img_0001.jpg", "IMG_0001", "IMG_00", "%", "_",
    "*", "?", "a*b", "a?b", "\\", "a\\b", "\\*", "'", "\"", "a'b", "\n", "\t", " ", "stra\u{DF}e", "STRASSE",
    "STRA\u{1E9E}E", "\u{E9}", "e\u{301}", "\u{C9}", "E\u{301}", "\u{3A9}", "\u{3C9}", "\u{2126}", "\u{17F}", "s", "K",
    "k",
    "\u{212A}", "\u{3C2}", "\u{3C3}", "\u{3A3}", "\u{130}", "i", "\u{131}", "I", "\u{10400}", "\u{10428}", "\u{D7FF}",
    "\u{E000}", "\u{FFFF}", "\u{10000}", "\u{10FFFF}", "a\u{10FFFF}", "a\u{10FFFF}\u{10FFFF}", "a\u{D7FF}",
    "\u{65E5}\u{672C}\u{8A9E}", "\u{672C}", "\u{1F469}\u{200D}\u{1F469}", "\u{13A0}", "\u{AB70}",
  ]
  static let integers: [Int64] = [
    0, 1, -1, 2, 3, 5, 100, 4000, 4001, 1 << 53, 1 << 53 + 1, -(1 << 53) - 1, .max, .max - 1, .min, .min + 1,
  ]
  static let reals: [Double] = [
    0, -0.0, 1, 1.5, 0.5, -1.5, 0.1, 0.1 + 0.2, 0.3, .leastNonzeroMagnitude, .greatestFiniteMagnitude,
    -.greatestFiniteMagnitude,
    9_007_199_254_740_992, 9_007_199_254_740_994, 0x1p63, -0x1p63, 1e19, 4000, 4000.25, -33.9628,
  ]
  static let dates: [Int64] = [
    0, 1, -1, 999, 1000, 1_714_979_289_123, 1_714_979_289_000, -62_167_219_200_000, 253_402_300_799_999,
  ]

  mutating func string() -> String {
    oneIn(3) ? one(of: Self.strings) + one(of: Self.strings) : one(of: Self.strings)
  }

  mutating func value(of type: PropertyType) -> PropertyValue {
    switch type {
    case .boolean: .boolean(oneIn(2))
    case .integer: .integer(one(of: Self.integers))
    case .real: .real(one(of: Self.reals))
    case .string: .string(string())
    // Never empty, because an empty list is an absent value.
    case .strings: .strings((0...below(3)).map { _ in string() })
    case .date: .date(Timestamp(milliseconds: one(of: Self.dates)))
    case .enumeration(let enumeration): .name(one(of: enumeration.cases).name)
    case .options(let enumeration):
      .integer(oneIn(5) ? 0 : one(of: enumeration.cases).number! | one(of: enumeration.cases).number!)
    }
  }

  mutating func row(_ schema: PropertySchema, number: Int) -> TestRow {
    var values: [String: PropertyValue] = [:]
    for key in schema.keys where !(key.isNullable && oneIn(3)) { values[key.name] = value(of: key.type) }
    values["localIdentifier"] = .string(string() + "-\(number)")
    return TestRow(values: values)
  }

  // MARK: Predicates

  mutating func predicate(_ schema: PropertySchema, depth: Int = 3) -> FetchPredicate {
    switch depth == 0 ? 9 : below(10) {
    case 0, 1: .conjunction((0...1 + below(2)).map { _ in predicate(schema, depth: depth - 1) })
    case 2, 3: .disjunction((0...1 + below(2)).map { _ in predicate(schema, depth: depth - 1) })
    case 4, 5: .not(predicate(schema, depth: depth - 1))
    case 6 where oneIn(4): .constant(oneIn(2))
    default: .comparison(comparison(schema))
    }
  }

  mutating func comparison(_ schema: PropertySchema) -> PredicateComparison {
    let key = one(of: schema.keys)
    var subject = PredicateComparison.Subject(key)
    let isInteger: Bool
    switch key.type {
    case .integer, .options: isInteger = true
    default: isInteger = false
    }
    if isInteger, oneIn(3) {
      guard case .integer(let mask) = value(of: key.type) else { fatalError() }
      subject.mask = mask
    }
    var folding: TextFolding = []
    if key.type == .string || key.type == .strings {
      if oneIn(2) { folding.insert(.letterCase) }
      if oneIn(3) { folding.insert(.diacritics) }
    }
    return PredicateComparison(subject, test(of: subject, schema), folding: folding).plain
  }

  private mutating func test(
    of subject: PredicateComparison.Subject, _ schema: PropertySchema
  ) -> PredicateComparison.Test {
    let key = subject.key
    if key.type == .strings {
      if oneIn(5) { return .isNil(oneIn(2)) }
      // A comparison of one text of the list, with values only.
      let test = test(of: PredicateComparison.Subject(PropertyKey("element", .string)), schema)
      if case .property = test { return .oneOf([.string(string())]) }
      return test
    }
    let isOrdered = key.type != .boolean
    let relations = PredicateComparison.Relation.allCases.filter { isOrdered || $0 == .equal || $0 == .notEqual }
    switch below(8) {
    case 0 where key.isNullable: return .isNil(oneIn(2))
    case 1 where isOrdered: return .between(literal(of: key.type), literal(of: key.type))
    case 2: return .oneOf((0..<below(4)).map { _ in literal(of: key.type) })
    case 3, 4:
      guard key.type == .string else { break }
      return .string(one(of: PredicateComparison.StringOperator.allCases), part())
    case 5:
      let others = schema.keys.filter { other in
        switch (key.type, other.type) {
        case (.enumeration, _), (.options, _), (_, .enumeration), (_, .options): false
        case (.integer, .real), (.real, .integer): true
        default: key.type == other.type
        }
      }
      guard !others.isEmpty else { break }
      return .property(one(of: relations), PredicateComparison.Subject(one(of: others)))
    default: break
    }
    return .relation(one(of: relations), literal(of: key.type))
  }

  /// A value; for an integer sometimes a number between two values.
  private mutating func literal(of type: PropertyType) -> PropertyValue {
    type == .integer && oneIn(4) ? .real(one(of: [0.5, -1.5, 4000.25])) : value(of: type)
  }

  /// A prefix of a value, or a pattern.
  private mutating func part() -> String {
    let wild = ["*", "?", "**", "*?", "\\", "\\*"]
    return (0...below(3)).map { _ in oneIn(2) ? one(of: wild) : one(of: Self.strings) }.joined()
  }
}

extension PredicateComparison {
  /// Without the mask and the case option if compared with nil, which has neither.
  fileprivate var plain: PredicateComparison {
    if case .isNil = test { PredicateComparison(.init(subject.key), test) } else { self }
  }
}
