// POST /v1/changes: parses the JSON body into a list of change requests. Errors in an entry's own members are found
// here and reported with the entry's index. Whether the named assets and collections exist is checked by the library.

import FoundationEssentials
import HTTPCore
import LibraryCatalogue
import PhotoModel
import Primitives

struct ChangeListBody: Sendable {
  let requests: [ChangeRequest]

  private static let maximumAltitude = 1_000_000.0
  private static let pathBytes = 4096

  init(
    _ request: HTTPRequest, _ limits: ChangeLimits, _ tokens: TokenCodec, for principal: Principal
  ) throws(Problem) {
    var body = try JSONObjectReader(request)
    let value = body.value("changes")
    try body.finish()
    guard case .array(let entries) = value, entries.count <= limits.entries else {
      throw QueryReader.invalid("changes", "must be a list of at most \(limits.entries) change requests")
    }
    var requests: [ChangeRequest] = []
    requests.reserveCapacity(entries.count)
    for (index, entry) in entries.enumerated() {
      do throws(Problem) {
        guard case .object(let members) = entry else {
          throw QueryReader.invalid("changes", "must be a list of objects")
        }
        var reader = EntryReader(JSONObjectReader(members), limits, tokens)
        requests.append(try reader.request(for: principal))
      } catch {
        throw error.at(index)
      }
    }
    self.requests = requests
  }

  /// Parses one entry.
  private struct EntryReader {
    private var entry: JSONObjectReader
    private let limits: ChangeLimits
    private let tokens: TokenCodec

    init(_ entry: JSONObjectReader, _ limits: ChangeLimits, _ tokens: TokenCodec) {
      self.entry = entry
      self.limits = limits
      self.tokens = tokens
    }

    mutating func request(for principal: Principal) throws(Problem) -> ChangeRequest {
      guard let type = try entry.text("type") else { throw QueryReader.invalid("type", "is missing") }
      var placeholder: String?
      var ifMatch: ChangeToken?
      let action: ChangeRequest.Action
      switch type {
      case "updateAsset":
        ifMatch = try revision()
        action = .updateAsset(try target("asset"), try assetUpdate(principal))
      case "deleteAsset":
        ifMatch = try revision()
        action = .deleteAsset(try target("asset"))
      case "restoreAsset":
        placeholder = try newPlaceholder()
        action = .restoreAsset(try identifier("asset"))
      case "createAsset":
        placeholder = try newPlaceholder()
        action = try createAsset()
      case "createAlbum", "createFolder":
        placeholder = try newPlaceholder()
        guard let title = try title() else { throw QueryReader.invalid("title", "is missing") }
        let parent = try parent()
        action = .createCollection(NewCollection(isFolder: type == "createFolder", title: title, parent: parent))
      case "updateCollection":
        ifMatch = try revision()
        action = .updateCollection(try target("collection"), try collectionUpdate())
      case "deleteCollection":
        ifMatch = try revision()
        action = .deleteCollection(try target("collection"))
      case "insertCollections", "moveCollections", "removeCollections":
        ifMatch = try revision()
        action = try children(type)
      case "addAssets", "removeAssets", "insertAssets", "moveAssets", "replaceAssets":
        ifMatch = try revision()
        action = try members(type)
      case "setAdjustments", "revertAdjustments":
        throw Problem(
          422, "change-unsupported", "This change is not supported",
          detail: "Setting and reverting adjustments is not supported yet: \(type).", parameter: "type")
      default:
        throw QueryReader.invalid(
          "type",
          "must be one of updateAsset, deleteAsset, restoreAsset, createAsset, createAlbum, createFolder, "
            + "updateCollection, deleteCollection, insertCollections, moveCollections, removeCollections, addAssets, "
            + "removeAssets, insertAssets, moveAssets, replaceAssets")
      }
      try entry.finish()
      return ChangeRequest(action, ifMatch: ifMatch, placeholder: placeholder)
    }

    /// The revision that the object must have. Text that is not a token of this library is no object's revision.
    private mutating func revision() throws(Problem) -> ChangeToken? {
      try entry.text("ifMatch").map { tokens.changeToken(of: $0) ?? .never }
    }

    // MARK: Assets

