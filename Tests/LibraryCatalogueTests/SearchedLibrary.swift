import Foundation
import GRDB
import LibraryCatalogue
import PhotoFixtures
import PhotoModel
import PhotoPredicate

/// A library with texts of few different words, which is edited at random, together with the texts.
final class SearchedLibrary {
  struct Album {
    let row: Int64
    var title: String
    var members: Set<Int64>
  }

  /// The texts of an asset.
  struct Texts {
    var folder = "a"
    var title: String?
    var caption: String?
    var keywords: [String] = []
    var people: [String] = []
    var make: String?
    var lens: String?
    var city: String?
    var country: String?
  }

  private static let granted = Visibility.collections([LocalIdentifier("album-0"), LocalIdentifier("album-1")])
  static let principals: [Principal] = [
    .local, .local, Principal(name: "placeless", scopes: [.read]),
    Principal(name: "limited", scopes: [.read, .location], visibility: granted),
    Principal(name: "limited placeless", scopes: [.read], visibility: granted),
  ]
  static let predicates = [
    "isFavorite == YES", "creationDate > '1970-01-03T00:00:00Z'", "originalFilename CONTAINS[c] 'img'", "isRAW == NO",
    "mediaType == image OR isHidden == YES",
  ]

  let library: SyntheticLibrary
  private(set) var albums: [Album] = []
  private var texts: [Int64: Texts] = [:]
  private var nextRow: Int64

  init(_ count: Int64, _ dice: inout Dice) throws {
    library = try SyntheticLibrary((1...count).map { SyntheticAsset($0, &dice) })
    nextRow = count
    try library.queue.write { try $0.execute(sql: "UPDATE library SET revision = revision + 1 WHERE id = 0") }
    for asset in library.assets { try write(asset.row, dice.texts()) }
    for number in 0..<4 {
      let members = library.assets.shuffled(using: &dice).prefix(25).map(\.row)
      albums.append(Album(row: try library.makeAlbum("\(number)", members), title: "\(number)", members: Set(members)))
      try rename(number, dice.phrase())
    }
    try index()
  }

  func differences() throws -> [CheckDifference] {
    var differences: [CheckDifference] = []
    try library.catalogue.checkConsistency { differences.append($0) }
    return differences
  }

  // MARK: Edits

  func edit(_ dice: inout Dice) throws {
    try library.queue.write { try $0.execute(sql: "UPDATE library SET revision = revision + 1 WHERE id = 0") }
    let index = dice.below(library.assets.count)
    let row = library.assets[index].row
    switch dice.below(9) {
    case 0 where library.assets.count > 30:
      for album in albums.indices { albums[album].members.remove(row) }
      texts[row] = nil
      try library.delete(at: index)
    case 1:
      nextRow += 1
      try library.insert([SyntheticAsset(nextRow, &dice)])
      try write(nextRow, dice.texts())
    case 2: try library.update(at: index) { $0.creationDate = Int64(dice.below(9)) * 86_400_000 }
    case 3: try library.update(at: index) { $0.filename = dice.phrase() + ".jpg" }
    case 4: try rename(dice.below(albums.count), dice.phrase())
    case 5, 6:
      let album = dice.below(albums.count)
      let isMember = albums[album].members.contains(row)
      if isMember { albums[album].members.remove(row) } else { albums[album].members.insert(row) }
      try library.queue.write { db in
        try db.execute(
          sql: isMember
            ? "DELETE FROM member WHERE collection = ?1 AND asset = ?2"
            : """
            INSERT INTO member SELECT ?1, (SELECT coalesce(max(position), 0) + 1 FROM member WHERE collection = ?1), id,
              creationDate, listing FROM asset WHERE id = ?2
            """, arguments: [albums[album].row, row])
      }
    default: try write(row, dice.texts())
    }
    try self.index()
  }

  /// Ends a change, as the catalogue does.
  private func index() throws {
    try library.queue.write { db in
      try SearchIndex.update(db)
      try db.execute(
        sql: """
          INSERT INTO change (library, token, time, objects, isLocationOnly)
          SELECT 0, revision, 0, 1,
            NOT EXISTS (SELECT 1 FROM changedObject WHERE token = revision AND isLocationOnly = 0)
              AND NOT EXISTS (SELECT 1 FROM changedMember WHERE token = revision)
          FROM library WHERE id = 0
          """)
    }
  }

  private func rename(_ number: Int, _ title: String) throws {
    albums[number].title = title
    try library.queue.write { db in
      try db.execute(sql: "UPDATE collection SET title = ? WHERE id = ?", arguments: [title, albums[number].row])
    }
  }

