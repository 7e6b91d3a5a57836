/// The state of the library that data about one asset was read in, to find out later whether a commit may have changed
/// that data. Comparing takes as long as reading a few numbers: see ``AssetSource/isCurrent(_:)``.
package enum AssetGeneration: Sendable, Hashable {
  /// Current until a commit changes the asset, or any other one of its group.
  ///
  /// - Parameters:
  ///   - group: assets are counted in groups, by a hash of their identifiers.
  ///   - count: the commits that changed an asset of the group.
  ///   - unknown: the commits whose changed assets are not known.
  case asset(group: Int, count: UInt64, unknown: UInt64)
  /// Current until the next commit.
  case library(UInt64)
}

extension AssetSource {
  package func generation(of identifier: LocalIdentifier) -> AssetGeneration { .library(generation) }

  package func isCurrent(_ generation: AssetGeneration) -> Bool { generation == .library(self.generation) }
}
