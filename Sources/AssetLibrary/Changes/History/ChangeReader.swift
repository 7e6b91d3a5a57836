// Reads the history: the rows of a range of commits become what a client has to know to go from the one state to the other.
//
//     rows of the range -> traces (first and last event of each object) -> for this principal, of this collection
//       -> identifiers, inserted | updated | deleted
//
// What came into the sight of a principal is inserted for it, what left is deleted, whatever else became of it. The same
// goes for who listens to one collection.

import GRDB
import PhotoModel

struct ChangeReader {
  /// What the rows of a range say of one object.
  private struct Trace {
    /// It was there before.
    var wasThere: Bool
    var isThere: Bool
    var isContentChanged = false
  }

  private enum Kind: Int {
    case asset = 0
    case collection = 1
  }

  /// What a collection that somebody listens to is made of.
  private enum Narrowing {
    case none
    /// An album or folder, by its row.
    case members(Int64)
    /// What is in it follows from the assets; all of them may concern it.
    case derived
  }

  let db: Database
  let tokens: ChangeTokenText
  let principal: Principal
  let part: LibraryPart
  let filter: ChangeFilter

  /// The changes behind `since`, as many commits of them as have `limit` objects, and one at least.
  func changes(since: ChangeToken, limit: Int) throws -> LibraryChanges {
    let newest = try Catalogue.changeToken(db)
    guard since <= newest else { throw ChangeHistoryError.malformedToken }
    guard try since >= Catalogue.oldestKnownToken(db, part, principal) else { throw ChangeHistoryError.expiredToken }
    let narrowing = try narrowing()
    let end = try self.end(since, limit)
    // Where nothing is left, the state is that of the last change that the principal may know of.
    let visible = end == nil ? max(since, try Catalogue.visibleToken(db, part, principal)) : end ?? since
    var changes = LibraryChanges(changeToken: tokens.text(of: visible))
    changes.hasMore = end != nil
    let range = (since.number + 1)...max(since.number + 1, (end ?? newest).number)
    if filter.types.contains(.asset) { changes.assets = try assets(in: range, narrowing) }
    if filter.types.contains(.collection) { changes.collections = try collections(in: range, narrowing) }
    return changes
  }

  /// The last commit of a page; `nil`: the page reaches to the newest. Of commits that the principal may know of alone: that
  /// there is more tells of nothing else.
  private func end(_ since: ChangeToken, _ limit: Int) throws -> ChangeToken? {
    let commits =
      switch part {
      case .whole: "change WHERE token > ?1 AND isPlaceOnly <= ?2"
      case .limited: "limitedRevision WHERE token > ?1 AND isPlaceOnly <= ?2 AND \(part.condition)"
      }
    let rows = try Row.fetchCursor(
      part.statement("SELECT token, objects FROM \(commits) ORDER BY token", db),
      arguments: [since.number, principal.may(.location)])
    var objects = 0
    var end: Int64?
    while let row = try rows.next() {
      objects += row[1] as Int
      if let end, objects > limit { return ChangeToken(end) }
      end = row[0]
    }
    return nil
  }

  private func narrowing() throws -> Narrowing {
    guard let identifier = filter.collection else { return .none }
    let row = try Row.fetchOne(
      db.cachedStatement(sql: "SELECT id, type FROM collection WHERE localIdentifier = ?"),
      arguments: [identifier.rawValue])
    if let row {
      if case .limited(let library) = part {
        let isSeen = try Int.fetchOne(
          db.cachedStatement(sql: "SELECT 1 FROM limitedCollection WHERE collection = ? AND library = ?"),
          arguments: [row[0] as Int64, library])
        guard isSeen != nil else { throw ChangeHistoryError.noSuchCollection }
      }
      return row[1] as String == CollectionType.smartAlbum.rawValue ? .derived : .members(row[0])
    }
    let gone = try Int64.fetchOne(
      db.cachedStatement(sql: "SELECT id FROM deletedCollection WHERE localIdentifier = ?"),
      arguments: [identifier.rawValue])
    if let gone, part == .whole { return .members(gone) }
    guard try CollectionReader(db, CollectionQuery(), principal, part).collection(identifier) != nil else {
      throw ChangeHistoryError.noSuchCollection
    }
    return .derived
  }

  // MARK: Objects

