// Counts the commits that changed an asset, so that a cache invalidates only the entries of changed assets while a scan
// or a client changes others. Assets share counts in groups: a count for each asset would need memory for all of them.
//
//     commit -> CommitCounter -> the history since the last commit -> the groups of its assets
//
// An asset that is inserted does not count as a change: nothing can have been cached for it.

import GRDB
import PhotoModel
import Synchronization

final class AssetGenerations: Sendable {
  private static let groupCount = 4096
  /// If a commit changes more assets, every asset counts as changed.
  private static let maximumAssets = 256

  private final class Group: Sendable {
    let commits = Atomic<UInt64>(0)
  }

  private let groups = (0..<groupCount).map { _ in Group() }
  /// The number of commits whose changed assets are unknown. They count for every asset.
  private let unknown = Atomic<UInt64>(0)
  /// The token of the last counted commit. Written only on the writer's queue.
  private let token = Atomic<Int64>(.min)

  func generation(of identifier: LocalIdentifier) -> AssetGeneration {
    let group = Self.group(identifier.rawValue)
    return .asset(
      group: group, count: groups[group].commits.load(ordering: .acquiring),
      unknown: unknown.load(ordering: .acquiring))
  }

  /// Whether no commit since this generation can have changed the asset. Not for a generation of the whole library.
  func isCurrent(group: Int, count: UInt64, unknown: UInt64) -> Bool {
    self.unknown.load(ordering: .acquiring) == unknown && groups[group].commits.load(ordering: .acquiring) == count
  }

  /// Counts a commit of another process, or one whose history can't be read.
  func countUnknown() { unknown.add(1, ordering: .releasing) }

  /// Counts the commit that has just ended, on the writer's queue.
  func count(_ db: Database) {
    do {
      let current = try Catalogue.changeToken(db).number
      let last = token.exchange(current, ordering: .relaxed)
      // Without a new token, the commit changed something that the history does not list. For the first commit since
      // the start, the token before it is unknown.
      guard last < current, last != .min else { return countUnknown() }
      let changed = try String.fetchAll(db.cachedStatement(sql: Self.changedAssets), arguments: [last])
      guard changed.count <= Self.maximumAssets else { return countUnknown() }
      for identifier in changed { groups[Self.group(identifier)].commits.add(1, ordering: .releasing) }
    } catch {
      countUnknown()
    }
  }

  private static func group(_ identifier: String) -> Int {
    Int(UInt(bitPattern: identifier.hashValue) % UInt(groupCount))
  }

  /// Assets that changed, and those that left the whole library or a limited one.
  private static let changedAssets = """
    SELECT asset.localIdentifier
      FROM changedObject CROSS JOIN asset ON asset.id = changedObject.object
      WHERE changedObject.token > ?1 AND changedObject.kind = 0 AND changedObject.event = 1
    UNION ALL
    SELECT localIdentifier FROM removedObject INDEXED BY removedObjectByToken WHERE token > ?1 AND kind = 0
    LIMIT \(maximumAssets + 1)
    """
}