    private mutating func assetUpdate(_ principal: Principal) throws(Problem) -> AssetUpdate {
      var update = AssetUpdate()
      update.isFavorite = try optionalFlag("isFavorite")
      update.isHidden = try optionalFlag("isHidden")
      if entry.isNull("creationDate") { throw QueryReader.invalid("creationDate", "must be a date") }
      if let text = try entry.text("creationDate") {
        do throws(MalformedRFC3339) {
          let date = try RFC3339.dateTime(text)
          (update.creationDate, update.utcOffset) = (Timestamp(milliseconds: date.milliseconds), date.offsetMinutes)
        } catch {
          throw QueryReader.invalid("creationDate", "must be a date such as 2024-05-01T12:30:00Z")
        }
      }
      if entry.has("location") {
        guard principal.may(.location) else { throw .insufficientScope([.location]) }
        update.location = .some(try location())
      }
      update.isUserPick = try userPick()
      update.title = try description("title", limits.titleBytes)
      update.caption = try description("caption", limits.captionBytes, mayHaveLines: true)
      update.keywords = try keywords()
      if entry.has("rating") {
        update.rating = .some(try entry.number("rating", in: DescriptiveMetadata.ratings))
      }
      guard update != AssetUpdate() else {
        throw QueryReader.invalid(
          "type",
          "updateAsset needs at least one of isFavorite, isHidden, creationDate, location, burstSelectionTypes, title, "
            + "caption, keywords, rating")
      }
      return update
    }

    /// The one selection type that a user sets; the others follow from the burst.
    private mutating func userPick() throws(Problem) -> Bool? {
      let name = "burstSelectionTypes"
      guard entry.has(name) else { return nil }
      let types = try entry.texts(name, atMost: 1)
      guard let types, types.allSatisfy(BurstSelectionTypes.userPick.names.contains) else {
        throw QueryReader.invalid(name, "must be [\"userPick\"], or [] to remove it")
      }
      return !types.isEmpty
    }

    /// A text, or null; the empty text is none.
    private mutating func description(
      _ name: String, _ limit: Int, mayHaveLines: Bool = false
    ) throws(Problem) -> String?? {
      guard entry.has(name) else { return nil }
      guard let text = try entry.text(name), !text.isEmpty else { return .some(nil) }
      let isPlain = text.unicodeScalars.allSatisfy { scalar in
        scalar.properties.generalCategory != .control || mayHaveLines && (scalar == "\n" || scalar == "\t")
      }
      guard text.utf8.count <= limit, isPlain else {
        throw QueryReader.invalid(
          name,
          "must be null or have at most \(limit) bytes and no control characters"
            + (mayHaveLines ? " except line feeds and tabs" : ""))
      }
      return .some(text)
    }

    private mutating func keywords() throws(Problem) -> [String]? {
      let name = "keywords"
      guard entry.has(name) else { return nil }
      guard let words = try entry.texts(name, atMost: limits.keywords) else {
        throw QueryReader.invalid(name, "must be a list of at most \(limits.keywords) strings, [] to remove all")
      }
      var seen: Set<String> = []
      var keywords: [String] = []
      for word in words where seen.insert(word).inserted {
        guard (1...limits.keywordBytes).contains(word.utf8.count),
          !word.unicodeScalars.contains(where: { $0.properties.generalCategory == .control })
        else {
          throw QueryReader.invalid(
            name, "must be strings of 1 to \(limits.keywordBytes) bytes without control characters")
        }
        // Everybody who sees the asset sees its keywords, also without the scope location.
        guard !word.lowercased().hasPrefix("geo:") else {
          throw QueryReader.invalid(name, "must not be coordinates; set location instead of geo: keywords")
        }
        keywords.append(word)
      }
      return keywords
    }

    private mutating func location() throws(Problem) -> Location? {
      if entry.isNull("location") { return nil }
      guard case .object(let members) = entry.value("location") else {
        throw QueryReader.invalid("location", "must be an object with latitude and longitude, or null")
      }
      var place = JSONObjectReader(members)
      func number(_ name: String, _ most: Double) throws(Problem) -> Double? {
        let number: Double
        switch place.value(name) {
        case nil: return nil
        case .integer(let value): number = Double(value)
        case .number(let value): number = value
        default: throw QueryReader.invalid("location", "must contain only numbers")
        }
        guard number.magnitude <= most else {
          throw QueryReader.invalid("location", "must have a \(name) from \(Int(-most)) to \(Int(most))")
        }
        return number
      }
      let (latitude, longitude) = (try number("latitude", 90), try number("longitude", 180))
      let altitude = try number("altitude", ChangeListBody.maximumAltitude)
      do throws(Problem) { try place.finish() } catch {
        throw QueryReader.invalid("location", "must have no members except latitude, longitude and altitude")
      }
      guard let latitude, let longitude else {
        throw QueryReader.invalid("location", "must have a latitude and a longitude")
      }
      return Location(latitude: latitude, longitude: longitude, altitude: altitude)
    }

