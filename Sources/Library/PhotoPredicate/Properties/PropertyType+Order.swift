extension PropertyType {
  /// The order of two values of this type: -1, 0 or 1. Integers and reals compare as exact numbers, without rounding;
  /// strings by Unicode code point; enumerations by rank.
  func order(_ first: PropertyValue, _ second: PropertyValue) -> Int {
    switch (self, first, second) {
    case (_, .boolean(let first), .boolean(let second)): Self.order(first ? 1 : 0, second ? 1 : 0)
    case (_, .integer(let first), .integer(let second)): Self.order(first, second)
    case (_, .real(let first), .real(let second)): Self.order(first, second)
    case (_, .integer(let first), .real(let second)): Self.order(first, second)
    case (_, .real(let first), .integer(let second)): -Self.order(second, first)
    case (_, .string(let first), .string(let second)): first.codePointOrder(second)
    case (_, .date(let first), .date(let second)): Self.order(first, second)
    case (.enumeration(let enumeration), .name(let first), .name(let second)):
      Self.order(enumeration.rank(of: first) ?? -1, enumeration.rank(of: second) ?? -1)
    default: preconditionFailure("a value is of its key's type")
    }
  }

  private static func order<Value: Comparable>(_ first: Value, _ second: Value) -> Int {
    first < second ? -1 : first == second ? 0 : 1
  }

  private static func order(_ integer: Int64, _ real: Double) -> Int {
    // 2^63 and -2^63 are doubles; the whole part of any double between them fits an integer.
    if real >= 0x1p63 { return -1 }
    if real < -0x1p63 { return 1 }
    let whole = real.rounded(.down)
    return integer <= Int64(whole) ? (integer == Int64(whole) && whole == real ? 0 : -1) : 1
  }
}
