// The parts of Composition for commands other than `serve`, and the scanners that both use.

import DiskCache
import Foundation
import LibraryCatalogue
import LibraryFiles
import LibraryImport
import LibraryScan
import Logging
import ObjectStores
import OriginalDownloads
import RemoteScan

extension Composition {
  func scanner() throws -> AnyLibraryScanner {
    switch library {
    case .folder(let path):
      let catalogue = try openCatalogue()
      try checkTimeZone(of: catalogue)
      // Before the scan, to which files in the trash would look deleted.
      if try catalogue.hasUncheckedTrash() {
        let files = try LibraryFiles(
          catalogue: catalogue, directory: path, timeZone: settings.timeZone, limits: settings.codec,
          options: settings.files, logger: Logger(label: "files"))
        try files.reconcileTrash()
      }
      return .folder(try scanner(of: path, catalogue))
    case .remote(let location):
      // Reads the credentials before the data folder is created.
      let store = try location.store()
      let catalogue = try openCatalogue()
      try checkTimeZone(of: catalogue)
      let heads = try RemoteLibrary.heads(in: dataFolder, limitBytes: settings.remote.headBytes)
      return .remote(try scanner(of: store, heads, catalogue))
    }
  }

  /// Refuses another time zone than that of a running daemon: a scan would read every file again and date those without
  /// an offset by it, and the daemon's next scan would undo that.
  private func checkTimeZone(of catalogue: Catalogue) throws {
    let zone = try timeZone().identifier
    guard let served = try catalogue.timeZoneIdentifier(), served != zone, try DataFolderLock.isServed(dataFolder)
    else { return }
    throw LibraryError.otherTimeZone(
      library: LocalCalendar.name(ofTimeZone: served), settings: LocalCalendar.name(ofTimeZone: zone))
  }

  /// Opens the catalogue for writing. If its log was damaged, logs where the copy is.
  func openCatalogue(renderableTypes: Set<String>? = nil) throws -> Catalogue {
    try Self.openCatalogue(in: dataFolder, renderableTypes: renderableTypes)
  }

  /// Opens a catalogue in the same way, for commands that need no library.
  static func openCatalogue(in dataFolder: String, renderableTypes: Set<String>? = nil) throws -> Catalogue {
    try Catalogue(
      dataFolder: dataFolder, renderableTypes: renderableTypes,
      reportLoss: { copy in
        Logger(label: "photod").error(
          "the log of the catalogue was damaged: its last changes are lost",
          metadata: [
            "copy": "\(copy), \(copy)-wal",
            "remedy": "check the disk; scans find lost files again, users have to repeat lost changes",
          ])
      })
  }

  func check() throws -> CatalogueCheck {
    CatalogueCheck(catalogue: try Catalogue(reading: dataFolder), directory: try settings.libraryPath())
  }

  /// The paths of folders that had the place of a cache entry, and that photod has moved aside.
  func displacedFolders() -> [String] {
    let cache = ImageServices.diskCacheFolder(in: dataFolder)
    return DiskStore.displacedNames(in: cache).map { "\(cache)/\($0)" }
  }

  func repair() -> CatalogueRepair {
    CatalogueRepair(dataFolder: dataFolder, removing: RemovalLimit(percent: settings.scan.maximumRemovalPercent))
  }

  /// Whether the library was ever scanned or served.
  var hasCatalogue: Bool { Catalogue.exists(in: dataFolder) }

  /// - Parameters:
  ///   - folder: the folder of an export.
  ///   - isDryRun: the catalogue is opened read-only.
  ///   - scratch: a folder for an empty catalogue, which is used instead of the library's.
  ///   - includesDeleted: also imports what was deleted in photod.
  func importer(
    of folder: String, isDryRun: Bool, emptyCatalogueIn scratch: String?, includesDeleted: Bool,
    _ report: ImportReport
  ) throws -> LibraryImporter {
    let libraryPath = try settings.libraryPath()
    let catalogue =
      if let scratch {
        try Catalogue(dataFolder: scratch)
      } else {
        try isDryRun ? Catalogue(reading: dataFolder) : openCatalogue()
      }
    var options = settings.files
    // These limits are for clients. An import stages one file at a time, and the disk's reserve holds for it too.
    (options.stagedBytes, options.stagedPerCaller) = (.max, .max)
    options.lockTimeout = nil
    let files = try LibraryFiles(
      catalogue: catalogue, directory: libraryPath, timeZone: settings.timeZone, limits: settings.codec,
      options: options, logger: Logger(label: "files"))
    return try LibraryImporter(
      catalogue: catalogue, files: files, scanner: try scanner(of: libraryPath, catalogue), folder: folder,
      libraryPath: libraryPath, timeZone: try timeZone(), limits: settings.codec, isDryRun: isDryRun,
      includesDeleted: includesDeleted, report: report)
  }

  /// The zone of dates without an offset.
  func timeZone() throws -> TimeZone {
    guard let zone = TimeZone(identifier: settings.timeZone) else {
      throw LibraryError.unknownTimeZone(settings.timeZone)
    }
    return zone
  }

  func scanner(
    of store: any ObjectStore, _ heads: OriginalHeads, _ catalogue: Catalogue
  ) throws -> RemoteScanner {
    let zone = try timeZone()
    var options = RemoteScanner.Options()
    options.maximumRemovalPercent = settings.scan.maximumRemovalPercent
    options.keepHead = { heads.store($2, of: $0, $1) }
    return RemoteScanner(
      store: store, catalogue: catalogue, probe: MediaProbe(limits: settings.codec, timeZone: zone), timeZone: zone,
      options: options, logger: Logger(label: "scan"))
  }

  func scanner(of folder: String, _ catalogue: Catalogue) throws -> LibraryScanner {
    try LibraryScanner(
      catalogue: catalogue, directory: folder, timeZone: settings.timeZone,
      maximumRemovalPercent: settings.scan.maximumRemovalPercent,
      settleTime: settings.scan.settleTime, limits: settings.codec,
      logger: Logger(label: "scan"))
  }
}
