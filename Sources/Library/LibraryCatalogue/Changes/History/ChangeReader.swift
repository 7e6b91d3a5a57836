// Reads the history: converts the rows of a range of commits into the changes between two states, for one client.
//
//     rows of the range -> net changes (first and last event of each object) -> for this principal, of this collection
//       -> identifiers, inserted | updated | deleted
//
// An object that became visible to a principal counts as inserted, one that became invisible as deleted, whatever else
// happened to it. The same holds for a client that follows one collection.

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
    /// An album or folder, given by its row.
    case members(Int64)
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
    // On the last page the state is that of the last change that the principal can see.
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
    if let row { return row[1] as String == CollectionType.smartAlbum.rawValue ? .derived : .members(row[0]) }
    if library.isWhole, let removed = try removedCollection(identifier) { return .members(removed) }
    guard try CollectionReader(db, CollectionQuery(), principal, library).collection(identifier) != nil else {
      throw ChangeHistoryError.noSuchCollection
    }
    return .derived
  }

  /// The row of an asset that the library has, or had. A stream of an asset that leaves the library reports that.
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

  private func removedCollection(_ identifier: LocalIdentifier) throws -> Int64? {
    try Int64.fetchOne(
      db.cachedStatement(
        sql: "SELECT object FROM removedObject WHERE library = ? AND kind = ? AND localIdentifier = ?"),
      arguments: [library.row, Kind.collection.rawValue, identifier.rawValue])
  }

  // MARK: Objects

  private func assets(
    in range: ClosedRange<Int64>, _ collectionFilter: CollectionFilter, only asset: Int64?
  ) throws -> ObjectChanges {
    var netChanges = try netChanges(of: .asset, in: range)
    if let asset { netChanges = netChanges.filter { $0.key == asset } }
    switch collectionFilter {
    case .none, .derived:
      if !library.isWhole {
        let others = try membershipChanges(in: range)
        netChanges = try seen(netChanges, .asset, asset.map { others.intersection([$0]) } ?? others, range)
      }
    case .members(let collection): netChanges = try members(of: collection, in: range, netChanges)
    }
    return try named(netChanges, .asset)
  }

  private func collections(in range: ClosedRange<Int64>, _ collectionFilter: CollectionFilter) throws -> ObjectChanges {
    var netChanges = try netChanges(of: .collection, in: range)
    if !library.isWhole { netChanges = try seen(netChanges, .collection, [], range) }
    switch collectionFilter {
    case .none: break
    case .members(let collection):
      let inIt = try db.cachedStatement(sql: "SELECT 1 FROM collection WHERE id = ? AND parent = ?")
      netChanges = try netChanges.filter { row, _ in
        try row == collection || Int.fetchOne(inIt, arguments: [row, collection]) != nil
      }
    case .derived: netChanges = [:]
    }
    return try named(netChanges, .collection)
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
      // An asset that was deleted and inserted again may have any content.
      netChange.isContentChanged = netChange.isContentChanged || row[2] || event == 0
      netChanges[row[0]] = netChange
    }
    return netChanges
  }

  // MARK: Visibility

  /// Assets that entered or left a limited library, whether or not they themselves changed.
  private func membershipChanges(in range: ClosedRange<Int64>) throws -> Set<Int64> {
    try Set(
      Int64.fetchAll(
        db.cachedStatement(
          sql: """
            SELECT asset FROM changedMember WHERE token BETWEEN ?1 AND ?2 AND event <> 1
            UNION
            SELECT member.asset FROM libraryCollection JOIN member ON member.collection = libraryCollection.collection
            WHERE library = ?3 AND came BETWEEN ?1 AND ?2
            UNION
            SELECT object FROM removedObject WHERE library = ?3 AND kind = 0 AND token BETWEEN ?1 AND ?2
            """), arguments: [range.lowerBound, range.upperBound, library.row]))
  }

  /// The net changes as a limited library sees them: by its current content, and the tokens at which objects entered or
  /// left.
  private func seen(
    _ netChanges: [Int64: NetChange], _ kind: Kind, _ others: Set<Int64>, _ range: ClosedRange<Int64>
  ) throws -> [Int64: NetChange] {
    var rows = Set(netChanges.keys).union(others)
    let table = kind == .asset ? "libraryAsset" : "libraryCollection"
    let column = kind == .asset ? "asset" : "collection"
    if kind == .collection {
      rows.formUnion(
        try Int64.fetchAll(
          db.cachedStatement(
            sql: """
              SELECT collection FROM libraryCollection WHERE library = ?3 AND came BETWEEN ?1 AND ?2
              UNION SELECT object FROM removedObject WHERE library = ?3 AND kind = 1 AND token BETWEEN ?1 AND ?2
              """), arguments: [range.lowerBound, range.upperBound, library.row]))
    }
    let came = try db.cachedStatement(sql: "SELECT came FROM \(table) WHERE \(column) = ? AND library = ?")
    let went = try db.cachedStatement(
      sql: "SELECT token FROM removedObject WHERE library = ? AND kind = ? AND object = ?")
    var seen: [Int64: NetChange] = [:]
    for row in rows {
      let came = try Int64.fetchOne(came, arguments: [row, library.row])
      let went = try Int64.fetchOne(went, arguments: [library.row, kind.rawValue, row])
      if let came, came < range.lowerBound {
        // It was visible during the whole range.
        if let netChange = netChanges[row] {
          seen[row] = NetChange(existedBefore: true, existsAfter: true, isContentChanged: netChange.isContentChanged)
        }
      } else if let came, range.contains(came) {
        let existedBefore = went.map(range.contains) ?? false
        seen[row] = NetChange(existedBefore: existedBefore, existsAfter: true, isContentChanged: true)
      } else if let went, range.contains(went) {
        seen[row] = NetChange(existedBefore: true, existsAfter: false)
      }
    }
    return seen
  }

  /// The net changes as a client sees them that follows one album: new members are inserted, former members deleted.
  private func members(
    of collection: Int64, in range: ClosedRange<Int64>, _ netChanges: [Int64: NetChange]
  ) throws -> [Int64: NetChange] {
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
    let isMember = try db.cachedStatement(sql: "SELECT 1 FROM member WHERE asset = ? AND collection = ?")
    for (row, netChange) in netChanges where found[row] == nil {
      guard try Int.fetchOne(isMember, arguments: [row, collection]) != nil else { continue }
      found[row] = NetChange(existedBefore: true, existsAfter: true, isContentChanged: netChange.isContentChanged)
    }
    return found
  }

  // MARK: Names

  private func named(_ netChanges: [Int64: NetChange], _ kind: Kind) throws -> ObjectChanges {
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

extension Catalogue {
  /// The changes since a state of the library: whole commits, up to `limit` objects, and at least one commit.
  package func changes(
    since: ChangeToken, _ filter: ChangeFilter = ChangeFilter(), limit: Int, for principal: Principal
  ) throws(ChangeHistoryError) -> LibraryChanges {
    let result: Result<LibraryChanges, ChangeHistoryError>
    do {
      result = try read(for: principal) { db, library in
        let reader = ChangeReader(db: db, principal: principal, library: library, filter: filter)
        do { return .success(try reader.changes(since: since, limit: limit)) } catch let error as ChangeHistoryError {
          return .failure(error)
        }
      }
    } catch {
      throw .source(error)
    }
    return try result.get()
  }

  /// The current state of the library that a principal can see.
  package func changeToken(for principal: Principal) throws(AssetSourceError) -> ChangeToken {
    try read(for: principal) { db, library in try Self.visibleToken(db, library, principal) }
  }
}

extension Catalogue {
  /// Whether more than `limit` objects changed since a state. Always `false` for a principal with a limited library,
  /// because the amount of invisible changes must not be revealed.
  package func isBehind(
    _ since: ChangeToken, by limit: Int, for principal: Principal
  ) throws(ChangeHistoryError) -> Bool {
    guard principal.visibility == .everything else { return false }
    do throws(AssetSourceError) {
      let objects = try read { db in
        try Int.fetchOne(
          db.cachedStatement(sql: "SELECT sum(objects) FROM change WHERE library = 0 AND token > ?"),
          arguments: [since.number]) ?? 0
      }
      return objects > limit
    } catch {
      throw .source(error)
    }
  }
}
