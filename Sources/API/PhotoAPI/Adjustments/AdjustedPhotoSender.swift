// The data of an adjusted picture: a render at its full size, with the original's EXIF. The files are kept by
// FullSizeRenderStore. The data of other pictures are the original's own bytes (OriginalFiles).
//
//     validators -> conditions                                                      304, 412
//     FullSizeRenderStore: the file exists                       -> OriginalSender  416
//     ImageManager: render -> EXIF -> FullSizeRenderStore: write -> OriginalSender
//
// The file is written before the first byte is sent, so all ranges of one entity tag fit together.

import HTTPCore
import ImageCodec
import ImageService
import Logging
import MediaMetadata
import PhotoModel

struct AdjustedPhotoSender: Sendable {
  /// The quality of a JPEG: higher than for a picture on a screen, because this one may be edited again.
  private static let quality = 95
  /// The quality of a large JPEG, whose render at ``quality`` could need more memory than the budget of renders.
  private static let largeQuality = 90
  /// An upper estimate of the memory of a render at ``quality``, for each pixel.
  private static let renderBytes = 12
  /// Increased when the same render gets other metadata.
  private static let epoch = 1

  let images: ImageManager
  let originals: OriginalFiles
  let fullSizeRenders: FullSizeRenderStore
  let sender: OriginalSender
  let limits: CodecLimits
  let logger: Logger

  static func format(of asset: Asset) -> OutputFormat { asset.hasAlpha ? .png : .jpeg }

  static func uniformTypeIdentifier(of asset: Asset) -> String {
    format(of: asset) == .png ? "public.png" : "public.jpeg"
  }

  /// The original's name with the extension of the render.
  static func filename(of asset: Asset) -> String {
    let name = asset.original.displayName
    let stem = name.lastIndex(of: ".").map { name[..<$0] } ?? name[...]
    return (stem.isEmpty ? name : String(stem)) + (format(of: asset) == .png ? ".png" : ".jpg")
  }

  private func quality(of asset: Asset) -> Int {
    // Divided, because multiplying a pixel count that a file states could overflow.
    asset.pixelSize.pixelCount > images.renderCapacityBytes / Self.renderBytes ? Self.largeQuality : Self.quality
  }

  /// The response to one request.
  private struct Answer: Sendable {
    let asset: Asset
    let format: OutputFormat
    let includesLocation: Bool
    let validators: Validators
    let fields: [(name: String, value: String)]
    let head: RequestHead
    let reply: Reply

    /// Equal for equal bytes.
    var key: FullSizeRenderStore.Key { FullSizeRenderStore.Key(asset.contentVersion, validators.entityTag ?? "") }
  }

  /// Sends the picture, or ranges of it, when it is ready.
  func send(
    _ asset: Asset, includesLocation: Bool, isDownload: Bool, isVersioned: Bool, allowsNetwork: Bool,
    _ request: HTTPRequest,
    _ principal: Principal, _ reply: Reply
  ) throws(Problem) {
    if let problem = Problem(unrenderable: asset) { throw problem }
    let format = Self.format(of: asset)
    var imageRequest = ImageRequest(format: format, quality: format == .jpeg ? quality(of: asset) : nil)
    imageRequest.dynamicRange = .preserve
    // The renderer uses 8 bits unless the original has more and its only edits are crops, turns and flips.
    if format == .png { imageRequest.bitDepth = 16 }
    let wanted = ResolvedRequest(imageRequest, for: asset)
    let headers = ImageHeaders(wanted, isAutomatic: false, isVersioned: isVersioned, isPublic: false)
    // Only a decode of the whole original gives the full size.
    var validators = headers.validators(.original)
    let form = originals.form(includesLocation: includesLocation)
    validators.entityTag = EntityTag.strong(
      over: Array("\(validators.entityTag ?? "") full \(Self.epoch) \(form)".utf8))
    let tag = validators.entityTag ?? ""
    var fields = headers.validatorFields(.original).map { field -> (name: String, value: String) in
      (field.name, field.name == "ETag" ? tag : field.value)
    }
    if try reply.sendNotModified(to: request.head, validators, fields) { return }
    fields += sender.rangeFields
    fields += [
      (
        "Content-Disposition",
        ContentDisposition.value(isDownload ? .attachment : .inline, name: Self.filename(of: asset))
      ), ("Image-Result", "orientation=1, uti=\"\(Self.uniformTypeIdentifier(of: asset))\""),
      ("X-Content-Type-Options", "nosniff"),
    ]
    let answer = Answer(
      asset: asset, format: format, includesLocation: includesLocation, validators: validators, fields: fields,
      head: request.head, reply: reply)
    if let file = fullSizeRenders.file(for: answer.key) { return try send(file, answer) }
    if request.method == .head {
      return reply.send(HTTPResponse(.ok, fields + [("Content-Type", format.mediaType)]))
    }
    var context = ImageManager.RequestContext(requestID: reply.requestID, caller: principal.name)
    context.allowsNetwork = allowsNetwork
    render(wanted, answer, context)
  }

