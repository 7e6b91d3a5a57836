import AccessControl
import ArgumentParser
import LibraryCatalogue

#if canImport(Glibc)
  import Glibc
#endif

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
  ///
  /// - Parameter makesFolder: makes a missing data folder, which is otherwise taken for a mistyped one.
  static func database(_ common: CommonOptions, makesFolder: Bool = false) throws -> AccessDatabase {
    let settings = try common.settings()
    let dataFolder = try settings.dataFolder()
    let isInUse = Catalogue.exists(in: dataFolder) || access(dataFolder + "/access.sqlite", F_OK) == 0
    guard makesFolder || isInUse else {
      throw CommandFailure(
        description: "the data folder \(dataFolder) has neither tokens nor a catalogue; check --library and --data, or "
          + "run photod token create or photod scan first")
    }
    return try reportingErrors { () throws(AccessError) in
      try AccessDatabase(dataFolder: dataFolder, limits: settings.access)
    }
  }

  /// Runs a database operation and reports its error as one line.
  static func reportingErrors<Value>(_ change: () throws(AccessError) -> Value) throws -> Value {
    do throws(AccessError) { return try change() } catch { throw CommandFailure(description: "\(error)") }
  }
}
