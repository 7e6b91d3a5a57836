// The one place where errors of the modules below become problems for clients. Causes go to the log, not to the client.

import HTTPCore
import ImageCodec
import ImageService
import PhotoModel

extension Problem {
  static let assetNotFound = Problem(
    404, "asset-not-found", "No such asset",
    detail: "There is no asset of that name; GET /v1/assets lists those there are.")

  static let collectionNotFound = Problem(
    404, "collection-not-found", "No such collection",
    detail: "There is no collection of that name, or not of the kind that this needs; GET /v1/collections lists them.")

  static let requestNotFound = Problem(
    404, "request-not-found", "No such request",
    detail: "You have no request of that name under way, nor one that ended within the last minute.")

  /// Whether it tells of a request that was cancelled, and not of something that went wrong.
  var isCancellation: Bool { kind == "request-cancelled" }

  static func rangeNotSatisfiable(size: Int) -> Problem {
    Problem(
      416, "range-not-satisfiable", "Range not satisfiable",
      detail: "The representation has \(size) bytes, and none of them lies in the ranges that were asked for.")
  }

  /// What keeps an asset from being shown at all, by what the catalogue knows of it; `nil`: nothing.
  init?(showing asset: Asset, _ version: ImageVersion) {
    guard asset.mediaType == .image else {
      self.init(
        415, "no-still-image", "No still image",
        detail: "The asset is of the kind \(asset.mediaType.rawValue); only images have a picture.")
      return
    }
    let format = MediaFormat(uniformTypeIdentifier: asset.uniformTypeIdentifier)
    // The original of a picture that has raw data beside it is the raw data.
    let isRAWAskedFor = version == .original && asset.isRAW
    guard isRAWAskedFor || format?.decoder == nil else { return nil }
    let noun = isRAWAskedFor && format?.isRAW == false ? "a raw picture" : format?.noun ?? asset.uniformTypeIdentifier
    self.init(
      415, "format-unsupported", "The format is not supported",
      detail: "The original is \(noun); there is no decoder for it.")
  }

  init(_ error: ParseError) {
    if case .overloaded = error {
      self.init(
        503, "overloaded", "Too many requests are being received", detail: error.explanation,
        fields: ["Retry-After": "1"])
      return
    }
    self.init(error.status.code, "malformed-request", error.status.reasonPhrase, detail: error.explanation)
  }

  init(_ error: AssetSourceError) {
    switch error {
    case .malformedCursor:
      self.init(
        400, "invalid-parameter", "Invalid parameter",
        detail: "The cursor is not one that this daemon gave out; start again without it.", parameter: "cursor")
    case .noSuchCollection: self = .collectionNotFound
    case .queryTooExpensive:
      self.init(
        503, "query-too-expensive", "The query is too expensive",
        detail:
          "It was not answered within fetch.deadlineMilliseconds; ask for less, or by a key that has an index: dates, "
          + "media types, favourites, albums.",
        fields: ["Retry-After": "5"])
    case .tooManyAssets:
      // How much room there is would tell how many assets others hold.
      self.init(
        429, "too-many-handles", "Too many of these",
        detail:
          "There is no room for so many assets in fetch results now; end some that you no longer need, or ask for "
          + "less, as with fetchLimit.",
        fields: ["Retry-After": "60"])
    case .noSuchAsset(let identifier):
      self.init(
        404, "asset-not-found", "No such asset", detail: "There is no asset \(identifier.rawValue.prefix(64)).",
        parameter: "assets")
    case .catalogueFailed, .storageFailed:
      self.init(
        500, "catalogue-failed", "The catalogue failed",
        detail: "The catalogue could not be read; the daemon's log says why.")
    }
  }

  init(_ error: ImageServiceError) {
    switch error {
    case .originalMissing:
      self.init(
        404, "original-missing", "The original is gone",
        detail: "The file behind this asset is no longer where it was; the next scan will notice.")
    case .originalChanged:
      self.init(
        503, "original-changed", "The original has changed",
        detail: "The file behind this asset was changed and is not indexed anew yet; ask again after the next scan.",
        fields: ["Retry-After": "5"])
    case .codec(let error): self.init(error)
    case .overBudget(let needed, let budget):
      self.init(
        422, "image-too-large", "The image is too large",
        detail: "Rendering it would take \(needed) bytes of memory; the budget is \(budget). Ask for a smaller size, "
          + "or raise memoryBudget.")
    case .queueFull:
      self.init(
        503, "overloaded", "Too many requests are waiting", detail: "Ask again in a moment.",
        fields: ["Retry-After": "1"])
    case .deadlineExceeded:
      self.init(
        503, "deadline-exceeded", "The picture took too long",
        detail: "It was not ready within requests.deadlineSeconds; ask again when there is less to do.",
        fields: ["Retry-After": "5"])
    case .requestIDInUse:
      self.init(
        409, "request-id-in-use", "The requestID is in use",
        detail: "A request of that name is under way; name this one differently, or cancel that one.",
        parameter: "requestID")
    case .cancelled:
      self.init(
        409, "request-cancelled", "The request was cancelled", detail: "It was cancelled before it was answered.")
    case .failed:
      self.init(
        500, "original-unreadable", "The original can't be read",
        detail: "The file system refused to read the file behind this asset; the daemon's log says why.")
    }
  }

  private init(_ error: CodecError) {
    switch error {
    case .unsupported(let what):
      self.init(
        415, "format-unsupported", "The format is not supported",
        detail: "The original is \(what); there is no decoder for it.")
    case .limitExceeded(let name, let limit, let found):
      self.init(
        422, "image-too-large", "The image is too large",
        detail: "For this image \(name) is \(found == .max ? "beyond counting" : String(found)); the limit is \(limit)."
      )
    case .malformed, .truncated:
      self.init(
        422, "image-unreadable", "The image can't be read",
        detail: "The original can't be decoded: \(error.description).")
    case .encodingFailed:
      self.init(
        500, "encoding-failed", "The image can't be written",
        detail: "The original was read, but its rendition could not be encoded; the daemon's log says why.")
    case .readFailed, .outOfMemory, .stopped:
      self.init(
        500, "original-unreadable", "The original can't be read",
        detail: "Reading the file behind this asset failed; the daemon's log says why.")
    }
  }
}
