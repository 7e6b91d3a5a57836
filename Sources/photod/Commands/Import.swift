import ArgumentParser
import Foundation
import LibraryImport

#if canImport(Glibc)
  import Glibc
#endif

struct Import: AsyncParsableCommand {
  enum Kind: String, ExpressibleByArgument, CaseIterable {
    case takeout, immich, apple
  }

  static let configuration = CommandConfiguration(
    abstract: "Copy an export of Google Photos, Immich or Apple Photos into the library, with albums and descriptions.",
    discussion: """
      takeout: an unpacked Google Takeout, all parts in one folder. immich: a copy of Immich's upload folder with the \
      answers of its API; the guide Import has the commands. apple: originals exported by Apple Photos, with XMP \
      sidecars if the export made them.

      Never changes the export. A file whose content the library has is not added again, so an import that was \
      interrupted continues when it is run again. Safe while a daemon runs.

      Prints one line for each file that was not imported or has no date, then a summary with everything that photod \
      has no place for. Files in formats that photod does not read, and what was deleted in photod, are left out. Exits \
      with 1 if a picture or video could not be imported, and with 2 if the import ended early.
      """)

  @OptionGroup var common: CommonOptions

  @Argument(help: "The kind of export: takeout, immich or apple.")
  var kind: Kind

  @Argument(help: "The folder of the export.", completion: .directory)
  var folder: String

  @Flag(help: "Write nothing; print what would be imported.")
  var dryRun = false

  @Flag(help: "Also import what is in the trash of Google Photos or Immich.")
  var includeTrashed = false

  @Flag(help: "Also import what was deleted in photod.")
  var includeDeleted = false

  @Flag(help: "Make no albums of the folders of an Apple export.")
  var noFolderAlbums = false

  func run() async throws {
    let composition = try Composition(try common.settings())
    // For a library without a catalogue, the export is compared with an empty one.
    let scratch = try await dryRun && !composition.hasCatalogue ? ScratchFolder() : nil
    defer { scratch?.remove() }
    let progress = ImportProgress(isTerminal: isatty(STDERR_FILENO) == 1)
    let report = ImportReport { notice in
      progress.clear()
      print(notice.line)
    }
    do {
      // The export is opened first: if it is missing, no catalogue is created.
      func add(_ source: some ImportSource) throws {
        let importer = try composition.importer(
          of: folder, isDryRun: dryRun, emptyCatalogueIn: scratch?.path, includesDeleted: includeDeleted, report)
        try importer.run(progress.counting(source))
      }
      switch kind {
      case .takeout: try add(TakeoutExport(folder: folder, includesTrash: includeTrashed))
      case .immich: try add(ImmichExport(folder: folder, includesTrash: includeTrashed))
      case .apple:
        try add(AppleExport(folder: folder, makesAlbums: !noFolderAlbums, timeZone: try composition.timeZone()))
      }
    } catch let error as ImportError {
      progress.clear()
      for line in ImportSummary(report, isDryRun: dryRun).lines { print(line) }
      fflush(nil)
      CommandFailure(description: "the import ended early: \(error)").report()
      throw ExitCode(2)
    }
    progress.clear()
    for line in ImportSummary(report, isDryRun: dryRun).lines { print(line) }
    if report.added + report.existing + report.failed + report.unsupported + report.deleted == 0 {
      fflush(nil)
      CommandFailure(description: "\(folder) has no pictures or videos of this kind of export").report()
      throw ExitCode(2)
    }
    if report.failed > 0 { throw ExitCode(1) }
  }
}
