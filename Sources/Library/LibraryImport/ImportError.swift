import LibraryCatalogue
import PhotoModel

/// Why an import ended early. What it has added stays, and running it again continues the import.
package enum ImportError: Error, Sendable, Equatable, CustomStringConvertible {
  /// The folder of the export can't be opened or read.
  case folderUnreadable(path: String, SystemError)
  /// The export is inside of the library, or the library inside of the export.
  case insideLibrary(path: String)
  /// The settings have another time zone than the library.
  case otherTimeZone(library: String, settings: String)
  /// The library has files, but no scan of it was completed. Thrown only by dry runs; other imports scan it first.
  case notScanned(path: String)
  /// The scan before the first item failed.
  case scanFailed(LibraryError)
  /// The folder has no export of the named kind.
  case notAnExport(String)
  /// A file that describes the whole export is damaged.
  case malformed(path: String, String)
  /// The library takes no more files.
  case library(LibraryFilesError)

  package var description: String {
    switch self {
    case .folderUnreadable(let path, let error): "\(path) can't be read (\(error))"
    case .insideLibrary(let path):
      "\(path) and the library contain one another; move the export out of the library, and start again"
    case .otherTimeZone(let library, let settings):
      """
      the library's time zone is \(library), but this command's timeZone is \(settings); use the daemon's settings \
      (--config, or --set timeZone=\(library)); if you have changed timeZone, restart the daemon or run photod scan first
      """
    case .notScanned(let path):
      "\(path) may have files that photod does not know; start photod scan first, so that a dry run can recognise them"
    case .scanFailed(let error): "the library must be scanned first, and that failed: \(error)"
    case .notAnExport(let reason): reason
    case .malformed(let path, let reason): "\(path) can't be read: \(reason)"
    case .library(.insufficientStorage):
      "the library's disk is full; free some space and start the same import again, which then continues"
    case .library(.readOnly): "the library is read-only; see the setting readOnly and the mount of its disk"
    case .library(.catalogue(let error)): "the catalogue failed: \(error)"
    case .library(let error): "the library can't be written: \(error)"
    }
  }
}
