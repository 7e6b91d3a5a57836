import ArgumentParser
import LibraryCatalogue

struct Backup: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Copy the catalogue into one file. Safe while a daemon or a scan runs.",
    discussion:
      "The catalogue holds data that exists nowhere else: identifiers, favourites, hidden assets, albums, adjustments "
      + "and the key of content versions. Keep the copy as secret as this data. photod restore puts it back. "
      + "The copy contains no tokens, so a restore can't bring back a revoked token.")

  @OptionGroup var common: CommonOptions

  @Argument(help: "The file to write.")
  var file: String

  @Flag(help: "Overwrite an existing file.")
  var replace = false

  func run() async throws {
    let dataFolder = try common.settings().dataFolder()
    try Catalogue(reading: dataFolder).backUp(to: file, replacing: replace)
    print("copied the catalogue of \(dataFolder) to \(file)")
  }
}
