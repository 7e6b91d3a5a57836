/// The identifier of an asset or a collection: opaque, URL-safe, stable when the file is renamed or moved.
package struct LocalIdentifier: Sendable, Hashable, CustomStringConvertible {
  package let rawValue: String

  package init(_ rawValue: String) {
    self.rawValue = rawValue
  }

  package var description: String { rawValue }
}
