import ImageCodec
import ImageService
import PhotoModel

// Problems of images: an asset that can't be rendered, and errors of the image service.

extension Problem {
  static let requestNotFound = Problem(
    404, "request-not-found", "No such request",
    detail: "You have no active request with that requestID, and none that ended within the last minute.",
    parameter: "requestID")

  /// For a request that can no longer be cancelled.
  static let requestEnded = Problem(
    404, "request-not-found", "No such request",
    detail: "The request has ended. For a minute after that, GET /v1/requests/{requestID} reports its result.",
    parameter: "requestID")

  static let versionGone = Problem(
    404, "version-gone", "The version no longer exists",
    detail: "The asset has another contentVersion now. GET /v1/assets/{localIdentifier} returns it.", parameter: "v")

  /// Whether the problem reports a cancellation and not a failure.
  var isCancellation: Bool { kind == "request-cancelled" }

  /// Whether the problem reports an original that is not on this machine.
  var isInCloud: Bool { kind == "image-is-in-cloud" }

  /// The reason why an asset can't be rendered, from catalogue data only. `nil`: there is none.
  init?(unrenderable asset: Asset) {
    guard asset.mediaType == .image || asset.mediaType == .video else {
      self.init(
        415, "no-still-image", "No still image",
        detail: "The asset has the mediaType \(asset.mediaType.rawValue); only images and videos can be rendered.")
      return
    }
    let format = MediaFormat(uniformTypeIdentifier: asset.uniformTypeIdentifier)
    guard format?.decoders.isEmpty ?? true else { return nil }
    self.init(
      415, "format-unsupported", "The format is not supported",
      detail: "The original is \(format?.noun ?? asset.uniformTypeIdentifier); there is no decoder for it.")
  }

  init(_ error: ImageServiceError) {
    switch error {
    case .originalMissing:
      self.init(
        404, "original-missing", "The original is missing",
        detail: "The asset's file was moved or deleted. The next scan updates the catalogue.")
    case .originalChanged:
      self.init(
        503, "original-changed", "The original has changed",
        detail: "The asset's file has changed and is not indexed yet. Retry after the next scan.",
        fields: ["Retry-After": "5"])
    case .inCloud:
      self.init(
        404, "image-is-in-cloud", "The original is in the cloud",
        detail: "The original is in a remote store, and nothing on this machine can be sent instead. To download it, "
          + "request the image or its data with networkAccessAllowed=true.", fields: ["Image-Result": "in-cloud=?1"])
    case .downloadFailed(let error): self.init(error)
    case .codec(let error): self.init(error)
    case .overBudget(let needed, let budget):
      self.init(
        422, "image-too-large", "The image is too large",
        detail: "Rendering it would take \(needed) bytes of memory; the budget is \(budget). Ask for a smaller size, "
          + "or raise memoryBudgetBytes.")
    case .queueFull: self = .overloaded
    case .outOfDescriptors: self = .outOfDescriptors
    case .deadlineExceeded:
      self.init(
        503, "deadline-exceeded", "The picture took too long",
        detail: "It was not ready within requests.deadlineSeconds. Retry when the daemon has less load.",
        fields: ["Retry-After": "5"])
    case .requestIDInUse:
      self.init(
        409, "request-id-in-use", "The requestID is in use",
        detail: "An active request has that requestID. Use another one, or cancel that request.",
        parameter: "requestID")
    case .cancelled:
      self.init(
        409, "request-cancelled", "The request was cancelled",
        detail: "It was cancelled before its final frame was sent.")
    case .failed:
      self.init(
        500, "original-unreadable", "The original can't be read",
        detail: "The asset's file could not be read from the file system. See the daemon's log.")
    }
  }

