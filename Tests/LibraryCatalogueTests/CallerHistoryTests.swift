import LibraryCatalogue
import PhotoModel
import Testing

/// The history as a caller reads it, compared with the states that the caller could see.
@Suite("History of a caller")
struct CallerHistoryTests {
  /// What a caller sees of a state: assets, and the assets of each album and folder.
  private struct Seen {
    var assets: Set<String> = []
    var collections: [String: Set<String>] = [:]

    /// - Parameter granted: the collections that a limited caller may see, with everything below them; `nil`: all.
    init(_ model: ChangeModel, granted: Set<String>?) {
      for name in model.collections.keys where granted.map({ Self.isGranted(name, $0, model) }) ?? true {
        collections[name] = Self.contents(name, model)
      }
      if granted == nil { assets = Set(model.assets.keys) }
      for contents in collections.values { assets.formUnion(contents) }
    }

    private static func isGranted(_ name: String, _ granted: Set<String>, _ model: ChangeModel) -> Bool {
      if granted.contains(name) { return true }
      guard let parent = model.collections[name]?.parent else { return false }
      return isGranted(parent, granted, model)
    }

    private static func contents(_ name: String, _ model: ChangeModel) -> Set<String> {
      var assets = Set(model.collections[name]?.members ?? [])
      for (child, state) in model.collections where state.parent == name { assets.formUnion(contents(child, model)) }
      return assets
    }
  }

  private struct World {
    let library: SyntheticLibrary
    let lists: ChangeListExecutor
    let names: [ChangeTarget]
    /// A folder that is granted to the guest, with `album` in it.
    let folder: LocalIdentifier
    let album: LocalIdentifier
    /// A granted album at the top level.
    let other: LocalIdentifier
    let guest: Principal

    init(_ count: Int, _ dice: inout Dice) throws {
      library = try SyntheticLibrary((1...Int64(count)).map { SyntheticAsset($0, &dice) })
      lists = try library.changeLists()
      names = library.assets.map { .existing(LocalIdentifier($0.identifier)) }
      let made = try lists.perform(
        [
          ChangeRequest(.createCollection(NewCollection(isFolder: true, title: "F")), placeholder: "$f"),
          ChangeRequest(
            .createCollection(NewCollection(isFolder: false, title: "A", parent: .placeholder("$f"))),
            placeholder: "$a"),
          ChangeRequest(.createCollection(NewCollection(isFolder: false, title: "B")), placeholder: "$b"),
          ChangeRequest(.addAssets(.placeholder("$a"), [names[0]])),
        ], for: .local)
      folder = try #require(made.created["$f"])
      album = try #require(made.created["$a"])
      other = try #require(made.created["$b"])
      guest = Principal(name: "guest", scopes: [.read], visibility: .collections([folder, other]))
    }

    /// Performs changes, and returns the part of the history that the guest can read.
    func changesForGuest(
      after requests: [ChangeRequest], _ filter: ChangeFilter = ChangeFilter()
    ) throws -> LibraryChanges {
      let since = try library.token(guest)
      _ = try lists.perform(requests, for: .local)
      return try library.catalogue.changes(since: since, filter, limit: 100, for: guest)
    }

    func identifiers(_ indexes: Int...) -> [LocalIdentifier] {
      indexes.map { LocalIdentifier(library.assets[$0].identifier) }
    }
  }

  /// Applies the history to what the caller saw before it, page by page.
  ///
  /// - Returns: the number of inserted and deleted objects.
  private func follow(
    _ catalogue: Catalogue, since token: ChangeToken, _ filter: ChangeFilter, limit: Int, for principal: Principal,
    _ assets: inout Set<String>, _ collections: inout Set<String>, now: Seen
  ) throws -> Int {
    func apply(_ changes: ObjectChanges, _ names: inout Set<String>, _ last: Set<String>) -> Int {
      for name in changes.inserted {
        let isNew = names.insert(name.rawValue).inserted
        #expect(isNew, "\(name) was there, and is inserted")
      }
      for name in changes.deleted {
        let wasThere = names.remove(name.rawValue) != nil
        #expect(wasThere, "\(name) was not there, and is deleted")
      }
      for update in changes.updated {
        let name = update.localIdentifier.rawValue
        #expect(names.contains(name) || last.contains(name), "\(name) is not there, and is updated")
      }
      return changes.inserted.count + changes.deleted.count
    }
    var since = token
    var count = 0
    while true {
      let page = try catalogue.changes(since: since, filter, limit: limit, for: principal)
      count += apply(page.assets, &assets, now.assets)
      count += apply(page.collections, &collections, Set(now.collections.keys))
      since = page.changeToken
      if !page.hasMore { return count }
    }
  }

