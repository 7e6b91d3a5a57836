// Reads the history: converts the rows of a range of commits into the changes between two states, for one client.
//
//     rows of the range -> net changes (first and last event of each object) -> for this principal, of this collection
//       -> identifiers, inserted | updated | deleted
//
// An object that became visible to a principal counts as inserted, and one that became invisible as deleted, whatever
// else happened to it. For a client that follows one collection, the same holds for entering and leaving the
// collection.

import GRDB
import PhotoModel

struct ChangeReader {
  /// The net effect of a range's rows on one object.
  private struct NetChange {
    /// The object existed before the range.
    var existedBefore: Bool
    var existsAfter: Bool
    var isContentChanged = false
  }

  private enum Kind: Int {
    case asset = 0
    case collection = 1
  }

  /// How the content of the followed collection is determined.
  private enum CollectionFilter {
    case none
    /// The members of an album or the assets of a folder, given by its row.
    case members(Int64, isFolder: Bool)
    /// The content is derived from the assets, so any asset may be affected.
    case derived
  }

  let db: Database
  let principal: Principal
  let library: LibraryID
  let filter: ChangeFilter

  /// The changes after `since`: whole commits, up to `limit` objects, and at least one commit.
  func changes(since: ChangeToken, limit: Int) throws -> LibraryChanges {
    let newest = try Catalogue.changeToken(db)
    guard since <= newest else { throw ChangeHistoryError.malformedToken }
    guard try since >= Catalogue.oldestAvailableToken(db, library, principal) else {
      throw ChangeHistoryError.expiredToken
    }
    let collectionFilter = try collectionFilter()
    let asset = try filter.asset.map { try row(of: $0) }
    let end = try self.end(since, limit)
    // The last page ends with the last change that the principal can see.
    let visible = end == nil ? max(since, try Catalogue.visibleToken(db, library, principal)) : end ?? since
    var changes = LibraryChanges(changeToken: visible)
    changes.hasMore = end != nil
    let range = (since.number + 1)...max(since.number + 1, (end ?? newest).number)
    if filter.types.contains(.asset) { changes.assets = try assets(in: range, collectionFilter, only: asset) }
    if filter.types.contains(.collection), asset == nil {
      changes.collections = try collections(in: range, collectionFilter)
    }
    return changes
  }

  /// The last commit of the page; `nil` if the page reaches the newest commit. It counts only commits that the
  /// principal can see, so that `hasMore` reveals nothing about others.
  private func end(_ since: ChangeToken, _ limit: Int) throws -> ChangeToken? {
    let rows = try Row.fetchCursor(
      db.cachedStatement(
        sql: """
          SELECT token, objects FROM change WHERE library = ? AND token > ? AND isLocationOnly <= ? ORDER BY token
          """),
      arguments: [library.row, since.number, principal.may(.location)])
    var objects = 0
    var end: Int64?
    while let row = try rows.next() {
      objects += row[1] as Int
      if let end, objects > limit { return ChangeToken(end) }
      end = row[0]
    }
    return nil
  }

  private func collectionFilter() throws -> CollectionFilter {
    guard let identifier = filter.collection else { return .none }
    let row = try Row.fetchOne(
      db.cachedStatement(
        sql: "SELECT collection, type FROM libraryCollection WHERE library = ? AND localIdentifier = ?"),
      arguments: [library.row, identifier.rawValue])
    if let row {
      let type: String = row[1]
      if type == CollectionType.smartAlbum.rawValue { return .derived }
      return .members(row[0], isFolder: type == CollectionType.folder.rawValue)
    }
    if let removed = try removedCollection(identifier) { return removed }
    guard try CollectionReader(db, CollectionQuery(), principal, library).collection(identifier) != nil else {
      throw ChangeHistoryError.noSuchCollection
    }
    return .derived
  }

  /// The row of an asset that the library has or had: a stream that follows an asset reports that it leaves the
  /// library.
  private func row(of asset: LocalIdentifier) throws -> Int64 {
    let row =
      try library.asset(asset, db)
      ?? Int64.fetchOne(
        db.cachedStatement(
          sql: "SELECT object FROM removedObject WHERE library = ? AND kind = ? AND localIdentifier = ?"),
        arguments: [library.row, Kind.asset.rawValue, asset.rawValue])
    guard let row else { throw ChangeHistoryError.noSuchAsset }
    return row
  }

  /// The filter for a collection that the library no longer has: it was deleted, or has left this limited library and
  /// still has assets.
  private func removedCollection(_ identifier: LocalIdentifier) throws -> CollectionFilter? {
    let removed = try Int64.fetchOne(
      db.cachedStatement(
        sql: "SELECT object FROM removedObject WHERE library = ? AND kind = ? AND localIdentifier = ?"),
      arguments: [library.row, Kind.collection.rawValue, identifier.rawValue])
    guard let removed else { return nil }
    let type = try String.fetchOne(
      db.cachedStatement(sql: "SELECT type FROM collection WHERE id = ?"), arguments: [removed])
    return .members(removed, isFolder: type == CollectionType.folder.rawValue)
  }

