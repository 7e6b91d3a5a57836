import ArgumentParser
import Logging
import Telemetry

#if canImport(Glibc)
  import Glibc
#endif

/// What every command understands. Options have no defaults of their own: a flag that is not given overrules nothing.
struct CommonOptions: ParsableArguments {
  @Option(help: "A JSON file with settings; config/photod.json documents every key.")
  var config: String?

  @Option(help: "The folder with the photographs. It is only read.")
  var library: String?

  @Option(
    help: "Where the catalogue is kept. Default: a folder of its own for each library, below ~/.local/share/photod.")
  var data: String?

  @Option(help: "How much is logged: trace, debug, info, notice, warning, error or critical.")
  var logLevel: String?

  @Option(name: .customLong("set"), help: "Any setting, as KEY=VALUE. Repeatable.")
  var assignments: [String] = []

  /// The settings, with these options and `more` above everything else.
  func settings(_ more: [String: String?] = [:]) async throws -> Settings {
    let flags = try flags(more)
    do {
      return try await Settings.load(file: config, flags: flags)
    } catch let error as SettingsError {
      throw ValidationError(error.description)
    }
  }

  /// The same as text, by key.
  func values() async throws -> [(key: String, text: String)] {
    let flags = try flags([:])
    do {
      return try await Settings.values(file: config, flags: flags)
    } catch let error as SettingsError {
      throw ValidationError(error.description)
    }
  }

  private func flags(_ more: [String: String?]) throws -> [String: String] {
    var flags: [String: String] = [:]
    for assignment in assignments {
      let parts = assignment.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      guard parts.count == 2 else { throw ValidationError("--set wants KEY=VALUE, not \(assignment)") }
      flags[String(parts[0])] = String(parts[1])
    }
    flags["library"] = library ?? flags["library"]
    flags["data"] = data ?? flags["data"]
    flags["logLevel"] = logLevel ?? flags["logLevel"]
    for (key, value) in more { flags[key] = value ?? flags[key] }
    return flags
  }
}

/// Ends a command with one line on standard error, and no usage text, for the usage was right.
struct CommandFailure: Error, CustomStringConvertible {
  let description: String

  /// As ArgumentParser does, for a command that ends with an exit code of its own.
  func report() {
    var line = "Error: \(description)\n"
    line.withUTF8 { _ = write(STDERR_FILENO, $0.baseAddress, $0.count) }
  }
}
