import Foundation
import GRDB
import LibraryCatalogue
import PhotoFixtures
import PhotoModel
import PhotoPredicate
import Testing

/// A library with albums and folders that is edited at random, together with a model of it.
final class RandomLibrary {
  struct Collection {
    var row: Int64
    var title: String
    var isFolder: Bool
    var parent: String?
    var position: Int
    /// Rows of assets, in order.
    var members: [Int64] = []

    var name: String { (isFolder ? "folder-" : "album-") + title }
  }

  let library: SyntheticLibrary
  private(set) var collections: [Collection] = []
  /// All identifiers that ever existed.
  private(set) var names: [String] = [
    "never", "momentListYear.1970", "momentListCluster.1970-01", "momentListYear.1971",
  ]
  private var nextRow: Int64 = 100
  private var nextTitle = 0

  init(_ dice: inout Dice, traced: (@Sendable (String) -> Void)? = nil) throws {
    library = try SyntheticLibrary((1...70).map { SyntheticAsset($0, &dice) }, traced: traced)
    names += library.assets.map(\.identifier)
    for _ in 0..<4 { try makeCollection(isFolder: true, &dice) }
    for _ in 0..<7 { try makeCollection(isFolder: false, &dice) }
  }

  var rowsOfAlbums: [(String, Int64)] { collections.filter { !$0.isFolder }.map { ($0.name, $0.row) } }

  func someGrants(_ dice: inout Dice) -> Set<LocalIdentifier> {
    Set((0...dice.below(3)).map { _ in LocalIdentifier(dice.one(of: collections).name) } + [LocalIdentifier("none")])
  }

  // MARK: Edits

  func edit(_ dice: inout Dice) throws {
    try library.queue.write { try $0.execute(sql: "UPDATE library SET revision = revision + 1 WHERE id = 0") }
    let index = dice.below(max(1, library.assets.count))
    switch dice.below(14) {
    case 0:
      let gone = library.assets[index].row
      for i in collections.indices { collections[i].members.removeAll { $0 == gone } }
      try library.delete(at: index)
    case 1:
      nextRow += 1
      let new = SyntheticAsset(nextRow, &dice)
      names.append(new.identifier)
      try library.insert([new])
    case 2: try library.update(at: index) { $0.isFavorite.toggle() }
    case 3: try library.update(at: index) { $0.isHidden.toggle() }
    case 4:
      let date = Int64(dice.below(9)) * 86_400_000
      try library.update(at: index) { $0.creationDate = date }
    case 5:
      let place = dice.oneIn(3) ? nil : Double(dice.below(50))
      try library.place(at: index, latitude: place)
    case 6: try makeCollection(isFolder: dice.oneIn(3), &dice)
    case 7 where collections.count > 6: try delete(dice.one(of: collections).name)
    case 8: try move(dice.one(of: collections).name, &dice)
    case 9, 10: try add(&dice)
    case 11, 12: try remove(&dice)
    default: try reorder(&dice)
    }
  }

  private func makeCollection(isFolder: Bool, _ dice: inout Dice) throws {
    nextTitle += 1
    let parents = collections.filter(\.isFolder)
    let parent = parents.isEmpty || dice.oneIn(2) ? nil : dice.one(of: parents)
    let position = dice.below(4)
    let members = isFolder ? [] : library.assets.shuffled(using: &dice).prefix(dice.below(20)).map(\.row)
    let row =
      isFolder
      ? try library.makeFolder("\(nextTitle)", parent: parent?.row, position: position)
      : try library.makeAlbum("\(nextTitle)", members, parent: parent?.row, position: position)
    collections.append(
      Collection(
        row: row, title: "\(nextTitle)", isFolder: isFolder, parent: parent?.name, position: position, members: members)
    )
    names.append(collections[collections.count - 1].name)
  }

  /// Deletes a collection with everything in it.
  private func delete(_ name: String) throws {
    let row = collections.first { $0.name == name }?.row
    try library.queue.write { try $0.execute(sql: "DELETE FROM collection WHERE id = ?", arguments: [row]) }
    let gone = below([name])
    collections.removeAll { gone.contains($0.name) }
  }

