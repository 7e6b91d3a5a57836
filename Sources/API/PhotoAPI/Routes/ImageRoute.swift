// GET /v1/assets/{localIdentifier}/image: looks the asset up, starts an image task and streams its frames. Does not
// render.
//
//     the asset -> negotiation of format and form -> a smaller encoding in its place, if there is one
//       -> on the queue that waits for the disk: the original file, if its bytes are the answer, and a decode, now or
//          earlier, has found the picture to be complete
//       -> 304 or 412, if that is known without a render -> the response to HEAD
//       -> ImageManager.requestImage: ImageDeliveryWriter sends the frames or 304, ResponseCache keeps the response

import HTTPCore
import ImageService
import Logging
import PhotoModel

struct ImageRoute: Sendable {
  let queries: QueryService
  let images: ImageManager
  let upgrades: EncodingUpgrades
  let listedFormats: ListedFormats
  let presets: ImagePresets
  let raws: RAWOriginals
  let responseCache: ResponseCache
  let downloads: RouteDownloads
  let originalAsImage: OriginalAsImage
  let sender: OriginalSender
  /// Whether shared caches may store responses that need no credential.
  let allowsPublicCaching: Bool
  let maximumRanges: Int
  let logger: Logger

  var smallerEncodings: SmallerEncodings { SmallerEncodings(images: images, upgrades: upgrades) }

  /// A request that is being answered. It starts again where files may be read, and after a file was downloaded or
  /// decoded.
  struct Attempt: Sendable {
    let identifier: LocalIdentifier
    let query: any PictureQuery
    let routed: RoutedRequest
    let caller: Caller
    /// Whether it runs on the queue that waits for the disk.
    var mayWaitForDisk: Bool
    /// Whether its file was downloaded from the remote store. A file is downloaded at most once for a request.
    var hasDownloaded = false
    /// Whether a decode for this request has found the original to be complete; `nil` before that.
    var isOriginalComplete: Bool?

    var head: RequestHead { routed.request.head }
    var reply: Reply { routed.reply }
    var principal: Principal { caller.principal }
  }

  /// Rejects a malformed query at once; the rest runs on the lookup queue.
  func answer(_ identifier: LocalIdentifier, _ routed: RoutedRequest) throws(Problem) {
    try answer(identifier, ImageQuery(routed.target, presets: presets), routed)
  }

  func answer(_ identifier: LocalIdentifier, _ query: some PictureQuery, _ routed: RoutedRequest) throws(Problem) {
    guard query.isNegotiated else { return try begin(identifier, query, routed) }
    routed.varyingByAccept { routed throws(Problem) in try begin(identifier, query, routed) }
  }

  /// Looks the asset up and responds on the lookup queue, or where the response may be a file, on the queue that waits
  /// for the disk.
  private func begin(
    _ identifier: LocalIdentifier, _ query: some PictureQuery, _ routed: RoutedRequest
  ) throws(Problem) {
    let attempt = Attempt(
      identifier: identifier, query: query, routed: routed, caller: try routed.authorizedCaller,
      mayWaitForDisk: query.imageVersion == .original)
    try routed.run(on: attempt.mayWaitForDisk ? sender.files : queries.lookups) { () throws(Problem) in
      try answer(attempt)
    }
  }

  private func answer(_ attempt: Attempt) throws(Problem) {
    // Read before the asset is looked up: a later change of the library then makes the stored response invalid.
    let generation = generation(attempt)
    guard let asset = try shownAsset(attempt) else { return }
    let image = replacedBySmaller(try negotiate(asset, attempt), attempt.head)
    let mayBeFile = mayBeFile(image, attempt)
    if mayBeFile && !attempt.mayWaitForDisk { return try answerWhereFilesAreRead(attempt) }
    // A client that has a frame of this picture needs no file.
    let current = image.isConditional ? image.headers.currentDerivation(attempt.head) : nil
    var file = mayBeFile && current == nil ? originalAsImage.file(for: image.wanted) : nil
    if file != nil, !isOriginalComplete(image, attempt) {
      if attempt.head.method == .get { return decodeOriginal(image, thenAnswer: attempt) }
      // HEAD renders nothing, so it can't find out whether the response to GET is the file.
      file = nil
    }
    if image.isConditional {
      let derivation = current ?? (file == nil ? completeDerivation(image) : Derivation.file)
      if try sendNotModifiedIfMatching(image, derivation, attempt) { return }
    }
    if let file { return try send(file, image, attempt) }
    if mayBeFile && shouldDownloadFile(image, attempt) {
      return download(image.wanted.asset.original, thenAnswer: attempt)
    }
    // For an original in the cloud, only a render can tell which stand-in is sent, so HEAD takes the path of GET.
    let mayBeStandIn = !attempt.query.allowsNetwork && queries.originals.isInCloud(image.wanted.asset.original)
    if attempt.head.method == .head && !mayBeStandIn { return sendHead(image, attempt.reply) }
    requestFrames(image, attempt, generation)
  }

