import Foundation
import GRDB
import LibraryCatalogue
import PhotoFixtures
import PhotoModel

/// A naive model of a library in memory, which change lists are applied to. The catalogue is compared with it.
struct ChangeModel: Equatable {
  struct AssetState: Equatable {
    var isFavorite = false
    var isHidden = false
    var date: Int64 = 0
    var location: Location?
  }

  struct CollectionState: Equatable {
    var isFolder: Bool
    var title: String
    var parent: String?
    var members: [String] = []
    var keyAsset: String?
  }

  var assets: [String: AssetState] = [:]
  var collections: [String: CollectionState] = [:]
  /// The children of each folder that has some, and of the top level by the name "", in their order.
  var levels: [String: [String]] = [:]

  /// Why a list is refused. Most lists of the tests are valid.
  struct Refused: Error {}

  /// Performs all entries of a list, or none. Until `rename`, created objects have their placeholder as the name.
  mutating func perform(_ requests: [ChangeRequest]) throws(Refused) {
    var next = self
    for request in requests {
      try next.perform(request)
      next.updateLevels()
    }
    self = next
  }

  mutating func rename(_ created: [String: LocalIdentifier]) {
    func name(_ text: String) -> String { created[text]?.rawValue ?? text }
    collections = Dictionary(
      uniqueKeysWithValues: collections.map { key, value in
        var value = value
        value.parent = value.parent.map(name)
        return (name(key), value)
      })
    levels = Dictionary(uniqueKeysWithValues: levels.map { (name($0.key), $0.value.map(name)) })
  }

  /// Removes collections that left a level, and appends those that are new in it.
  private mutating func updateLevels() {
    func level(of name: String) -> String? { collections[name].map { $0.parent ?? "" } }
    for (parent, names) in levels { levels[parent] = names.filter { level(of: $0) == parent } }
    for name in collections.keys {
      guard let parent = level(of: name), !(levels[parent] ?? []).contains(name) else { continue }
      levels[parent, default: []].append(name)
    }
    levels = levels.filter { !$0.value.isEmpty }
  }

  private mutating func place(
    _ targets: [ChangeTarget], in parent: ChangeTarget?, at index: Int
  ) throws(Refused) {
    let names = targets.map(\.description)
    let level = parent?.description ?? ""
    if let parent { try requireFolder(parent.description) }
    guard Set(names).count == names.count, names.allSatisfy({ collections[$0] != nil }) else { throw Refused() }
    var above = parent?.description
    while let one = above {
      if names.contains(one) { throw Refused() }
      above = collections[one]?.parent
    }
    for (other, children) in levels { levels[other] = children.filter { !names.contains($0) } }
    guard (0...(levels[level] ?? []).count).contains(index) else { throw Refused() }
    levels[level, default: []].insert(contentsOf: names, at: index)
    for name in names { collections[name]?.parent = parent?.description }
  }

