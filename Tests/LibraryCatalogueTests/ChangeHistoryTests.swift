import Foundation
import GRDB
import ImageCodec
import LibraryCatalogue
import LibraryFiles
import LibraryFixtures
import Logging
import PhotoModel
import Testing

@Suite("Change history")
struct ChangeHistoryTests {
  private func changes(
    _ catalogue: Catalogue, since token: ChangeToken, _ filter: ChangeFilter = ChangeFilter(), limit: Int = 1000,
    for principal: Principal = .local
  ) throws -> LibraryChanges {
    try catalogue.changes(since: token, filter, limit: limit, for: principal)
  }

  @Test("the history of a scan lists inserted, changed, renamed and deleted assets")
  func scans() throws {
    let library = try TemporaryLibrary()
    for name in ["a", "b", "c", "d"] { try library.put(smallJPEG + Array(name.utf8), "\(name).jpg") }
    let catalogue = try library.catalogue()
    let start = try catalogue.changeToken(for: .local)
    try library.scan(catalogue)
    let first = try changes(catalogue, since: start)
    #expect(first.assets.inserted.count == 4 && first.assets.updated.isEmpty && first.assets.deleted.isEmpty)
    let before = try catalogue.everything()
    func identifier(_ name: String) throws -> LocalIdentifier { try #require(before[name]).localIdentifier }
    try library.put(smallPNG, "b.jpg")
    try FileManager.default.moveItem(atPath: library.root + "/c.jpg", toPath: library.root + "/e.jpg")
    try FileManager.default.removeItem(atPath: library.root + "/d.jpg")
    try library.put(smallJPEG + [1], "f.jpg")
    try library.scan(catalogue)
    let second = try changes(catalogue, since: first.changeToken)
    let after = try catalogue.everything()
    #expect(second.assets.inserted == [try #require(after["f.jpg"]).localIdentifier])
    #expect(second.assets.deleted == [try identifier("d.jpg")])
    #expect(
      Set(second.assets.updated) == [
        .init(localIdentifier: try identifier("b.jpg"), isContentChanged: true),
        .init(localIdentifier: try identifier("c.jpg"), isContentChanged: false),
      ])
    // Over both changes together, an asset that was inserted and deleted is not listed.
    let both = try changes(catalogue, since: start)
    #expect(Set(both.assets.inserted) == Set(after.values.map(\.localIdentifier)))
    #expect(both.assets.updated.isEmpty && both.assets.deleted.isEmpty)
    // A scan that finds nothing new, or only files that are not pictures, is not a change.
    try library.put([1, 2, 3], "g.jpg")
    try library.scan(catalogue)
    #expect(try catalogue.changeToken(for: .local) == second.changeToken)
  }

  @Test("each page of the history ends with a whole commit, and the pages end")
  func pages() throws {
    let library = try TemporaryLibrary()
    let catalogue = try library.catalogue()
    let start = try catalogue.changeToken(for: .local)
    for number in 0..<7 {
      try library.put(smallJPEG + [UInt8(number)], "\(number).jpg")
      try library.scan(catalogue)
    }
    for limit in [1, 2, 3, 100] {
      var since = start
      var inserted: [LocalIdentifier] = []
      var pages = 0
      while true {
        let page = try changes(catalogue, since: since, limit: limit)
        inserted += page.assets.inserted
        #expect(page.assets.inserted.count <= limit)
        since = page.changeToken
        pages += 1
        if !page.hasMore { break }
      }
      #expect(Set(inserted).count == 7 && inserted.count == 7 && pages == (7 + limit - 1) / limit)
    }
  }

