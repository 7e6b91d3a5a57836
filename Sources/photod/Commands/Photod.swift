import ArgumentParser
import CPhotodSystem

#if canImport(Glibc)
  import Glibc
#endif

@main
enum Program {
  /// Runs on the main thread, while there is no other.
  @MainActor static func main() async {
    openStandardStreams()
    photod_configure_malloc()
    await Photod.main()
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
}
