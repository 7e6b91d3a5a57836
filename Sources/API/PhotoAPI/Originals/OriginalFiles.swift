import ImageCodec
import ImageService
import Logging
import MediaMetadata
import PhotoModel

/// An open file of an asset, and the overlay that removes its places, and its names where the library hides them.
struct ServableOriginal: Sendable {
  let source: any FileByteSource
  /// Covers the whole file, also if only a part of it is sent.
  let overlay: ByteOverlay
}

/// Opens the files of assets, whose own bytes are sent: as data, in archives, or as an image (``OriginalAsImage``).
/// Blocks on the file system.
struct OriginalFiles: Sendable {
  let originals: OriginalStore
  let overlays: OverlayCache
  let openFiles: OpenOriginals
  /// The facts that are removed from files unless their places are included.
  let removes: PrivateFacts
  let logger: Logger

  /// Why a file can't be served.
  enum Failure: Error, Sendable {
    case notOpened(OriginalStoreError)
    /// Its places can't be removed.
    case placesRemain(LocationRemovalError)

    /// Returns the problem that reports this error to the client. Logs the cause of each server failure.
    func problem(for reply: Reply, _ logger: Logger) -> Problem {
      switch self {
      case .notOpened(let error): reply.problem(ImageServiceError(error), "opening an original failed", logger)
      // `open` has logged it.
      case .placesRemain(let error): Problem(error)
      }
    }
  }

  /// The form of the bytes that are sent, for entity tags: the whole file, or without facts that are removed.
  func form(includesLocation: Bool) -> String {
    if includesLocation { return "whole" }
    return "removed-\(LocationRemoval.epoch)\(removes.contains(.names) ? "-names" : "")"
  }

  /// Whether a principal may read whole files, which can hold places and names.
  func checkScopes(includesLocation: Bool, _ principal: Principal) throws(Problem) {
    guard includesLocation else { return }
    guard principal.may(.location) else { throw .insufficientScope([.location]) }
    guard principal.mayReadNames else { throw .insufficientScope([.people]) }
  }

  /// Opens the file that the catalogue knows, and finds the places in it.
  ///
  /// - Parameter staysOpen: whether the file stays open for a moment, for a client that asks for one range after
  ///   another.
  func open(
    _ resource: AssetResource, includesLocation: Bool, staysOpen: Bool = false
  ) throws(Failure) -> ServableOriginal {
    let file = resource.file
    let source =
      if staysOpen {
        try openFiles.source(of: file, now: .now) { () throws(Failure) in try open(file) }
      } else {
        try open(file)
      }
    if includesLocation { return ServableOriginal(source: source, overlay: ByteOverlay()) }
    do throws(LocationRemovalError) {
      let key = OverlayCache.Key(
        path: file.path, identity: file.identity, changeTimeNanoseconds: source.changeTimeNanoseconds)
      let overlay = try overlays.overlay(of: key) { () throws(LocationRemovalError) in
        switch resource.type {
        case .sidecar: try LocationRemoval.overlay(ofXMP: source, removing: removes)
        case .adjustmentData: try LocationRemoval.overlay(ofAdjustments: source)
        default: try LocationRemoval.overlay(of: source, removing: removes)
        }
      }
      return ServableOriginal(source: source, overlay: overlay)
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
