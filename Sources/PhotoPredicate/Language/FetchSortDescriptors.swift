// PHFetchOptions' sortDescriptors, as one text: keys with commas between them, `-` before those that go downwards.

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

/// What objects are ordered by: a total order, so that every page of it is the same whenever it is asked for.
///
/// Objects without a value come first where a key ascends, and last where it descends. Strings are ordered by Unicode code
/// point, enumerations and options by PhotoKit's numbers, false before true. Ties are broken by `localIdentifier`, upwards.
package struct FetchSortDescriptors: Sendable, Hashable {
  /// What was asked for.
  package let descriptors: [FetchSortDescriptor]
  /// The same, and what breaks ties.
  package let total: [FetchSortDescriptor]

  package init(_ descriptors: [FetchSortDescriptor], schema: PropertySchema) {
    self.descriptors = descriptors
    let isTotal = descriptors.contains { $0.key == schema.identifier }
    total = isTotal ? descriptors : descriptors + [FetchSortDescriptor(schema.identifier, isAscending: true)]
  }

  /// Reads `-creationDate,originalFilename`; spaces around names are passed over.
  ///
  /// - Throws: where a key is not there, not for the caller, or named twice: the second could only be a mistake.
  package init(
    _ text: String, schema: PropertySchema, principal: Principal, limits: PredicateLimits = PredicateLimits()
  ) throws(PredicateError) {
    var lexer = try Lexer(text, limits: limits)
    let names = schema.names(for: principal)
    var descriptors: [FetchSortDescriptor] = []
    repeat {
      let isAscending = !lexer.takeMinus()
      if let second = lexer.offsetOfMinus { throw lexer.fault(at: second, .key(names)) }
      let token = try lexer.next()
      guard descriptors.count < limits.sortKeys else {
        throw lexer.fault(at: token.range, .atMost(limits.sortKeys, of: "keys to sort by"))
      }
      // To one who may not know places their keys are none.
      guard case .name(let name) = token.kind, let key = schema.key(named: name),
        !key.needsLocationScope || principal.may(.location)
      else {
        throw lexer.fault(at: token.range, .key(names))
      }
      guard !descriptors.contains(where: { $0.key == key }) else {
        let used = descriptors.map(\.key.name)
        throw lexer.fault(at: token.range, .key(names.filter { !used.contains($0) }))
      }
      descriptors.append(FetchSortDescriptor(key, isAscending: isAscending))
    } while try Self.goesOn(&lexer)
    self.init(descriptors, schema: schema)
  }

  private static func goesOn(_ lexer: inout Lexer) throws(PredicateError) -> Bool {
    let token = try lexer.next()
    if token.kind == .end { return false }
    guard token.kind == .sign(.comma) else { throw lexer.fault(at: token.range, .oneOf([",", "the end"])) }
    return true
  }
}

extension FetchSortDescriptors: CustomStringConvertible {
  /// As it is read.
  package var description: String {
    descriptors.map { ($0.isAscending ? "" : "-") + $0.key.name }.joined(separator: ",")
  }
}
