import PhotoModel
import PhotoPredicate

extension FetchPredicate {
  /// Whether the term limits a key to a few listed values.
  func isOneOf(_ key: String) -> Bool {
    guard case .comparison(let comparison) = self, comparison.subject.key.name == key, comparison.folding.isEmpty else {
      return false
    }
    switch comparison.test {
    case .relation(.equal, _), .oneOf: return true
    default: return false
    }
  }
}

extension PredicateComparison {
  /// Whether the comparison is a range of values.
  var isRange: Bool {
    switch test {
    case .relation(let relation, _): relation != .notEqual
    case .between: true
    case .property, .isNil, .oneOf, .string: false
    }
  }

  var matchesMostAssets: Bool {
    guard case .relation(.equal, let value) = test else { return false }
    return switch subject.key.name {
    case "mediaType": value == .name(MediaType.image.rawValue)
    case "isFavorite", "isHidden": value == .boolean(false)
    default: false
    }
  }
}
