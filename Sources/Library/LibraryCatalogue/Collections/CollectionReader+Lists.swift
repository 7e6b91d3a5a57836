// Lists of collections, read in pages. Each page begins after the last sort values of the previous one, so insertions
// and deletions in between neither skip nor repeat a collection that stays.

import GRDB
import PhotoModel
import PhotoPredicate
import Primitives

/// A collection in a list, and the cursor after it.
struct CollectionListItem {
  let collection: AssetCollection
  let cursor: PageCursor
}

/// Reads a list in its own order: up to `limit` collections after a cursor, and fewer only at the end of the list.
typealias CollectionPager = (_ limit: Int, _ cursor: PageCursor?) throws -> [CollectionListItem]

extension CollectionReader {
  /// The requested list.
  ///
  /// - Parameter momentOrder: the order of moments, by their start; `nil`: newest first.
  func list(momentOrder: FetchSortDescriptors?) throws -> CollectionPager {
    let asset = try query.containing.map(containedAsset)
    if query.parent == .topLevel { return topLevel(asset) }
    if let parent = query.parent { return try children(of: parent, asset, momentOrder) }
    switch query.type {
    case .moment: return moments(in: nil, asset, momentOrder)
    case .folder where query.subtype.map(MomentList.subtypes.contains) ?? false:
      return momentLists(ofMonths: query.subtype == MomentList.monthSubtype, days: LocalCalendar.days, asset)
    default: return all(asset)
    }
  }

  /// Smart albums, then folders, then albums, each in the order of their positions.
  private func all(_ asset: ContainedAsset?) -> CollectionPager {
    let source = candidates(asset) ?? "libraryCollection INDEXED BY libraryCollectionByType"
    return { limit, cursor in
      _ = try cursor?.fields(3)
      let type = try cursor.map { try $0.text(0) }
      let after = """
        AND libraryCollection.type <= ?2
        AND (libraryCollection.type < ?2 OR libraryCollection.position > ?3
          OR (libraryCollection.position = ?3 AND libraryCollection.collection > ?4))
        """
      let rows = try Row.fetchAll(
        statement(
          """
          SELECT \(Self.columns) FROM \(source)
            CROSS JOIN collection ON collection.id = libraryCollection.collection
          WHERE libraryCollection.library = ?7 AND libraryCollection.\(query.type == nil ? "type <= ?1" : "type = ?1")
            \(cursor == nil ? "" : after) \(query.subtype == nil ? "" : "AND subtype = ?6") \(contains(asset))
          ORDER BY libraryCollection.type DESC, libraryCollection.position, libraryCollection.collection LIMIT ?5
          """, about: asset),
        arguments: [
          query.type?.rawValue ?? "~", type ?? "", try cursor?.integer(1) ?? 0, try cursor?.integer(2) ?? 0, limit,
          query.subtype, library.row,
        ])
      return try rows.map { row in
        CollectionListItem(
          collection: try collection(row), cursor: PageCursor([.text(row[2]), .integer(row[7]), .integer(row[0])]))
      }
    }
  }

  private func children(
    of parent: LocalIdentifier, _ asset: ContainedAsset?, _ momentOrder: FetchSortDescriptors?
  ) throws -> CollectionPager {
    if let list = MomentList(parent) {
      guard try exists(list) else { throw AssetSourceError.noSuchCollection }
      return list.month == nil
        ? momentLists(ofMonths: true, days: list.days, asset) : moments(in: list.days, asset, momentOrder)
    }
    guard let row = try row(parent), row[2] == CollectionType.folder.rawValue else {
      throw AssetSourceError.noSuchCollection
    }
    // The children of a folder of a library are all in the library, so no further condition is needed.
    return children(ofFolder: row[0], asset)
  }

  /// The user's albums and folders without a visible folder above them.
  private func topLevel(_ asset: ContainedAsset?) -> CollectionPager {
    if library.isWhole { return children(ofFolder: nil, asset) }
    // Only granted collections, so there are few. Collections from the same folder keep its order.
    return { limit, cursor in
      _ = try cursor?.fields(2)
      let rows = try Row.fetchAll(
        statement(
          """
          SELECT \(Self.columns) FROM libraryGrant INDEXED BY libraryGrantByLibrary
            CROSS JOIN libraryCollection INDEXED BY libraryCollectionByIdentifier
              ON libraryCollection.library = libraryGrant.library
                AND libraryCollection.localIdentifier = libraryGrant.localIdentifier
            CROSS JOIN collection ON collection.id = libraryCollection.collection
          WHERE libraryGrant.library = ?1 AND libraryCollection.type <> 'smartAlbum'
            AND NOT EXISTS (
              SELECT 1 FROM libraryCollection AS above
              WHERE above.collection = collection.parent AND above.library = ?1)
            AND (collection.position, collection.id) > (?2, ?3)
            AND (?5 IS NULL OR collection.type = ?5) AND (?6 IS NULL OR subtype = ?6) \(contains(asset))
          ORDER BY collection.position, collection.id LIMIT ?4
          """, about: asset),
        arguments: [
          library.row, try cursor?.integer(0) ?? .min, try cursor?.integer(1) ?? .min, limit, query.type?.rawValue,
          query.subtype,
        ])
      return try rows.map { row in
        CollectionListItem(collection: try collection(row), cursor: PageCursor([.integer(row[7]), .integer(row[0])]))
      }
    }
  }

