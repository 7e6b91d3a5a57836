import AccessControl
import ArgumentParser
import LibraryCatalogue

struct Backup: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Copy the catalogue into one file. Safe while a daemon or a scan runs.",
    discussion:
      "The catalogue holds data that exists nowhere else: identifiers, favourites, hidden assets, albums, adjustments "
      + "and the key of content versions. Keep the copy as secret as this data. photod restore puts it back. "
      + "It contains no tokens. --include-tokens copies them too, and the keys of signed URLs, into FILE.access.")

  @OptionGroup var common: CommonOptions

  @Argument(help: "The file to write.")
  var file: String

  @Flag(help: "Replace an existing file, but never an original of the library.")
  var replace = false

  @Flag(help: "Also copy the tokens and the keys of signed URLs, into FILE.access.")
  var includeTokens = false

  /// The tokens of a backup are in a second file.
  static func tokens(of file: String) -> String { file + ".access" }

  func run() async throws {
    let settings = try common.settings()
    let dataFolder = try settings.dataFolder()
    let tokens = Self.tokens(of: file)
    // Before anything is written, so that no half of a backup is left.
    for path in includeTokens ? [file, tokens] : [file] {
      try settings.checkOutput(path)
      _ = try OutputFile(path, replacing: replace)
    }
    try Catalogue(reading: dataFolder).backUp(to: file, replacing: replace)
    print("copied the catalogue of \(dataFolder) to \(file)")
    guard includeTokens else { return }
    try AccessDatabase(dataFolder: dataFolder).backUp(to: tokens, replacing: replace)
    print("copied the tokens to \(tokens)")
  }
}