  @Test(
    "the history of everything, of an album and of a folder leads from each state that a caller saw to the last one",
    arguments: 0..<4)
  func agree(_ seed: Int) throws {
    var dice = Dice(seed + 7000)
    let world = try World(12, &dice)
    let catalogue = world.library.catalogue
    let granted: Set<String> = [world.folder.rawValue, world.other.rawValue]
    let callers: [(principal: Principal, granted: Set<String>?)] = [(.local, nil), (world.guest, granted)]
    var states: [(tokens: [ChangeToken], seen: [Seen])] = []
    while states.count < 18 {
      let model = try ChangeModel(world.library)
      states.append(
        (
          try callers.map { try world.library.token($0.principal) },
          callers.map { Seen(model, granted: $0.granted) }
        ))
      var requests: [ChangeRequest] = []
      var next = model
      repeat {
        requests = dice.changeList(model, mayFail: false)
        next = model
        try next.perform(requests)
      } while requests.isEmpty || next.collections[world.folder.rawValue] == nil
      _ = try world.lists.perform(requests, for: .local)
    }
    let last = try ChangeModel(world.library)
    for (index, caller) in callers.enumerated() {
      let now = Seen(last, granted: caller.granted)
      var count = 0
      for (number, state) in states.enumerated() {
        let (token, before) = (state.tokens[index], state.seen[index])
        for limit in [1, 1000] {
          var assets = before.assets
          var collections = Set(before.collections.keys)
          count += try follow(
            catalogue, since: token, ChangeFilter(), limit: limit, for: caller.principal, &assets, &collections,
            now: now)
          #expect(assets == now.assets && collections == Set(now.collections.keys), "state \(number), \(limit)")
          guard number % 3 == 0 else { continue }
          // A collection that the caller no longer sees has lost all of its assets.
          for name in Set(before.collections.keys).union(now.collections.keys) {
            let contents = now.collections[name] ?? []
            var assets = before.collections[name] ?? []
            let filter = ChangeFilter(types: [.asset], collection: LocalIdentifier(name))
            count += try follow(
              catalogue, since: token, filter, limit: limit, for: caller.principal, &assets, &collections, now: now)
            #expect(assets == contents, "\(name) since state \(number), \(limit)")
          }
        }
      }
      #expect(count > 5, "they come and go")
    }
  }

  @Test("an asset that is added and moved in one list is inserted, and one that is only moved is not named")
  func moves() throws {
    var dice = Dice(1)
    let world = try World(4, &dice)
    let album = ChangeTarget.existing(world.album)
    var changes = try world.changesForGuest(after: [
      ChangeRequest(.addAssets(album, [world.names[1]])), ChangeRequest(.moveAssets(album, [world.names[1]], index: 0)),
    ])
    #expect(changes.assets.inserted == world.identifiers(1))
    #expect(changes.assets.updated.isEmpty && changes.assets.deleted.isEmpty)
    changes = try world.changesForGuest(after: [
      ChangeRequest(.addAssets(album, [world.names[2]])), ChangeRequest(.removeAssets(album, [world.names[2]])),
      ChangeRequest(.addAssets(album, [world.names[2]])),
    ])
    #expect(changes.assets.inserted == world.identifiers(2) && changes.assets.updated.isEmpty)
    let reorders: [ChangeRequest.Action] = [
      .moveAssets(album, [world.names[1]], index: 1), .insertAssets(album, [world.names[2]], index: 0),
    ]
    for action in reorders {
      changes = try world.changesForGuest(after: [ChangeRequest(action)])
      #expect(changes.assets.isEmpty && changes.collections.updated.map(\.localIdentifier) == [world.album])
    }
    changes = try world.changesForGuest(
      after: [ChangeRequest(.moveAssets(album, [world.names[2]], index: 2))], ChangeFilter(collection: world.album))
    #expect(changes.assets.updated == [.init(localIdentifier: world.identifiers(2)[0], isContentChanged: false)])
  }