  // MARK: Steps

  private func generation(_ attempt: Attempt) -> ResponseCache.Generation {
    // A signed album also depends on its issuer's collections, and `original` on the other files of the asset. An asset
    // that leaves the collections of a limited caller counts as changed.
    let dependsOnAssetOnly = attempt.principal.issuerVisibility == nil && attempt.query.imageVersion != .original
    return ResponseCache.Generation(
      asset: dependsOnAssetOnly
        ? queries.library.generation(of: attempt.identifier) : .library(queries.library.generation),
      rules: attempt.reply.rules.number)
  }

  /// Whether the response may be the original file.
  private func mayBeFile(_ image: NegotiatedImage, _ attempt: Attempt) -> Bool {
    // The issuer of a signed URL grants a picture, not a file with its metadata.
    image.isFromCaches && attempt.isOriginalComplete != false && attempt.caller.credential != .signature
      && OriginalAsImage.mayServe(image.wanted)
  }

  /// Whether the original is known to be complete: only such a picture has an entity tag.
  private func isOriginalComplete(_ image: NegotiatedImage, _ attempt: Attempt) -> Bool {
    attempt.isOriginalComplete
      ?? (images.completeDerivation(of: OriginalAsImage.proof(of: image.wanted.asset)) != nil)
  }

  /// Renders a small picture, which decodes the whole original, then answers the request. The task of the small picture
  /// has the request's ID, so that clients can watch and cancel it.
  private func decodeOriginal(_ image: NegotiatedImage, thenAnswer attempt: Attempt) {
    let proof = OriginalAsImage.proof(of: image.wanted.asset)
    let task = images.requestImage(proof, image.context, isLastStep: true) { delivery in
      switch delivery {
      case .progress, .degraded: break
      case .final(let frame):
        answerAgain(attempt, isOriginalComplete: !frame.result.isIncomplete && !frame.result.isDegraded)
      case .failed(.overBudget):
        // No frame of the picture can be rendered here, so none can show that the file is damaged.
        answerAgain(attempt, isOriginalComplete: true)
      case .failed(let error):
        attempt.reply.send(attempt.reply.problem(error, "image failed", logger).response)
      }
    }
    attempt.reply.onClose { [images] in images.cancel(task) }
  }

  private func answerAgain(_ attempt: Attempt, isOriginalComplete: Bool) {
    var attempt = attempt
    attempt.isOriginalComplete = isOriginalComplete
    do throws(Problem) { try answerWhereFilesAreRead(attempt) } catch { attempt.reply.send(error.response) }
  }

  private func answerWhereFilesAreRead(_ attempt: Attempt) throws(Problem) {
    var attempt = attempt
    attempt.mayWaitForDisk = true
    try attempt.routed.run(on: sender.files) { [attempt] () throws(Problem) in try answer(attempt) }
  }

  /// Downloads a file, then answers the request.
  func download(_ file: OriginalFile, thenAnswer attempt: Attempt) {
    var attempt = attempt
    (attempt.mayWaitForDisk, attempt.hasDownloaded) = (true, true)
    downloads.download(file, for: attempt.reply, then: sender.files) { [attempt] () throws(Problem) in
      try answer(attempt)
    }
  }

  /// How the response would be made; `nil` if only a render can tell whether it is final and complete.
  private func completeDerivation(_ image: NegotiatedImage) -> Derivation? {
    image.isFromCaches ? images.completeDerivation(of: image.wanted) : nil
  }