  private func move(_ name: String, _ dice: inout Dice) throws {
    let inside = below([name])
    let parents = collections.filter { $0.isFolder && !inside.contains($0.name) }
    let parent = parents.isEmpty || dice.oneIn(3) ? nil : dice.one(of: parents)
    let position = dice.below(4)
    guard let index = collections.firstIndex(where: { $0.name == name }) else { return }
    collections[index].parent = parent?.name
    collections[index].position = position
    try library.queue.write { db in
      try db.execute(
        sql: """
          UPDATE collection SET parent = ?1, position = ?2, revision = (SELECT revision FROM library WHERE id = 0)
          WHERE id = ?3 AND (parent, position) IS NOT (?1, ?2)
          """, arguments: [parent?.row, position, collections[index].row])
    }
  }

  private func add(_ dice: inout Dice) throws {
    guard let index = someAlbum(&dice) else { return }
    let others = library.assets.filter { !collections[index].members.contains($0.row) }
    guard !others.isEmpty else { return }
    collections[index].members.append(dice.one(of: others).row)
    try write(index)
  }

  private func remove(_ dice: inout Dice) throws {
    guard let index = someAlbum(&dice), !collections[index].members.isEmpty else { return }
    let gone = collections[index].members.remove(at: dice.below(collections[index].members.count))
    try library.queue.write { db in
      try db.execute(
        sql: "DELETE FROM member WHERE collection = ? AND asset = ?", arguments: [collections[index].row, gone])
    }
  }

  private func reorder(_ dice: inout Dice) throws {
    guard let index = someAlbum(&dice), collections[index].members.count > 1 else { return }
    collections[index].members.append(collections[index].members.removeFirst())
    try write(index)
  }

  private func someAlbum(_ dice: inout Dice) -> Int? {
    collections.indices.filter { !collections[$0].isFolder }.randomElement(using: &dice)
  }

  /// Sets the members of an album: some are inserted, some are moved.
  private func write(_ index: Int) throws {
    let album = collections[index]
    try library.queue.write { db in
      try db.execute(
        sql: "UPDATE member SET position = -position - 1000000 WHERE collection = ?", arguments: [album.row])
      for (place, row) in album.members.enumerated() {
        try db.execute(
          sql: "UPDATE member SET position = ? WHERE collection = ? AND asset = ?",
          arguments: [place, album.row, row])
        if db.changesCount == 0 {
          try db.execute(
            sql: "INSERT INTO member SELECT ?, ?, id, creationDate, listing FROM asset WHERE id = ?",
            arguments: [album.row, place, row])
        }
      }
    }
  }

  // MARK: What a principal sees

  /// These collections and everything in them, at any depth.
  private func below(_ granted: Set<String>) -> Set<String> {
    var found = granted
    while true {
      let more = collections.filter { $0.parent.map(found.contains) ?? false }.map(\.name)
      if found.isSuperset(of: more) { return found }
      found.formUnion(more)
    }
  }

  private func visible(to principal: Principal) -> (collections: [Collection], assets: [SyntheticAsset]) {
    guard case .collections(let granted) = principal.visibility else { return (collections, library.assets) }
    let names = below(Set(granted.map(\.rawValue)))
    let inside = collections.filter { names.contains($0.name) }
    let rows = Set(inside.flatMap(\.members))
    return (inside, library.assets.filter { rows.contains($0.row) })
  }

  /// A library with only what a principal may see.
  func reference(for principal: Principal) throws -> SyntheticLibrary {
    let (inside, assets) = visible(to: principal)
    let reference = try SyntheticLibrary(assets)
    var rows: [String: Int64] = [:]
    // In the order of row numbers, which decides between equal positions. A folder may be newer than its contents.
    for one in inside {
      rows[one.name] =
        one.isFolder
        ? try reference.makeFolder(one.title, position: one.position)
        : try reference.makeAlbum(one.title, one.members, position: one.position)
    }
    try reference.queue.write { db in
      for one in inside {
        try db.execute(
          sql: "UPDATE collection SET parent = ? WHERE id = ?",
          arguments: [one.parent.flatMap { rows[$0] }, rows[one.name]])
      }
    }
    return reference
  }

