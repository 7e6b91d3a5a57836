// The sortDescriptors of PHFetchOptions as text: keys separated by commas, with `-` before descending ones.

import PhotoModel

/// NSSortDescriptor: a key and a direction.
package struct FetchSortDescriptor: Sendable, Hashable {
  package var key: PropertyKey
  package var isAscending: Bool

  package init(_ key: PropertyKey, isAscending: Bool) {
    self.key = key
    self.isAscending = isAscending
  }
}

/// A total order of objects, so that every page of a result is the same whenever it is requested.
///
/// Objects without a value sort first by an ascending key, and last by a descending one. Strings sort by Unicode code
/// point, enumerations and options by their PhotoKit numbers, false before true. Ties are broken by `localIdentifier`,
/// ascending.
package struct FetchSortDescriptors: Sendable, Hashable {
  /// The requested descriptors.
  package let descriptors: [FetchSortDescriptor]
  /// The requested descriptors, and the tie-breaker.
  package let total: [FetchSortDescriptor]

  package init(_ descriptors: [FetchSortDescriptor], schema: PropertySchema) {
    self.descriptors = descriptors
    let isTotal = descriptors.contains { $0.key == schema.identifier }
    total = isTotal ? descriptors : descriptors + [FetchSortDescriptor(schema.identifier, isAscending: true)]
  }

  /// Parses `-creationDate,originalFilename`; spaces around names are ignored.
  ///
  /// - Throws: if a key does not exist, is not available to the caller, or is named twice, which can only be a mistake.
  package init(
    _ text: String, schema: PropertySchema, principal: Principal, limits: PredicateLimits = PredicateLimits()
  ) throws(PredicateError) {
    var lexer = try Lexer(text, limits: limits)
    let names = schema.names(for: principal, where: \.isSortable)
    var descriptors: [FetchSortDescriptor] = []
    repeat {
      let isAscending = !lexer.consumeMinus()
      if let second = lexer.minusOffset { throw lexer.error(at: second, .key(names)) }
      let token = try lexer.next()
      guard descriptors.count < limits.sortKeys else {
        throw lexer.error(at: token.range, .atMost(limits.sortKeys, of: "keys to sort by"))
      }
      guard case .name(let name) = token.kind, let key = schema.key(named: name, for: principal), key.isSortable else {
        throw lexer.error(at: token.range, .key(names))
      }
      guard !descriptors.contains(where: { $0.key == key }) else {
        let used = descriptors.map(\.key.name)
        throw lexer.error(at: token.range, .key(names.filter { !used.contains($0) }))
      }
      descriptors.append(FetchSortDescriptor(key, isAscending: isAscending))
    } while try Self.hasNextKey(&lexer)
    self.init(descriptors, schema: schema)
  }

  private static func hasNextKey(_ lexer: inout Lexer) throws(PredicateError) -> Bool {
    let token = try lexer.next()
    if token.kind == .end { return false }
    guard token.kind == .sign(.comma) else { throw lexer.error(at: token.range, .oneOf([",", "the end"])) }
    return true
  }
}

extension FetchSortDescriptors: CustomStringConvertible {
  /// The text that parses to the same descriptors.
  package var description: String {
    descriptors.map { ($0.isAscending ? "" : "-") + $0.key.name }.joined(separator: ",")
  }
}