  private func write(_ row: Int64, _ new: Texts) throws {
    texts[row] = new
    func json(_ list: [String]) -> String? {
      list.isEmpty ? nil : (try? JSONEncoder().encode(list)).map { String(decoding: $0, as: UTF8.self) }
    }
    try library.queue.write { db in
      try db.execute(
        sql: """
          UPDATE asset SET title = ?, caption = ?, keywords = ?, people = ?, cameraMake = ?, lensModel = ?,
            placeCity = ?, placeCountry = ?, revision = (SELECT revision FROM library WHERE id = 0)
          WHERE id = ?
          """,
        arguments: [
          new.title, new.caption, json(new.keywords), json(new.people), new.make, new.lens, new.city, new.country, row,
        ])
      try db.execute(
        sql: "UPDATE file SET path = ? WHERE asset = ?", arguments: [Data("\(new.folder)/\(row).jpg".utf8), row])
    }
  }

  // MARK: The search of the texts

  /// The assets that a fetch must find, in its order.
  func search(_ fetch: AssetFetch, _ query: SearchQuery, for principal: Principal) -> [SyntheticAsset] {
    let isLimited = principal.visibility != .everything
    let visible = isLimited ? Array(albums.prefix(2)) : albums
    let sort =
      fetch.sort
      ?? FetchSortDescriptors(
        [FetchSortDescriptor(PropertySchema.asset.key(named: "creationDate")!, isAscending: false)], schema: .asset)
    let found = library.assets.filter { asset in
      if isLimited, !visible.contains(where: { $0.members.contains(asset.row) }) { return false }
      switch fetch.scope {
      case .album(let row):
        guard visible.contains(where: { $0.row == row && $0.members.contains(asset.row) }) else { return false }
      case .rows(let rows): guard rows.contains(UInt32(asset.row)) else { return false }
      case .smartAlbum: guard asset.isFavorite else { return false }
      case .folder: preconditionFailure("no test searches a folder")
      case .dates(let range, _): guard range.contains(asset.creationDate) else { return false }
      case .library: break
      }
      guard asset.isListed(hidden: fetch.includesHidden, bursts: fetch.includesAllBurstAssets),
        fetch.predicate?.matches(asset) ?? true
      else { return false }
      let fields = fields(asset, visible, places: principal.may(.location))
      return query.terms.allSatisfy { term in fields.contains { Self.has(term, $0) } }
    }.sorted { sort.areInIncreasingOrder($0, $1) }
    return Array(found.prefix(fetch.fetchLimit ?? .max))
  }

  private func fields(_ asset: SyntheticAsset, _ visible: [Album], places: Bool) -> [[String]] {
    guard let texts = texts[asset.row] else { return [] }
    var fields = ["\(texts.folder)/\(asset.row).jpg", asset.filename]
    fields += [texts.title, texts.caption, texts.make, texts.lens].compactMap { $0 }
    fields += texts.keywords + texts.people
    if places { fields += [texts.city, texts.country].compactMap { $0 } }
    fields += visible.filter { $0.members.contains(asset.row) }.map(\.title)
    return fields.map { SearchText.words(of: $0) }
  }

  private static func has(_ term: SearchQuery.Term, _ words: [String]) -> Bool {
    words.indices.contains { start in
      guard start + term.words.count <= words.count else { return false }
      return term.words.enumerated().allSatisfy { offset, word in
        let other = words[start + offset]
        return term.isPrefix && offset == term.words.count - 1 ? other.hasPrefix(word) : other == word
      }
    }
  }
}

extension Dice {
  private static let words = [
    "beach", "Beachball", "sun", "Sunset", "été", "ETE", "img", "12", "123", "Rome", "new", "york",
  ]

  mutating func phrase() -> String {
    (0...below(3)).map { _ in one(of: Self.words) }.joined(separator: one(of: [" ", "_"]))
  }

  mutating func texts() -> SearchedLibrary.Texts {
    var texts = SearchedLibrary.Texts()
    texts.folder = phrase()
    if oneIn(2) { texts.title = phrase() }
    if oneIn(4) { texts.caption = phrase() }
    texts.keywords = (0..<below(3)).map { _ in phrase() }
    texts.people = (0..<below(2)).map { _ in phrase() }
    if oneIn(3) { texts.make = phrase() }
    if oneIn(4) { texts.lens = phrase() }
    if oneIn(2) { texts.city = phrase() }
    if oneIn(3) { texts.country = phrase() }
    return texts
  }

  mutating func searchText() -> String {
    (0..<1 + below(2)).map { _ in
      switch below(4) {
      case 0: "\"\(phrase())\""
      case 1: String(one(of: Self.words).prefix(1 + below(3)))
      default: one(of: Self.words)
      }
    }.joined(separator: " ")
  }

  mutating func searchSort() -> FetchSortDescriptors {
    let keys = ["creationDate", "creationDate", "fileSize", "addedDate"].compactMap {
      PropertySchema.asset.key(named: $0)
    }
    return FetchSortDescriptors([FetchSortDescriptor(one(of: keys), isAscending: oneIn(2))], schema: .asset)
  }
}
