// The definitions of this version's indexes and triggers. SQLite stores their SQL in the catalogue and runs it from
// there, so a damaged definition makes counters wrong from then on, which a check of pages or rows would not explain.

import GRDB

struct CatalogueDefinitions {
  private struct Definition: Hashable {
    /// `index` or `trigger`.
    let type: String
    let name: String
    let sql: String
  }

  /// The definitions in a new catalogue, in the order of their creation.
  private let expected: [Definition]

  init() throws {
    let queue = try DatabaseQueue(configuration: Catalogue.configuration())
    try CatalogueSchema.migrator.migrate(queue)
    expected = try queue.read { try Self.stored($0) }
    try queue.close()
  }

  /// The names of the definitions that a catalogue lacks, or has with other SQL.
  func damaged(_ db: Database) throws -> [String] {
    let stored = try Set(Self.stored(db))
    return expected.filter { !stored.contains($0) }.map(\.name)
  }

  /// Drops all triggers, and the indexes with other SQL.
  func dropTriggersAndDamagedIndexes(_ db: Database) throws {
    for definition in try Self.stored(db) {
      let isDamaged = expected.contains { $0.name == definition.name && $0 != definition }
      if definition.type == "trigger" || isDamaged {
        try db.execute(sql: "DROP \(definition.type) \(definition.name.quotedDatabaseIdentifier)")
      }
    }
  }

  func createMissing(_ db: Database) throws {
    let stored = try Set(Self.stored(db))
    for definition in expected where !stored.contains(definition) { try db.execute(sql: definition.sql) }
  }

  private static func stored(_ db: Database) throws -> [Definition] {
    let rows = try Row.fetchAll(
      db,
      sql: """
        SELECT type, coalesce(name, ''), CAST(sql AS TEXT) FROM sqlite_schema
        WHERE type IN ('index', 'trigger') AND sql IS NOT NULL ORDER BY rowid
        """)
    return rows.map { Definition(type: $0[0], name: $0[1], sql: $0[2]) }
  }
}
