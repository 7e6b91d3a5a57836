import AccessControl
import ArgumentParser
import AssetLibrary
import Logging
import PhotoAPI
import PhotoModel

struct TokenSign: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "sign",
    abstract: "Sign the URL of one image or album, for one who has no token. It is printed alone, path-absolute.")

  @OptionGroup var common: CommonOptions

  @Argument(help: "/v1/assets/ID/image?…, /v1/collections/ID or /v1/collections/ID/assets?…")
  var path: String

  @Option(help: "When it ends: 7d (also s, m, h, w, y), or a time as 2026-12-31T00:00:00Z. Default: 1d.")
  var expires: TimeLimit?

  @Option(help: "The token that bounds what it opens and how long, by identifier. Default: none, it is the operator's.")
  var issuer: String?

  func run() async throws {
    let settings = try await common.settings()
    let database = try await Token.database(common)
    let now = SystemTime.now
    guard let end = (expires ?? .aDay).end(from: now), end > now, end <= now + settings.access.signedURLSeconds else {
      throw ValidationError(
        "--expires lies in the future, at most \(settings.access.signedURLSeconds) seconds from now "
          + "(access.signedURLSeconds)")
    }
    let tokens = try Token.doing { () throws(AccessError) in try database.tokens() }
    let token = try issuer.map { identifier throws in
      guard let token = tokens.first(where: { $0.identifier == identifier }), token.standing(at: now) == .active,
        token.scopes.contains(.read)
      else { throw CommandFailure(description: "\(identifier) is no token in force that may read") }
      return token
    }
    let target: SignedTarget
    do throws(Problem) {
      target = try SignedTarget(path)
      try Self.sight(of: token?.principal ?? .local, target, settings).check()
    } catch {
      throw CommandFailure(description: error.detail)
    }
    let registry = try Token.doing { () throws(AccessError) in
      try AccessRegistry(database: database, logger: Logger(label: "tokens"))
    }
    guard
      let signature = registry.sign(
        target.subject, collection: target.collection, issuer: token?.identifier, expires: end)
    else { throw CommandFailure(description: "there is no key to sign with") }
    print(target.url(signature))
  }

  private static func sight(
    of principal: Principal, _ target: SignedTarget, _ settings: Settings
  ) throws(Problem) -> SignedTarget.Sight {
    do {
      let catalogue = try Catalogue(dataFolder: try Composition.dataFolder(settings))
      return try target.sight(of: principal, in: catalogue)
    } catch {
      throw Problem(500, "internal-error", "No catalogue", detail: "\(error)")
    }
  }
}

struct TokenRotateKey: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "rotate-key",
    abstract:
      "Make a new key to sign URLs with. What the one before signed stays good, until the key is made anew again.")

  @OptionGroup var common: CommonOptions

  func run() async throws {
    let database = try await Token.database(common)
    let key = try Token.doing { () throws(AccessError) in try database.rotateSigningKey() }
    print("URLs are signed with key \(key) from now on")
  }
}
