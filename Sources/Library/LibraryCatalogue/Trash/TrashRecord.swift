// The catalogue's record of an asset that is in the trash, on its way into or out of it, or missing. The asset's former
// rows are saved and restored by column name, so columns that later migrations add are included.

import Foundation
import GRDB
import PhotoModel

/// The state of an asset in the trash, with the paths of its files.
package struct TrashRecord: Sendable {
  package enum State: String, Sendable {
    case deleting, trashed, restoring, purging
    /// The asset has user values, and another program removed its files: see ``MissingAssets``.
    case missing
  }

  /// A file of the asset.
  package struct File: Sendable, Hashable {
    /// The numbers of sidecars begin here, after those of the asset's own files.
    package static let firstSidecar = 1000

    /// 0 is the primary file.
    package let number: Int
    /// The path in the library, below the root.
    package var path: [UInt8]
    /// The path in the trash, below the root.
    package var trashPath: [UInt8]

    /// Whether it is a sidecar of one of the asset's files.
    package var isSidecar: Bool { number >= Self.firstSidecar }

    package init(number: Int, path: [UInt8], trashPath: [UInt8]) {
      self.number = number
      self.path = path
      self.trashPath = trashPath
    }
  }

  /// The number under which the row of the asset itself is saved, next to those of its files.
  static let assetRow = -1

  /// The row of the record.
  package let id: Int64
  package let identifier: LocalIdentifier
  package let state: State
  /// The files that existed in the library, by number. If all were already missing: the primary one without a path in
  /// the trash, or none.
  package let files: [File]

  /// Whether the primary file is in the trash. An asset without it can't be restored.
  package var isRestorable: Bool { files.first?.number == 0 && !isMissing }

  /// Whether all files are missing, and the path of the primary one is known.
  var isMissing: Bool { files.first?.trashPath.isEmpty ?? false }
}

// MARK: - Queries

extension TrashRecord {
  static func find(_ identifier: LocalIdentifier, _ db: Database) throws -> TrashRecord? {
    try Row.fetchOne(
      db.cachedStatement(sql: "SELECT id, localIdentifier, state FROM trash WHERE localIdentifier = ?"),
      arguments: [identifier.rawValue]
    ).map { try TrashRecord($0, db) }
  }

  static func find(_ id: Int64, _ db: Database) throws -> TrashRecord? {
    try Row.fetchOne(
      db.cachedStatement(sql: "SELECT id, localIdentifier, state FROM trash WHERE id = ?"), arguments: [id]
    ).map { try TrashRecord($0, db) }
  }

  /// The maximum number of records with one fingerprint that a file is compared with.
  private static let maximumCandidates = 8

  /// Records in a state whose primary file has this fingerprint, the newest ones first.
  static func find(_ fingerprint: FileFingerprint, in state: State, _ db: Database) throws -> [TrashRecord] {
    try Int64.fetchAll(
      db.cachedStatement(
        sql: """
          SELECT trash.id FROM trashValue CROSS JOIN trash ON trash.id = trash
          WHERE value = ? AND file = 0 AND name = 'fingerprint' AND state = ?
          ORDER BY trash.id DESC LIMIT \(maximumCandidates)
          """), arguments: [fingerprint.data, state.rawValue]
    ).compactMap { try find($0, db) }
  }

  /// Records that a process left unfinished, or that a running one is working on.
  static func unfinished(_ db: Database) throws -> [TrashRecord] {
    try Row.fetchAll(
      db,
      sql: "SELECT id, localIdentifier, state FROM trash WHERE state NOT IN ('trashed', 'missing') ORDER BY id"
    ).map { try TrashRecord($0, db) }
  }

  /// Records deleted before a point in time, in the order of their rows, from the one after `row`.
  static func deleted(
    before milliseconds: Int64, after row: Int64, limit: Int, _ db: Database
  ) throws -> [TrashRecord] {
    try Row.fetchAll(
      db.cachedStatement(
        sql: """
          SELECT id, localIdentifier, state FROM trash WHERE deletedDate < ? AND state = 'trashed' AND id > ?
          ORDER BY id LIMIT ?
          """), arguments: [milliseconds, row, limit]
    ).map { try TrashRecord($0, db) }
  }

  private init(_ row: Row, _ db: Database) throws {
    id = row[0]
    identifier = LocalIdentifier(row[1])
    state = State(rawValue: row[2]) ?? .trashed
    files = try Row.fetchAll(
      db.cachedStatement(sql: "SELECT place, path, trashPath FROM trashFile WHERE trash = ? ORDER BY place"),
      arguments: [id]
    ).map { row in
      File(number: row[0], path: try row.bytes(1), trashPath: try row.bytes(2))
    }
  }

  /// SQL condition: whether an asset in the trash was in an album of a library. The whole library shows all of them.
  static func isVisible(in library: LibraryID) -> String {
    if library.isWhole { return "1" }
    return """
      EXISTS (SELECT 1 FROM trashPlace
        JOIN libraryCollection ON library = \(library.row) AND libraryCollection.localIdentifier = trashPlace.collection
        WHERE trash = trash.id AND trashPlace.position IS NOT NULL)
      """
  }

  func isVisible(in library: LibraryID, _ db: Database) throws -> Bool {
    try Bool.fetchOne(db, sql: "SELECT \(Self.isVisible(in: library)) FROM trash WHERE id = ?", arguments: [id])
      ?? false
  }
}
