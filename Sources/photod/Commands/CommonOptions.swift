import ArgumentParser
import Logging

#if canImport(Glibc)
  import Glibc
#endif

/// Options of every command. They have no defaults, so an option that is not given overrides nothing.
struct CommonOptions: ParsableArguments {
  @Option(
    help: "A JSON file with settings: see photod.json(5), or photod settings --format file.", completion: .file())
  var config: String?

  @Option(
    help: "The library: the folder with the photographs, or the s3:// or https:// address of a remote library.",
    completion: .directory)
  var library: String?

  @Option(
    help:
      """
      The data folder, which holds the catalogue. Default: one folder per library, below $XDG_DATA_HOME/photod or \
      ~/.local/share/photod.
      """, completion: .directory)
  var data: String?

  @Option(
    help: "The log level: \(Logger.Level.allCases.map(\.rawValue).joined(separator: ", ")).",
    completion: .list(Logger.Level.allCases.map(\.rawValue)))
  var logLevel: String?

  @Option(name: .customLong("set"), help: "Set any setting, as KEY=VALUE. Repeatable.")
  var assignments: [String] = []

  func validate() throws { _ = try flags([:]) }

  /// The settings, with these options and `more` overriding all other sources.
  func settings(_ more: [String: String?] = [:]) throws -> Settings {
    do {
      return try loader(more)()
    } catch let error as SettingsError {
      // Not a usage error: the usage text would not explain the fault.
      throw CommandFailure(description: error.description)
    }
  }

  /// Reads the same settings again at each call, from a file that may have changed. Throws ``SettingsError``.
  func loader(_ more: [String: String?] = [:]) throws -> @Sendable () throws -> Settings {
    let (file, flags) = (config, try flags(more))
    return { try Settings.load(file: file, flags: flags) }
  }

  private func flags(_ more: [String: String?]) throws -> [String: String] {
    var flags: [String: String] = [:]
    for assignment in assignments {
      let parts = assignment.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      guard parts.count == 2 else { throw ValidationError("--set needs KEY=VALUE, not \(assignment)") }
      flags[String(parts[0])] = String(parts[1])
    }
    flags["library"] = library ?? flags["library"]
    flags["data"] = data ?? flags["data"]
    flags["logLevel"] = logLevel ?? flags["logLevel"]
    for (key, value) in more { flags[key] = value ?? flags[key] }
    return flags
  }
}

/// Ends a command with one line on standard error. Prints no usage text, because the usage was correct.
struct CommandFailure: Error, CustomStringConvertible {
  let description: String

  /// Prints the line as ArgumentParser does, for a command that sets its own exit code.
  func report() {
    var line = "Error: \(description)\n"
    line.withUTF8 { _ = write(STDERR_FILENO, $0.baseAddress, $0.count) }
  }
}