  private mutating func perform(_ request: ChangeRequest) throws(Refused) {
    switch request.action {
    case .setAdjustments, .revertAdjustments: preconditionFailure("AdjustmentTests has their effects")
    case .updateAsset(let target, let update):
      guard var asset = assets[target.description] else { throw Refused() }
      asset.isFavorite = update.isFavorite ?? asset.isFavorite
      asset.isHidden = update.isHidden ?? asset.isHidden
      asset.date = update.creationDate?.milliseconds ?? asset.date
      if let location = update.location { asset.location = location }
      assets[target.description] = asset
    case .createCollection(let new):
      if let parent = new.parent { try requireFolder(parent.description) }
      guard let name = request.placeholder, collections[name] == nil else { throw Refused() }
      collections[name] = CollectionState(isFolder: new.isFolder, title: new.title, parent: new.parent?.description)
    case .updateCollection(let target, let update):
      guard var collection = collections[target.description] else { throw Refused() }
      collection.title = update.title ?? collection.title
      if let keyAsset = update.keyAsset {
        if collection.isFolder { throw Refused() }
        if let keyAsset, !collection.members.contains(keyAsset.description) { throw Refused() }
        collection.keyAsset = keyAsset?.description
      }
      if let parent = update.parent {
        if let parent {
          try requireFolder(parent.description)
          var above: String? = parent.description
          while let one = above {
            if one == target.description { throw Refused() }
            above = collections[one]?.parent
          }
        }
        collection.parent = parent?.description
      }
      collections[target.description] = collection
    case .deleteCollection(let target):
      guard collections[target.description] != nil else { throw Refused() }
      var gone = [target.description]
      while let name = gone.popLast() {
        collections[name] = nil
        gone += collections.filter { $0.value.parent == name }.map(\.key)
      }
    case .placeCollections(let parent, let targets, let index): try place(targets, in: parent, at: index)
    case .removeCollections(let parent, let targets):
      if let parent { try requireFolder(parent.description) }
      guard Set(targets).count == targets.count, targets.allSatisfy({ collections[$0.description] != nil }) else {
        throw Refused()
      }
      let leaving = targets.filter { collections[$0.description]?.parent == parent?.description }
      let others = (levels[""] ?? []).filter { name in !leaving.contains { $0.description == name } }
      try place(leaving, in: nil, at: others.count)
    case .addAssets(let target, let names):
      try album(target, names) { members in members += names.map(\.description).filter { !members.contains($0) } }
    case .removeAssets(let target, let names):
      let gone = Set(names.map(\.description))
      try album(target, names) { members in members.removeAll { gone.contains($0) } }
      if let key = collections[target.description]?.keyAsset, gone.contains(key) {
        collections[target.description]?.keyAsset = nil
      }
    case .insertAssets(let target, let names, let index): try put(names, into: target, at: index)
    case .moveAssets(let target, let names, let index):
      guard let members = collections[target.description]?.members,
        names.allSatisfy({ members.contains($0.description) })
      else { throw Refused() }
      try put(names, into: target, at: index)
    case .replaceAssets(let target, let names, let indexes):
      guard let collection = collections[target.description], !collection.isFolder, indexes.count == names.count,
        Set(indexes).count == indexes.count, indexes.allSatisfy(collection.members.indices.contains)
      else { throw Refused() }
      let leaving = indexes.map { collection.members[$0] }
      let others = Set(collection.members).subtracting(leaving)
      if names.contains(where: { others.contains($0.description) }) { throw Refused() }
      try album(target, names) { members in
        for (index, name) in zip(indexes, names) { members[index] = name.description }
      }
      if let key = collection.keyAsset, leaving.contains(key), !names.map(\.description).contains(key) {
        collections[target.description]?.keyAsset = nil
      }
    case .deleteAsset, .restoreAsset, .createAsset, .createAssetFromUpload, .createAssetFromStagedUpload:
      throw Refused()
    }
  }

  private func requireFolder(_ name: String) throws(Refused) {
    guard collections[name]?.isFolder == true else { throw Refused() }
  }

  private mutating func put(_ names: [ChangeTarget], into target: ChangeTarget, at index: Int) throws(Refused) {
    let texts = names.map(\.description)
    var fits = true
    try album(target, names) { members in
      members.removeAll { texts.contains($0) }
      fits = (0...members.count).contains(index)
      if fits { members.insert(contentsOf: texts, at: index) }
    }
    if !fits { throw Refused() }
  }

  private mutating func album(
    _ target: ChangeTarget, _ names: [ChangeTarget], _ body: (inout [String]) -> Void
  ) throws(Refused) {
    guard var collection = collections[target.description], !collection.isFolder,
      names.allSatisfy({ assets[$0.description] != nil }), Set(names).count == names.count
    else { throw Refused() }
    body(&collection.members)
    collections[target.description] = collection
  }
}

extension ChangeModel {
  /// The model of a catalogue's current state.
  init(_ library: SyntheticLibrary) throws {
    for asset in try library.catalogue.assets(after: nil, limit: 1000).assets {
      assets[asset.localIdentifier.rawValue] = AssetState(
        isFavorite: asset.isFavorite, isHidden: asset.isHidden, date: asset.creationDate.milliseconds,
        location: asset.location)
    }
    try library.queue.read { db in
      for row in try Row.fetchAll(
        db,
        sql: """
          SELECT one.id, one.localIdentifier, one.type, one.title, above.localIdentifier, asset.localIdentifier
          FROM collection AS one LEFT JOIN collection AS above ON above.id = one.parent
            LEFT JOIN asset ON asset.id = one.keyAsset
          WHERE one.type <> 'smartAlbum' ORDER BY one.position, one.id
          """)
      {
        levels[(row[4] as String?) ?? "", default: []].append(row[1] as String)
        let members = try String.fetchAll(
          db,
          sql: """
            SELECT localIdentifier FROM member JOIN asset ON asset.id = member.asset WHERE collection = ?
            ORDER BY position
            """, arguments: [row[0] as Int64])
        collections[row[1]] = CollectionState(
          isFolder: row[2] as String == "folder", title: row[3], parent: row[4], members: members, keyAsset: row[5])
      }
    }
  }
}

