/// How much a piece of work presses. What many wait for presses as much as for the most pressing of them.
package enum ImagePriority: Int, Sendable, Hashable, Comparable, CaseIterable {
  /// Nobody asked: derivatives and placeholders, made ahead.
  case background
  /// Somebody may ask soon: a preheat window.
  case preheat
  case low, normal, high

  /// Somebody waits for it.
  package var isInteractive: Bool { self >= .low }

  package static func < (lhs: ImagePriority, rhs: ImagePriority) -> Bool { lhs.rawValue < rhs.rawValue }
}
