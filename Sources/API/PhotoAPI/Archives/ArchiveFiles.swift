import ImageCodec
import ImageService
import Logging
import MediaMetadata
import PhotoModel

/// Opens the files of archives.
struct ArchiveFiles: Sendable {
  let originals: OriginalStore
  let overlays: OverlayCache
  let logger: Logger

  /// An open file, and what removes its places.
  struct Opened: Sendable {
    let source: any FileByteSource
    let overlay: ByteOverlay
  }

  /// Why a file can't be in an archive.
  enum Failure: Error, Sendable, Hashable {
    case unreadable
    /// It is not the file that the catalogue knows.
    case changed
    /// Its places can't be removed.
    case placesRemain

    /// The reason for ``ArchivePlan/errorsName``.
    var text: String {
      switch self {
      case .unreadable: "the file is missing or can't be read"
      case .changed: "the file has changed and is not scanned yet"
      case .placesRemain: "the places in the file can't be removed"
      }
    }
  }

  func open(_ file: OriginalFile, includesLocation: Bool) throws(Failure) -> Opened {
    let source: any ByteSource
    do throws(OriginalStoreError) {
      source = try originals.open(file)
    } catch {
      switch error {
      case .changed: throw .changed
      case .notFound, .failed: throw .unreadable
      }
    }
    guard let source = source as? any FileByteSource else {
      preconditionFailure("originals of the library are files")
    }
    guard source.size == file.identity.size else { throw .changed }
    if includesLocation { return Opened(source: source, overlay: ByteOverlay()) }
    do throws(LocationRemovalError) {
      let overlay = try overlays.overlay(of: file.identity) { () throws(LocationRemovalError) in
        try LocationRemoval.overlay(of: source)
      }
      return Opened(source: source, overlay: overlay)
    } catch {
      logger.notice(
        "original left out of an archive because its places can't be removed",
        metadata: ["path": "\(file.displayPath)", "reason": "\(error)"])
      if case .readFailed = error { throw .unreadable }
      throw .placesRemain
    }
  }
}
