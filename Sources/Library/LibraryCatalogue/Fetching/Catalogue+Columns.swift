// Columns for grids. `libraryAsset` has a copy of each field, so a grid is read from consecutive pages.
//
// A grid of ten thousand assets has a hundred thousand values. They are read with SQLite's own functions, because GRDB
// creates a string or a `Data` for each text and blob, which took three times as long as SQLite itself.

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
    let plan = GridStatement(fields)
    var columns = AssetColumns()
    columns.reserveCapacity(min(page.limit, Self.reservedColumnRows), plan.fields)
    let end = try readPage(fetch, page, for: principal, columns: plan.sql) { _, statement in
      plan.append(statement.sqliteStatement, to: &columns)
    }
    columns.nextCursor = end.nextCursor
    columns.changeToken = end.changeToken
    return columns
  }

  private static let reservedColumnRows = 10_000
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
}

/// The columns of the statement that reads a grid, and the conversion of its rows to field values.
private struct GridStatement {
  let fields: [AssetColumns.Field]
  /// Columns of `asset` or `libraryAsset`, in the order in which the fields need them.
  private let names: [String]
  /// The position of `grid`, which several fields share.
  private let grid: Int32?

  init(_ requested: Set<AssetColumns.Field>) {
    fields = AssetColumns.Field.allCases.filter(requested.contains)
    let own = fields.compactMap { $0.column }
    names = own.count < fields.count ? own + [GridColumns.grid] : own
    grid = own.count < fields.count ? Int32(own.count) : nil
  }

  func sql(in table: String) -> String {
    names.isEmpty ? "1" : names.map { "\(table).\($0)" }.joined(separator: ", ")
  }

  /// Appends the statement's current row.
  func append(_ row: SQLiteStatement, to columns: inout AssetColumns) {
    columns.count += 1
    let grid = GridColumns(grid: self.grid.map { sqlite3_column_int64(row, $0) } ?? 0)
    var column: Int32 = 0
    for field in fields {
      switch field {
      case .isFavorite: columns.favoriteFlags.append(grid.isFavorite)
      case .mediaSubtypes: columns.mediaSubtypes.append(grid.mediaSubtypes)
      case .mediaType: columns.mediaTypes.append(grid.mediaType)
      case .utcOffset: columns.utcOffsets.append(grid.utcOffset)
      case .aspectRatio:
        columns.aspectRatios.append(GridColumns.aspectRatio(sqlite3_column_int64(row, column)))
        column += 1
      case .contentVersion:
        columns.contentVersions.append(bytes(row, column))
        column += 1
      case .creationDate:
        columns.creationDates.append(sqlite3_column_int64(row, column))
        column += 1
      case .duration:
        columns.durations.append(sqlite3_column_double(row, column))
        column += 1
      case .localIdentifier:
        columns.localIdentifiers.append(bytes(row, column))
        column += 1
      case .placeholder:
        columns.placeholders.append(bytes(row, column))
        column += 1
      }
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

extension AssetColumns.Field {
  /// The column that holds only this field; `nil` for a part of `grid`.
  fileprivate var column: String? {
    switch self {
    case .isFavorite, .mediaSubtypes, .mediaType, .utcOffset: nil
    case .aspectRatio: GridColumns.dimensions
    case .contentVersion, .creationDate, .duration, .localIdentifier, .placeholder: rawValue
    }
  }
}
