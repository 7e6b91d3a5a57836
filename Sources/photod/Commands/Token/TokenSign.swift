import AccessControl
import ArgumentParser
import LibraryCatalogue
import Logging
import PhotoAPI
import PhotoModel
import Primitives

struct TokenSign: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "sign",
    abstract: "Sign the URL of one image or album, for use without a token. Prints only the URL, path-absolute.")

  @OptionGroup var common: CommonOptions

  @Argument(
    help: """
      /v1/assets/ID/image?…, /iiif/3/ID/REGION/SIZE/ROTATION/QUALITY.FORMAT, /v1/collections/ID or \
      /v1/collections/ID/assets?…
      """)
  var path: String

  @Option(
    help: """
      When the URL expires: 7d (also s, m, h, w, y), or a time such as 2026-12-31T00:00:00Z. Default: 1d, or \
      access.signedURLLifetimeSeconds if that is less.
      """)
  var expires: ExpiryArgument?

  @Option(
    help: """
      The token that limits what the URL opens and how long: its identifier, or its name if no other active token has \
      it. Default: none (operator).
      """)
  var issuer: String?

  func run() async throws {
    let settings = try common.settings()
    let database = try TokenCommand.database(common)
    let now = SystemTime.now
    let limit = settings.access.signedURLSeconds
    let expiry = expires ?? ExpiryArgument.oneDay(atMost: limit)
    guard let end = expiry.end(from: now), end > now, end <= now + limit else {
      throw CommandFailure(
        description: "--expires must be in the future, at most \(limit) seconds from now "
          + "(access.signedURLLifetimeSeconds)")
    }
    let token = try issuer.map { name throws in
      let token = try TokenCommand.reportingErrors { () throws(AccessError) in try database.token(name) }
      guard token.status(at: now) == .active, token.scopes.contains(.read) else {
        throw CommandFailure(description: "\(name) is not an active token with the scope read")
      }
      return token
    }
    let presets = try ImagePresets(settings.presets)
    let target: SignedTarget
    do throws(Problem) {
      target = try SignedTarget(path, presets: presets)
      try Self.lookUp(of: token?.principal ?? .local, target, settings).check()
    } catch {
      throw CommandFailure(description: error.detail)
    }
    let registry = try TokenCommand.reportingErrors { () throws(AccessError) in
      try AccessRegistry(database: database, logger: Logger(label: "tokens"))
    }
    guard
      let signature = registry.sign(
        target.subject, collection: target.collection, issuer: token?.identifier, expires: end)
    else { throw CommandFailure(description: "there is no signing key") }
    print(target.url(signature))
  }

  private static func lookUp(
    of principal: Principal, _ target: SignedTarget, _ settings: Settings
  ) throws(Problem) -> SignedTarget.LookupResult {
    var catalogue: Catalogue
    let result: SignedTarget.LookupResult
    do {
      let dataFolder = try settings.dataFolder()
      catalogue = try Catalogue(reading: dataFolder)
      // The first lookup for a limited token writes its library.
      if case .collections = principal.visibility { catalogue = try Composition.openCatalogue(in: dataFolder) }
      result = try target.lookUp(of: principal, in: catalogue)
    } catch {
      throw Problem(500, "internal-error", "No catalogue", detail: "\(error)")
    }
    try target.checkQuery(catalogue.tokens)
    return result
  }
}

struct TokenRotateKey: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "rotate-key",
    abstract:
      "Create a new key for signing URLs. URLs signed with the previous key stay valid until the next rotation.")

  @OptionGroup var common: CommonOptions

  func run() async throws {
    let database = try TokenCommand.database(common)
    let key = try TokenCommand.reportingErrors { () throws(AccessError) in try database.rotateSigningKey() }
    print("URLs are signed with key \(key) from now on")
  }
}
