// Columns for grids. `libraryAsset` has a copy of each field, so a grid is read from consecutive pages.
//
// A grid of ten thousand assets is a hundred thousand values. They are read with SQLite's own functions: GRDB's rows
// create a string or a `Data` for each text and blob, which took three times as long as SQLite itself.

import GRDB
import GRDBSQLite
import PhotoModel

extension Catalogue {
  /// Some properties of many assets at once, for a grid.
  ///
  /// - Throws: as ``assets(_:_:for:)``.
  package func columns(
    _ fetch: AssetFetch, _ page: FetchPageRequest,
    fields: Set<AssetColumns.Field> = Set(AssetColumns.Field.allCases), for principal: Principal
  ) throws(AssetSourceError) -> AssetColumns {
    let fields = AssetColumns.Field.allCases.filter(fields.contains)
    var columns = AssetColumns()
    columns.reserveCapacity(min(page.limit, Self.reservedColumnRows), fields)
    let end = try readPage(
      fetch, page, for: principal,
      columns: { table in fields.isEmpty ? "1" : fields.map { $0.sql(in: table) }.joined(separator: ", ") }
    ) { _, statement in columns.append(statement.sqliteStatement, fields) }
    columns.nextCursor = end.nextCursor
    columns.changeToken = end.changeToken
    return columns
  }

  private static let reservedColumnRows = 10_000
}

extension AssetColumns.Field {
  /// The SQL columns that the field is read from, in `asset` or `libraryAsset`.
  fileprivate func sql(in table: String) -> String {
    switch self {
    case .aspectRatio: "\(table).pixelWidth, \(table).pixelHeight"
    case .isFavorite: "\(table).counted >> \(SmartAlbum.favorites.counterBit) & 1"
    case .contentVersion, .creationDate, .duration, .localIdentifier, .mediaSubtypes, .mediaType, .placeholder,
      .utcOffset:
      "\(table).\(rawValue)"
    }
  }
}

extension AssetColumns {
  fileprivate mutating func reserveCapacity(_ count: Int, _ fields: [Field]) {
    for field in fields {
      switch field {
      case .aspectRatio: aspectRatios.reserveCapacity(count)
      case .contentVersion: contentVersions.reserveCapacity(count, bytesEach: 22)
      case .creationDate: creationDates.reserveCapacity(count)
      case .duration: durations.reserveCapacity(count)
      case .isFavorite: favoriteFlags.reserveCapacity(count)
      case .localIdentifier: localIdentifiers.reserveCapacity(count, bytesEach: 22)
      case .mediaSubtypes: mediaSubtypes.reserveCapacity(count)
      case .mediaType: mediaTypes.reserveCapacity(count)
      case .placeholder: placeholders.reserveCapacity(count, bytesEach: 25)
      case .utcOffset: utcOffsets.reserveCapacity(count)
      }
    }
  }

  /// Appends the row at which the statement is.
  fileprivate mutating func append(_ row: SQLiteStatement, _ fields: [Field]) {
    count += 1
    var column: Int32 = 0
    for field in fields {
      switch field {
      case .aspectRatio:
        let height = max(1, sqlite3_column_int64(row, column + 1))
        aspectRatios.append(Double(sqlite3_column_int64(row, column)) / Double(height))
        column += 1
      case .contentVersion: contentVersions.append(bytes(row, column))
      case .creationDate: creationDates.append(sqlite3_column_int64(row, column))
      case .duration: durations.append(sqlite3_column_double(row, column))
      case .isFavorite: favoriteFlags.append(sqlite3_column_int64(row, column) != 0)
      case .localIdentifier: localIdentifiers.append(bytes(row, column))
      case .mediaSubtypes: mediaSubtypes.append(MediaSubtypes(rawValue: sqlite3_column_int64(row, column)))
      case .mediaType: mediaTypes.append(MediaType(number: Int(sqlite3_column_int64(row, column))) ?? .unknown)
      case .placeholder: placeholders.append(bytes(row, column))
      case .utcOffset:
        let isNull = sqlite3_column_type(row, column) == SQLITE_NULL
        utcOffsets.append(isNull ? nil : Int(sqlite3_column_int64(row, column)))
      }
      column += 1
    }
  }

  /// A text or blob in SQLite's memory, valid until the next step. Empty for NULL.
  ///
  /// Text is read as a blob too: SQLite would copy it to terminate it with a NUL
  /// (https://www.sqlite.org/c3ref/column_blob.html).
  private func bytes(_ row: SQLiteStatement, _ column: Int32) -> UnsafeRawBufferPointer {
    let start = sqlite3_column_blob(row, column)
    return UnsafeRawBufferPointer(start: start, count: start == nil ? 0 : Int(sqlite3_column_bytes(row, column)))
  }
}
