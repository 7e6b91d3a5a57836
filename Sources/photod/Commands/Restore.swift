import ArgumentParser
import LibraryCatalogue

struct Restore: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Replace the catalogue with a copy made by photod backup.",
    discussion: "No daemon and no scan may use the data folder meanwhile. The current catalogue is kept as "
      + "catalogue.before-restore.sqlite. The next scan updates the restored catalogue from the library.")

  @OptionGroup var common: CommonOptions

  @Argument(help: "The copy to restore.")
  var file: String

  func run() async throws {
    let dataFolder = try common.settings().dataFolder()
    let before = try CatalogueRestore(dataFolder: dataFolder).restore(from: file)
    print("restored the catalogue of \(dataFolder) from \(file)")
    if let before { print("the previous catalogue is \(before)") }
  }
}
