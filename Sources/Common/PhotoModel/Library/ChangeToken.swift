/// A state of the library: the one after a certain change and before the next. Also the revision of an object, which is
/// the state after its last change. Clients get it as text, see `TokenCodec`.
package struct ChangeToken: Sendable, Hashable, Comparable {
  /// The number of commits that have changed the library.
  package let number: Int64

  /// A state that no library reaches, so no object has it as its revision.
  package static let never = ChangeToken(.max)

  package init(_ number: Int64) { self.number = number }

  package static func < (lhs: ChangeToken, rhs: ChangeToken) -> Bool { lhs.number < rhs.number }
}