  private func assets(in range: ClosedRange<Int64>, _ narrowing: Narrowing) throws -> ObjectChanges {
    var traces = try traces(of: .asset, in: range)
    switch narrowing {
    case .none, .derived:
      if part != .whole { traces = try seen(traces, .asset, try membersSeen(in: range), range) }
    case .members(let collection): traces = try members(of: collection, in: range, traces)
    }
    return try named(traces, .asset)
  }

  private func collections(in range: ClosedRange<Int64>, _ narrowing: Narrowing) throws -> ObjectChanges {
    var traces = try traces(of: .collection, in: range)
    if part != .whole { traces = try seen(traces, .collection, [], range) }
    switch narrowing {
    case .none: break
    case .members(let collection):
      let inIt = try db.cachedStatement(sql: "SELECT 1 FROM collection WHERE id = ? AND parent = ?")
      traces = try traces.filter { row, _ in
        try row == collection || Int.fetchOne(inIt, arguments: [row, collection]) != nil
      }
    case .derived: traces = [:]
    }
    return try named(traces, .collection)
  }

  private func traces(of kind: Kind, in range: ClosedRange<Int64>) throws -> [Int64: Trace] {
    let rows = try Row.fetchCursor(
      db.cachedStatement(
        sql: """
          SELECT object, event, isContentChanged FROM changedObject
          WHERE token BETWEEN ? AND ? AND kind = ? AND isPlaceOnly <= ? ORDER BY token
          """),
      arguments: [range.lowerBound, range.upperBound, kind.rawValue, principal.may(.location)])
    var traces: [Int64: Trace] = [:]
    while let row = try rows.next() {
      let event: Int = row[1]
      var trace = traces[row[0]] ?? Trace(wasThere: event != 0, isThere: false)
      trace.isThere = event != 2
      // One that went and came back may be anything.
      trace.isContentChanged = trace.isContentChanged || row[2] || event == 0
      traces[row[0]] = trace
    }
    return traces
  }

  // MARK: What somebody sees

  /// Assets that came into a limited library or left it, whether or not they themselves changed.
  private func membersSeen(in range: ClosedRange<Int64>) throws -> Set<Int64> {
    guard case .limited(let library) = part else { return [] }
    return try Set(
      Int64.fetchAll(
        db.cachedStatement(
          sql: """
            SELECT asset FROM changedMember WHERE token BETWEEN ?1 AND ?2 AND event <> 1
            UNION
            SELECT member.asset FROM limitedCollection JOIN member ON member.collection = limitedCollection.collection
            WHERE library = ?3 AND came BETWEEN ?1 AND ?2
            UNION
            SELECT object FROM limitedGone WHERE library = ?3 AND kind = 0 AND went BETWEEN ?1 AND ?2
            """), arguments: [range.lowerBound, range.upperBound, library]))
  }

  /// The same for who sees a limited library: by what it holds, and since when.
  private func seen(
    _ traces: [Int64: Trace], _ kind: Kind, _ others: Set<Int64>, _ range: ClosedRange<Int64>
  ) throws -> [Int64: Trace] {
    guard case .limited(let library) = part else { return traces }
    var rows = Set(traces.keys).union(others)
    let table = kind == .asset ? "limitedAsset" : "limitedCollection"
    let column = kind == .asset ? "asset" : "collection"
    if kind == .collection {
      rows.formUnion(
        try Int64.fetchAll(
          db.cachedStatement(
            sql: """
              SELECT collection FROM limitedCollection WHERE library = ?3 AND came BETWEEN ?1 AND ?2
              UNION SELECT object FROM limitedGone WHERE library = ?3 AND kind = 1 AND went BETWEEN ?1 AND ?2
              """), arguments: [range.lowerBound, range.upperBound, library]))
    }
    let came = try db.cachedStatement(sql: "SELECT came FROM \(table) WHERE \(column) = ? AND library = ?")
    let went = try db.cachedStatement(sql: "SELECT went FROM limitedGone WHERE library = ? AND kind = ? AND object = ?")
    var seen: [Int64: Trace] = [:]
    for row in rows {
      let came = try Int64.fetchOne(came, arguments: [row, library])
      let went = try Int64.fetchOne(went, arguments: [library, kind.rawValue, row])
      if let came, came < range.lowerBound {
        // It was there all the time.
        if let trace = traces[row] {
          seen[row] = Trace(wasThere: true, isThere: true, isContentChanged: trace.isContentChanged)
        }
      } else if let came, range.contains(came) {
        let wasThere = went.map(range.contains) ?? false
        seen[row] = Trace(wasThere: wasThere, isThere: true, isContentChanged: true)
      } else if let went, range.contains(went) {
        seen[row] = Trace(wasThere: true, isThere: false)
      }
    }
    return seen
  }

