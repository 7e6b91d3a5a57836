/// The share of a catalogue that a scan or a repair may remove without `--accept-removals`. If more is missing, the
/// files are probably only unreachable.
package struct RemovalLimit: Sendable, Hashable {
  /// Up to this number may be removed regardless of its share.
  package static let alwaysAllowed = 20

  /// The share that may be removed.
  let percent: Int

  package init(percent: Int) { self.percent = percent }

  package func isExceeded(by missing: Int, of known: Int) -> Bool {
    missing > Self.alwaysAllowed && missing * 100 > known * percent
  }
}
