import FoundationEssentials
import LibraryCatalogue
import PhotoModel
import Primitives

/// Entries about collections and their members.
extension ChangeListBody.EntryReader {
  mutating func collectionUpdate() throws(Problem) -> CollectionUpdate {
    var update = CollectionUpdate()
    update.title = try title()
    if entry.has("keyAsset") {
      update.keyAsset = .some(entry.isNull("keyAsset") ? nil : try optionalTarget("keyAsset"))
    }
    if entry.has("parent") {
      update.parent = .some(try parent())
    }
    guard update != CollectionUpdate() else {
      // A misspelled member may be the cause.
      try entry.finish()
      throw QueryReader.invalid("type", "updateCollection needs at least one of title, keyAsset, parent")
    }
    return update
  }

  /// A folder; `nil` for null or `root`, which both mean the top level.
  mutating func parent() throws(Problem) -> ChangeTarget? {
    if entry.isNull("parent") { return nil }
    let target = try optionalTarget("parent")
    return target == .existing(.topLevel) ? nil : target
  }

  mutating func children(_ type: String) throws(Problem) -> ChangeRequest.Action {
    guard entry.has("parent") else {
      throw QueryReader.invalid("parent", "is missing; use null for the top level")
    }
    let parent = try parent()
    let limit = limits.assetsPerEntry
    guard let names = try entry.texts("collections", atMost: limit) else {
      throw QueryReader.invalid("collections", "must be a list of at most \(limit) collections")
    }
    var collections: [ChangeTarget] = []
    for name in names { collections.append(try Self.target(name, "collections")) }
    if type == "removeCollections" { return .removeCollections(parent, collections) }
    guard let index = try entry.number("index", in: 0...limits.members) else {
      throw QueryReader.invalid("index", "is missing")
    }
    return .placeCollections(parent, collections, index: index)
  }

  mutating func members(_ type: String) throws(Problem) -> ChangeRequest.Action {
    let collection = try target("collection")
    let limit = limits.assetsPerEntry
    guard let names = try entry.texts("assets", atMost: limit) else {
      throw QueryReader.invalid("assets", "must be a list of at most \(limit) assets")
    }
    var assets: [ChangeTarget] = []
    assets.reserveCapacity(names.count)
    for name in names { assets.append(try Self.target(name, "assets")) }
    switch type {
    case "addAssets": return .addAssets(collection, assets)
    case "removeAssets": return .removeAssets(collection, assets)
    case "replaceAssets":
      guard case .array(let values) = entry.value("indexes"), values.count == assets.count else {
        throw QueryReader.invalid("indexes", "must be a list of whole numbers, one for each asset")
      }
      var indexes: [Int] = []
      for value in values {
        guard case .integer(let index) = value, index >= 0 else {
          throw QueryReader.invalid("indexes", "must be a list of whole numbers from 0")
        }
        indexes.append(index)
      }
      return .replaceAssets(collection, assets, indexes: indexes)
    default:
      guard let index = try entry.number("index", in: 0...limits.members) else {
        throw QueryReader.invalid("index", "is missing")
      }
      return type == "insertAssets"
        ? .insertAssets(collection, assets, index: index) : .moveAssets(collection, assets, index: index)
    }
  }

  mutating func title() throws(Problem) -> String? {
    if entry.isNull("title") { throw QueryReader.invalid("title", "must be a string") }
    guard let title = try entry.text("title") else { return nil }
    guard (1...limits.titleBytes).contains(title.utf8.count),
      !title.unicodeScalars.contains(where: { $0.properties.generalCategory == .control })
    else {
      throw QueryReader.invalid("title", "must have 1 to \(limits.titleBytes) bytes and no control characters")
    }
    return title
  }
}
