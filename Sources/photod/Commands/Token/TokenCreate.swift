import AccessControl
import ArgumentParser
import AssetLibrary
import Foundation
import PhotoModel

struct TokenCreate: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "create", abstract: "Make a token. It is printed once, alone, on standard output.")

  @OptionGroup var common: CommonOptions

  @Option(help: "What it is good for: read, write, location, admin, with commas between them. Repeatable.")
  var scope: [String] = ["read"]

  @Option(
    help: ArgumentHelp(
      "An album or a folder that it is limited to, by localIdentifier or by a title that no other has. Repeatable.",
      valueName: "album"))
  var limitTo: [String] = []

  @Option(help: "When it ends: 90d (also s, m, h, w, y), a time as 2026-12-31T00:00:00Z, or never.")
  var expires: TimeLimit?

  @Option(help: "What lists call it. Default: its identifier.")
  var name: String?

  func run() async throws {
    let scopes = try Set(scope.flatMap { $0.split(separator: ",") }.map(Self.scope))
    guard !scopes.isEmpty else { throw ValidationError("a token without a scope opens nothing") }
    if let name, !(1...128).contains(name.utf8.count) || name.contains(where: \.isNewline) {
      throw ValidationError("a name is a line of at most 128 bytes")
    }
    let now = SystemTime.now
    let end = expires?.end(from: now)
    if let end, end <= now { throw ValidationError("a token that ends in the past opens nothing") }
    let collections = try await limits()
    let database = try await Token.database(common)
    let isFirst = try Token.doing { () throws(AccessError) in try database.tokens() }.isEmpty
    let (token, secret) = try Token.doing { () throws(AccessError) in
      try database.createToken(
        name: name, scopes: scopes, collections: collections.map { Set($0.map(\.localIdentifier)) }, expires: end,
        at: now)
    }
    var lines = ["token \(token.identifier) with \(scopes.map(\.rawValue).sorted().joined(separator: ", "))"]
    if let collections {
      lines.append("limited to \(collections.map { $0.title ?? $0.localIdentifier.rawValue }.joined(separator: ", "))")
    }
    lines.append(end.map { "until \(Timestamp(milliseconds: $0 * 1000).rfc3339)" } ?? "until it is revoked")
    if isFirst { lines.append("From now on nobody is served without a token, not even at this machine.") }
    lines.append("It is shown this once:")
    FileHandle.standardError.write(Data((lines.joined(separator: "\n") + "\n").utf8))
    print(secret.text)
  }

  private static func scope(_ text: Substring) throws -> Scope {
    guard let scope = Scope(rawValue: String(text)) else {
      throw ValidationError(
        "\(text) is no scope; there are \(Scope.allCases.map(\.rawValue).joined(separator: ", "))")
    }
    return scope
  }

  /// What the options name, as the catalogue knows it.
  private func limits() async throws -> [AssetCollection]? {
    guard !limitTo.isEmpty else { return nil }
    let settings = try await common.settings()
    guard limitTo.count <= settings.access.collectionsAToken else {
      throw ValidationError("a token is limited to at most \(settings.access.collectionsAToken) collections")
    }
    let catalogue = try Catalogue(reading: try Composition.dataFolder(settings))
    return try limitTo.map { try Self.collection($0, in: catalogue) }
  }

  /// The one album or folder of that identifier or title.
  static func collection(_ name: String, in catalogue: Catalogue) throws -> AssetCollection {
    if let found = try catalogue.collection(LocalIdentifier(name), CollectionQuery(), for: .local) {
      guard found.isGrantable else {
        throw CommandFailure(description: "\(name) is no album and no folder: it follows from what somebody sees")
      }
      return found
    }
    var found: [AssetCollection] = []
    for type in [CollectionType.album, .folder] {
      var query = CollectionQuery(type: type, limit: 1000)
      repeat {
        let page = try catalogue.collections(query, for: .local)
        found += page.collections.filter { $0.title == name && $0.isGrantable }
        query.cursor = page.nextCursor
      } while query.cursor != nil
    }
    guard let only = found.first else {
      throw CommandFailure(description: "there is no album or folder \(name); GET /v1/collections lists them")
    }
    guard found.count == 1 else {
      let identifiers = found.map(\.localIdentifier.rawValue).joined(separator: ", ")
      throw CommandFailure(description: "\(found.count) are titled \(name); name one by its identifier: \(identifiers)")
    }
    return only
  }
}

extension AssetCollection {
  /// Whether somebody can be limited to it: an album, or a folder that somebody made. Smart albums and moments hold whatever
  /// of the library there is for who asks.
  fileprivate var isGrantable: Bool {
    type == .album || type == .folder && !subtype.hasPrefix("momentList")
  }
}
