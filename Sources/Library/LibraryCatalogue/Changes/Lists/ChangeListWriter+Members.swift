import GRDB
import PhotoModel
import Primitives

/// Entries that change the members of albums.
extension ChangeListWriter {
  /// Puts assets before the member at `index`, counted without these assets. A no-op creates no token, revision or
  /// event.
  func put(_ assets: [Int64], into album: AlbumOrder, at index: Int) throws {
    let members = try assets.filter { try album.contains($0) }
    let count = try album.count() - members.count
    guard (0...count).contains(index) else {
      throw ChangeListError(.indexOutOfRange(most: count), parameter: "index")
    }
    if members.count == assets.count, try album.members(from: index, count: assets.count) == assets { return }
    for member in members { try album.remove(member) }
    try checkCapacity(of: album, adding: assets.count)
    try album.insert(assets, at: index)
  }

  /// Replaces the members at these indexes. A member that replaces itself does not count as a change.
  func replace(
    _ album: AlbumOrder, _ members: [Member], _ names: [ChangeTarget], _ indexes: [Int]
  ) throws {
    let count = try album.count()
    // One asset can't be at two indexes, not even if the entry has two names for it.
    let different = Set(members.map(\.name))
    if let repeated = names.first(where: { !different.contains($0) }) {
      throw ChangeListError(.namedTwice(repeated.description), parameter: "assets")
    }
    let assets = members.map(\.row)
    guard Set(indexes).count == indexes.count, indexes.count == assets.count else {
      throw ChangeListError(.namedTwice("an index"), parameter: "indexes")
    }
    guard indexes.allSatisfy((0..<count).contains) else {
      throw ChangeListError(.indexOutOfRange(most: max(0, count - 1)), parameter: "indexes")
    }
    // Resolve all indexes before the first replacement.
    let replaced = try album.members(at: indexes)
    let leaving = Set(replaced.map(\.asset))
    for (asset, name) in zip(assets, names) where !leaving.contains(asset) {
      if try album.contains(asset) { throw ChangeListError(.namedTwice(name.description), parameter: "assets") }
    }
    for (member, asset) in zip(replaced, assets) where member.asset != asset { try album.remove(member.asset) }
    for (member, asset) in zip(replaced, assets) where member.asset != asset {
      try album.put(asset, at: member.position)
    }
    try clearKeyAsset(album, leaving.subtracting(assets))
  }

  /// Removes the key asset if it left the album, because a key asset must be a member.
  func clearKeyAsset(_ album: AlbumOrder, _ assets: some Sequence<Int64>) throws {
    let statement = try db.cachedStatement(sql: "UPDATE collection SET keyAsset = NULL WHERE id = ? AND keyAsset = ?")
    for asset in assets { try statement.execute(arguments: [album.row, asset]) }
  }

  func checkCapacity(of album: AlbumOrder, adding added: Int) throws {
    guard try album.count() + added <= limits.members else {
      throw ChangeListError(.tooManyMembers(limit: limits.members), parameter: "assets")
    }
  }
}