  // MARK: Objects

  private func assets(
    in range: ClosedRange<Int64>, _ collectionFilter: CollectionFilter, only asset: Int64?
  ) throws -> ObjectChanges {
    let changed = try netChanges(of: .asset, in: range)
    var netChanges: [Int64: NetChange]
    switch collectionFilter {
    case .none, .derived:
      netChanges = library.isWhole ? changed : try visibleChanges(changed, .asset, in: range, only: asset)
    case .members(let collection, let isFolder):
      netChanges = try members(of: collection, isFolder: isFolder, in: range, changed)
    }
    if let asset { netChanges = netChanges.filter { $0.key == asset } }
    return try objectChanges(netChanges, .asset)
  }

  private func collections(in range: ClosedRange<Int64>, _ collectionFilter: CollectionFilter) throws -> ObjectChanges {
    var netChanges = try netChanges(of: .collection, in: range)
    if !library.isWhole { netChanges = try visibleChanges(netChanges, .collection, in: range) }
    switch collectionFilter {
    case .none: break
    case .members(let collection, _):
      let isChild = try db.cachedStatement(sql: "SELECT 1 FROM collection WHERE id = ? AND parent = ?")
      netChanges = try netChanges.filter { row, _ in
        try row == collection || Int.fetchOne(isChild, arguments: [row, collection]) != nil
      }
    case .derived: netChanges = [:]
    }
    return try objectChanges(netChanges, .collection)
  }

  private func netChanges(of kind: Kind, in range: ClosedRange<Int64>) throws -> [Int64: NetChange] {
    let rows = try Row.fetchCursor(
      db.cachedStatement(
        sql: """
          SELECT object, event, isContentChanged FROM changedObject
          WHERE token BETWEEN ? AND ? AND kind = ? AND isLocationOnly <= ? ORDER BY token
          """),
      arguments: [range.lowerBound, range.upperBound, kind.rawValue, principal.may(.location)])
    var netChanges: [Int64: NetChange] = [:]
    while let row = try rows.next() {
      let event: Int = row[1]
      var netChange = netChanges[row[0]] ?? NetChange(existedBefore: event != 0, existsAfter: false)
      netChange.existsAfter = event != 2
      switch ContentChange(rawValue: row[2]) {
      case .restored: break
      // An asset that was deleted and inserted again may have any content.
      case nil, .unchanged: netChange.isContentChanged = netChange.isContentChanged || event == 0
      case .changed: netChange.isContentChanged = true
      }
      netChanges[row[0]] = netChange
    }
    return netChanges
  }

  // MARK: Visibility

  /// The net changes as a limited library sees them: objects that entered it are inserted, those that left it deleted.
  ///
  /// - Parameter only: the one object of interest; `nil`: all.
  private func visibleChanges(
    _ netChanges: [Int64: NetChange], _ kind: Kind, in range: ClosedRange<Int64>, only: Int64? = nil
  ) throws -> [Int64: NetChange] {
    let crossed = try Int64.fetchAll(
      db.cachedStatement(
        sql: "SELECT object FROM changedVisibility WHERE library = ? AND kind = ? AND token BETWEEN ? AND ?"),
      arguments: [library.row, kind.rawValue, range.lowerBound, range.upperBound])
    var rows = Set(netChanges.keys).union(crossed)
    if let only { rows = rows.intersection([only]) }
    var seen: [Int64: NetChange] = [:]
    for row in rows {
      let existedBefore = try isVisible(row, kind, after: range.lowerBound - 1)
      let existsAfter = try isVisible(row, kind, after: range.upperBound)
      if existedBefore, existsAfter {
        guard let netChange = netChanges[row] else { continue }
        seen[row] = NetChange(existedBefore: true, existsAfter: true, isContentChanged: netChange.isContentChanged)
      } else if existedBefore || existsAfter {
        seen[row] = NetChange(existedBefore: existedBefore, existsAfter: existsAfter)
      }
    }
    return seen
  }

  /// Whether an object was in a limited library after the change with a token. The object's next event decides: it was
  /// in the library if it leaves next, and not if it enters next. Without a later event, its current state decides.
  private func isVisible(_ row: Int64, _ kind: Kind, after token: Int64) throws -> Bool {
    let event = try Int.fetchOne(
      db.cachedStatement(
        sql: """
          SELECT event FROM changedVisibility WHERE library = ? AND kind = ? AND object = ? AND token > ?
          ORDER BY token LIMIT 1
          """), arguments: [library.row, kind.rawValue, row, token])
    if let event { return event == 2 }
    switch kind {
    case .asset: return try library.contains(asset: row, db)
    case .collection: return try library.contains(collection: row, db)
    }
  }

