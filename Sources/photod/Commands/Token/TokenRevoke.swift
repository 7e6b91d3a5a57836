import AccessControl
import ArgumentParser

struct TokenRevoke: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "revoke", abstract: "Revoke a token permanently, with its sessions and the URLs that it signed.")

  @OptionGroup var common: CommonOptions

  @Argument(help: "The token's identifier, or its name if no other active token has it.")
  var token: String

  func run() async throws {
    let database = try TokenCommand.database(common)
    let revoked = try TokenCommand.reportingErrors { () throws(AccessError) in try database.revokeToken(token) }
    let name = revoked.name == revoked.identifier ? "" : " (\(revoked.name))"
    print("token \(revoked.identifier)\(name) is revoked")
  }
}
