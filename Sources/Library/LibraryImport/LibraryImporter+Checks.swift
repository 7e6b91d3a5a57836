// What an import checks before its first item.

import Foundation
import LibraryCatalogue
import LibraryFiles
import LibraryScan
import PhotoModel

extension LibraryImporter {
  /// Refuses settings with another time zone than the library's: no later scan would read the dates without an offset of
  /// the imported files again.
  func checkTimeZone() throws(ImportError) {
    let own = files.timeZone.identifier
    let known: String?
    do throws(AssetSourceError) {
      known = try catalogue.timeZoneIdentifier()
    } catch {
      throw .library(.catalogue(error))
    }
    if let known, known != own { throw .otherTimeZone(library: known, settings: own) }
  }

  /// Scans a library with files that the catalogue may not know, because its first scan is not complete or because the
  /// catalogue was restored: each of them would be added a second time. A dry run, which writes nothing, refuses it.
  func completeFirstScan() throws(ImportError) {
    do throws(AssetSourceError) {
      if try catalogue.scanState(for: Self.principal).isFirstScanComplete { return }
    } catch {
      throw .library(.catalogue(error))
    }
    if isDryRun {
      let listing = try? FileManager.default.contentsOfDirectory(atPath: libraryPath)
      if listing?.contains(where: { !$0.hasPrefix(".") }) == true { throw .notScanned(path: libraryPath) }
      return
    }
    // Before the scan, which would take files that are in the trash for files that are gone.
    do throws(LibraryFilesError) { try files.reconcileTrash() } catch { throw .library(error) }
    do throws(LibraryError) { _ = try scanner.scan() } catch { throw .scanFailed(error) }
  }

  /// Refuses an export in the library, whose files a scan may find at the same time.
  static func checkPlaces(_ folder: String, _ libraryPath: String) throws(ImportError) {
    func resolved(_ path: String) -> String { URL(filePath: path).resolvingSymlinksInPath().path + "/" }
    let (export, library) = (resolved(folder), resolved(libraryPath))
    if export.hasPrefix(library) || library.hasPrefix(export) { throw .insideLibrary(path: folder) }
  }
}
