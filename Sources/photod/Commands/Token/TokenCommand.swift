import AccessControl
import ArgumentParser

/// Manages the tokens in `access.sqlite` of the data folder. A running daemon applies each change within a second.
struct TokenCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "token",
    abstract: "Create, list and revoke tokens, and sign URLs.",
    discussion: "Once the first token exists, every request needs credentials, even from this machine.",
    subcommands: [
      TokenCreate.self, TokenList.self, TokenRevoke.self, TokenSign.self, TokenRotateKey.self,
    ])

  /// The database of the data folder that the options name.
  static func database(_ common: CommonOptions) throws -> AccessDatabase {
    let settings = try common.settings()
    do {
      return try AccessDatabase(dataFolder: try settings.dataFolder(), limits: settings.access)
    } catch let error as AccessError {
      throw CommandFailure(description: "\(error)")
    }
  }

  /// Runs a database operation and reports its error as one line.
  static func reportingErrors<Value>(_ change: () throws(AccessError) -> Value) throws -> Value {
    do throws(AccessError) { return try change() } catch { throw CommandFailure(description: "\(error)") }
  }
}
