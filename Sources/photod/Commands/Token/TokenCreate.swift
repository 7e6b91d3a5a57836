import AccessControl
import ArgumentParser
import Foundation
import LibraryCatalogue
import PhotoModel
import Primitives

#if canImport(Glibc)
  import Glibc
#endif

struct TokenCreate: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "create", abstract: "Create a token. Standard output gets only the token, printed once.")

  @OptionGroup var common: CommonOptions

  @Option(
    help: "Scopes of the token: read, add, write, location, people, admin, separated by commas. Repeatable.",
    completion: .list(Scope.allCases.map(\.rawValue)))
  var scope: [String] = ["read"]

  @Option(
    help: ArgumentHelp(
      "Limit the token to an album or folder, by localIdentifier or by unique title. Repeatable.",
      valueName: "album"))
  var limitTo: [String] = []

  @Option(help: "When the token expires: 90d (also s, m, h, w, y), a time such as 2026-12-31T00:00:00Z, or never.")
  var expires: ExpiryArgument?

  @Option(help: "Display name of the token. Default: its identifier.")
  var name: String?

  func validate() throws {
    guard try !scopes().isEmpty else { throw ValidationError("a token needs at least one scope") }
    if let name, !(1...128).contains(name.utf8.count) || name.contains(where: \.isNewline) {
      throw ValidationError("a name must be one line of at most 128 bytes")
    }
    let now = SystemTime.now
    guard let end = expires?.end(from: now) else { return }
    if end <= now { throw ValidationError("--expires must be in the future") }
    if end > Timestamp.rfc3339Range.upperBound.milliseconds / 1000 {
      throw ValidationError("--expires must be before the year 10000; never means without an end")
    }
  }

  func run() async throws {
    let scopes = try scopes()
    let now = SystemTime.now
    let end = expires?.end(from: now)
    let collections = try limits()
    let dataFolder = try common.settings().dataFolder()
    let isNewFolder = !FileManager.default.fileExists(atPath: dataFolder)
    let database = try TokenCommand.database(common, makesFolder: true)
    let isFirst = try TokenCommand.reportingErrors { () throws(AccessError) in try database.tokens() }.isEmpty
    let (token, secret) = try TokenCommand.reportingErrors { () throws(AccessError) in
      try database.createToken(
        name: name, scopes: scopes, collections: collections.map { Set($0.map(\.localIdentifier)) }, expires: end,
        at: now)
    }
    var lines = isNewFolder ? ["created the data folder \(dataFolder)"] : []
    lines.append("token \(token.identifier) with \(scopes.map(\.rawValue).sorted().joined(separator: ", "))")
    if let collections {
      lines.append("limited to \(collections.map { $0.title ?? $0.localIdentifier.rawValue }.joined(separator: ", "))")
    }
    lines.append(end.map { "until \(Timestamp(milliseconds: $0 * 1000).rfc3339)" } ?? "until it is revoked")
    if isFirst { lines.append("From now on every request needs a token, also from this machine.") }
    lines.append("The token is shown only once:")
    FileHandle.standardError.write(Data((lines.joined(separator: "\n") + "\n").utf8))
    // If the reader is gone, the write must fail and not end the process: otherwise the token would stay.
    signal(SIGPIPE, SIG_IGN)
    do {
      try OutputFile.write(Array("\(secret.text)\n".utf8), to: STDOUT_FILENO, "standard output")
    } catch {
      try TokenCommand.reportingErrors { () throws(AccessError) in try database.discardToken(token.identifier) }
      throw CommandFailure(description: "\(error); no token was created")
    }
  }

  private func scopes() throws -> Set<Scope> {
    Set(try scope.flatMap { $0.split(separator: ",") }.map(Self.scope))
  }

  private static func scope(_ text: Substring) throws -> Scope {
    guard let scope = Scope(rawValue: String(text)) else {
      throw ValidationError(
        "\(text) is not a scope; the scopes are \(Scope.allCases.map(\.rawValue).joined(separator: ", "))")
    }
    return scope
  }

  /// The collections that the options name.
  private func limits() throws -> [AssetCollection]? {
    guard !limitTo.isEmpty else { return nil }
    let settings = try common.settings()
    guard limitTo.count <= settings.access.collectionsPerToken else {
      throw CommandFailure(
        description: "a token can be limited to at most \(settings.access.collectionsPerToken) collections")
    }
    let catalogue = try Catalogue(reading: try settings.dataFolder())
    return try limitTo.map { try Self.collection($0, in: catalogue) }
  }

  /// The only album or folder with that identifier or title.
  static func collection(_ name: String, in catalogue: Catalogue) throws -> AssetCollection {
    if let found = try catalogue.collection(LocalIdentifier(name), CollectionQuery(), for: .local) {
      guard found.isGrantable else {
        throw CommandFailure(description: "\(name) is not an album or folder; its contents depend on the caller")
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
      throw CommandFailure(description: "there is no album or folder \(name); GET /v1/collections lists all")
    }
    guard found.count == 1 else {
      let identifiers = found.map(\.localIdentifier.rawValue).joined(separator: ", ")
      throw CommandFailure(
        description: "\(found.count) collections have the title \(name); give an identifier: \(identifiers)")
    }
    return only
  }
}

extension AssetCollection {
  /// Whether a token can be limited to it: an album, or a folder made by a user. The contents of smart albums and
  /// moments depend on what the caller may see.
  fileprivate var isGrantable: Bool {
    type == .album || type == .folder && !subtype.hasPrefix("momentList")
  }
}