  private init(_ error: OriginalDownloadError) {
    switch error {
    case .notFound, .changed, .queueFull: self.init(ImageServiceError(error))
    case .noSpace:
      self.init(
        507, "original-store-full", "No room for the original",
        detail: "The local store of originals has no room for the file. Retry later, raise originals.diskBytes, or "
          + "free space on the disk of the data folder.")
    case .localStoreFailed:
      self.init(
        500, "original-store-failed", "The local store of originals failed",
        detail: "The original could not be kept in the data folder. Check its disk and its permissions; the daemon's "
          + "log has the cause.")
    case .timedOut:
      self.init(
        504, "original-fetch-timed-out", "The original did not arrive in time",
        detail: "The remote store did not send the original in time. Retry later.", fields: ["Retry-After": "5"])
    case .suspended(let retryAfter):
      self.init(
        503, "original-store-unavailable", "The remote store is unavailable",
        detail: "The remote store failed repeatedly. Retry after the time in Retry-After. Local pictures are not "
          + "affected.",
        fields: ["Retry-After": "\(max(1, retryAfter.components.seconds))"])
    case .failed:
      self.init(
        502, "original-fetch-failed", "The original could not be fetched",
        detail: "The remote store failed, or refused the request. See the daemon's log.")
    }
  }

  /// The settings of limits, by the names in ``CodecError/limitExceeded(_:limit:found:)``. Other limits are fixed.
  private static let settings = [
    "the number of pixels": "limits.sourcePixels", "the longer side": "limits.sourceSide",
    "the longer side of a tile": "limits.sourceSide", "the number of scans": "limits.jpegScans",
    "the size of the colour profile": "limits.profileBytes", "the size of a chunk": "limits.profileBytes",
    "the number of header segments": "limits.headerSegments", "the number of frames": "limits.animationFrames",
    "the number of pixels of all frames": "limits.animationPixels",
  ]

  private init(_ error: CodecError) {
    switch error {
    case .unsupported(let what):
      self.init(
        415, "format-unsupported", "The format is not supported",
        detail: "The original is \(what); there is no decoder for it.")
    case .limitExceeded(let name, let limit, let found):
      let value = found == .max ? "too large to count" : String(found)
      let advice = Self.settings[name].map { " Raise \($0) to show it." } ?? ""
      self.init(
        422, "image-too-large", "The image is too large",
        detail: "In the original, \(name) is \(value); the limit is \(limit).\(advice)")
    case .decoderUnavailable(let format, let libraryPackage):
      self.init(
        415, "decoder-unavailable", "The decoder is not available",
        detail: "The original is of the type \(format.uniformTypeIdentifier), whose decoder is not installed or does "
          + "not start. Install the package \(libraryPackage ?? "of the decoder") on the server; its command "
          + "photod decoders shows what is missing.")
    case .decoderFailed(.raw, .unsupported):
      self.init(
        415, "format-unsupported", "The format is not supported",
        detail: "The original is a RAW file without a preview that could be shown, and the installed version of LibRaw "
          + "does not support its camera or its compression.")
    case .decoderFailed(let format, .unsupported):
      self.init(
        415, "format-unsupported", "The format is not supported",
        detail: "The original is of the type \(format.uniformTypeIdentifier), and its decoder does not support a "
          + "feature of it, such as the sampling of its colours.")
    case .decoderInterrupted:
      self.init(
        503, "decoder-interrupted", "The decoder was interrupted",
        detail: "The process that decodes the original ended. Retry after a moment.", fields: ["Retry-After": "5"])
    case .encoderUnavailable(let format):
      self.init(
        415, "encoder-unavailable", "The encoder is not available",
        detail: "The encoder of \(format.mediaType) is not installed or does not start. Ask for another format, or "
          + "install the package \(WorkerEncoding.package(of: format)) on the server; its command photod decoders "
          + "shows what is missing.", parameter: "format")
    case .encoderInterrupted:
      self.init(
        503, "encoder-interrupted", "The encoder was interrupted",
        detail: "The process that encodes the picture ended. Retry after a moment.", fields: ["Retry-After": "5"])
    case .outputTooLarge(let format, let limit, let found):
      self.init(
        422, "image-too-large", "The image is too large",
        detail: "A picture of \(format.mediaType) has at most \(limit) pixels a side, and this one would have "
          + "\(found). Ask for a smaller size or another format.", parameter: "targetSize")
    case .malformed, .truncated, .decoderFailed:
      self.init(
        422, "image-unreadable", "The image can't be read",
        detail: "The original can't be decoded: \(error.description).")
    case .encodingFailed:
      self.init(
        500, "encoding-failed", "The image can't be encoded",
        detail: "The original was read, but its rendition could not be encoded. See the daemon's log.")
    case .readFailed, .outOfMemory, .stopped:
      self.init(
        500, "original-unreadable", "The original can't be read",
        detail: "Reading the asset's file failed. See the daemon's log.")
    }
  }
}
