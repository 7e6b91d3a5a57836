import AccessControl
import ArgumentParser
import DurableFiles
import Foundation
import LibraryCatalogue
import PhotoModel

struct Restore: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Replace the catalogue with a copy made by photod backup.",
    discussion: "No daemon and no scan may use the data folder meanwhile. The current catalogue is kept as "
      + "catalogue.before-restore.sqlite. The next scan updates the restored catalogue from the library. "
      + "--include-tokens brings back tokens that were revoked since the backup.")

  @OptionGroup var common: CommonOptions

  @Argument(help: "The copy to restore.", completion: .file())
  var file: String

  @Flag(help: "Also restore the tokens and the keys of signed URLs, from FILE.access.")
  var includeTokens = false

  func run() async throws {
    let dataFolder = try common.settings().dataFolder()
    let tokens = Backup.tokens(of: file)
    // Before anything is replaced.
    if includeTokens { try AccessRestore.check(tokens) }
    let isNewFolder = !FileManager.default.fileExists(atPath: dataFolder)
    let copies = UnfinishedCopies()
    let signals = await EndingSignals { copies.removeAll(andExit: $0) }
    defer { withExtendedLifetime(signals) {} }
    let before = try CatalogueRestore(dataFolder: dataFolder).restore(from: file, notedIn: copies)
    if isNewFolder { print("created the data folder \(dataFolder)") }
    print("restored the catalogue of \(dataFolder) from \(file)")
    if let before { print("the previous catalogue is \(before)") }
    guard includeTokens else { return }
    let lock = try DataFolderLock.forRestore(of: dataFolder)
    defer { lock.unlock() }
    let formerTokens = try AccessRestore(dataFolder: dataFolder).restore(from: tokens, notedIn: copies)
    print("restored the tokens from \(tokens)")
    if let formerTokens { print("the previous tokens are \(formerTokens)") }
  }
}
