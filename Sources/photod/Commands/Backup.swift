import AccessControl
import ArgumentParser
import DurableFiles
import LibraryCatalogue
import PhotoModel

#if canImport(Glibc)
  import Glibc
#endif

struct Backup: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Copy the catalogue into one file. Safe while a daemon or a scan runs.",
    discussion:
      "The catalogue holds data that exists nowhere else: identifiers, favourites, hidden assets, albums, adjustments "
      + "and the key of content versions. Keep the copy as secret as this data. photod restore puts it back. "
      + "It contains no tokens. --include-tokens copies them too, and the keys of signed URLs, into FILE.access.")

  @OptionGroup var common: CommonOptions

  @Argument(help: "The file to write.", completion: .file())
  var file: String

  @Flag(help: "Replace a former backup of the same catalogue. Other files are never replaced.")
  var replace = false

  @Flag(help: "Also copy the tokens and the keys of signed URLs, into FILE.access.")
  var includeTokens = false

  /// The tokens of a backup are in a second file.
  static func tokens(of file: String) -> String { file + ".access" }

  func run() async throws {
    let settings = try common.settings()
    let dataFolder = try settings.dataFolder()
    let tokens = Self.tokens(of: file)
    // Checks both paths before anything is written, so that no half of a backup is left.
    try check(file, settings, "a catalogue", Catalogue.isCatalogue)
    if includeTokens {
      try check(tokens, settings, "a copy of tokens") { path in
        DatabaseTables.names(at: path).isSuperset(of: AccessRestore.tables)
      }
    }
    let copies = UnfinishedCopies()
    let signals = await EndingSignals { copies.removeAll(andExit: $0) }
    defer { withExtendedLifetime(signals) {} }
    try Catalogue(reading: dataFolder).backUp(to: file, replacing: replace, notedIn: copies)
    print("copied the catalogue of \(dataFolder) to \(file)")
    guard includeTokens else { return }
    try AccessDatabase(dataFolder: dataFolder).backUp(to: tokens, replacing: replace, notedIn: copies)
    print("copied the tokens to \(tokens)")
  }

  /// Throws ``CommandFailure`` if a copy may not get this path. The library may be unknown here, so an existing file is
  /// replaced only if it is empty, or its content shows that it is a former copy.
  private func check(_ path: String, _ settings: Settings, _ kind: String, _ isCopy: (String) -> Bool) throws {
    try settings.checkUnused(path)
    _ = try OutputFile(path, replacing: replace)
    var status = stat()
    guard lstat(path, &status) == 0 else { return }
    let isEmptyFile = status.st_mode & S_IFMT == S_IFREG && status.st_size == 0
    if !isEmptyFile && !isCopy(path) {
      throw CommandFailure(description: "\(path) is not \(kind), and nothing else is replaced; choose another file")
    }
  }
}
