// Makes placeholders in the background: chooses the next asset and the source of its placeholder, and stores the
// result.
//
//     placeholders -> page of assets -> next -> step -> (memory for it) -> run -> batch of results -> placeholders
//                                                ^                            |
//                                                +-- the next best source ----+
//
// Sources in order: the camera's thumbnail, a derivative, a larger embedded preview, the original. Each costs many
// times as much as the one before. This file does not decide when a step runs, or which steps run at the same time. A
// permanent failure is reported to `placeholders`, once for each content. After a temporary failure (the file changed,
// the disk failed, no memory, a decoder that stalled) the asset is skipped until `restart`.

import ImageCodec
import Logging
import PhotoModel
import Synchronization

package final class PlaceholderProducer: BackgroundWork {
  /// One step of work for one asset.
  private struct Step: Sendable {
    let asset: Asset
    let plan: PlaceholderPlan
    let input: Input
  }

  /// The possible sources of a placeholder, best first.
  private enum Input: Int, CaseIterable {
    case embedded
    case derivative
    /// For files without a thumbnail in the catalogue, which may contain larger previews.
    case preview
    case original
  }

  private struct State {
    var page: ArraySlice<Asset> = []
    /// The last asset of the page; `nil` before the first page.
    var last: Asset?
    /// The next step of an asset whose last step gave no placeholder.
    var followUp: Step?
    var results: [PlaceholderResult] = []
    var firstResult: ContinuousClock.Instant?
    /// Counts restarts, to detect a page that was requested before the last restart.
    var restartCount = 0
    var hasSetGeneratorVersion = false
  }

  private static let pageSize = 256
  private static let batchSize = 64
  private static let batchDelay = Duration.seconds(1)

  private let placeholders: any PlaceholderStore
  private let originals: OriginalStore
  private let renderer: PlaceholderRenderer
  private let maximumBytes: Int
  private let derivative: @Sendable (Asset) -> (any ByteSource)?
  private let awaitDerivative: @Sendable (Asset) -> Void
  private let now: @Sendable () -> ContinuousClock.Instant
  private let logger: Logger
  private let state = Mutex(State())

  /// - Parameters:
  ///   - maximumBytes: maximum memory of one step; a picture that needs more gets no placeholder.
  ///   - derivative: an existing small picture of the asset's content, upright or with its own EXIF orientation.
  ///   - awaitDerivative: called before `derivative`, on the caller of ``next()``, if the asset has no embedded
  ///     thumbnail; may wait for a network.
  ///   - now: the clock for the batches.
  package init(
    placeholders: any PlaceholderStore, originals: OriginalStore, renderer: PlaceholderRenderer, maximumBytes: Int,
    derivative: @escaping @Sendable (Asset) -> (any ByteSource)? = { _ in nil },
    awaitDerivative: @escaping @Sendable (Asset) -> Void = { _ in },
    now: @escaping @Sendable () -> ContinuousClock.Instant = { .now }, logger: Logger
  ) {
    self.placeholders = placeholders
    self.originals = originals
    self.renderer = renderer
    self.maximumBytes = maximumBytes
    self.derivative = derivative
    self.awaitDerivative = awaitDerivative
    self.now = now
    self.logger = logger
  }

  /// Starts again with the newest asset: after a scan, or whenever there may be new assets. Callable from any thread at
  /// any time.
  package func restart() {
    state.withLock { state in
      state.page = []
      state.last = nil
      state.followUp = nil
      state.restartCount += 1
    }
  }

  package var followsEdits: Bool { true }

  /// The next step of the last asset, or the first one of the next asset: its file opened and its header read, nothing
  /// decoded. `nil` if every asset without a placeholder was visited since `restart`, and all results are stored.
  package func next() throws(AssetSourceError) -> BackgroundStep? {
    guard let step = try nextStep() else { return nil }
    return BackgroundStep(bytes: step.plan.peakBytes) { [self] stop throws(AssetSourceError) in
      let followUp = try run(step, stop: stop)
      state.withLock { $0.followUp = followUp }
    }
  }

  /// Stores waiting results. Call it when stopping before `next` has returned `nil`.
  package func flush() throws(AssetSourceError) {
    let results = state.withLock { state in
      defer {
        state.results = []
        state.firstResult = nil
      }
      return state.results
    }
    try placeholders.store(results)
  }

  private func nextStep() throws(AssetSourceError) -> Step? {
    if let followUp = state.withLock({ $0.followUp.take() }) { return followUp }
    while let asset = try nextAsset() {
      if asset.original.embeddedThumbnail == nil { awaitDerivative(asset) }
      if let step = try step(for: asset, from: .embedded) { return step }
    }
    try flush()
    return nil
  }

  /// Makes the placeholder.
  ///
  /// - Returns: the step to run next if this source gave no placeholder, or `nil` if the asset is done for now.
  private func run(_ step: Step, stop: StopFlag) throws(AssetSourceError) -> Step? {
    let placeholder: Placeholder?
    do throws(CodecError) {
      placeholder = try renderer.placeholder(by: step.plan, stop: stop)
    } catch {
      return try failed(error, step.input, step.asset)
    }
    guard let placeholder else { return try self.step(for: step.asset, after: step.input) }
    // A file that was overwritten in place during the read may mix two pictures.
    if step.plan.source.isUnchanged { try add(placeholder, of: step.asset) }
    return nil
  }

  private func nextAsset() throws(AssetSourceError) -> Asset? {
    while true {
      let (asset, last, restartCount, setsGeneratorVersion) = state.withLock { state in
        (state.page.popFirst(), state.last, state.restartCount, !state.hasSetGeneratorVersion)
      }
      if let asset { return asset }
      if setsGeneratorVersion {
        try placeholders.setPlaceholderMaker(version: "\(renderer.generatorVersion) \(maximumBytes)")
        state.withLock { $0.hasSetGeneratorVersion = true }
      }
      let page = try placeholders.assetsWithoutPlaceholder(after: last, limit: Self.pageSize)
      let isCurrent = state.withLock { state in
        guard state.restartCount == restartCount else { return false }
        state.page = page[...]
        state.last = page.last ?? last
        return true
      }
      if isCurrent && page.isEmpty { return nil }
    }
  }

  private func step(for asset: Asset, after input: Input) throws(AssetSourceError) -> Step? {
    try Input(rawValue: input.rawValue + 1).flatMap { input throws(AssetSourceError) in
      try step(for: asset, from: input)
    }
  }

  /// The step for the first available source, starting with `first`. `nil` if no source is available now, or if none
  /// will ever be, which is recorded in `placeholders`.
  private func step(for asset: Asset, from first: Input) throws(AssetSourceError) -> Step? {
    for input in Input.allCases[first.rawValue...] {
      do throws(CodecError) {
        guard let plan = try plan(input, asset) else { continue }
        if plan.peakBytes > maximumBytes {
          throw .limitExceeded("the memory for a placeholder", limit: maximumBytes, found: plan.peakBytes)
        }
        return Step(asset: asset, plan: plan, input: input)
      } catch {
        return try failed(error, input, asset)
      }
    }
    return nil
  }

  private func plan(_ input: Input, _ asset: Asset) throws(CodecError) -> PlaceholderPlan? {
    if let adjustments = asset.adjustments {
      // Embedded thumbnails and previews show the picture without its adjustments, a derivative with them.
      switch input {
      case .embedded, .preview: return nil
      case .derivative: return try derivative(asset).map(renderer.plan(ofWhole:))
      case .original:
        guard let source = open(asset) else { return nil }
        return try renderer.plan(ofWhole: source, adjustments)
      }
    }
    let isKnown = asset.original.embeddedThumbnail != nil
    switch input {
    case .embedded: return isKnown ? try openForThumbnail(asset).flatMap(renderer.plan(ofThumbnailIn:)) : nil
    case .derivative: return try derivative(asset).map(renderer.plan(ofWhole:))
    case .preview: return isKnown ? nil : try open(asset).flatMap(renderer.plan(ofThumbnailIn:))
    case .original: return try open(asset).map(renderer.plan(ofWhole:))
    }
  }

  /// The original, or the parts of it that are local.
  private func openForThumbnail(_ asset: Asset) -> (any ByteSource)? {
    originals.isInCloud(asset.original) ? originals.downloader?.head(of: asset.original) : open(asset)
  }

  /// `nil` if the original can't be opened now.
  private func open(_ asset: Asset) -> (any ByteSource)? {
    do throws(OriginalStoreError) {
      return try originals.open(asset.original)
    } catch {
      logger.debug("placeholder postponed", metadata: ["asset": "\(asset.localIdentifier)", "reason": "\(error)"])
      return nil
    }
  }

  /// Handles an error: a temporary one ends the asset's turn; after any other error the next source is tried. A
  /// permanent failure of the original is recorded in `placeholders`.
  private func failed(_ error: CodecError, _ input: Input, _ asset: Asset) throws(AssetSourceError) -> Step? {
    switch error {
    // A decoder that made no progress proves nothing about the file, and results are stored for good.
    case .stopped, .outOfMemory, .readFailed, .decoderUnavailable, .decoderInterrupted, .decoderFailed(_, .stalled):
      return nil
    case .malformed, .unsupported, .limitExceeded, .truncated, .encodingFailed, .decoderFailed, .encoderUnavailable,
      .encoderInterrupted, .outputTooLarge:
      break
    }
    if input != .original { return try step(for: asset, after: input) }
    logger.info("making a placeholder failed", metadata: ["asset": "\(asset.localIdentifier)", "reason": "\(error)"])
    try add(nil, of: asset)
    return nil
  }

  private func add(_ placeholder: Placeholder?, of asset: Asset) throws(AssetSourceError) {
    let time = now()
    let isDue = state.withLock { state in
      state.results.append(
        PlaceholderResult(
          localIdentifier: asset.localIdentifier, contentVersion: asset.contentVersion, placeholder: placeholder?.hash,
          saliency: placeholder?.saliency))
      let first = state.firstResult ?? time
      state.firstResult = first
      return state.results.count >= Self.batchSize || time - first >= Self.batchDelay
    }
    if isDue { try flush() }
  }
}