    private mutating func createAsset() throws(Problem) -> ChangeRequest.Action {
      let path = try entry.text("path")
      let upload = try entry.text("upload")
      guard (path == nil) != (upload == nil) else {
        throw QueryReader.invalid("path", "must name a file in the library; or give upload instead")
      }
      if let staged = upload.flatMap(UploadIdentifier.init) { return .createAssetFromStagedUpload(staged) }
      if let upload { return .createAssetFromUpload(try LocalIdentifier(parameter: upload, "upload")) }
      let bytes = Array((path ?? "").utf8)
      guard (1...ChangeListBody.pathBytes).contains(bytes.count), bytes.first != UInt8(ascii: "/"), !bytes.contains(0)
      else {
        throw QueryReader.invalid(
          "path", "must be relative to the library folder and have at most \(ChangeListBody.pathBytes) bytes")
      }
      return .createAsset(path: bytes)
    }

    // MARK: Collections

    private mutating func collectionUpdate() throws(Problem) -> CollectionUpdate {
      var update = CollectionUpdate()
      update.title = try title()
      if entry.has("keyAsset") {
        update.keyAsset = .some(entry.isNull("keyAsset") ? nil : try optionalTarget("keyAsset"))
      }
      if entry.has("parent") {
        update.parent = .some(try parent())
      }
      guard update != CollectionUpdate() else {
        throw QueryReader.invalid("type", "updateCollection needs at least one of title, keyAsset, parent")
      }
      return update
    }

    /// A folder; `nil` for null or `root`, which stand for the top level.
    private mutating func parent() throws(Problem) -> ChangeTarget? {
      if entry.isNull("parent") { return nil }
      let target = try optionalTarget("parent")
      return target == .existing(.topLevel) ? nil : target
    }

    private mutating func children(_ type: String) throws(Problem) -> ChangeRequest.Action {
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

    private mutating func members(_ type: String) throws(Problem) -> ChangeRequest.Action {
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

    private mutating func title() throws(Problem) -> String? {
      if entry.isNull("title") { throw QueryReader.invalid("title", "must be a string") }
      guard let title = try entry.text("title") else { return nil }
      guard (1...limits.titleBytes).contains(title.utf8.count),
        !title.unicodeScalars.contains(where: { $0.properties.generalCategory == .control })
      else {
        throw QueryReader.invalid("title", "must have 1 to \(limits.titleBytes) bytes and no control characters")
      }
      return title
    }

    // MARK: Names

    private mutating func newPlaceholder() throws(Problem) -> String? {
      guard let name = try entry.text("placeholder") else { return nil }
      guard Self.isPlaceholder(name) else {
        throw QueryReader.invalid("placeholder", "must be a $ followed by 1 to 63 of A-Z, a-z, 0-9, -, . and _")
      }
      return name
    }

    private mutating func target(_ name: String) throws(Problem) -> ChangeTarget {
      guard let target = try optionalTarget(name) else { throw QueryReader.invalid(name, "is missing") }
      return target
    }

    private mutating func optionalTarget(_ name: String) throws(Problem) -> ChangeTarget? {
      guard let text = try entry.text(name) else { return nil }
      return try Self.target(text, name)
    }

    private mutating func identifier(_ name: String) throws(Problem) -> LocalIdentifier {
      guard let text = try entry.text(name) else { throw QueryReader.invalid(name, "is missing") }
      return try LocalIdentifier(parameter: text, name)
    }

    private mutating func optionalFlag(_ name: String) throws(Problem) -> Bool? {
      if entry.isNull(name) { throw QueryReader.invalid(name, "must be true or false") }
      return entry.has(name) ? try entry.flag(name) : nil
    }

    private static func target(_ text: String, _ name: String) throws(Problem) -> ChangeTarget {
      guard text.hasPrefix("$") else { return .existing(try LocalIdentifier(parameter: text, name)) }
      guard isPlaceholder(text) else {
        throw QueryReader.invalid(name, "must be a localIdentifier, or the placeholder of an earlier entry")
      }
      return .placeholder(text)
    }

    private static func isPlaceholder(_ text: String) -> Bool {
      guard text.hasPrefix("$"), text.utf8.count <= 64 else { return false }
      return (try? LocalIdentifier(parameter: String(text.dropFirst()), "placeholder")) != nil
    }
  }
}

extension JSONObjectReader {
  /// Whether there is a member with that name, including null.
  mutating func has(_ name: String) -> Bool {
    markRead(name)
    return hasMember(name)
  }

  /// Whether the member exists and is null.
  mutating func isNull(_ name: String) -> Bool { has(name) && value(name) == nil }
}
