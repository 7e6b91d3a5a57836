// How a fetch finds the searched words. Resolved within the transaction of the fetch:
//
//     expression   an FTS5 expression for the matches of the search, and for assets whose names may match the
//                  predicate: the fetch reads along the index. Only for the whole library
//     test         an SQL condition on one asset: for limited libraries, albums and lists, whose assets are read anyway
//
// The index contains albums by number, so the albums whose titles match a term are looked up first. It contains whole
// words, so a prefix is first expanded to the words that begin with it.

import GRDB
import PhotoPredicate

struct SearchAccess {
  /// The maximum number of words, or albums, that replace one term of an expression. FTS5 looks up each of them in each
  /// of its segments.
  private static let maximumAlternatives = 300
  /// The same for phrases, which are more expensive.
  private static let maximumPhrases = 64
  private static let nameKeys: Set<String> = ["originalFilename", "relativePath"]

  /// A term of the search. An asset matches if its document contains one of the texts, or if it is in one of the
  /// albums.
  private struct Term {
    let texts: [String]
    let albums: [Int64]
  }

  /// `nil`: the search index can't be used.
  private(set) var expression: String?
  /// The terms of the predicate that are true for nearly all matches of the expression.
  private(set) var covered: Set<FetchPredicate> = []
  /// Whether only few assets match the expression.
  private(set) var isShort = false
  private var terms: [Term] = []
  private let search: AssetSearch?

  /// Decides only whether the index can be used, without a catalogue, to estimate the cost of a fetch.
  ///
  /// - Parameter isWhole: whether the fetch is of the whole library. A limited library can't use the index, which has
  ///   the words of all assets: the time of a read would depend on invisible assets.
  init(estimating fetch: AssetFetch, isWhole: Bool) {
    search = fetch.search
    guard isWhole else { return }
    for (term, pattern) in Self.patterns(fetch) { cover(term, pattern) }
    if search != nil || !covered.isEmpty { expression = "" }
  }

  init(_ fetch: AssetFetch, in library: LibraryID, _ albumTitles: AlbumTitles, _ db: Database) throws {
    search = fetch.search
    var conjunction: [String] = []
    var isIndexed = library.isWhole
    if let search {
      let titles = try albumTitles.titles(of: library, db)
      for term in search.query.terms {
        let albums = titles.filter { $0.matches(term) }.map(\.album)
        terms.append(Term(texts: Self.texts(term, search), albums: albums))
        isIndexed = isIndexed && albums.count <= Self.maximumAlternatives
        if isIndexed { conjunction.append(try Self.expression(term, search, albums, db)) }
      }
    }
    guard isIndexed else { return }
    let patterns = Self.patterns(fetch)
    // Names that are not indexed yet would not be found.
    if !patterns.isEmpty, try SearchIndex.isCurrent(db) {
      for (term, pattern) in patterns {
        guard let expression = try Self.expression(pattern, db) else { continue }
        conjunction.append(expression)
        cover(term, pattern)
      }
    }
    if !conjunction.isEmpty { expression = conjunction.joined(separator: " AND ") }
  }

  private mutating func cover(_ term: FetchPredicate, _ pattern: SearchPattern) {
    covered.insert(term)
    isShort = isShort || pattern.isWhole
  }

  private static func patterns(_ fetch: AssetFetch) -> [(FetchPredicate, SearchPattern)] {
    (fetch.predicate?.normalized.conjuncts ?? []).compactMap { term in
      SearchPattern(term, of: nameKeys).map { (term, $0) }
    }
  }

  // MARK: One asset

  /// SQL condition: whether the search finds an asset.
  ///
  /// - Parameters:
  ///   - document: the number of the asset's document, in SQL.
  ///   - asset: the asset's row number, in SQL.
  func test(document: String, asset: String, _ values: inout [SQLValue]) -> String {
    var conditions: [String] = []
    for term in terms {
      var alternatives = term.texts.map { _ in "instr(text, ?)" }
      values += term.texts.map(SQLValue.text)
      if !term.albums.isEmpty { alternatives.append(Self.isMember(asset, of: term.albums, &values)) }
      conditions.append("(\(alternatives.joined(separator: " OR ")))")
    }
    return "(SELECT \(conditions.joined(separator: " AND ")) FROM searchText WHERE document = \(document))"
  }

