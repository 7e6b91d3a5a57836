/// A word, a sign or a literal of the language, and where it stands.
struct Token {
  enum Kind: Hashable {
    case keyword(Keyword)
    case name(String)
    case integer(Int64)
    /// With a point or an exponent; finite.
    case real(Double)
    /// With neither, but too large for an integer.
    case beyondIntegers(Double)
    case string(String)
    case sign(Sign)
    /// A character that the language has no use for.
    case other
    case end
  }

  let kind: Kind
  /// In scalars of the text.
  let range: Range<Int>
}

/// Words that are no names, in any case (Predicate Format String Syntax, "Reserved Words").
enum Keyword: String, CaseIterable {
  case and = "AND"
  case or = "OR"
  case not = "NOT"
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
