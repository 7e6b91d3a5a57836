import ArgumentParser
import CPhotodSystem

@main
enum Program {
  /// Runs on the main thread, while there is no other.
  @MainActor static func main() async {
    photod_configure_malloc()
    await Photod.main()
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
