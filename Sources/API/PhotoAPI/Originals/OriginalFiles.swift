import HTTPCore
import ImageCodec
import ImageService
import Logging
import MediaMetadata
import PhotoModel

/// An open file of an asset, and the overlay that removes its places.
struct OpenedOriginal: Sendable {
  let source: any FileByteSource
  /// Of the whole file.
  let overlay: ByteOverlay
}

/// Opens the files of assets. Blocks on the file system.
struct OriginalFiles: Sendable {
  let originals: OriginalStore
  let overlays: OverlayCache
  let openFiles: OpenOriginals
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
  ///
  /// - Parameter staysOpen: whether the file stays open for a moment, for a client that asks for one range after another.
  func open(
    _ resource: AssetResource, includesLocation: Bool, staysOpen: Bool = false
  ) throws(Failure) -> OpenedOriginal {
    let file = resource.file
    let source =
      if staysOpen {
        try openFiles.source(of: file, now: .now) { () throws(Failure) in try open(file) }
      } else {
        try open(file)
      }
    if includesLocation { return OpenedOriginal(source: source, overlay: ByteOverlay()) }
    do throws(LocationRemovalError) {
      let overlay = try overlays.overlay(of: file.identity) { () throws(LocationRemovalError) in
        switch resource.type {
        case .sidecar: try LocationRemoval.overlay(ofXMP: source)
        case .adjustmentData: try LocationRemoval.overlay(ofAdjustments: source)
        default: try LocationRemoval.overlay(of: source)
        }
      }
      return OpenedOriginal(source: source, overlay: overlay)
    } catch {
      logger.notice(
        "original refused because its places can't be removed",
        metadata: ["path": "\(file.displayPath)", "reason": "\(error)"])
      throw .placesRemain(error)
    }
  }

  private func open(_ file: OriginalFile) throws(Failure) -> any FileByteSource {
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
    return source
  }
}
