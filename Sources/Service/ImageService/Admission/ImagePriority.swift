/// The priority of work. Work that several tasks share has the highest priority of those tasks.
package enum ImagePriority: Int, Sendable, Hashable, Comparable, CaseIterable {
  /// No request: derivatives and placeholders that are made ahead of time.
  case background
  /// Likely to be requested soon: a preheat window.
  case preheat
  case low, normal, high

  /// Whether a client is waiting for the work.
  package var isInteractive: Bool { self >= .low }

  package static func < (lhs: ImagePriority, rhs: ImagePriority) -> Bool { lhs.rawValue < rhs.rawValue }
}