private func target(_ name: String) -> ChangeTarget {
  name.hasPrefix("$") ? .placeholder(name) : .existing(LocalIdentifier(name))
}

extension Dice {
  /// A random change list, which may have invalid entries.
  mutating func changeList(_ model: ChangeModel, mayFail: Bool) -> [ChangeRequest] {
    var model = model
    var requests: [ChangeRequest] = []
    var created = 0
    for _ in 0..<(1 + below(6)) {
      let request = changeRequest(model, &created)
      var next = model
      do { try next.perform([request]) } catch {
        if mayFail && oneIn(3) { requests.append(request) }
        continue
      }
      model = next
      requests.append(request)
    }
    return requests
  }

  private mutating func changeRequest(_ model: ChangeModel, _ created: inout Int) -> ChangeRequest {
    let assetNames = model.assets.keys.sorted()
    let albums = model.collections.filter { !$0.value.isFolder }.keys.sorted()
    let folders = model.collections.filter { $0.value.isFolder }.keys.sorted()
    func some(_ dice: inout Dice, of names: [String]) -> [ChangeTarget] {
      Array(names.shuffled(using: &dice).prefix(1 + dice.below(5))).map(target)
    }
    let parent: ChangeTarget? = folders.isEmpty || oneIn(2) ? nil : target(one(of: folders))
    let kind = below(albums.isEmpty ? 3 : 13)
    switch kind {
    case 10, 11:
      let moved = some(&self, of: albums + folders)
      let count = model.levels[parent?.description ?? ""]?.count ?? 0
      return ChangeRequest(.placeCollections(parent, moved, index: below(count + 2)))
    case 12: return ChangeRequest(.removeCollections(parent, some(&self, of: albums + folders)))
    case 0, 1:
      var update = AssetUpdate()
      if oneIn(2) { update.isFavorite = oneIn(2) }
      if oneIn(3) { update.isHidden = oneIn(2) }
      if oneIn(4) { update.creationDate = Timestamp(milliseconds: Int64(below(40)) * 40_000_000) }
      if oneIn(3) { update.location = .some(oneIn(3) ? nil : Location(latitude: Double(below(90)), longitude: 7)) }
      return ChangeRequest(.updateAsset(target(one(of: assetNames)), update))
    case 2:
      created += 1
      return ChangeRequest(
        .createCollection(NewCollection(isFolder: oneIn(3), title: "t\(below(100))", parent: parent)),
        placeholder: "$\(created)")
    case 3 where !folders.isEmpty || !albums.isEmpty:
      return ChangeRequest(.deleteCollection(target(one(of: oneIn(3) && !folders.isEmpty ? folders : albums))))
    case 4:
      let album = one(of: albums)
      var update = CollectionUpdate()
      if oneIn(2) { update.title = "u\(below(100))" }
      if oneIn(2) {
        let members = model.collections[album]?.members ?? []
        update.keyAsset = .some(members.isEmpty ? nil : target(one(of: members)))
      }
      if oneIn(3) { update.parent = .some(parent) }
      return ChangeRequest(.updateCollection(target(album), update))
    case 5 where !folders.isEmpty:
      return ChangeRequest(.updateCollection(target(one(of: folders)), CollectionUpdate(parent: .some(parent))))
    case 6: return ChangeRequest(.removeAssets(target(one(of: albums)), some(&self, of: assetNames)))
    case 7:
      let album = one(of: albums)
      let members = model.collections[album]?.members ?? []
      guard !members.isEmpty else { return ChangeRequest(.addAssets(target(album), some(&self, of: assetNames))) }
      let moved = some(&self, of: members)
      return ChangeRequest(.moveAssets(target(album), moved, index: below(members.count - moved.count + 2)))
    case 8:
      let album = one(of: albums)
      let members = model.collections[album]?.members ?? []
      let count = min(members.count, 1 + below(3))
      let indexes = Array(members.indices.shuffled(using: &self).prefix(count))
      let strangers = assetNames.filter { !members.contains($0) || indexes.map { members[$0] }.contains($0) }
      let names = Array(strangers.shuffled(using: &self).prefix(count)).map(target)
      return ChangeRequest(.replaceAssets(target(album), names, indexes: indexes))
    default:
      let album = one(of: albums)
      let members = model.collections[album]?.members ?? []
      if oneIn(2) { return ChangeRequest(.addAssets(target(album), some(&self, of: assetNames))) }
      return ChangeRequest(
        .insertAssets(target(album), some(&self, of: assetNames), index: below(members.count + 2)))
    }
  }
}
