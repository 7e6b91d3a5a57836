import ArgumentParser
import AssetLibrary

struct Backup: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Copy the catalogue into one file, also while a daemon serves and a scan writes.",
    discussion:
      "It holds what exists nowhere else: identifiers, favourites, hidden pictures, albums, adjustments "
      + "and the key of content versions. Keep it as secret as these. photod restore puts it back. Tokens are not in it, so that no copy brings back "
      + "one that was revoked.")

  @OptionGroup var common: CommonOptions

  @Argument(help: "The file to make.")
  var file: String

  @Flag(help: "Write over a file that is there already.")
  var replace = false

  func run() async throws {
    let dataFolder = try Composition.dataFolder(try await common.settings())
    try Catalogue(reading: dataFolder).backUp(to: file, replacing: replace)
    print("copied the catalogue of \(dataFolder) to \(file)")
  }
}
