import Foundation
import GRDB
import PhotoModel

extension Catalogue: AssetSource {
  package func asset(_ identifier: LocalIdentifier, for principal: Principal) throws(AssetSourceError) -> Asset? {
    guard principal.visibility.grantedDigest == nil else { return try assets(named: [identifier], for: principal)[0] }
    return try readSingleStatement { db in try Self.asset(identifier, in: .whole, for: principal, db) }
  }

  package func assets(
    named identifiers: [LocalIdentifier], for principal: Principal
  ) throws(AssetSourceError) -> [Asset?] {
    try read(for: principal) { db, library in try Self.assets(named: identifiers, in: library, for: principal, db) }
  }

  static func asset(
    _ identifier: LocalIdentifier, in library: LibraryID, for principal: Principal, _ db: Database
  ) throws -> Asset? {
    try assets(named: [identifier], in: library, for: principal, db)[0]
  }

  /// Built once, because each image request that no cache answers runs it.
  private static let assetByIdentifier = """
    SELECT \(AssetRow.columns) FROM \(LibraryAssetIndex.byIdentifier.source) \(AssetRow.joins)
    WHERE libraryAsset.library = ? AND libraryAsset.localIdentifier = ?
    """

  private static func assets(
    named identifiers: [LocalIdentifier], in library: LibraryID, for principal: Principal, _ db: Database
  ) throws -> [Asset?] {
    // An asset outside the library must take the same path as one that never existed: same key, same index, no row.
    // So timing does not reveal which of the two it is.
    let found = try db.cachedStatement(sql: assetByIdentifier)
    return try identifiers.map { try found.fetchAsset([library.row, $0.rawValue], for: principal) }
  }

  package func assets(after cursor: PageCursor?, limit: Int) throws(AssetSourceError) -> AssetPage {
    var fetch = AssetFetch()
    fetch.includesHidden = true
    fetch.includesAllBurstAssets = true
    return try assets(fetch, FetchPageRequest(limit: limit, cursor: cursor), for: .local)
  }

  package func scanState(for principal: Principal) throws(AssetSourceError) -> ScanState {
    try checkFile()
    return try read(for: principal) { db, library in
      ScanState(
        isFirstScanComplete: try CatalogueValue.isFirstScanComplete.read(db) ?? false,
        indexedCount: try Self.count(
          .userLibrary, ListingFilter(includesHidden: true, includesAllBurstAssets: true), library, db))
    }
  }

  /// The number of assets in a smart album, read from its stored counter.
  static func count(
    _ album: SmartAlbum, _ listings: ListingFilter, _ library: LibraryID, _ db: Database
  ) throws -> Int {
    let counter = CatalogueSchema.counters[album.counterBit]
    return try Int.fetchOne(
      db.cachedStatement(sql: "SELECT sum(\(counter)) FROM counter WHERE library = ? AND listing \(listings.sql)"),
      arguments: [library.row]) ?? 0
  }
}

extension Statement {
  /// The first asset that the statement returns.
  func fetchAsset(_ arguments: StatementArguments, for principal: Principal) throws -> Asset? {
    let rows = try Row.fetchCursor(self, arguments: arguments)
    // A row is a view into its cursor and is invalid after the cursor is freed.
    return try withExtendedLifetime(rows) { try rows.next().map { try AssetRow.asset($0, for: principal) } }
  }
}
