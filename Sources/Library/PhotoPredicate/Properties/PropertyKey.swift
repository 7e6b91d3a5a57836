import PhotoModel

/// A property of an asset or a collection, for predicates and sort descriptors.
package struct PropertyKey: Sendable, Hashable {
  /// The name in JSON and in printed predicates.
  package let name: String
  /// Other accepted names.
  let aliases: [String]
  package let type: PropertyType
  /// Whether the value may be absent, which allows a comparison with `nil`.
  package let isNullable: Bool
  /// Whether it reveals a location: only principals with the scope `location` may name it or learn anything from it.
  package let needsLocationScope: Bool
  /// Whether objects may be sorted by it. The values of a page's last object are part of its cursor, so they must be
  /// short.
  package let isSortable: Bool
  /// The name of this property in storage.
  package let column: String

  package init(
    _ name: String, _ type: PropertyType, aliases: [String] = [], isNullable: Bool = false,
    needsLocationScope: Bool = false, isSortable: Bool = true, column: String? = nil
  ) {
    self.name = name
    self.aliases = aliases
    self.type = type
    self.isNullable = isNullable
    self.needsLocationScope = needsLocationScope
    self.isSortable = isSortable
    self.column = column ?? name
  }
}

extension PropertyKey {
  /// One text of a list: the subject of the comparison after `ANY`.
  var element: PropertyKey { PropertyKey(name, .string, needsLocationScope: needsLocationScope) }
}

/// The type of the values of a property.
package enum PropertyType: Sendable, Hashable {
  case boolean
  case integer
  /// A finite number.
  case real
  /// Any text without U+0000, ordered by Unicode code point.
  case string
  /// A list of texts. A comparison holds if it holds for any of them (`ANY`). An empty list is an absent value.
  case strings
  case date
  /// One of several names, some with a PhotoKit number; ordered as listed.
  case enumeration(Enumeration)
  /// A set of named bits, compared as a number.
  case options(Enumeration)

  /// The names of its values.
  var cases: [Enumeration.Case] {
    switch self {
    case .enumeration(let enumeration), .options(let enumeration): enumeration.cases
    default: []
    }
  }
}

/// The names of the values of an enumeration, or of the bits of an option set.
package struct Enumeration: Sendable, Hashable {
  package struct Case: Sendable, Hashable {
    /// The Swift and JSON name: `image`.
    package let name: String
    /// The Objective-C name: `PHAssetMediaTypeImage`.
    let fullName: String
    /// The PhotoKit number, or the bit; `nil` if another case already has it.
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

  /// Cases whose full names are the prefix followed by the capitalised name.
  package init(prefix: String, _ cases: [(name: String, number: Int64?)]) {
    self.cases = cases.map { Case($0.name, $0.number, fullName: Self.fullName(prefix, $0.name)) }
  }

  static func fullName(_ prefix: String, _ name: String) -> String {
    prefix + name.prefix(1).uppercased() + name.dropFirst()
  }

  func named(_ name: String) -> Case? { cases.first { $0.name == name || $0.fullName == name } }

  func numbered(_ number: Int64) -> Case? { cases.first { $0.number == number } }

  /// The position among the cases, which is the sort order of values.
  func rank(of name: String) -> Int? { cases.firstIndex { $0.name == name } }
}

/// The value of a property, or a literal of its type. `==` compares strings by canonical equivalence, unlike
/// predicates: see ``PropertyType/order(_:_:)``.
package enum PropertyValue: Sendable, Hashable {
  case boolean(Bool)
  /// The value of an integer or of options.
  case integer(Int64)
  /// The value of a real; never NaN. Also a literal with a fraction for an integer key.
  case real(Double)
  case string(String)
  /// The value of a list of texts; never a literal.
  case strings([String])
  case date(Timestamp)
  /// The name of an enumeration's case.
  case name(String)
}

/// An object that predicates can be evaluated on.
package protocol PropertyRow {
  /// The value, of the type of the key; `nil` if absent.
  func value(for key: PropertyKey) -> PropertyValue?
}