  private func render(_ wanted: ResolvedRequest, _ answer: Answer, _ context: ImageManager.RequestContext) {
    var context = context
    context.priority = ImagePriority(answer.head)
    let task = images.requestImage(wanted, context) { [self] delivery in
      switch delivery {
      case .progress, .degraded: break
      case .failed(let error):
        answer.reply.send(answer.reply.problem(error, "image failed", logger).response)
      // A smaller picture may be sent in place of an image, but not in place of data.
      case .final(let frame) where frame.result.isInCloud:
        answer.reply.send(Problem(ImageServiceError.inCloud).response)
      case .final(let frame) where frame.result.isDegraded:
        let what = "a RAW file that can't be developed here, and whose previews have fewer pixels than the picture"
        answer.reply.send(Problem(ImageServiceError.codec(.unsupported(what))).response)
      // An incomplete picture must not be sent with a strong entity tag.
      case .final(let frame) where frame.result.isIncomplete:
        answer.reply.send(Problem(ImageServiceError.codec(.malformed("the original is damaged", offset: nil))).response)
      case .final(let frame):
        // The queue has no limit; each connection has at most two steps in it.
        _ = sender.files.submit { [self] in store(frame, answer) }
      }
    }
    answer.reply.onClose { [images] in images.cancel(task) }
  }

  private func store(_ frame: ImageFrame, _ answer: Answer) {
    // On an error no file is stored, and `completion` makes the bytes again and reports the error.
    fullSizeRenders.make(answer.key) { [self] in
      try? bytes(of: frame, answer)
    } completion: { [self] file in
      do throws(Problem) {
        if let file { try send(file, answer) } else { try send(frame, answer) }
      } catch {
        answer.reply.send(error.response)
      }
    }
  }

  private func send(_ file: FullSizeRender, _ answer: Answer) throws(Problem) {
    try sender.send(
      ServableOriginal(source: file, overlay: ByteOverlay()), 0..<file.size, type: answer.format.mediaType,
      fields: answer.fields, validators: answer.validators, answer.head, answer.reply)
  }

  /// Sends the picture from memory, if no file can be stored.
  private func send(_ frame: ImageFrame, _ answer: Answer) throws(Problem) {
    let bytes: [UInt8]
    do throws(ImageServiceError) {
      bytes = try self.bytes(of: frame, answer)
    } catch {
      throw answer.reply.problem(error, "image failed", logger)
    }
    // The owner counts the frame's memory in the budget of renders. The added EXIF is too small to be counted.
    let whole = HTTPResponse(
      .ok, answer.fields + [("Content-Type", answer.format.mediaType)], body: bytes, owner: frame.memoryOwner)
    answer.reply.send(
      whole.applyingByteRanges(
        for: answer.head, validators: answer.validators, limit: sender.maximumRanges, boundary: Boundary.make,
        unsatisfiable: { Problem.rangeNotSatisfiable(size: bytes.count).response }))
  }

  /// The render with the original's EXIF. Reads the original's header.
  private func bytes(of frame: ImageFrame, _ answer: Answer) throws(ImageServiceError) -> [UInt8] {
    let opened: ServableOriginal
    do throws(OriginalFiles.Failure) {
      opened = try originals.open(AssetResource(primaryOf: answer.asset), includesLocation: true)
    } catch {
      switch error {
      case .notOpened(let error): throw ImageServiceError(error)
      // Not thrown, because the whole file is read.
      case .placesRemain(let error): throw .failed("\(error)")
      }
    }
    do throws(CodecError) {
      let block = try CarriedEXIF.block(
        of: opened.source, size: frame.result.size, removing: answer.includesLocation ? nil : originals.removes,
        limits: limits)
      return block.map { CarriedEXIF.inserting($0, into: frame.bytes, answer.format) } ?? frame.bytes
    } catch {
      throw .codec(error)
    }
  }
}