  @Test("change tokens are opaque, and a token of another catalogue or of the future is malformed")
  func tokens() throws {
    let library = try TemporaryLibrary()
    let catalogue = try library.catalogue()
    let start = try catalogue.changeToken(for: .local)
    try library.put(smallJPEG, "a.jpg")
    try library.scan(catalogue)
    let now = try catalogue.changeToken(for: .local)
    let tokens = catalogue.tokens
    let texts = [start, now].map { tokens.text(of: $0) }
    #expect(texts.allSatisfy { $0.utf8.count == 11 } && texts[0] != texts[1])
    for token in Array(0..<2000).map({ ChangeToken(Int64($0)) }) + [ChangeToken(.max)] {
      #expect(tokens.changeToken(of: tokens.text(of: token)) == token)
    }
    for text in ["", "1", "************", texts[0] + "A"] { #expect(tokens.changeToken(of: text) == nil, "\(text)") }
    let other = try TemporaryLibrary().catalogue()
    for text in ["AAAAAAAAAAA", other.tokens.text(of: try other.changeToken(for: .local))] {
      // It decrypts to a number that is out of range, or to a state that this library has not reached.
      guard let token = tokens.changeToken(of: text) else { continue }
      #expect(throws: ChangeHistoryError.malformedToken, "\(text)") { try changes(catalogue, since: token) }
    }
    for future in [ChangeToken(1000), .never] {
      #expect(throws: ChangeHistoryError.malformedToken) { try changes(catalogue, since: future) }
    }
  }

  @Test("old history is removed in small steps, and a token older than the history is reported as expired")
  func pruning() throws {
    let library = try TemporaryLibrary()
    let catalogue = try library.catalogue()
    var tokens = [try catalogue.changeToken(for: .local)]
    for number in 0..<5 {
      try library.put(smallJPEG + [UInt8(number)], "\(number).jpg")
      try library.scan(catalogue)
      tokens.append(try catalogue.changeToken(for: .local))
    }
    try FileManager.default.removeItem(atPath: library.root + "/0.jpg")
    try library.scan(catalogue)
    tokens.append(try catalogue.changeToken(for: .local))
    let generation = catalogue.generation
    var limits = HistoryLimits()
    try catalogue.pruneHistory(limits, needed: nil)
    for token in tokens { _ = try changes(catalogue, since: token) }
    // By the number of entries.
    limits.objects = 3
    try catalogue.pruneHistory(limits, needed: nil)
    for (index, token) in tokens.enumerated() {
      if index >= 3 {
        _ = try changes(catalogue, since: token)
      } else {
        #expect(throws: ChangeHistoryError.expiredToken) { try changes(catalogue, since: token) }
      }
    }
    #expect(try changes(catalogue, since: tokens[3]).assets.deleted.isEmpty == false)
    // By age. The identifiers of deleted assets are kept for clients that hold a list.
    let start = Int64(Date().timeIntervalSince1970 * 1000)
    let later = start + 31 * 86_400_000
    func names() throws -> Int? {
      try DatabaseQueue(path: library.data + "/catalogue.sqlite").read {
        try Int.fetchOne($0, sql: "SELECT count(*) FROM removedObject")
      }
    }
    let needed = tokens[4]
    for day in stride(from: Int64(7), through: 28, by: 7) {
      try catalogue.pruneHistory(limits, needed: needed, now: start + day * 86_400_000)
    }
    #expect(try changes(catalogue, since: tokens[5]).isEmpty == false)
    try catalogue.pruneHistory(limits, needed: needed, now: later)
    #expect(throws: ChangeHistoryError.expiredToken) { try changes(catalogue, since: tokens[5]) }
    #expect(try changes(catalogue, since: tokens[6]).isEmpty)
    #expect(try names() == 1)
    try library.put(smallJPEG + [77], "7.jpg")
    try library.scan(catalogue)
    try catalogue.pruneHistory(limits, needed: nil, now: later)
    #expect(try names() == 0)
    #expect(catalogue.generation == generation + 1, "nothing but the scan is a change")
  }

  @Test("a clock that is set forwards expires no change token early")
  func clockSet() throws {
    let library = try TemporaryLibrary()
    let catalogue = try library.catalogue()
    let start = Int64(Date().timeIntervalSince1970 * 1000)
    func prune(atDay day: Int64) throws {
      try catalogue.pruneHistory(HistoryLimits(), needed: nil, now: start + day * 86_400_000)
    }
    try prune(atDay: 0)
    let token = try catalogue.changeToken(for: .local)
    try library.put(smallJPEG, "a.jpg")
    try library.scan(catalogue)
    // A quarter of the thirty days counts.
    for day in [20_000, 20_007, 20_014, 20_021] as [Int64] {
      try prune(atDay: day)
      #expect(try changes(catalogue, since: token).assets.inserted.count == 1)
    }
    try prune(atDay: 20_028)
    #expect(throws: ChangeHistoryError.expiredToken) { try changes(catalogue, since: token) }
  }

  @Test("a user's changes to an asset survive a changed file, a rescan and a restore")
  func userProperties() throws {
    let library = try TemporaryLibrary()
    try library.put(smallJPEG, "a.jpg")
    let catalogue = try library.catalogue()
    try library.scan(catalogue)
    let identifier = try #require(try catalogue.everything()["a.jpg"]).localIdentifier
    let lists = try ChangeListExecutor(library, catalogue)
    let place = Location(latitude: 48.1, longitude: -11.5, altitude: 3)
    _ = try lists.perform(
      [
        ChangeRequest(
          .updateAsset(
            .existing(identifier),
            AssetUpdate(isFavorite: true, creationDate: Timestamp(milliseconds: 86_400_000), location: .some(place))))
      ], for: .local)
    func check(_ catalogue: Catalogue) throws {
      let asset = try #require(try catalogue.asset(identifier, for: .local))
      #expect(asset.creationDate.milliseconds == 86_400_000 && asset.creationDateSource == .user)
      #expect(asset.location == place && asset.isFavorite)
    }
    try check(catalogue)
    let version = try catalogue.asset(identifier, for: .local)?.contentVersion
    try library.put(smallPNG, "a.jpg")
    try library.scan(catalogue)
    try check(catalogue)
    #expect(try catalogue.asset(identifier, for: .local)?.contentVersion != version)
    try library.scan(catalogue, timeZone: "Asia/Tokyo")
    try check(catalogue)
    let copy = library.data + "/copy.sqlite"
    try catalogue.backUp(to: copy)
    let restored = library.data + "/restored"
    _ = try CatalogueRestore(dataFolder: restored).restore(from: copy)
    try check(try Catalogue(dataFolder: restored))
  }

  @Test("a restored catalogue begins a new history")
  func restoring() throws {
    let library = try TemporaryLibrary()
    try library.put(smallJPEG, "a.jpg")
    let copy = library.data + "/copy.sqlite"
    let tokens: [ChangeToken]
    do {
      let catalogue = try library.catalogue()
      try library.scan(catalogue)
      let atCopy = try catalogue.changeToken(for: .local)
      try catalogue.backUp(to: copy)
      try library.put(smallJPEG + [1], "b.jpg")
      try library.scan(catalogue)
      tokens = [atCopy, try catalogue.changeToken(for: .local)]
    }
    _ = try CatalogueRestore(dataFolder: library.data).restore(from: copy)
    let catalogue = try library.catalogue()
    for token in tokens {
      #expect(throws: ChangeHistoryError.expiredToken) { try changes(catalogue, since: token) }
    }
    let now = try catalogue.changeToken(for: .local)
    #expect(try changes(catalogue, since: now).isEmpty)
    try library.scan(catalogue)
    #expect(try changes(catalogue, since: now).assets.inserted.count == 1)
  }

  @Test(
    "changes that a caller may not see move no token, fill no page, and don't expire its tokens when pruned",
    arguments: [true, false], [true, false])
  func ownHistory(seesOneAlbum: Bool, mayReadLocation: Bool) throws {
    if !seesOneAlbum, mayReadLocation { return }
    var dice = Dice(7)
    let library = try SyntheticLibrary((1...8).map { SyntheticAsset(Int64($0), &dice) })
    let catalogue = library.catalogue
    let lists = try library.changeLists()
    let names = library.assets.map { ChangeTarget.existing(LocalIdentifier($0.identifier)) }
    let made = try lists.perform(
      [
        ChangeRequest(.createCollection(NewCollection(isFolder: false, title: "A")), placeholder: "$a"),
        ChangeRequest(.addAssets(.placeholder("$a"), Array(names[..<3]))),
      ], for: .local)
    let album = try #require(made.created["$a"])
    let who = Principal(
      name: "who", scopes: mayReadLocation ? [.read, .location] : [.read],
      visibility: seesOneAlbum ? .collections([album]) : .everything)
    func update(_ index: Int, _ update: AssetUpdate) throws {
      _ = try lists.perform([ChangeRequest(.updateAsset(names[index], update))], for: .local)
    }
    func name(_ turn: Int) throws { try update(0, AssetUpdate(creationDate: Timestamp(milliseconds: Int64(turn)))) }
    var turn = 0
    /// Changes that the caller may not see.
    func others() throws {
      for _ in 0..<4 {
        turn += 1
        let place = Location(latitude: Double(turn), longitude: 1)
        if seesOneAlbum { try update(5, AssetUpdate(creationDate: Timestamp(milliseconds: Int64(turn)))) }
        if !mayReadLocation { try update(1, AssetUpdate(location: .some(place))) }
      }
    }
    func shorten() throws {
      var limits = HistoryLimits()
      limits.objects = 0
      try catalogue.pruneHistory(limits, needed: nil)
    }
    let start = try library.token(who)
    var fetch = AssetFetch()
    (fetch.includesHidden, fetch.includesAllBurstAssets) = (true, true)
    let result = FetchResult(
      rows: try catalogue.rows(fetch, atMost: 100, deadline: nil, for: who).rows, changeToken: start, fetch: fetch)
    for _ in 0..<2 {
      try others()
      try shorten()
      #expect(try library.token(who) == start)
      let told = try changes(catalogue, since: start, for: who)
      #expect(told.isEmpty && !told.hasMore && told.changeToken == start)
    }
    // Visible changes, with invisible ones in between.
    var tokens = [start]
    for number in 0..<3 {
      try others()
      try name(number)
      tokens.append(try library.token(who))
    }
    try others()
    #expect(Set(tokens).count == 4)
    let own = names[0].description
    for (index, token) in tokens.enumerated() {
      var (page, pages) = (token, 0)
      while true {
        let told = try changes(catalogue, since: page, limit: 1, for: who)
        page = told.changeToken
        if told.isEmpty { break }
        pages += 1
        #expect(told.assets.updated.map(\.localIdentifier.rawValue) == [own] && told.collections.isEmpty)
        if !told.hasMore { break }
      }
      #expect(pages == 3 - index && page == tokens[3], "one for each change of its own")
    }
    let delta = try catalogue.changes(
      of: result, mayReadAll: true, atMost: 100, deadline: nil, for: who)
    #expect(delta?.details?.changedIndexes.count == 1 && delta?.details?.removedIndexes.isEmpty == true)
    // A visible change that was pruned does expire the token.
    try shorten()
    for token in tokens[..<3] {
      #expect(throws: ChangeHistoryError.expiredToken) { try changes(catalogue, since: token, for: who) }
    }
    #expect(try changes(catalogue, since: tokens[3], for: who).isEmpty && library.token(who) == tokens[3])
    try others()
    try name(9)
    try shorten()
    try others()
    #expect(throws: ChangeHistoryError.expiredToken) { try changes(catalogue, since: tokens[3], for: who) }
    #expect(try changes(catalogue, since: library.token(who), for: who).isEmpty)
  }

  @Test("a caller limited to one album sees the changes of that album's members only")
  func limited() throws {
    var dice = Dice(4)
    let library = try SyntheticLibrary((1...8).map { SyntheticAsset(Int64($0), &dice) })
    let lists = try library.changeLists()
    let names = library.assets.map { ChangeTarget.existing(LocalIdentifier($0.identifier)) }
    let made = try lists.perform(
      [
        ChangeRequest(.createCollection(NewCollection(isFolder: false, title: "A")), placeholder: "$a"),
        ChangeRequest(.createCollection(NewCollection(isFolder: false, title: "B")), placeholder: "$b"),
        ChangeRequest(.addAssets(.placeholder("$a"), Array(names[..<3]))),
      ], for: .local)
    let (a, b) = (try #require(made.created["$a"]), try #require(made.created["$b"]))
    let guest = Principal(name: "guest", scopes: [.read, .write], visibility: .collections([a]))
    let start = try library.token(guest)
    let whole = try library.token()
    func perform(_ requests: [ChangeRequest], _ principal: Principal = .local) throws {
      _ = try lists.perform(requests, for: principal)
    }
    // None of these changes is visible.
    try perform([
      ChangeRequest(.updateAsset(names[5], AssetUpdate(isFavorite: !library.assets[5].isFavorite))),
      ChangeRequest(.addAssets(.existing(b), [names[6]])),
    ])
    #expect(try library.token(guest) == start)
    #expect(try changes(library.catalogue, since: start, for: guest).isEmpty)
    try perform([
      ChangeRequest(.addAssets(.existing(a), [names[3]])), ChangeRequest(.removeAssets(.existing(a), [names[0]])),
      ChangeRequest(.updateAsset(names[1], AssetUpdate(isFavorite: !library.assets[1].isFavorite))),
    ])
    for (told, scope) in [
      (try changes(library.catalogue, since: start, for: guest), "the guest"),
      (try changes(library.catalogue, since: whole, ChangeFilter(collection: a)), "who listens to the album"),
    ] {
      #expect(told.assets.inserted.map(\.rawValue) == [names[3].description], "\(scope)")
      #expect(told.assets.deleted.map(\.rawValue) == [names[0].description], "\(scope)")
      #expect(told.assets.updated.map(\.localIdentifier.rawValue) == [names[1].description], "\(scope)")
      #expect(told.collections.updated.map(\.localIdentifier) == [a], "\(scope)")
      #expect(told.collections.inserted.isEmpty && told.collections.deleted.isEmpty, "\(scope)")
    }
    // A limited caller can change visible objects only.
    try perform([ChangeRequest(.moveAssets(.existing(a), [names[2]], index: 0))], guest)
    for (request, reason) in [
      (ChangeRequest(.addAssets(.existing(a), [names[5]])), ChangeListError.Reason.noSuchAsset(names[5].description)),
      (ChangeRequest(.deleteCollection(.existing(b))), .noSuchCollection(b.rawValue)),
      (ChangeRequest(.createCollection(NewCollection(isFolder: false, title: "C"))), .outsideOfGrant),
      (ChangeRequest(.createAsset(path: Array("1.jpg".utf8))), .forbidden),
    ] {
      do throws(ChangeListError) {
        _ = try lists.perform([request], for: guest)
        Issue.record("\(request) was done")
      } catch {
        #expect(error.reason == reason)
      }
    }
  }
}

extension ChangeListExecutor {
  init(_ library: TemporaryLibrary, _ catalogue: Catalogue) throws {
    let files = try LibraryFiles(
      catalogue: catalogue, directory: library.root, timeZone: "UTC", limits: .init(),
      options: LibraryFiles.Options(), logger: .init(label: "test") { _ in SwiftLogNoOpLogHandler() })
    self.init(catalogue: catalogue, files: files, limits: ChangeLimits())
  }
}
