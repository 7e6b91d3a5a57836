import ArgumentParser
import LibraryCatalogue
import LibraryFiles
import LibraryFolder
import PhotoModel

struct ExportMetadata: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "export-metadata",
    abstract: "Write titles, captions, keywords, ratings and favourites as XMP sidecars into a folder.",
    discussion: """
      Each asset that has such values gets a file: a/b.jpg gets a/b.jpg.xmp below the folder. If the folder is the \
      library itself, the sidecars are beside the originals, which are never changed. Safe while a daemon runs.

      A sidecar that another program wrote is kept unless --overwrite is given, and a file that is not XMP is always \
      kept. Prints one line for each sidecar that was not written, and a summary. Exits with 1 if one failed.
      """)

  @OptionGroup var common: CommonOptions

  @Argument(help: "The folder to write to. It is created if it does not exist.", completion: .directory)
  var folder: String

  @Flag(help: "Also write coordinates and names of places.")
  var includeLocations = false

  @Flag(help: "Only assets with values that users set in photod. Other values are already in the originals.")
  var onlyEdited = false

  @Flag(help: "Replace XMP sidecars that other programs wrote.")
  var overwrite = false

  func run() async throws {
    let settings = try common.settings()
    let dataFolder = try settings.dataFolder()
    var options = MetadataExport.Options()
    options.includesLocations = includeLocations
    options.includesOnlyEdited = onlyEdited
    options.replacesForeign = overwrite
    let summary: MetadataExport.Summary
    let catalogue = try Catalogue(reading: dataFolder)
    try OutputFile.makeFolder(folder)
    do {
      let export = try MetadataExport(
        catalogue: catalogue, to: folder, library: settings.library, options: options)
      summary = try export.run { path, failure in print("\(LibraryPath.escaped(path)): \(failure)") }
    } catch let error as AssetSourceError {
      throw CommandFailure(description: "\(LibraryError(error, dataFolder: dataFolder))")
    } catch {
      throw CommandFailure(description: "\(folder): \(error)")
    }
    var line = "sidecars: \(summary.written) written, \(summary.unchanged) unchanged"
    if summary.kept > 0 { line += ", \(summary.kept) files of other programs kept" }
    if summary.failed > 0 { line += ", \(summary.failed) failed" }
    print(line)
    if summary.failed > 0 { throw ExitCode(1) }
  }
}
