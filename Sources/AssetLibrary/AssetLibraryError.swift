import LibraryFolder
import PhotoModel

/// Why the library could not be opened or scanned.
package enum AssetLibraryError: Error, Sendable, Equatable, CustomStringConvertible {
  /// The folder is not there or can't be entered.
  case libraryUnavailable(path: String, SystemError)
  /// The data folder can't be made or written.
  case dataFolderUnusable(path: String, SystemError)
  /// The catalogue was written by a newer photod.
  case catalogueTooNew(path: String)
  case catalogueFailed(String)
  /// The disk that the catalogue is on, or the catalogue on it: what could not be stored as a whole was not stored.
  case storageFailed(dataFolder: String, StorageFault, String)
  /// A scan found so much missing that something else must be wrong; nothing was removed.
  case tooMuchMissing(missing: Int, known: Int, limitPercent: Int)
  /// There is nothing in the library's folder, but files of it are known; nothing was removed.
  case libraryIsEmpty(path: String, known: Int)
  /// The library's folder is on another file system than at the last scan, and of the known files that were looked for
  /// none is there; nothing was read, and nothing removed.
  case otherFileSystem(path: String)
  /// A disk came or went while the library was scanned; nothing was removed.
  case mountsChanged
  case unknownTimeZone(String)
  /// Another process, or this one, is scanning into the same catalogue.
  case scanUnderWay
  /// There is none in that data folder.
  case noCatalogue(path: String)
  /// The catalogue was written by an older photod, and is only to be read.
  case catalogueTooOld(path: String)
  /// A daemon or a command has the catalogue open.
  case dataFolderInUse(path: String)
  case restoreUnderWay(path: String)
  /// A copy can't be made there.
  case copyFailed(path: String, String)
  /// There is a file already where a copy is to be made.
  case copyExists(path: String)
  /// What is to be restored is no catalogue, or not a sound one.
  case notACatalogue(path: String, String)

  package var description: String {
    switch self {
    case .libraryUnavailable(let path, let error): "the library \(path) can't be opened (\(error))"
    case .dataFolderUnusable(let path, let error): "the data folder \(path) can't be used (\(error))"
    case .catalogueTooNew(let path):
      "the catalogue \(path) was written by a newer photod; use that one, or another --data"
    case .catalogueFailed(let reason): "the catalogue failed: \(reason)"
    case .storageFailed(let folder, let fault, let detail): "the data folder \(folder): \(fault) (\(detail))"
    case .tooMuchMissing(let missing, let known, let limit):
      "\(missing) of \(known) files are missing, more than \(limit)%: is the disk mounted? Nothing was removed; "
        + Self.advice
    case .libraryIsEmpty(let path, let known):
      "the library \(path) is empty, but \(known) files of it are known: is the disk mounted? Nothing was removed; "
        + Self.advice
    case .otherFileSystem(let path):
      "the library \(path) is on another file system than at the last scan, and none of the known files that "
        + "were looked for is there: is the disk mounted? Nothing was removed; \(Self.advice)"
    case .mountsChanged: "a disk was mounted or went while the library was scanned: nothing was removed"
    case .unknownTimeZone(let name): "\(name) is not a time zone"
    case .scanUnderWay: "another scan of this library is under way"
    case .noCatalogue(let path): "there is no catalogue \(path): scan first"
    case .catalogueTooOld(let path): "the catalogue \(path) was written by an older photod: scan first"
    case .dataFolderInUse(let path): "the data folder \(path) is in use: end the daemon, or wait for the scan"
    case .restoreUnderWay(let path): "the data folder \(path) is being restored"
    case .copyFailed(let path, let reason): "the copy \(path) can't be made: \(reason)"
    case .copyExists(let path): "\(path) is there already; name another file, or say --replace"
    case .notACatalogue(let path, let reason): "\(path) can't be restored: \(reason)"
    }
  }

  private static let advice = "if they are really gone, scan once with photod scan --accept-removals"

  /// What a catalogue threw, for whoever asked for a scan or a command.
  init(_ error: AssetSourceError, dataFolder: String) {
    switch error {
    case .storageFailed(let fault, let detail): self = .storageFailed(dataFolder: dataFolder, fault, detail)
    case .catalogueFailed(let reason): self = .catalogueFailed(reason)
    case .malformedCursor, .noSuchCollection, .queryTooExpensive, .tooManyAssets, .noSuchAsset:
      self = .catalogueFailed("\(error)")
    }
  }
}