  /// Everything that a principal can read, and its change token.
  func seen(by principal: Principal) throws -> (content: Set<String>, token: ChangeToken) {
    let (inside, assets) = visible(to: principal)
    var content = Set(
      assets.map { asset in
        var asset = asset
        if !principal.may(.location) { (asset.latitude, asset.longitude) = (nil, nil) }
        return "\(asset)"
      })
    for one in inside { content.insert("\(one)") }
    let token = try library.catalogue.assets(AssetFetch(), FetchPageRequest(limit: 1), for: principal).changeToken
    return (content, token)
  }
}

/// Every read of a library, as text that does not depend on row numbers and random identifiers.
final class ReadRecorder {
  private let catalogue: Catalogue
  private let principal: Principal
  private let names: [String]
  private var dice: Dice
  private var lines: [String] = []

  init(_ catalogue: Catalogue, _ principal: Principal, _ names: [String], _ seed: Int) {
    (self.catalogue, self.principal, self.names) = (catalogue, principal, names)
    dice = Dice(seed)
  }

  func all() throws -> [String] {
    try readAssets()
    try readCollections()
    for _ in 0..<30 { try readFetch() }
    return lines
  }

  private func note(_ what: String, _ body: () throws -> some Any) {
    do {
      lines.append("\(what): \(try body())")
    } catch {
      lines.append("\(what): \(error)")
    }
  }

  private func readAssets() throws {
    for name in names {
      let name = LocalIdentifier(name)
      note("asset \(name)") { try catalogue.asset(name, for: principal).map(Self.words) ?? "none" }
      note("row of \(name)") { try catalogue.rows(of: [name], deadline: nil, for: principal) }
    }
    // Of existing collections.
    let rows = names.compactMap { name in
      try? catalogue.rows(of: [LocalIdentifier(name)], deadline: nil, for: principal).first
    }
    note("members") {
      try catalogue.members(rows[...], for: principal).map { member in
        switch member {
        case .asset(let asset): Self.words(asset)
        case .deleted(let name): "-\(name)"
        }
      }
    }
    note("scan") { try catalogue.scanState(for: principal).indexedCount }
  }

  private static func words(_ asset: Asset) -> String {
    var asset = asset
    asset.revision = ChangeToken(0)
    return "\(asset)"
  }

  private func readCollections() throws {
    var queries = CollectionType.allCases.map { CollectionQuery(type: $0) } + [CollectionQuery()]
    queries += ["momentListYear", "momentListCluster"].map { CollectionQuery(type: .folder, subtype: $0) }
    queries.append(CollectionQuery(type: .smartAlbum, subtype: "smartAlbumVideos"))
    queries += names.filter { $0.contains("er") || $0.contains("al") || $0.contains("List") }.map {
      CollectionQuery(parent: LocalIdentifier($0))
    }
    queries.append(CollectionQuery(parent: .topLevel))
    for _ in 0..<5 { queries.append(CollectionQuery(containing: LocalIdentifier(dice.one(of: names)))) }
    queries.append(CollectionQuery(type: .moment, containing: LocalIdentifier(dice.one(of: names))))
    for var query in queries {
      query.includesHidden = dice.oneIn(3)
      query.includesAllBurstAssets = dice.oneIn(3)
      query.limit = dice.one(of: [1, 2, 3, 100])
      var found: [String] = []
      var cursor: PageCursor?
      repeat {
        query.cursor = cursor
        guard let page = try? catalogue.collections(query, for: principal) else {
          found.append("none")
          break
        }
        found += page.collections.map(Self.words)
        for one in page.collections {
          let single = try catalogue.collection(one.localIdentifier, query, for: principal)
          #expect(single == one)
        }
        cursor = catalogue.tokens.returned(page.nextCursor)
      } while cursor != nil
      lines.append(
        "\(query.type?.rawValue ?? "") \(query.subtype ?? "") \(query.parent?.rawValue ?? "") "
          + "\(query.containing?.rawValue ?? ""): \(found)")
    }
    for name in names {
      note("collection \(name)") {
        try catalogue.collection(LocalIdentifier(name), CollectionQuery(), for: principal).map(Self.words) ?? "none"
      }
      note("scope \(name)") { try catalogue.scope(of: LocalIdentifier(name), for: principal) != nil }
    }
  }

