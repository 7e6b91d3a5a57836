import PhotoModel

/// A property of an asset or a collection that predicates compare and sort descriptors order by.
package struct PropertyKey: Sendable, Hashable {
  /// What JSON calls it, and what is printed.
  package let name: String
  /// Further names that are understood.
  package let aliases: [String]
  package let type: PropertyType
  /// Whether an object may be without it, so that it may be compared with `nil`.
  package let isNullable: Bool
  /// Whether it tells a place: only who may read places can name it, or learn by it.
  package let needsLocationScope: Bool

  package init(
    _ name: String, _ type: PropertyType, aliases: [String] = [], isNullable: Bool = false,
    needsLocationScope: Bool = false
  ) {
    self.name = name
    self.aliases = aliases
    self.type = type
    self.isNullable = isNullable
    self.needsLocationScope = needsLocationScope
  }
}

/// What values a property has.
package enum PropertyType: Sendable, Hashable {
  case boolean
  case integer
  /// A finite number.
  case real
  /// Any text without U+0000, ordered by Unicode code point.
  case string
  case date
  /// One of several names, each perhaps with PhotoKit's number; ordered as they are listed.
  case enumeration(Enumeration)
  /// A set of named bits, seen as a number.
  case options(Enumeration)

  /// What its values may be called.
  var cases: [Enumeration.Case] {
    switch self {
    case .enumeration(let enumeration), .options(let enumeration): enumeration.cases
    default: []
    }
  }
}

/// The names of an enumeration's values, or of an option set's bits.
package struct Enumeration: Sendable, Hashable {
  package struct Case: Sendable, Hashable {
    /// As Swift writes it and JSON answers it: `image`.
    package let name: String
    /// As Objective-C writes it: `PHAssetMediaTypeImage`.
    package let fullName: String
    /// PhotoKit's number, or the bit; `nil` where another case has it already.
    package let number: Int64?

    package init(_ name: String, _ number: Int64?, fullName: String) {
      self.name = name
      self.number = number
      self.fullName = fullName
    }
  }

  package let cases: [Case]

  package init(_ cases: [Case]) {
    self.cases = cases
  }

  /// Cases whose full names are a prefix and their capitalised name.
  package init(prefix: String, _ cases: [(name: String, number: Int64?)]) {
    self.cases = cases.map { Case($0.name, $0.number, fullName: Self.fullName(prefix, $0.name)) }
  }

  package static func fullName(_ prefix: String, _ name: String) -> String {
    prefix + name.prefix(1).uppercased() + name.dropFirst()
  }

  func named(_ name: String) -> Case? { cases.first { $0.name == name || $0.fullName == name } }

  func numbered(_ number: Int64) -> Case? { cases.first { $0.number == number } }

  /// The place among the cases, which is the order of values.
  func rank(of name: String) -> Int? { cases.firstIndex { $0.name == name } }
}

/// A property's value, or a literal of its type. Compared with `==`, strings are the same where they look the same, which is
/// not what predicates mean by it: see ``PropertyType/order(_:_:)``.
package enum PropertyValue: Sendable, Hashable {
  case boolean(Bool)
  /// Of an integer, or of options.
  case integer(Int64)
  /// Of a real; never NaN. A literal of an integer's where it has a fraction.
  case real(Double)
  case string(String)
  case date(Timestamp)
  /// The name of an enumeration's case.
  case name(String)
}

/// An object whose properties predicates look at: nothing more is asked of it.
package protocol PropertyRow {
  /// The value, of the key's type; `nil` where the object has none.
  func value(for key: PropertyKey) -> PropertyValue?
}
