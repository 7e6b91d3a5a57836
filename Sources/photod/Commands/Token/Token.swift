import AccessControl
import ArgumentParser

/// Who may come in: `access.sqlite` of the data folder. A daemon that runs hears of each change within a second.
struct Token: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Make, list and revoke the tokens that callers come with, and sign URLs.",
    discussion: "Once a token was made, nobody is served without one, not even at this machine.",
    subcommands: [
      TokenCreate.self, TokenList.self, TokenRevoke.self, TokenSign.self, TokenRotateKey.self,
    ])

  /// The list of the data folder that the options name.
  static func database(_ common: CommonOptions) async throws -> AccessDatabase {
    let settings = try await common.settings()
    do {
      return try AccessDatabase(dataFolder: try Composition.dataFolder(settings), limits: settings.access)
    } catch let error as AccessError {
      throw CommandFailure(description: "\(error)")
    }
  }

  /// Runs what changes the list, with its own error as one line.
  static func doing<Value>(_ change: () throws(AccessError) -> Value) throws -> Value {
    do throws(AccessError) { return try change() } catch { throw CommandFailure(description: "\(error)") }
  }
}
