import GRDB

/// The tables of `access.sqlite`. New migrations are added; existing ones are never edited.
enum AccessSchema {
  static var migrator: DatabaseMigrator {
    var migrator = DatabaseMigrator()
    migrator.registerMigration("1: tokens and signing keys") { db in
      try db.execute(
        sql: """
          CREATE TABLE token (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            identifier TEXT NOT NULL UNIQUE,
            -- SHA-256 of the secret's text.
            digest BLOB NOT NULL UNIQUE,
            name TEXT NOT NULL,
            -- Names with commas between them.
            scopes TEXT NOT NULL,
            -- Identifiers with line feeds between them; NULL: limited to none.
            collections TEXT,
            -- Seconds since 1970.
            created INTEGER NOT NULL,
            expires INTEGER,
            revoked INTEGER,
            lastUsed INTEGER
          );
          -- The newest two are valid, the newest signs.
          CREATE TABLE signingKey (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            identifier TEXT NOT NULL UNIQUE,
            secret BLOB NOT NULL,
            created INTEGER NOT NULL
          );
          """)
    }
    return migrator
  }
}