  /// The net changes as a client sees them that follows one album or folder: its new assets are inserted, its former
  /// ones deleted.
  private func members(
    of collection: Int64, isFolder: Bool, in range: ClosedRange<Int64>, _ netChanges: [Int64: NetChange]
  ) throws -> [Int64: NetChange] {
    if !library.isWhole {
      let existedBefore = try isVisible(collection, .collection, after: range.lowerBound - 1)
      let existsAfter = try isVisible(collection, .collection, after: range.upperBound)
      // All of its assets enter or leave with it.
      if !existedBefore || !existsAfter {
        guard existedBefore || existsAfter else { return [:] }
        let all = try members(
          of: collection, isFolder: isFolder, after: existsAfter ? range.upperBound : range.lowerBound - 1)
        let netChange = NetChange(existedBefore: existedBefore, existsAfter: existsAfter)
        return Dictionary(uniqueKeysWithValues: all.map { ($0, netChange) })
      }
    }
    let rows = try Row.fetchCursor(
      db.cachedStatement(
        sql: "SELECT asset, event FROM changedMember WHERE token BETWEEN ? AND ? AND collection = ? ORDER BY token"),
      arguments: [range.lowerBound, range.upperBound, collection])
    var found: [Int64: NetChange] = [:]
    while let row = try rows.next() {
      let event: Int = row[1]
      var netChange = found[row[0]] ?? NetChange(existedBefore: event != 0, existsAfter: false)
      netChange.existsAfter = event != 2
      netChange.isContentChanged = netChanges[row[0]]?.isContentChanged ?? false
      found[row[0]] = netChange
    }
    // After a collection has left this library, it may have gained assets that the library never had.
    guard try library.isWhole || library.contains(collection: collection, db) else { return found }
    let isMember = try db.cachedStatement(
      sql: isFolder
        ? "SELECT 1 FROM folderAsset WHERE asset = ? AND folder = ?"
        : "SELECT 1 FROM member WHERE asset = ? AND collection = ?")
    for (row, netChange) in netChanges where found[row] == nil {
      guard try Int.fetchOne(isMember, arguments: [row, collection]) != nil else { continue }
      found[row] = NetChange(existedBefore: true, existsAfter: true, isContentChanged: netChange.isContentChanged)
    }
    return found
  }

  /// The assets of an album or folder after the change with a token: the current ones with the later changes undone.
  private func members(of collection: Int64, isFolder: Bool, after token: Int64) throws -> Set<Int64> {
    var members = try Set(
      Int64.fetchAll(
        db.cachedStatement(
          sql: isFolder
            ? "SELECT asset FROM folderAsset WHERE folder = ?" : "SELECT asset FROM member WHERE collection = ?"),
        arguments: [collection]))
    let rows = try Row.fetchCursor(
      db.cachedStatement(
        sql: "SELECT asset, event FROM changedMember WHERE token > ? AND collection = ? ORDER BY token DESC"),
      arguments: [token, collection])
    while let row = try rows.next() {
      let asset: Int64 = row[0]
      if row[1] as Int == 0 { members.remove(asset) } else { members.insert(asset) }
    }
    return members
  }

  // MARK: Identifiers

  /// Replaces row numbers by identifiers, and sorts the changes by kind.
  private func objectChanges(_ netChanges: [Int64: NetChange], _ kind: Kind) throws -> ObjectChanges {
    let table = kind == .asset ? "asset" : "collection"
    let now = try db.cachedStatement(sql: "SELECT localIdentifier FROM \(table) WHERE id = ?")
    let before = try db.cachedStatement(
      sql: "SELECT localIdentifier FROM removedObject WHERE library = ? AND kind = ? AND object = ?")
    var changes = ObjectChanges()
    for (row, netChange) in netChanges.sorted(by: { $0.key < $1.key })
    where netChange.existedBefore || netChange.existsAfter {
      let text =
        try String.fetchOne(now, arguments: [row])
        ?? String.fetchOne(before, arguments: [library.row, kind.rawValue, row])
      guard let text else { continue }
      let identifier = LocalIdentifier(text)
      switch (netChange.existedBefore, netChange.existsAfter) {
      case (false, true): changes.inserted.append(identifier)
      case (true, true):
        changes.updated.append(.init(localIdentifier: identifier, isContentChanged: netChange.isContentChanged))
      case (true, false): changes.deleted.append(identifier)
      case (false, false): break
      }
    }
    return changes
  }
}
