import LibraryFolder
import PhotoModel

#if canImport(Glibc)
  import Glibc
#endif

/// Why the library could not be opened or scanned.
package enum LibraryError: Error, Sendable, Equatable, CustomStringConvertible {
  /// The folder does not exist, or it or its files can't be read.
  case libraryUnavailable(path: String, SystemError)
  /// The data folder can't be created or written.
  case dataFolderUnusable(path: String, SystemError)
  /// The catalogue was written by a newer photod.
  case catalogueTooNew(path: String)
  /// The catalogue was written by a photod before its first release.
  case catalogueUnreleased(path: String)
  /// The catalogue's file is empty, or its tables were in a log that is lost.
  case catalogueWithoutTables(path: String)
  /// The catalogue has lost its key. Only its copies have it.
  case catalogueWithoutKey(path: String)
  case catalogueFailed(String)
  /// The disk that holds the catalogue, or the catalogue file itself, failed. The transaction that failed stored
  /// nothing.
  case storageFailed(dataFolder: String, StorageFault, String)
  /// A scan found more files missing than the limit allows, so the disk is probably not mounted. Nothing was removed.
  case tooMuchMissing(missing: Int, known: Int, limitPercent: Int)
  /// The library's folder is empty although the catalogue knows files in it. Nothing was removed.
  case libraryIsEmpty(path: String, known: Int)
  /// The library's folder is on another file system than at the last scan, and none of the known files that were
  /// sampled exists there. Nothing was read, and nothing was removed.
  case otherFileSystem(path: String)
  /// A disk was mounted or unmounted during the scan. Nothing was removed.
  case mountsChanged
  /// The catalogue's list of file systems is damaged, so missing files may be on a disk that is not mounted. Nothing
  /// was removed.
  case mountsUnreadable
  case unknownTimeZone(String)
  /// A daemon serves the library with another time zone than the settings have.
  case otherTimeZone(library: String, settings: String)
  /// Another scan, in this or another process, is writing to the same catalogue.
  case scanUnderWay
  /// The data folder holds no catalogue.
  case noCatalogue(path: String)
  /// This user can't read the catalogue, or can't see whether there is one.
  case catalogueUnreadable(path: String, SystemError)
  /// The catalogue was written by an older photod and was opened read-only, so it can't be migrated.
  case catalogueTooOld(path: String)
  /// Another process has the catalogue open.
  case dataFolderInUse(path: String)
  case restoreUnderWay(path: String)
  /// A rollback journal is beside the catalogue, which a command that only reads can't apply.
  case catalogueHasJournal(path: String)
  /// The copy can't be written to this path.
  case copyFailed(path: String, String)
  /// The copy's destination already exists.
  case copyExists(path: String)
  /// The copy's destination is the copy of another catalogue.
  case copyOfAnotherCatalogue(path: String)
  /// Another process writes a copy to this path.
  case copyUnderWay(path: String)
  /// The copy's destination is a file that photod uses in its data folder.
  case copyWouldReplaceFileInUse(path: String)
  /// Pages of the catalogue are damaged beyond repair. The catalogue is unchanged.
  case beyondRepair(path: String, String)
  /// A repair would remove more assets than the limit allows, because their file rows are lost. The catalogue is
  /// unchanged.
  case tooManyWithoutFile(assets: Int, known: Int, limitPercent: Int)
  /// The file to restore is not a catalogue, or it is damaged.
  case notACatalogue(path: String, String)

  package var description: String {
    switch self {
    case .libraryUnavailable(let path, let error): "the library \(path) can't be read (\(error))"
    case .dataFolderUnusable(let path, let error):
      "the data folder \(path) can't be used (\(error))\(Self.remedy(for: error))"
    case .catalogueTooNew(let path):
      "the catalogue \(path) was written by a newer photod; run the newer version, or choose another folder with --data"
    case .catalogueUnreleased(let path):
      "the catalogue \(path) was written by a photod before 0.1.0 and can't be migrated; move it away, or choose "
        + "another folder with --data"
    case .catalogueWithoutTables(let path):
      "the catalogue \(path) is damaged: it has no tables; restore a backup with photod restore, or delete it to begin "
        + "a new catalogue"
    case .catalogueWithoutKey(let path):
      "the catalogue \(path) is damaged: its key is lost, which only a backup has; restore a backup with photod restore"
    case .catalogueFailed(let reason): "the catalogue failed: \(reason)"
    case .storageFailed(let folder, let fault, let detail): "the data folder \(folder): \(fault) (\(detail))"
    case .tooMuchMissing(let missing, let known, let limit):
      "\(missing) of \(known) files are missing, more than \(limit)%: is the disk mounted? Nothing was removed; "
        + Self.advice
    case .libraryIsEmpty(let path, let known):
      "the library \(path) is empty, but the catalogue has \(known) files: is the disk mounted? Nothing was removed; "
        + Self.advice
    case .otherFileSystem(let path):
      "the library \(path) is on another file system than at the last scan, and none of the sampled known files "
        + "exists: is the disk mounted? Nothing was removed; \(Self.advice)"
    case .mountsChanged: "a disk was mounted or unmounted during the scan; nothing was removed; scan again"
    case .mountsUnreadable:
      "the catalogue's list of file systems is damaged, and files are missing; nothing was removed; mount all disks of "
        + "the library and scan again, or accept the removals with photod scan --accept-removals"
    case .unknownTimeZone(let name): "\(name) is not a known time zone; use an IANA name such as Europe/Berlin"
    case .otherTimeZone(let library, let settings):
      "the daemon serves the library with the time zone \(library), but this command's timeZone is \(settings); "
        + "use the daemon's settings (--config, or --set timeZone=\(library)), or stop it first"
    case .scanUnderWay: "another scan of this library is running; wait until it ends"
    case .noCatalogue(let path): "the catalogue \(path) does not exist; run photod scan first"
    case .catalogueUnreadable(let path, let error):
      "the catalogue \(path) can't be opened (\(error))\(Self.remedy(for: error))"
    case .catalogueTooOld(let path): "the catalogue \(path) was written by an older photod; run photod scan first"
    case .catalogueHasJournal(let path):
      "\(path)-journal has an unfinished change of the catalogue; run photod scan, which undoes it, and try again"
    case .dataFolderInUse(let path): "the data folder \(path) is in use; stop the daemon, or wait until the scan ends"
    case .restoreUnderWay(let path): "the data folder \(path) is being restored; wait until that ends"
    case .copyFailed(let path, let reason): "the copy \(path) can't be written: \(reason)"
    case .copyExists(let path): "\(path) already exists; choose another file, or pass --replace"
    case .copyOfAnotherCatalogue(let path):
      "\(path) is a backup of another catalogue, such as of one that was lost; restore it, or choose another file"
    case .copyUnderWay(let path): "another backup to \(path) is in progress; wait until it ends"
    case .copyWouldReplaceFileInUse(let path): "photod itself uses \(path); choose another file"
    case .beyondRepair(let path, let reason):
      "the catalogue \(path) is damaged beyond repair (\(reason)); restore a backup with photod restore"
    case .tooManyWithoutFile(let assets, let known, let limit):
      "\(assets) of \(known) assets have no file in the catalogue, more than \(limit)%. Nothing was removed; restore a "
        + "backup with photod restore, or give up what users said of them with photod check --repair --accept-removals"
    case .notACatalogue(let path, let reason): "\(path) can't be restored: \(reason)"
    }
  }

  private static let advice = "if the files were really deleted, run photod scan --accept-removals once"

  private static func remedy(for error: SystemError) -> String {
    error.code == EACCES ? "; run photod as the user that owns the data folder, such as that of the service" : ""
  }

  /// Translates an error of the catalogue into one for the caller of a scan or a command.
  package init(_ error: AssetSourceError, dataFolder: String) {
    switch error {
    case .storageFailed(let fault, let detail): self = .storageFailed(dataFolder: dataFolder, fault, detail)
    case .catalogueFailed(let reason): self = .catalogueFailed(reason)
    case .malformedCursor, .noSuchCollection, .queryTooExpensive, .tooManyAssets, .noSuchAsset, .issuerLostAccess:
      self = .catalogueFailed("\(error)")
    }
  }
}
