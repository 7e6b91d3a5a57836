// Removes words from `searchTerm` that no document contains any more. Writers only add words, because removing them
// would mean looking up every word that an asset loses.

import GRDB
import PhotoModel

extension SearchIndex {
  /// The number of words that are looked up at a time.
  private static let termsPerStep = 500

  /// Reads the next words, and looks them up in the index.
  ///
  /// - Parameter last: the last word of the step before; empty before the first one.
  /// - Returns: the last word of this step, or `nil` if there are no more, and the words that no document contains.
  static func nextTerms(after last: String, _ db: Database) throws -> (last: String?, unused: [String]) {
    let terms = try String.fetchAll(
      db.cachedStatement(sql: "SELECT term FROM searchTerm WHERE term > ? ORDER BY term LIMIT ?"),
      arguments: [last, termsPerStep])
    let lookup = try db.cachedStatement(sql: "SELECT 1 FROM search WHERE search MATCH ? LIMIT 1")
    var unused: [String] = []
    for term in terms where try Int.fetchOne(lookup, arguments: [expression(term)]) == nil { unused.append(term) }
    return (terms.last, unused)
  }

  /// Removes those of the words that no document contains.
  static func removeUnused(_ terms: [String], _ db: Database) throws {
    let remove = try db.cachedStatement(
      sql: "DELETE FROM searchTerm WHERE term = ? AND NOT EXISTS (SELECT 1 FROM search WHERE search MATCH ?)")
    for term in terms { try remove.execute(arguments: [term, expression(term)]) }
  }

  /// Removes all words that no document contains.
  static func removeAllUnused(_ db: Database) throws {
    var last: String? = ""
    while let begin = last {
      let step = try nextTerms(after: begin, db)
      try removeUnused(step.unused, db)
      last = step.last
    }
  }

  /// A word consists of letters and digits, after at most one mark, so it needs no escaping.
  private static func expression(_ term: String) -> String { "\"\(term)\"" }
}

extension Catalogue {
  /// Removes words that no asset has any more from the list by which searches expand prefixes. Works in small steps, so
  /// that no writer waits long. Not a change of the library: no token.
  package func pruneSearchTerms(until stop: StopFlag) throws(AssetSourceError) {
    var last: String? = ""
    while let begin = last, !stop.isRaised {
      let step = try read { db in try SearchIndex.nextTerms(after: begin, db) }
      if !step.unused.isEmpty {
        // Checks again within the transaction, because an asset may have got one of the words since.
        try writeMaintenance { db in try SearchIndex.removeUnused(step.unused, db) }
      }
      last = step.last
    }
  }
}
