// JPEG XL frames that are made from a finished JPEG of the same picture, without a decode and without a loss: from a cached
// frame, or from an original that is shown whole. If that fails, the pixels are encoded.

import ImageCodec
import ImageRender
import PhotoModel

/// A JPEG that shows exactly the picture of a request.
struct FinishedJPEG: Sendable {
  let transcoding: JPEGTranscoding
  /// Has the JPEG.
  let source: any ByteSource
  /// How the JPEG was made.
  let derivation: Derivation
  let origin: ImageResult.Source
  /// Keeps the bytes of a cached frame.
  var memoryOwner: (any AnyObject & Sendable)?

  /// - Parameter frame: a JPEG from the caches.
  init(_ frame: ImageFrame) {
    source = MemoryByteSource(frame.bytes)
    transcoding = JPEGTranscoding(
      size: frame.result.size, file: ByteRange(offset: 0, length: frame.bytes.count))
    derivation = frame.derivation
    origin = frame.result.source
    memoryOwner = frame.memoryOwner
  }

  /// - Parameter original: a JPEG that is itself the requested picture, so that no render is needed.
  init(_ original: OpenedOriginal) {
    source = original.source
    transcoding = JPEGTranscoding(
      size: original.header.storedSize, file: ByteRange(offset: 0, length: Int(clamping: original.source.size)))
    derivation = .file
    origin = .original
  }
}

extension ImagePipeline {
  /// The cached JPEG that a job's frame is made from; `nil` if its pixels should be encoded.
  ///
  /// Transcoding takes less time than encoding, so it is used when a client waits. In the background only bytes count, and
  /// encoding the original's pixels gives fewer, except at the highest qualities.
  func cachedJPEG(of job: RenderJob) -> FinishedJPEG? {
    guard !job.bypassesCaches else { return nil }
    let quality = job.wanted.request.quality ?? JPEGEncoder.defaultQuality
    let isWaitedFor = jobs.priority(of: job)?.isInteractive == true
    guard isWaitedFor || quality >= JPEGTranscoding.smallerFromQuality else { return nil }
    return cachedJPEG(job.key.rendition, job.wanted, of: job.asset).flatMap(affordable)
  }

  /// The original of a job if it is a JPEG that the frame shows whole and unchanged; `nil` if its pixels must be encoded.
  func wholeJPEG(of job: RenderJob, _ original: OpenedOriginal) -> FinishedJPEG? {
    let header = original.header
    // Without a profile, a client would take calibrated colours for sRGB.
    let hasOwnColors = header.calibration == nil || header.embeddedProfile != nil
    guard job.wanted.showsWholeJPEG(of: job.asset), header.format == .jpeg, header.raw == nil,
      header.orientation == .topLeft, header.storedSize == job.wanted.upright, header.isWidelyDecodable,
      header.colorChannels <= 3, hasOwnColors, renderer.canTranscode(original)
    else { return nil }
    return affordable(FinishedJPEG(original))
  }

  /// How a frame would be made from a finished JPEG if a client requested it now; `nil` if it would be encoded.
  func expectedTranscoding(of wanted: ResolvedRequest) -> Derivation? {
    if let jpeg = cachedJPEG(wanted.key, wanted.sized, of: wanted.asset).flatMap(affordable) {
      return .transcoded(jpeg.derivation)
    }
    return wanted.sized.showsWholeJPEG(of: wanted.asset) ? .transcoded(.file) : nil
  }

  private func cachedJPEG(_ key: RenditionKey, _ wanted: SizedRequest, of asset: Asset) -> FinishedJPEG? {
    // A JPEG has lost the picture's alpha.
    guard wanted.request.format == .jxl, wanted.request.dynamicRange != .high, !asset.hasAlpha,
      let frame = cache.frame(for: key.inFormat(.jpeg)),
      frame.format == .jpeg
    else { return nil }
    return FinishedJPEG(frame)
  }

  private func affordable(_ jpeg: FinishedJPEG) -> FinishedJPEG? {
    jpeg.transcoding.peakBytes <= renderCapacityBytes ? jpeg : nil
  }

  /// Queues the transcoding of a finished JPEG.
  ///
  /// - Parameter encode: starts the encoding of pixels, if the JPEG can't be transcoded.
  func queueTranscoding(
    _ job: RenderJob, _ jpeg: FinishedJPEG, orElse encode: @escaping @Sendable () throws(ImageServiceError) -> Void
  ) {
    queueShortcut(job, bytes: jpeg.transcoding.peakBytes, from: jpeg.source, mayFailToEncode: true) {
      [self] began throws(ImageServiceError) in
      let attributes = FrameAttributes(
        job, jpeg.origin, derivation: .transcoded(jpeg.derivation), isDegraded: false, stepBegan: began)
      return try renderer.transcode(jpeg, attributes, stop: job.stop)
    } orElse: { () throws(ImageServiceError) in
      try encode()
    }
  }
}

extension SizedRequest {
  /// Whether the frame is a JPEG XL that shows the whole picture of a JPEG file unchanged, as far as the catalogue knows. A
  /// stated quality asks for an encoding.
  fileprivate func showsWholeJPEG(of asset: Asset) -> Bool {
    let whole = SizeRules(ImageRequest(), upright: upright)
    return request.format == .jxl && request.dynamicRange != .high && request.quality == nil && sizes == whole
      && request.colorSpace == .preserve
      && request.rotation == .topLeft && request.tone == .color && adjustments == nil && request.posterTime == nil
      && asset.orientation == .topLeft && asset.uniformTypeIdentifier == SourceFormat.jpeg.uniformTypeIdentifier
  }
}
