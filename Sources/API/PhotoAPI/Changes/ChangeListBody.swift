// POST /v1/changes: parses the JSON body into a list of change requests. Errors in an entry's own members are found
// here and reported with the entry's index. Whether the named assets and collections exist is checked by the library.

import FoundationEssentials
import HTTPCore
import LibraryCatalogue
import PhotoModel

struct ChangeListBody: Sendable {
  let requests: [ChangeRequest]

  static let pathBytes = 4096

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
  struct EntryReader {
    var entry: JSONObjectReader
    let limits: ChangeLimits
    let tokens: TokenCodec

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
      case "setAdjustments":
        ifMatch = try revision()
        let targets = try adjustmentTargets(ifMatch)
        guard case .object(let members) = entry.value("adjustments") else {
          throw QueryReader.invalid("adjustments", "must be an object")
        }
        let (adjustments, keepsForeign) = try AdjustmentsJSON.adjustments(JSONObjectReader(members))
        action = .setAdjustments(targets, adjustments, keepsForeign: keepsForeign)
      case "revertAdjustments":
        ifMatch = try revision()
        action = .revertAdjustments(try adjustmentTargets(ifMatch))
      default:
        throw QueryReader.invalid(
          "type",
          "must be one of updateAsset, deleteAsset, restoreAsset, createAsset, createAlbum, createFolder, "
            + "updateCollection, deleteCollection, insertCollections, moveCollections, removeCollections, addAssets, "
            + "removeAssets, insertAssets, moveAssets, replaceAssets, setAdjustments, revertAdjustments")
      }
      try entry.finish()
      var request = ChangeRequest(action, ifMatch: ifMatch, placeholder: placeholder)
      if entry.hasMember("assets") { request.picturesMember = "assets" }
      return request
    }

    /// The revision that the object must have. Text that is not a token of this library is not the revision of any
    /// object.
    private mutating func revision() throws(Problem) -> ChangeToken? {
      try optionalText("ifMatch").map { tokens.changeToken(of: $0) ?? .never }
    }

    // MARK: Names

    /// A string member that may be absent. Null is refused: it probably comes from an unset variable of the client, and
    /// without the member the entry would do something else.
    mutating func optionalText(_ name: String) throws(Problem) -> String? {
      if entry.isNull(name) { throw QueryReader.invalid(name, "must be a string, not null") }
      return try entry.text(name)
    }

    mutating func newPlaceholder() throws(Problem) -> String? {
      guard let name = try optionalText("placeholder") else { return nil }
      guard Self.isPlaceholder(name) else {
        throw QueryReader.invalid("placeholder", "must be a $ followed by 1 to 63 of A-Z, a-z, 0-9, -, . and _")
      }
      return name
    }

    mutating func target(_ name: String) throws(Problem) -> ChangeTarget {
      guard let target = try optionalTarget(name) else { throw QueryReader.invalid(name, "is missing") }
      return target
    }

    mutating func optionalTarget(_ name: String) throws(Problem) -> ChangeTarget? {
      guard let text = try optionalText(name) else { return nil }
      return try Self.target(text, name)
    }

    mutating func identifier(_ name: String) throws(Problem) -> LocalIdentifier {
      guard let text = try entry.text(name) else { throw QueryReader.invalid(name, "is missing") }
      return try LocalIdentifier(parameter: text, name)
    }

    mutating func optionalFlag(_ name: String) throws(Problem) -> Bool? {
      if entry.isNull(name) { throw QueryReader.invalid(name, "must be true or false") }
      return entry.has(name) ? try entry.flag(name) : nil
    }

    static func target(_ text: String, _ name: String) throws(Problem) -> ChangeTarget {
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
