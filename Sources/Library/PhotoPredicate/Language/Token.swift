/// A word, a sign or a literal of the language, and its range.
struct Token {
  enum Kind: Hashable {
    case keyword(Keyword)
    case name(String)
    case integer(Int64)
    /// A number with a decimal point or an exponent; finite.
    case real(Double)
    /// A number without either, but too large for an integer.
    case outOfRangeInteger(Double)
    case string(String)
    case sign(Sign)
    /// A character that is not part of the language.
    case other
    case end
  }

  let kind: Kind
  /// The range in Unicode scalars of the text.
  let range: Range<Int>
}

/// Reserved words, in any case (Predicate Format String Syntax, "Reserved Words").
enum Keyword: String, CaseIterable {
  case and = "AND"
  case or = "OR"
  case not = "NOT"
  case any = "ANY"
  case between = "BETWEEN"
  case `in` = "IN"
  case beginsWith = "BEGINSWITH"
  case endsWith = "ENDSWITH"
  case contains = "CONTAINS"
  case like = "LIKE"
  case `true` = "TRUE"
  case yes = "YES"
  case `false` = "FALSE"
  case no = "NO"
  case `nil` = "NIL"
  case null = "NULL"
  case cast = "CAST"
  case truePredicate = "TRUEPREDICATE"
  case falsePredicate = "FALSEPREDICATE"

  init?(_ word: String) {
    self.init(rawValue: word.uppercased())
  }
}

enum Sign: String {
  case equal = "="
  case doubleEqual = "=="
  case notEqual = "!="
  case lessGreater = "<>"
  case less = "<"
  case lessEqual = "<="
  case equalLess = "=<"
  case greater = ">"
  case greaterEqual = ">="
  case equalGreater = "=>"
  case doubleAmpersand = "&&"
  case doubleBar = "||"
  case exclamation = "!"
  case ampersand = "&"
  case bar = "|"
  case openParenthesis = "("
  case closeParenthesis = ")"
  case openBrace = "{"
  case closeBrace = "}"
  case openBracket = "["
  case closeBracket = "]"
  case comma = ","

  var relation: PredicateComparison.Relation? {
    switch self {
    case .equal, .doubleEqual: .equal
    case .notEqual, .lessGreater: .notEqual
    case .less: .less
    case .lessEqual, .equalLess: .lessOrEqual
    case .greater: .greater
    case .greaterEqual, .equalGreater: .greaterOrEqual
    default: nil
    }
  }
}
