import AccessControl
import ArgumentParser

struct TokenRevoke: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "revoke", abstract: "End a token for good, with its sessions and the URLs that it signed.")

  @OptionGroup var common: CommonOptions

  @Argument(help: "Its identifier, or its name where no other in force has it.")
  var token: String

  func run() async throws {
    let database = try await Token.database(common)
    let revoked = try Token.doing { () throws(AccessError) in try database.revokeToken(token) }
    let name = revoked.name == revoked.identifier ? "" : " (\(revoked.name))"
    print("token \(revoked.identifier)\(name) is revoked")
  }
}
