import Foundation
import GRDB
import ImageCodec
import Logging
import PhotoFixtures
import PhotoModel
import Testing

@testable import LibraryCatalogue
@testable import LibraryFiles

extension SyntheticLibrary {
  /// An executor of change lists for this library.
  func changeLists(_ limits: ChangeLimits = ChangeLimits()) throws -> ChangeListExecutor {
    let files = try LibraryFiles(
      catalogue: catalogue, directory: folder.root, timeZone: "UTC", limits: CodecLimits(),
      options: LibraryFiles.Options(), logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
    return ChangeListExecutor(catalogue: catalogue, files: files, limits: limits)
  }

  func token(_ principal: Principal = .local) throws -> ChangeToken { try catalogue.changeToken(for: principal) }
}

@Suite("Change lists")
struct ChangeListTests {
  private static let placeless = Principal(name: "placeless", scopes: [.read, .write])

  private func library(_ count: Int, seed: Int = 1) throws -> SyntheticLibrary {
    var dice = Dice(seed)
    return try SyntheticLibrary((1...count).map { SyntheticAsset(Int64($0), &dice) })
  }

  @Test(
    "random change lists have the same effect as on a model, each entirely or not at all",
    arguments: Sampling.cases(4, of: 0..<8, "change lists"))
  func agreesWithModel(_ seed: Int) throws {
    var dice = Dice(seed)
    let library = try library(24, seed: seed)
    let lists = try library.changeLists()
    var states: [(token: ChangeToken, model: ChangeModel)] = [(try library.token(), try ChangeModel(library))]
    for round in 0..<60 {
      var model = states[states.count - 1].1
      let requests = dice.changeList(model, mayFail: round % 3 == 0)
      var isRefused = false
      do { try model.perform(requests) } catch { isRefused = true }
      var outcome: ChangeOutcome?
      do throws(ChangeListError) {
        outcome = try lists.perform(requests, for: .local)
      } catch {
        #expect(isRefused, "\(error) for \(requests)")
        #expect(error.index != nil)
      }
      #expect((outcome == nil) == isRefused, "\(requests)")
      model.rename(outcome?.created ?? [:])
      if let outcome { #expect(try outcome.changeToken == library.token()) }
      let now = try ChangeModel(library)
      #expect(now == model, "\(requests)")
      if round % 5 == 0 { try checkTree(library, now) }
      states.append((try library.token(), now))
    }
    try checkHistory(library, states, &dice)
    #expect(try library.queue.read { try String.fetchAll($0, sql: "PRAGMA integrity_check") } == ["ok"])
    #expect(try library.queue.read { try Row.fetchOne($0, sql: "PRAGMA foreign_key_check") } == nil)
  }

  /// Levels are listed in their order, and folders have the assets of all albums below them, each once, newest first.
  private func checkTree(_ library: SyntheticLibrary, _ model: ChangeModel) throws {
    func below(_ name: String) -> [String] {
      (model.levels[name] ?? []).flatMap { [$0] + (model.collections[$0]?.isFolder == true ? below($0) : []) }
    }
    let folders = model.collections.filter { $0.value.isFolder }.keys
    for name in ["root"] + folders.sorted() {
      let query = CollectionQuery(parent: LocalIdentifier(name), limit: 1000)
      let listed = try library.catalogue.collections(query, for: .local).collections
      #expect(listed.map(\.localIdentifier.rawValue) == model.levels[name == "root" ? "" : name] ?? [])
      #expect(listed.allSatisfy { ($0.parent ?? .topLevel).rawValue == name })
    }
    for folder in folders {
      let assets = Set(below(folder).flatMap { model.collections[$0]?.members ?? [] })
      let expected = assets.sorted { one, other in
        let (date, otherDate) = (model.assets[one]?.date ?? 0, model.assets[other]?.date ?? 0)
        return date == otherDate ? one < other : date > otherDate
      }
      var fetch = AssetFetch()
      fetch.includesHidden = true
      fetch.includesAllBurstAssets = true
      fetch.scope = try #require(try library.catalogue.scope(of: LocalIdentifier(folder), for: .local))
      let page = try library.catalogue.assets(fetch, FetchPageRequest(limit: 1000), for: .local)
      #expect(page.assets.map(\.localIdentifier.rawValue) == expected)
      #expect(try library.catalogue.count(fetch, deadline: nil, for: .local) == expected.count)
      let query = CollectionQuery(includesHidden: true, includesAllBurstAssets: true)
      let collection = try #require(try library.catalogue.collection(LocalIdentifier(folder), query, for: .local))
      #expect(collection.estimatedAssetCount == expected.count)
      #expect(collection.estimatedCollectionCount == model.levels[folder]?.count ?? 0)
      #expect(collection.keyAssets.map(\.rawValue) == Array(expected.prefix(3)))
    }
  }

  /// From every earlier state, the history applied to that state gives the current one, in pages of any size.
  private func checkHistory(
    _ library: SyntheticLibrary, _ states: [(token: ChangeToken, model: ChangeModel)], _ dice: inout Dice
  ) throws {
    guard let (_, now) = states.last else { return }
    for (token, before) in states {
      var assets = Set(before.assets.keys)
      var collections = Set(before.collections.keys)
      var named: Set<String> = []
      var since = token
      var hasMore = true
      while hasMore {
        let changes = try library.catalogue.changes(since: since, limit: 1 + dice.below(20), for: .local)
        for (kind, part) in [(0, changes.assets), (1, changes.collections)] {
          let inserted = Set(part.inserted.map(\.rawValue))
          let deleted = Set(part.deleted.map(\.rawValue))
          named.formUnion(part.updated.map(\.localIdentifier.rawValue))
          named.formUnion(inserted)
          if kind == 0 { assets.subtract(deleted); assets.formUnion(inserted) }
          if kind == 1 { collections.subtract(deleted); collections.formUnion(inserted) }
          #expect(inserted.isDisjoint(with: deleted))
        }
        since = changes.changeToken
        hasMore = changes.hasMore
      }
      #expect(since == states.last?.token)
      #expect(assets == Set(now.assets.keys) && collections == Set(now.collections.keys))
      for (name, asset) in now.assets where before.assets[name] != asset { #expect(named.contains(name)) }
      for (name, one) in now.collections where before.collections[name] != one { #expect(named.contains(name)) }
      for (name, children) in now.levels where !name.isEmpty && before.levels[name] != children {
        #expect(named.contains(name), "a folder changes with its children")
      }
    }
  }

  @Test("an album keeps its order after many insertions at one index, and no two members share a position")
  func order() throws {
    let library = try library(400)
    let lists = try library.changeLists()
    let names = library.assets.map { ChangeTarget.existing(LocalIdentifier($0.identifier)) }
    let created = try lists.perform(
      [
        ChangeRequest(.createCollection(NewCollection(isFolder: false, title: "A")), placeholder: "$a"),
        ChangeRequest(.addAssets(.placeholder("$a"), Array(names[..<10]))),
      ], for: .local)
    let album = ChangeTarget.existing(try #require(created.created["$a"]))
    var expected = Array(names[..<10])
    for (number, name) in names[10...].enumerated() {
      // Always at the same index, where the gap between positions runs out.
      let index = number % 3 == 0 ? 0 : 5
      _ = try lists.perform([ChangeRequest(.insertAssets(album, [name], index: index))], for: .local)
      expected.insert(name, at: index)
    }
    let model = try ChangeModel(library)
    #expect(model.collections[album.description]?.members == expected.map(\.description))
  }

  @Test("a change list on a read-only catalogue fails and changes nothing")
  func readOnly() throws {
    let library = try library(4)
    let lists = try library.changeLists()
    let before = try ChangeModel(library)
    let identifier = LocalIdentifier(try #require(before.assets.keys.first))
    let requests = [ChangeRequest(.updateAsset(.existing(identifier), AssetUpdate(isFavorite: true)))]
    try library.catalogue.pool.writeWithoutTransaction { try $0.execute(sql: "PRAGMA query_only = 1") }
    #expect {
      try lists.perform(requests, for: .local)
    } throws: { error in
      guard case ChangeListError.Reason.source(.storageFailed(.readOnly, _))? = (error as? ChangeListError)?.reason
      else {
        return false
      }
      return true
    }
    try library.catalogue.pool.writeWithoutTransaction { try $0.execute(sql: "PRAGMA query_only = 0") }
    #expect(try ChangeModel(library) == before)
  }

  @Test("the error of a change list names the entry and the reason, and nothing has changed")
  func refusals() throws {
    let library = try library(6)
    var limits = ChangeLimits()
    limits.folderDepth = 2
    limits.members = 4
    let lists = try library.changeLists(limits)
    let asset = ChangeTarget.existing(LocalIdentifier(library.assets[0].identifier))
    let assets = library.assets.map { ChangeTarget.existing(LocalIdentifier($0.identifier)) }
    let nothing = ChangeTarget.existing(LocalIdentifier("nothing"))
    let smart = ChangeTarget.existing(LocalIdentifier(try library.rules()[0].identifier))
    func new(_ isFolder: Bool, _ name: String, in parent: ChangeTarget? = nil) -> ChangeRequest {
      ChangeRequest(
        .createCollection(NewCollection(isFolder: isFolder, title: "T", parent: parent)), placeholder: name)
    }
    let album = new(false, "$a")
    let a = ChangeTarget.placeholder("$a")
    let folder = new(true, "$f")
    let f = ChangeTarget.placeholder("$f")
    let full = [folder] + (1...4).map { new(false, "$\($0)", in: f) }
    let cases: [(String, [ChangeRequest], Int, ChangeListError.Reason)] = [
      (
        "no such asset", [album, ChangeRequest(.updateAsset(nothing, AssetUpdate(isFavorite: true)))], 1,
        .noSuchAsset("nothing")
      ),
      ("no such member", [album, ChangeRequest(.addAssets(a, [asset, nothing]))], 1, .noSuchAsset("nothing")),
      ("no such album", [ChangeRequest(.deleteCollection(nothing))], 0, .noSuchCollection("nothing")),
      (
        "a smart album", [ChangeRequest(.addAssets(smart, [asset]))], 0, .notEditable(smart.description)
      ),
      ("a smart album goes", [ChangeRequest(.deleteCollection(smart))], 0, .notEditable(smart.description)),
      ("a placeholder before its time", [ChangeRequest(.deleteCollection(a)), album], 0, .noSuchPlaceholder("$a")),
      ("a placeholder of another kind", [album, ChangeRequest(.addAssets(a, [a]))], 1, .noSuchPlaceholder("$a")),
      ("a placeholder twice", [album, album], 1, .placeholderInUse("$a")),
      ("members of a folder", [folder, ChangeRequest(.addAssets(f, [asset]))], 1, .notAnAlbum("$f")),
      ("an album in an album", [album, new(false, "$b", in: a)], 1, .notAFolder("$a")),
      (
        "a folder in itself", [folder, ChangeRequest(.updateCollection(f, CollectionUpdate(parent: .some(f))))], 1,
        .folderCycle
      ),
      (
        "a folder in what is in it",
        [
          folder, new(true, "$g", in: f),
          ChangeRequest(.updateCollection(f, CollectionUpdate(parent: .placeholder("$g")))),
        ],
        2, .folderCycle
      ),
      (
        "too deep", [folder, new(true, "$g", in: f), new(true, "$h", in: .placeholder("$g"))], 2,
        .foldersTooDeep(limit: 2)
      ),
      (
        "a folder moved into what is in it",
        [folder, new(true, "$g", in: f), ChangeRequest(.placeCollections(.placeholder("$g"), [f], index: 0))], 2,
        .folderCycle
      ),
      (
        "moved too deep",
        [
          folder, new(true, "$g", in: f), new(true, "$h"),
          ChangeRequest(.placeCollections(.placeholder("$g"), [.placeholder("$h")], index: 0)),
        ], 3, .foldersTooDeep(limit: 2)
      ),
      (
        "a collection moved into an album", [album, folder, ChangeRequest(.placeCollections(a, [f], index: 0))], 2,
        .notAFolder("$a")
      ),
      (
        "a smart album moved", [folder, ChangeRequest(.placeCollections(f, [smart], index: 0))], 1,
        .notEditable(smart.description)
      ),
      ("no such child", [folder, ChangeRequest(.removeCollections(f, [nothing]))], 1, .noSuchCollection("nothing")),
      ("a child twice", [album, folder, ChangeRequest(.placeCollections(f, [a, a], index: 0))], 2, .namedTwice("$a")),
      (
        "a child's index beyond the end", [album, folder, ChangeRequest(.placeCollections(f, [a], index: 1))], 2,
        .indexOutOfRange(most: 0)
      ),
      (
        "the revision of the top level", [ChangeRequest(.placeCollections(nil, [], index: 0), ifMatch: .never)], 0,
        .revisionMismatch("the top level")
      ),
      (
        "an index beyond the end", [album, ChangeRequest(.insertAssets(a, [asset], index: 1))], 1,
        .indexOutOfRange(most: 0)
      ),
      (
        "a move of what is no member", [album, ChangeRequest(.moveAssets(a, [asset], index: 0))], 1,
        .notAMember(asset.description)
      ),
      (
        "an index counted with what is moved",
        [album, ChangeRequest(.addAssets(a, Array(assets[..<3]))), ChangeRequest(.moveAssets(a, [asset], index: 3))], 2,
        .indexOutOfRange(most: 2)
      ),
      ("an asset twice", [album, ChangeRequest(.addAssets(a, [asset, asset]))], 1, .namedTwice(asset.description)),
      ("too many members", [album, ChangeRequest(.addAssets(a, Array(assets[..<5])))], 1, .tooManyMembers(limit: 4)),
      ("too many collections in a folder", full + [new(false, "$5", in: f)], 5, .tooManyMembers(limit: 4)),
      (
        "too many again after one was deleted",
        full + [ChangeRequest(.deleteCollection(.placeholder("$2"))), new(false, "$5", in: f), new(true, "$6", in: f)],
        7, .tooManyMembers(limit: 4)
      ),
      (
        "a key asset from elsewhere",
        [album, ChangeRequest(.updateCollection(a, CollectionUpdate(keyAsset: .some(asset))))], 1,
        .notAMember(asset.description)
      ),
      (
        "another revision",
        [album, ChangeRequest(.updateAsset(asset, AssetUpdate(isFavorite: true)), ifMatch: .never)], 1,
        .revisionMismatch(asset.description)
      ),
    ]
    let before = try ChangeModel(library)
    let token = try library.token()
    for (name, requests, index, reason) in cases {
      do throws(ChangeListError) {
        _ = try lists.perform(requests, for: .local)
        Issue.record("\(name) was done")
      } catch {
        #expect(error.index == index && error.reason == reason, "\(name): \(error)")
      }
      #expect(try ChangeModel(library) == before, "\(name)")
      #expect(try library.token() == token, "\(name)")
    }
  }

  @Test("a second change with the same revision fails")
  func lostUpdates() throws {
    let library = try library(3)
    let lists = try library.changeLists()
    let identifier = LocalIdentifier(library.assets[0].identifier)
    func revision(_ principal: Principal) throws -> ChangeToken {
      try #require(try library.catalogue.asset(identifier, for: principal)).revision
    }
    let old = try revision(.local)
    func update(_ principal: Principal, _ update: AssetUpdate, _ revision: ChangeToken) throws {
      _ = try lists.perform(
        [ChangeRequest(.updateAsset(.existing(identifier), update), ifMatch: revision)], for: principal)
    }
    try update(.local, AssetUpdate(isFavorite: !library.assets[0].isFavorite), old)
    #expect(throws: ChangeListError.self) { try update(.local, AssetUpdate(isHidden: true), old) }
    // Without the location scope, a change of location only does not count here either.
    let seen = try revision(Self.placeless)
    try update(.local, AssetUpdate(location: .some(Location(latitude: 1, longitude: 2))), try revision(.local))
    #expect(try revision(Self.placeless) == seen)
    try update(Self.placeless, AssetUpdate(isHidden: !library.assets[0].isHidden), seen)
  }

  @Test("a no-op update creates no token, revision or event")
  func idempotence() throws {
    let library = try library(3)
    let lists = try library.changeLists()
    let target = ChangeTarget.existing(LocalIdentifier(library.assets[0].identifier))
    let request = ChangeRequest(
      .updateAsset(
        target, AssetUpdate(isFavorite: true, creationDate: Timestamp(milliseconds: 7), location: .some(nil)))
    )
    let first = try lists.perform([request], for: .local)
    #expect(try lists.perform([request], for: .local) == first)
  }

  @Test(
    "a date is refused if it is in no year from 0 to 9999 at the asset's offset",
    arguments: [
      (253_402_300_799_999, nil, true), (253_402_300_799_999, -1, true), (253_402_300_799_999, 1, false),
      (-62_167_219_200_000, 0, true), (-62_167_219_200_000, -1, false),
    ] as [(Int64, Int?, Bool)])
  func farDates(_ milliseconds: Int64, _ utcOffset: Int?, _ isAllowed: Bool) throws {
    let library = try library(1)
    let lists = try library.changeLists()
    let target = ChangeTarget.existing(LocalIdentifier(library.assets[0].identifier))
    let before = try library.token()
    let update = AssetUpdate(creationDate: Timestamp(milliseconds: milliseconds), utcOffset: utcOffset)
    var refusal: ChangeListError?
    do throws(ChangeListError) {
      _ = try lists.perform([ChangeRequest(.updateAsset(target, update))], for: .local)
    } catch {
      refusal = error
    }
    let expected = ChangeListError(.dayOutOfRange, index: 0, parameter: "creationDate")
    #expect(refusal == (isAllowed ? nil : expected))
    #expect(try (library.token() == before) != isAllowed)
  }

  @Test("without the location scope, a change of location only creates no token, history entry or revision")
  func placesNowhere() throws {
    let library = try library(3)
    let lists = try library.changeLists()
    let target = ChangeTarget.existing(LocalIdentifier(library.assets[0].identifier))
    _ = try lists.perform([ChangeRequest(.updateAsset(target, AssetUpdate(isFavorite: true)))], for: .local)
    _ = try lists.perform([ChangeRequest(.updateAsset(target, AssetUpdate(isFavorite: false)))], for: .local)
    let (known, unknown) = (try library.token(), try library.token(Self.placeless))
    #expect(known == unknown)
    _ = try lists.perform(
      [ChangeRequest(.updateAsset(target, AssetUpdate(location: .some(Location(latitude: 3, longitude: 4)))))],
      for: .local)
    #expect(try library.token() != known)
    #expect(try library.token(Self.placeless) == unknown)
    let told = try library.catalogue.changes(since: known, limit: 10, for: .local)
    #expect(told.assets.updated.map(\.localIdentifier.rawValue) == [target.description])
    let untold = try library.catalogue.changes(since: known, limit: 10, for: Self.placeless)
    #expect(untold.isEmpty && untold.changeToken == unknown)
    // Together with another change, only that other change is visible.
    _ = try lists.perform(
      [
        ChangeRequest(
          .updateAsset(
            target,
            AssetUpdate(isHidden: !library.assets[0].isHidden, location: .some(Location(latitude: 5, longitude: 4)))))
      ], for: .local)
    #expect(try library.catalogue.changes(since: known, limit: 10, for: Self.placeless).assets.updated.isEmpty == false)
  }
}