  /// Evaluates the conditions of the request. Returns true after it has sent 304.
  ///
  /// - Parameter derivation: how the frame that the client has was made; if it has none, how the frame to send would be
  ///   made. `nil`: only a render can tell, because the frame may be degraded or incomplete. ``ImageDeliveryWriter``
  ///   then sends 304 or 412.
  /// - Throws: 412.
  private func sendNotModifiedIfMatching(
    _ image: NegotiatedImage, _ derivation: Derivation?, _ attempt: Attempt
  ) throws(Problem) -> Bool {
    switch Preconditions.evaluate(attempt.head, image.headers.validators(derivation)) {
    case .proceed: return false
    case .notModified:
      guard let derivation else { return false }
      attempt.reply.send(HTTPResponse(.notModified, image.headers.validatorFields(derivation)))
      return true
    case .failed:
      if derivation == nil && image.headers.mayMeetMatch(attempt.head) { return false }
      throw .preconditionFailed
    }
  }

  private func send(
    _ file: OriginalAsImage.File, _ image: NegotiatedImage, _ attempt: Attempt
  ) throws(Problem) {
    let size = file.opened.source.size
    if attempt.head.method == .get {
      guard images.recordFile(image.wanted, image.context) else { throw Problem(ImageServiceError.requestIDInUse) }
      if let upgrade = image.upgrade { upgrades.fileSent(upgrade, byteCount: Int(clamping: size)) }
    }
    try sender.send(
      file.opened, 0..<size, type: image.headers.mediaType,
      fields: image.headers.fileFields(requestID: image.context.requestID, isHDR: file.hasGainMap),
      validators: image.headers.validators(.file), attempt.head, attempt.reply)
  }

  /// Whether the file is downloaded first: the response is probably the file itself, but only its bytes can tell.
  private func shouldDownloadFile(_ image: NegotiatedImage, _ attempt: Attempt) -> Bool {
    attempt.query.allowsNetwork && !attempt.hasDownloaded && attempt.head.method == .get
      && queries.originals.isInCloud(image.wanted.asset.original) && images.cachedFrame(image.wanted.key) == nil
  }

  /// Answers HEAD without a render.
  private func sendHead(_ image: NegotiatedImage, _ reply: Reply) {
    let requestID = image.context.requestID
    if image.isFromCaches, let frame = images.cachedFrame(image.headers.key)?.withRequestID(requestID) {
      return reply.send(HTTPResponse(.ok, image.headers.single(frame), body: frame.bytes))
    }
    let derivation = image.isFromCaches ? images.expectedDerivation(of: image.wanted) : .original
    reply.send(HTTPResponse(.ok, image.headers.headRequestFields(image.form, derivation, requestID: requestID)))
  }

  /// Starts the image task whose frames are the response.
  private func requestFrames(_ image: NegotiatedImage, _ attempt: Attempt, _ generation: ResponseCache.Generation) {
    // Requests that the response cache answers never reach this route. So the response to the first request for a frame
    // that may be upgraded is not stored: the second request starts the upgrade. The response cache does not notice
    // either when a missing saliency point is computed.
    let isUpgrading = image.upgrade.map { smallerEncodings.requestUpgrade(of: image.wanted, to: $0) } ?? true
    let isSettled = !image.awaitsSaliency && isUpgrading
    let isFinalFrame = image.form == .single ? image.isFromCaches : !image.context.bypassesCaches
    let storesResponse =
      isFinalFrame && image.request.deliveryMode != .fastFormat && attempt.query.requestID == nil && isSettled
    let delivery = ImageDeliveryWriter(
      form: image.form, headers: image.headers, head: attempt.head, maximumRanges: maximumRanges,
      requestID: image.context.requestID, reply: attempt.reply, logger: logger
    ) { [head = attempt.head, reply = attempt.reply, caller = attempt.caller] frame in
      // A degraded frame has no entity tag, so it has no prepared 304 either.
      guard storesResponse, let cached = frame.cached, !frame.result.isDegraded else { return }
      storeResponse(
        cached, in: image.form, headers: image.headers, caller: caller, generation: generation, head, reply)
      // The upgrade may have ended since the check above.
      if let upgrade = image.upgrade, !upgrades.isPendingOrRefused(upgrade.key) {
        responseCache.removeResponses(madeFrom: [cached])
      }
    }
    let task = images.requestImage(image.wanted, image.context, isLastStep: true) { delivery.deliver($0) }
    attempt.reply.onClose { [images] in images.cancel(task) }
  }
}
