// The catalogue's tables, indexes and triggers: one file for each subject.
//
//     +Library          libraries: the whole one and one for each set of granted collections; their counters
//     +Assets           assets and their files
//     +LibraryAssets    which assets each library has; triggers keep its indexed copies and its counters
//     +Collections      smart albums, albums and folders, their members, and which of them each library has
//     +Moments          moments of each library
//     +Changes          the history of changes, and the token of each library
//     +Trash            assets in the trash, and the contents of purged files
//     +FormerContents   contents that no asset has
//     +Search           the words of assets, their index, and the queue of what must be indexed again
//     +Uploads          staged uploads
//
// Triggers write everything that follows from a row, so no writing code can forget it. A trigger slows down every
// statement that may fire it, even if it has nothing to do. So each one names the columns that it depends on, and tests
// rare conditions first. SQLite does not define in which order the triggers of a statement run, so none depends on it.
//
// SQLite journals the pages that a statement changes if the statement may fail after part of its work. The insertion of
// an asset can't fail that way: it is INSERT OR ROLLBACK, and its triggers inherit that. So none of them uses OR
// IGNORE, ON CONFLICT DO UPDATE or a function, none of their tables has a CHECK that calls one, and their foreign keys
// are deferred.

import GRDB

package enum CatalogueSchema {
  /// A migration is never edited after its release.
  package static var migrator: DatabaseMigrator {
    var migrator = DatabaseMigrator()
    migrator.registerMigration("0.1.0", foreignKeyChecks: .immediate) { db in
      for subject in [libraries, assets, libraryAssets, collections, moments] { try db.execute(sql: subject) }
      // Before the triggers of the history exist, because the smart albums are not a change that clients see.
      try insertSmartAlbums(db)
      for subject in [changes, trash, uploads, formerContents, search] { try db.execute(sql: subject) }
    }
    return migrator
  }

  /// The token of the running change, in a trigger.
  static let token = "(SELECT revision FROM library WHERE id = 0)"
  /// The time of the running change in milliseconds since 1970, in a trigger.
  static let changeDate = "(SELECT changeDate FROM library WHERE id = 0)"

  /// The day number of an SQL operand in milliseconds since 1970; rounds down, also before 1970.
  static func day(_ milliseconds: String) -> String {
    "(\(milliseconds) - ((\(milliseconds) % 86400000) + 86400000) % 86400000) / 86400000"
  }
}