  /// SQL condition: whether an asset is in one of the albums. The plus sign makes SQLite look up the asset's albums in
  /// the list, and not each album of the list in the index.
  private static func isMember(_ asset: String, of albums: [Int64], _ values: inout [SQLValue]) -> String {
    values.append(.text(RowNumbers.json(albums)))
    return """
      EXISTS (SELECT 1 FROM member AS membership INDEXED BY memberByAsset
        WHERE membership.asset = \(asset) AND +collection IN (SELECT value FROM json_each(?)))
      """
  }

  /// The relevance of an asset, in SQL: see ``SearchRelevance``.
  ///
  /// - Parameters: as those of ``test(document:asset:_:)``.
  func relevance(document: String, asset: String, _ values: inout [SQLValue]) -> String {
    values.append(.text(SearchRelevance.encoded(terms.map(\.texts))))
    var albums = ["0"]
    for (number, term) in terms.enumerated() where !term.albums.isEmpty {
      let isMember = Self.isMember(asset, of: term.albums, &values)
      albums.append("(\(isMember) << \(number))")
    }
    let text = "(SELECT text FROM searchText WHERE document = \(document))"
    return "photod_relevance(\(text), ?, \(albums.joined(separator: " | ")))"
  }

  /// The texts by which a document matches a term: words, each after a space, with a final space unless the last is a
  /// prefix.
  private static func texts(_ term: SearchQuery.Term, _ search: AssetSearch) -> [String] {
    search.marks.map { mark in
      term.words.map { " " + mark + $0 }.joined() + (term.isPrefix ? "" : " ")
    }
  }

  // MARK: Expressions

  private static func expression(
    _ term: SearchQuery.Term, _ search: AssetSearch, _ albums: [Int64], _ db: Database
  ) throws -> String {
    var alternatives = albums.map { phrase(["\(SearchDocument.albumMark)\($0)"]) }
    for mark in search.marks {
      let words = term.words.map { mark + $0 }
      alternatives += term.isPrefix ? try beginnings(words, db) : [phrase(words)]
    }
    return disjunction(alternatives)
  }

  /// The phrases that begin with these words, of which the last one is a prefix.
  private static func beginnings(_ words: [String], _ db: Database) throws -> [String] {
    guard let last = words.last else { return [] }
    let limit = words.count == 1 ? maximumAlternatives : maximumPhrases
    let found = try String.fetchAll(
      db.cachedStatement(sql: "SELECT term FROM searchTerm WHERE term >= ? AND term < ? LIMIT ?"),
      arguments: [last, last + "\u{10FFFF}", limit + 1])
    if found.count > limit { return [phrase(words) + " *"] }
    return found.map { phrase(words.dropLast() + [$0]) }
  }

  /// - Returns: `nil` if so many words match that the index does not help.
  private static func expression(_ pattern: SearchPattern, _ db: Database) throws -> String? {
    guard pattern.isFirstOpen, let first = pattern.words.first else {
      return disjunction(pattern.isLastOpen ? try beginnings(pattern.words, db) : [phrase(pattern.words)])
    }
    let isInside = pattern.isLastOpen && pattern.words.count == 1
    let isFound = isInside ? "instr(term, ?1) > 0" : "substr(term, -length(?1)) = ?1"
    let limit = pattern.words.count == 1 ? maximumAlternatives : maximumPhrases
    // Reads all words, which are few compared with the assets.
    let found = try String.fetchAll(
      db.cachedStatement(
        sql: "SELECT term FROM searchTerm WHERE \(isFound) AND (term < ?2 OR term >= ?3) LIMIT ?4"),
      arguments: [first, SearchDocument.placeMark, SearchDocument.endOfMarks, limit + 1])
    if found.count > limit { return nil }
    let end = pattern.isLastOpen && !isInside ? " *" : ""
    return disjunction(found.map { phrase([$0] + pattern.words.dropFirst()) + end })
  }

  /// A word consists of letters and digits, after at most one mark, so it needs no escaping.
  private static func phrase(_ words: some Sequence<String>) -> String {
    "\"\(words.joined(separator: " "))\""
  }

  private static func disjunction(_ alternatives: [String]) -> String {
    alternatives.isEmpty ? phrase([SearchDocument.unusedMark]) : "(\(alternatives.joined(separator: " OR ")))"
  }
}