  private static func words(_ collection: AssetCollection) -> String {
    var collection = collection
    collection.revision = nil
    // Their identifiers are random.
    if collection.type == .smartAlbum || collection.type == .moment { collection.localIdentifier = LocalIdentifier("") }
    return "\(collection)"
  }

  private func readFetch() throws {
    var fetch = AssetFetch()
    fetch.includesHidden = dice.oneIn(3)
    fetch.includesAllBurstAssets = dice.oneIn(3)
    if dice.oneIn(4) { fetch.fetchLimit = 1 + dice.below(20) }
    if !dice.oneIn(4) {
      fetch.predicate = try FetchPredicate(dice.predicateText(names), schema: .asset, principal: .local)
    }
    if !dice.oneIn(3) { fetch.sort = dice.sort() }
    var scope = "library"
    switch dice.below(6) {
    case 0, 1: break
    case 2:
      let place = dice.below(12)
      let albums = try catalogue.collections(CollectionQuery(type: .smartAlbum), for: principal).collections
      scope = albums[place].subtype
      fetch.scope = try #require(try catalogue.scope(of: albums[place].localIdentifier, for: principal))
    case 3:
      scope = dice.one(of: names)
      guard let found = try catalogue.scope(of: LocalIdentifier(scope), for: principal) else {
        lines.append("no \(scope)")
        return
      }
      fetch.scope = found
    case 4:
      fetch.scope = .dates(Int64(dice.below(4)) * 86_400_000...Int64(4 + dice.below(4)) * 86_400_000)
      scope = "\(fetch.scope)"
    default:
      fetch.scope = .rows((0..<30).map { _ in UInt32(dice.below(120)) })
      scope = "\(fetch.scope)"
    }
    let size = dice.one(of: [1, 3, 50])
    let unit = dice.one(of: DateBucket.Unit.allCases)
    let what = "\(scope) \(String(describing: fetch.predicate)) \(String(describing: fetch.sort)) \(size)"
    note("assets \(what)") {
      var found: [String] = []
      var cursor: PageCursor?
      repeat {
        let page = try catalogue.assets(fetch, FetchPageRequest(limit: size, cursor: cursor), for: principal)
        found += page.assets.map(Self.words)
        cursor = catalogue.tokens.returned(page.nextCursor)
      } while cursor != nil && found.count < 1000
      return found
    }
    note("columns \(what)") {
      var columns = try catalogue.columns(fetch, FetchPageRequest(limit: size), for: principal)
      columns.nextCursor = columns.nextCursor.map { _ in PageCursor.invalid }
      columns.changeToken = ChangeToken(0)
      return columns
    }
    note("count \(what)") { try catalogue.count(fetch, deadline: nil, for: principal) }
    note("rows \(what)") { try catalogue.rows(fetch, atMost: 500, deadline: nil, for: principal).rows }
    note("buckets \(what)") { try catalogue.dateBuckets(fetch, by: unit, deadline: nil, for: principal) }
  }
}

extension SyntheticLibrary {
  /// Changes the location of an asset, and nothing else.
  func place(at index: Int, latitude: Double?) throws {
    try update(at: index) { ($0.latitude, $0.longitude) = (latitude, latitude.map { $0 + 1 }) }
    let one = assets[index]
    try queue.write { db in
      try db.execute(
        sql: "UPDATE asset SET latitude = ?, longitude = ? WHERE id = ?",
        arguments: [one.latitude, one.longitude, one.row])
    }
  }
}
