// What an import checks before its first item.

import Foundation
import LibraryCatalogue
import LibraryFiles
import LibraryScan
import PhotoModel

extension LibraryImporter {
  /// Refuses settings with another time zone than the library's: imported dates without an offset would be read in the
  /// wrong zone, and no later scan reads them again.
  func checkTimeZone() throws(ImportError) {
    let own = files.timeZone
    let known: String?
    do throws(AssetSourceError) {
      known = try catalogue.timeZoneIdentifier()
    } catch {
      throw .library(.catalogue(error))
    }
    guard let known, known != own.identifier else { return }
    if let zone = TimeZone(identifier: known), Self.haveSameOffsets(zone, own) { return }
    throw .otherTimeZone(
      library: LocalCalendar.name(ofTimeZone: known), settings: LocalCalendar.name(ofTimeZone: own.identifier))
  }

  /// Whether two zones are one zone under two names: they have the same offset in each month from 1875 to 2096.
  private static func haveSameOffsets(_ one: TimeZone, _ other: TimeZone) -> Bool {
    stride(from: -3.0e9, to: 4.0e9, by: 2.6e6).allSatisfy { seconds in
      let date = Date(timeIntervalSince1970: seconds)
      return one.secondsFromGMT(for: date) == other.secondsFromGMT(for: date)
    }
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
    // Before the scan, to which files in the trash would look deleted.
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
