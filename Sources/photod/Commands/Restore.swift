import ArgumentParser
import AssetLibrary

struct Restore: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Put a copy that photod backup made in the place of the catalogue.",
    discussion: "No daemon and no scan may use the data folder. The present catalogue stays beside it, as "
      + "catalogue.before-restore.sqlite. The next scan brings what was restored up to date with the library.")

  @OptionGroup var common: CommonOptions

  @Argument(help: "The copy.")
  var file: String

  func run() async throws {
    let dataFolder = try Composition.dataFolder(try await common.settings())
    let before = try CatalogueRestore(dataFolder: dataFolder).restore(from: file)
    print("restored the catalogue of \(dataFolder) from \(file)")
    if let before { print("the one before is \(before)") }
  }
}