  /// The same for who listens to one album: what came into it is inserted, what went is deleted.
  private func members(
    of collection: Int64, in range: ClosedRange<Int64>, _ traces: [Int64: Trace]
  ) throws -> [Int64: Trace] {
    let rows = try Row.fetchCursor(
      db.cachedStatement(
        sql: "SELECT asset, event FROM changedMember WHERE token BETWEEN ? AND ? AND collection = ? ORDER BY token"),
      arguments: [range.lowerBound, range.upperBound, collection])
    var found: [Int64: Trace] = [:]
    while let row = try rows.next() {
      let event: Int = row[1]
      var trace = found[row[0]] ?? Trace(wasThere: event != 0, isThere: false)
      trace.isThere = event != 2
      trace.isContentChanged = traces[row[0]]?.isContentChanged ?? false
      found[row[0]] = trace
    }
    let isMember = try db.cachedStatement(sql: "SELECT 1 FROM member WHERE asset = ? AND collection = ?")
    for (row, trace) in traces where found[row] == nil {
      guard try Int.fetchOne(isMember, arguments: [row, collection]) != nil else { continue }
      found[row] = Trace(wasThere: true, isThere: true, isContentChanged: trace.isContentChanged)
    }
    return found
  }

  // MARK: Names

  private func named(_ traces: [Int64: Trace], _ kind: Kind) throws -> ObjectChanges {
    let table = kind == .asset ? "asset" : "collection"
    let gone = kind == .asset ? "deletedAsset" : "deletedCollection"
    let now = try db.cachedStatement(sql: "SELECT localIdentifier FROM \(table) WHERE id = ?")
    let before = try db.cachedStatement(sql: "SELECT localIdentifier FROM \(gone) WHERE id = ?")
    var changes = ObjectChanges()
    for (row, trace) in traces.sorted(by: { $0.key < $1.key }) where trace.wasThere || trace.isThere {
      guard let text = try String.fetchOne(now, arguments: [row]) ?? String.fetchOne(before, arguments: [row]) else {
        continue
      }
      let identifier = LocalIdentifier(text)
      switch (trace.wasThere, trace.isThere) {
      case (false, true): changes.inserted.append(identifier)
      case (true, true):
        changes.updated.append(.init(localIdentifier: identifier, isContentChanged: trace.isContentChanged))
      case (true, false): changes.deleted.append(identifier)
      case (false, false): break
      }
    }
    return changes
  }
}

extension Catalogue {
  /// What changed since a state of the library: as many commits as have `limit` objects, and one at least.
  package func changes(
    since text: String, _ filter: ChangeFilter = ChangeFilter(), limit: Int, for principal: Principal
  ) throws(ChangeHistoryError) -> LibraryChanges {
    guard let since = tokens.token(of: text) else { throw .malformedToken }
    let result: Result<LibraryChanges, ChangeHistoryError>
    do {
      result = try read(for: principal) { db, part in
        let reader = ChangeReader(db: db, tokens: tokens, principal: principal, part: part, filter: filter)
        do { return .success(try reader.changes(since: since, limit: limit)) } catch let error as ChangeHistoryError {
          return .failure(error)
        }
      }
    } catch {
      throw .source(error)
    }
    return try result.get()
  }

  /// The state of the library that a principal sees now, as text.
  package func changeToken(for principal: Principal) throws(AssetSourceError) -> String {
    tokens.text(of: try read(for: principal) { db, part in try Self.visibleToken(db, part, principal) })
  }
}

extension Catalogue {
  /// Whether more than so many objects changed since a state. Of one who sees only a part it is never said: how much changes
  /// elsewhere is nothing to it.
  package func isBehind(
    _ text: String, by limit: Int, for principal: Principal
  ) throws(ChangeHistoryError) -> Bool {
    guard principal.visibility == .everything, let since = tokens.token(of: text) else { return false }
    do throws(AssetSourceError) {
      let objects = try read { db in
        try Int.fetchOne(
          db.cachedStatement(sql: "SELECT sum(objects) FROM change WHERE token > ?"), arguments: [since.number]) ?? 0
      }
      return objects > limit
    } catch {
      throw .source(error)
    }
  }
}
