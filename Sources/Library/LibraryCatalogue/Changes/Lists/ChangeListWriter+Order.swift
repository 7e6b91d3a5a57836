// The change list entries that order the collections of a folder or of the top level.

import GRDB

extension ChangeListWriter {
  /// Puts collections before the one at `index` of a folder or of the top level. A no-op creates no token, revision or
  /// event.
  func place(_ names: [ChangeTarget], in folder: Int64?, at index: Int) throws {
    if folder == nil, !targets.library.isWhole { throw ChangeListError(.outsideOfGrant, parameter: "parent") }
    let collections = try collections(names)
    let added = collections.filter { $0.parent != folder }
    for collection in added { try checkMayLeave(collection, "collections") }
    let above = try path(of: folder)
    for collection in added where collection.type == .folder {
      if above.contains(collection.row) { throw ChangeListError(.folderCycle, parameter: "collections") }
      guard try above.count + height(of: collection.row) <= limits.folderDepth else {
        throw ChangeListError(.foldersTooDeep(limit: limits.folderDepth), parameter: "collections")
      }
    }
    let level = CollectionOrder(db: db, folder: folder)
    try checkCapacity(for: level.count() + added.count)
    let rows = collections.map(\.row)
    let count = try level.count(without: rows)
    guard (0...count).contains(index) else {
      throw ChangeListError(.indexOutOfRange(most: count), parameter: "index")
    }
    if added.isEmpty, try level.rows(from: index, count: rows.count) == rows { return }
    try level.place(rows, at: index, token: token)
    try run("UPDATE collection SET revision = ?1 WHERE id = ?2 AND revision <> ?1", [token, folder])
  }

  /// Moves the children of a folder to the end of the top level.
  func remove(_ names: [ChangeTarget], from folder: Int64?) throws {
    guard targets.library.isWhole else { throw ChangeListError(.outsideOfGrant, parameter: "parent") }
    let rows = try collections(names).filter { $0.parent == folder }.map(\.row)
    let level = CollectionOrder(db: db, folder: nil)
    if folder != nil { try checkCapacity(for: level.count() + rows.count) }
    let count = try level.count(without: rows)
    if try level.rows(from: count, count: rows.count) == rows { return }
    try level.place(rows, at: count, token: token)
  }

  /// The collections of an entry; throws if one is named twice.
  private func collections(_ names: [ChangeTarget]) throws -> [ChangeTargetResolver.Collection] {
    var seen: Set<Int64> = []
    return try names.map { target in
      let collection = try collection(target, "collections")
      guard seen.insert(collection.row).inserted else {
        throw ChangeListError(.namedTwice(target.description), parameter: "collections")
      }
      return collection
    }
  }
}
