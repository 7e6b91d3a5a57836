import PhotoModel

extension FetchPredicate: CustomStringConvertible {
  /// The text of the predicate: parsing it against the same schema gives the same tree.
  package var description: String {
    switch self {
    case .constant(let value): value ? "TRUEPREDICATE" : "FALSEPREDICATE"
    case .and(let terms): terms.map { $0.isDisjunction ? "(\($0))" : "\($0)" }.joined(separator: " AND ")
    case .or(let terms): terms.map(\.description).joined(separator: " OR ")
    case .not(let predicate): predicate.isCompound ? "NOT (\(predicate))" : "NOT \(predicate)"
    case .comparison(let comparison): comparison.description
    }
  }

  private var isDisjunction: Bool { if case .or = self { true } else { false } }

  private var isCompound: Bool {
    switch self {
    case .and, .or: true
    default: false
    }
  }
}

extension PredicateComparison: CustomStringConvertible {
  package var description: String {
    if let element = ofElement { return "ANY \(element)" }
    let option = folding.isEmpty ? "" : "[\(folding.name)]"
    let type = subject.key.type
    return switch test {
    case .relation(let relation, let value): "\(subject) \(relation.rawValue)\(option) \(value.literal(of: type))"
    case .property(let relation, let other): "\(subject) \(relation.rawValue)\(option) \(other)"
    case .isNil(let isNil): "\(subject) \(isNil ? "==" : "!=") nil"
    case .between(let lower, let upper):
      "\(subject) BETWEEN\(option) {\(lower.literal(of: type)), \(upper.literal(of: type))}"
    case .oneOf(let values):
      "\(subject) IN\(option) {\(values.map { $0.literal(of: type) }.joined(separator: ", "))}"
    case .string(let comparison, let text):
      "\(subject) \(comparison.rawValue)\(option) \(PropertyValue.string(text).literal(of: type))"
    }
  }
}

extension PredicateComparison.Subject: CustomStringConvertible {
  package var description: String {
    mask.map { "\(key.name) & \(PropertyValue.integer($0).literal(of: key.type))" } ?? key.name
  }
}

extension PropertyValue {
  /// The literal as text.
  fileprivate func literal(of type: PropertyType) -> String {
    switch self {
    case .boolean(let value): value ? "true" : "false"
    case .integer(let value):
      if case .options(let bits) = type, let bit = bits.numbered(value) { bit.name } else { "\(value)" }
    case .real(let value): "\(value)"
    case .string(let text): Self.quoted(text)
    case .date(let date): "'\(date.rfc3339)'"
    case .name(let name): name
    case .strings(let texts): "{\(texts.map(Self.quoted).joined(separator: ", "))}"
    }
  }

  private static func quoted(_ text: String) -> String {
    var quoted = "'"
    for scalar in text.unicodeScalars {
      switch scalar {
      case "'", "\\": quoted += "\\\(scalar)"
      case "\n": quoted += "\\n"
      case "\r": quoted += "\\r"
      case "\t": quoted += "\\t"
      default: quoted.unicodeScalars.append(scalar)
      }
    }
    return quoted + "'"
  }
}
