import HTTPCore
import ImageCodec
import ImageService
import Logging
import MediaMetadata
import PhotoModel

/// An open file of an asset, and what removes its places.
struct OpenedOriginal: Sendable {
  let source: any FileByteSource
  /// Of the whole file.
  let overlay: ByteOverlay
}

/// Opens the files of assets. Blocks on the file system.
struct OriginalFiles: Sendable {
  let originals: OriginalStore
  let overlays: OverlayCache
  let logger: Logger

  /// Why a file can't be served.
  enum Failure: Error, Sendable {
    case notOpened(OriginalStoreError)
    /// Its places can't be removed.
    case placesRemain(LocationRemovalError)

    var problem: Problem {
      switch self {
      case .notOpened(let error): Problem(ImageServiceError(error))
      case .placesRemain(let error): Problem(error)
      }
    }
  }

  /// Opens the file that the catalogue knows, and finds the places in it.
  func open(_ file: OriginalFile, includesLocation: Bool) throws(Failure) -> OpenedOriginal {
    let opened: any ByteSource
    do throws(OriginalStoreError) {
      opened = try originals.open(file)
    } catch {
      throw .notOpened(error)
    }
    guard let source = opened as? any FileByteSource else {
      preconditionFailure("originals of the library are files")
    }
    guard source.size == file.identity.size else { throw .notOpened(.changed) }
    if includesLocation { return OpenedOriginal(source: source, overlay: ByteOverlay()) }
    do throws(LocationRemovalError) {
      let overlay = try overlays.overlay(of: file.identity) { () throws(LocationRemovalError) in
        try LocationRemoval.overlay(of: source)
      }
      return OpenedOriginal(source: source, overlay: overlay)
    } catch {
      logger.notice(
        "original refused because its places can't be removed",
        metadata: ["path": "\(file.displayPath)", "reason": "\(error)"])
      throw .placesRemain(error)
    }
  }
}