  @Test("an object that is in no state that a limited caller could read is not named")
  func unseen() throws {
    var dice = Dice(2)
    let world = try World(4, &dice)
    let catalogue = world.library.catalogue
    let album = ChangeTarget.existing(world.album)
    let start = try world.library.token(world.guest)
    let add = ChangeRequest(.addAssets(album, [world.names[1]]))
    let remove = ChangeRequest(.removeAssets(album, [world.names[1]]))
    #expect(try world.changesForGuest(after: [add, remove]).assets.isEmpty)
    #expect(throws: ChangeHistoryError.noSuchAsset) {
      try catalogue.changes(
        since: start, ChangeFilter(asset: world.identifiers(1)[0]), limit: 9, for: world.guest)
    }
    let changes = try world.changesForGuest(after: [
      ChangeRequest(
        .createCollection(NewCollection(isFolder: false, title: "S", parent: .existing(world.folder))),
        placeholder: "$s"),
      ChangeRequest(.updateCollection(.placeholder("$s"), CollectionUpdate(parent: .some(nil)))),
    ])
    #expect(changes.collections.inserted.isEmpty && changes.collections.deleted.isEmpty)
    // An asset that was visible only between the two states.
    _ = try world.lists.perform([add], for: .local)
    _ = try world.lists.perform([remove], for: .local)
    #expect(try catalogue.changes(since: start, limit: 100, for: world.guest).assets.isEmpty)
  }

  @Test("a collection that is deleted, or leaves what a limited caller sees, loses all of its assets once")
  func goneCollections() throws {
    for isDeleted in [true, false] {
      var dice = Dice(4)
      let world = try World(4, &dice)
      let made = try world.lists.perform(
        [
          ChangeRequest(
            .createCollection(NewCollection(isFolder: true, title: "S", parent: .existing(world.folder))),
            placeholder: "$s"),
          ChangeRequest(.updateCollection(.existing(world.album), CollectionUpdate(parent: .some(.placeholder("$s"))))),
        ], for: .local)
      let subfolder = try #require(made.created["$s"])
      let since = try world.library.token(world.guest)
      func perform(_ action: ChangeRequest.Action) throws {
        _ = try world.lists.perform([ChangeRequest(action)], for: .local)
      }
      if isDeleted {
        try perform(.deleteCollection(.existing(subfolder)))
      } else {
        try perform(.updateCollection(.existing(subfolder), CollectionUpdate(parent: .some(nil))))
        // An asset that the guest never sees.
        try perform(.addAssets(.existing(world.album), [world.names[1]]))
      }
      for collection in [subfolder, world.album] {
        for limit in [1, 100] {
          var deleted: [LocalIdentifier] = []
          var page = LibraryChanges(changeToken: since)
          repeat {
            page = try world.library.catalogue.changes(
              since: page.changeToken, ChangeFilter(collection: collection), limit: limit, for: world.guest)
            #expect(page.assets.inserted.isEmpty && page.assets.updated.isEmpty, "\(isDeleted)")
            deleted += page.assets.deleted + page.collections.deleted.filter { $0 == collection }
          } while page.hasMore
          #expect(Set(deleted) == Set(world.identifiers(0) + [collection]), "\(isDeleted), pages of \(limit)")
          #expect(deleted.count == 2, "\(isDeleted), pages of \(limit)")
        }
      }
    }
  }

  @Test("an album that becomes visible has all of its assets inserted, and none that left it before")
  func privateAlbum() throws {
    var dice = Dice(3)
    let world = try World(4, &dice)
    let made = try world.lists.perform(
      [
        ChangeRequest(.createCollection(NewCollection(isFolder: false, title: "N")), placeholder: "$n"),
        ChangeRequest(.addAssets(.placeholder("$n"), [world.names[1], world.names[2]])),
      ], for: .local)
    let album = try #require(made.created["$n"])
    let since = try world.library.token(world.guest)
    func perform(_ action: ChangeRequest.Action) throws {
      _ = try world.lists.perform([ChangeRequest(action)], for: .local)
    }
    try perform(.removeAssets(.existing(album), [world.names[1]]))
    try perform(.updateCollection(.existing(album), CollectionUpdate(parent: .some(.existing(world.folder)))))
    for collection in [album, world.folder] {
      let changes = try world.library.catalogue.changes(
        since: since, ChangeFilter(collection: collection), limit: 100, for: world.guest)
      #expect(changes.assets.inserted == world.identifiers(2) && changes.assets.deleted.isEmpty)
    }
    // An asset that stays, because another album has it, when the album that brought it leaves.
    try perform(.addAssets(.existing(world.other), [world.names[2]]))
    try perform(.updateCollection(.existing(album), CollectionUpdate(parent: .some(nil))))
    for limit in [1, 100] {
      var inserted: [LocalIdentifier] = []
      var page = LibraryChanges(changeToken: since)
      repeat {
        page = try world.library.catalogue.changes(since: page.changeToken, limit: limit, for: world.guest)
        inserted += page.assets.inserted
      } while page.hasMore
      #expect(inserted == world.identifiers(2), "in pages of \(limit)")
    }
  }
}
