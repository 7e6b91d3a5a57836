/// Kinds of facts about people that metadata reveals, and that callers without their scope may not read.
package struct PrivateFacts: OptionSet, Sendable, Hashable {
  package let rawValue: UInt8

  package init(rawValue: UInt8) { self.rawValue = rawValue }

  /// Where a picture was taken, and which place it shows: ``LocationFilter``.
  package static let locations = PrivateFacts(rawValue: 1)
  /// The names of the people in a picture: ``NameFilter``.
  package static let names = PrivateFacts(rawValue: 2)

  /// Whether an XMP property holds one of these facts.
  ///
  /// - Parameter key: as ``XMPNamespaces`` makes it.
  func contain(xmp key: String) -> Bool {
    contains(.locations) && LocationFilter.isLocationKey(key) || contains(.names) && NameFilter.isNameKey(key)
  }
}