  /// - Parameter folder: `nil` for the top level of the whole library.
  private func children(ofFolder folder: Int64?, _ asset: ContainedAsset?) -> CollectionPager {
    let containing = candidates(asset).map {
      "\($0) CROSS JOIN collection ON collection.id = libraryCollection.collection"
    }
    let source = containing ?? "collection INDEXED BY collectionByParent"
    return { limit, cursor in
      _ = try cursor?.fields(2)
      let rows = try Row.fetchAll(
        statement(
          """
          SELECT \(Self.columns) FROM \(source)
          WHERE parent IS ?1 AND (collection.position, collection.id) > (?2, ?3) AND collection.type <> 'smartAlbum'
            AND (?5 IS NULL OR collection.type = ?5) AND (?6 IS NULL OR subtype = ?6) \(contains(asset))
          ORDER BY collection.position, collection.id LIMIT ?4
          """, about: asset),
        arguments: [
          folder, try cursor?.integer(0) ?? .min, try cursor?.integer(1) ?? .min, limit, query.type?.rawValue,
          query.subtype,
        ])
      return try rows.map { row in
        CollectionListItem(collection: try collection(row), cursor: PageCursor([.integer(row[7]), .integer(row[0])]))
      }
    }
  }

  /// All moments, or those of a range of days; newest first, or by their start and identifier.
  private func moments(
    in days: Range<Int>?, _ asset: ContainedAsset?, _ order: FetchSortDescriptors?
  ) -> CollectionPager {
    if !includes(.moment, MomentList.momentSubtype) { return { _, _ in [] } }
    // A moment that contains the asset is one of its day. Dates are needed too, because the index is by date.
    let assetDay = asset.map { $0.localDay..<$0.localDay + 1 }
    let listed = assetDay.map { days?.clamped(to: $0) ?? $0 } ?? days
    let dates = listed.map(LocalCalendar.possibleDates)
    // Moments of different days may begin at the same time.
    let tie = order == nil ? "id" : "localIdentifier"
    let isAscending = order?.total.map(\.isAscending) ?? [false, false]
    let directions = isAscending.map { $0 ? "ASC" : "DESC" }
    return { limit, cursor in
      let last = try cursor.map { try momentPosition($0, order) }
      // The cursor replaces one of the bounds, so that SQLite starts there in the index.
      var (first, end) = (dates?.lowerBound ?? .min, dates.map { $0.upperBound - 1 } ?? .max)
      if let last, isAscending[0] { first = max(first, last.date) }
      if let last, !isAscending[0] { end = min(end, last.date) }
      let after = last == nil ? "" : "AND (startDate <> ?7 OR \(tie) \(isAscending[1] ? ">" : "<") ?8)"
      let rows = try Row.fetchAll(
        statement(
          """
          SELECT localIdentifier, startDate, endDate, assetCount, revision, id, day, title
          FROM moment INDEXED BY momentByDate
          WHERE library = ?1 AND splitsByLocation = ?2 AND startDate >= ?3 AND startDate <= ?4
            AND day >= ?5 AND day < ?6 \(after) \(asset?.momentCondition ?? "")
          ORDER BY startDate \(directions[0]), \(tie) \(directions[1]) LIMIT ?9
          """, about: asset),
        arguments: [
          library.row, principal.may(.location), first, end, listed?.lowerBound ?? .min, listed?.upperBound ?? .max,
          last?.date, last?.tie, limit,
        ])
      return try rows.map { row in
        let found = try moment(row)
        let next = order.map { CollectionSortValues(found, of: $0).cursor(of: $0) }
        return CollectionListItem(collection: found, cursor: next ?? PageCursor([.integer(row[1]), .integer(row[5])]))
      }
    }
  }

  /// The start and the second sort value of the last moment of a page.
  private func momentPosition(
    _ cursor: PageCursor, _ order: FetchSortDescriptors?
  ) throws -> (date: Int64, tie: DatabaseValue) {
    guard let order else {
      _ = try cursor.fields(2)
      return (try cursor.integer(0), try cursor.integer(1).databaseValue)
    }
    // Throws for a cursor of another order.
    _ = try CollectionSortValues(cursor, of: order)
    return (try cursor.integer(1), try cursor.text(2).databaseValue)
  }

  /// Moment lists of years or months, newest first.
  private func momentLists(
    ofMonths isOfMonths: Bool, days: Range<Int>, _ asset: ContainedAsset?
  ) -> CollectionPager {
    if !includes(.folder, isOfMonths ? MomentList.monthSubtype : MomentList.yearSubtype) { return { _, _ in [] } }
    var days = days
    if let asset {
      let month = MomentList(monthOfDay: asset.localDay)
      let list = isOfMonths ? month : MomentList(year: month.year, month: nil)
      days = asset.isListed ? days.clamped(to: list.days) : 0..<0
    }
    let listed = days
    return { limit, cursor in
      _ = try cursor?.fields(1)
      var end = min(listed.upperBound, try cursor.map { Int(clamping: try $0.integer(0)) } ?? .max)
      var lists: [CollectionListItem] = []
      while lists.count < limit, let day = try lastDay(before: end), day >= listed.lowerBound {
        let month = CivilDate.month(ofDay: day)
        let list = MomentList(year: month.year, month: isOfMonths ? month.month : nil)
        end = list.days.lowerBound
        lists.append(
          CollectionListItem(
            collection: try collection(list, count: try count(in: list.days)),
            cursor: PageCursor([.integer(Int64(end))])))
      }
      return lists
    }
  }

  /// Whether the query's `type` and `subtype` include collections of this type and subtype.
  private func includes(_ type: CollectionType, _ subtype: String) -> Bool {
    if let wanted = query.type, wanted != type { return false }
    if let wanted = query.subtype, wanted != subtype { return false }
    return true
  }
}
