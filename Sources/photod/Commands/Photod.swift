import ArgumentParser
import CPhotodSystem
import PhotoModel

#if canImport(Glibc)
  import Glibc
#endif

@main
enum Program {
  /// Runs on the main thread, while there is no other.
  @MainActor static func main() async {
    openStandardStreams()
    photod_configure_malloc()
    if let number = firstMalformedArgument {
      CommandFailure(description: "argument \(number) is not UTF-8").report()
      Photod.exit(withError: ExitCode.validationFailure)
    }
    await Photod.runAndExit()
  }

  /// The number of the first argument that is not UTF-8. Swift would take it for another text, which may be the path of
  /// another file.
  private static var firstMalformedArgument: Int? {
    for number in 1..<max(1, Int(CommandLine.argc)) {
      guard let argument = CommandLine.unsafeArgv[number] else { continue }
      if String(validatingCString: argument) == nil { return number }
    }
    return nil
  }

  /// Opens /dev/null for each standard stream that is closed. Otherwise the events of a loop, a socket or the catalogue
  /// would get its number, and log lines would be written there.
  private static func openStandardStreams() {
    // The lowest free number is the one that is opened.
    for stream in STDIN_FILENO...STDERR_FILENO where fcntl(stream, F_GETFD) < 0 { _ = open("/dev/null", O_RDWR) }
  }
}

struct Photod: AsyncParsableCommand {
  static let version = "0.1.0"

  static let configuration = CommandConfiguration(
    commandName: "photod",
    abstract: "Serves a folder of photographs over HTTP, upright and at any requested size.",
    version: "\(version)\n\(ShowDecoders.installed)",
    subcommands: [
      Serve.self, Scan.self, Import.self, Check.self, Backup.self, Restore.self, ExportMetadata.self, List.self,
      Get.self,
      Render.self, Health.self,
      TokenCommand.self, ShowSettings.self, ShowDecoders.self,
    ])

  /// Runs the command that the arguments name, and ends the process. A command whose output could not be written has
  /// failed: its reader would take a part of the output for all of it.
  fileprivate static func runAndExit() async -> Never {
    var statusOfLostOutput = ExitCode.failure
    var failure: (any Error)?
    do {
      var command = try parseAsRoot()
      // Exit status 1 is a result of these commands.
      if command is Check || command is Import { statusOfLostOutput = ExitCode(2) }
      if var asyncCommand = command as? any AsyncParsableCommand {
        try await asyncCommand.run()
      } else {
        try command.run()
      }
    } catch {
      failure = error
    }
    // Help and the version are thrown.
    if let error = failure, exitCode(for: error) == ExitCode.success {
      print(fullMessage(for: error))
      failure = nil
    }
    if photod_flush_output() != 0 {
      let reason = SystemError(code: errno)
      // A failure with a message needs no second one.
      if let failure, !(failure is ExitCode) { exit(withError: failure) }
      CommandFailure(description: "standard output: \(reason)").report()
      exit(withError: statusOfLostOutput)
    }
    exit(withError: failure)
  }
}
