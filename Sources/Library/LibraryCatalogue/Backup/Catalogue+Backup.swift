import DurableFiles
import Foundation
import GRDB
import PhotoModel

#if canImport(Glibc)
  import Glibc
#endif

extension Catalogue {
  /// The names of the files in a data folder that belong to a catalogue, and of the folder's locks.
  package static let fileNames: [String] =
    DatabaseFile.names(of: "catalogue.sqlite") + DatabaseFile.names(of: "catalogue.incoming.sqlite")
    + ["use.lock", "open.lock", "serve.lock", "scan.lock", "files.lock"]

  /// Copies the catalogue into one file, with all data that exists nowhere else: identifiers, favourites, hidden,
  /// albums, adjustments, tokens, the key of content versions. Concurrent readers and writers are not disturbed; the
  /// copy is a snapshot of one moment. It gets its name once it is complete, checked and synced.
  ///
  /// - Parameters:
  ///   - replaces: replace an existing file. The backup of another catalogue is never replaced, because it may be the
  ///     only one of a catalogue that was lost.
  ///   - copies: lists the copy while it is written, so that a signal can remove it.
  package func backUp(
    to path: String, replacing replaces: Bool = false, notedIn copies: UnfinishedCopies = UnfinishedCopies()
  ) throws(LibraryError) {
    if DatabaseFile.isFile(path, in: dataFolder, named: Self.fileNames) {
      throw .copyWouldReplaceFileInUse(path: path)
    }
    if !replaces && access(path, F_OK) == 0 { throw .copyExists(path: path) }
    let destination: CopyDestination
    do throws(SystemError) {
      destination = try CopyDestination(path, notedIn: copies)
    } catch {
      throw error.code == EWOULDBLOCK ? .copyUnderWay(path: path) : .copyFailed(path: path, "\(error)")
    }
    defer { destination.release() }
    do {
      if replaces { try checkReplaceable(path) }
      try CatalogueCopy.make(of: pool, at: destination.unfinished)
      if !replaces && access(path, F_OK) == 0 { throw LibraryError.copyExists(path: path) }
      try destination.finish()
    } catch {
      unlink(destination.unfinished)
      throw error as? LibraryError ?? .copyFailed(path: path, CatalogueCopy.reason(error))
    }
  }

  /// Throws if the file that would be replaced is a backup of another catalogue.
  private func checkReplaceable(_ path: String) throws {
    guard let former = DatabaseTables.contentKey(at: path) else { return }
    let own = try pool.read { try Self.storedKey($0) }
    if own.map({ [UInt8]($0) }) != former { throw LibraryError.copyOfAnotherCatalogue(path: path) }
  }
}
