// Placeholders in the background: which asset is next, what its placeholder is made of, and where the result goes.
//
//     sink -> page of assets -> next -> step -> (memory for it) -> carryOut -> batch of results -> sink
//                                        ^                            |
//                                        +-- the next best source ----+
//
// The camera's thumbnail first, then a derivative, then the original: each costs many times what the one before does.
// When and beside what else a step runs is not decided here. What fails for good is told to the sink, once for each
// content; what fails for now (a file that changed, a disk that is ill, no memory) is left as it is, and comes again
// after `restart`.

import ImageCodec
import Logging
import OriginalStore
import PhotoModel
import Synchronization

package final class PlaceholderWork: Sendable {
  /// One thing to do for one asset.
  package struct Step: Sendable {
    package let asset: Asset
    /// Memory that it takes, to be reserved before `carryOut`; 0 for so little that it need not be.
    package var peakBytes: Int { render.peakBytes }
    fileprivate let render: PlaceholderRender
    fileprivate let source: Source
  }

  /// What a placeholder may be made of, best first.
  fileprivate enum Source: Int, CaseIterable {
    case embedded
    case derivative
    /// For files of which the catalogue knows no thumbnail, but which may hold larger previews.
    case preview
    case original
  }

  private struct State {
    var page: ArraySlice<Asset> = []
    /// Where the page ends; `nil`: the next one is the first.
    var last: Asset?
    var results: [PlaceholderResult] = []
    var firstResult: ContinuousClock.Instant?
    /// Counts restarts, so that a page that was asked for before one is not taken for a page after it.
    var pass = 0
    var hasToldMark = false
  }

  private static let pageSize = 256
  private static let batchSize = 64
  private static let batchDelay = Duration.seconds(1)

  private let sink: any PlaceholderSink
  private let store: OriginalStore
  private let maker: PlaceholderMaker
  private let maximumBytes: Int
  private let derivative: @Sendable (Asset) -> (any ByteSource)?
  private let now: @Sendable () -> ContinuousClock.Instant
  private let logger: Logger
  private let state = Mutex(State())

  /// - Parameters:
  ///   - maximumBytes: memory that one step may take; of what needs more no placeholder is made.
  ///   - derivative: a small picture of the asset's content that is there already: upright, or turned by its own EXIF.
  ///   - now: the clock that batches go by.
  package init(
    sink: any PlaceholderSink, store: OriginalStore, maker: PlaceholderMaker, maximumBytes: Int,
    derivative: @escaping @Sendable (Asset) -> (any ByteSource)? = { _ in nil },
    now: @escaping @Sendable () -> ContinuousClock.Instant = { .now }, logger: Logger
  ) {
    self.sink = sink
    self.store = store
    self.maker = maker
    self.maximumBytes = maximumBytes
    self.derivative = derivative
    self.now = now
    self.logger = logger
  }

  /// Begins again with the newest asset: after a scan, or whenever there may be new ones. Any thread, at any time.
  package func restart() {
    state.withLock { state in
      state.page = []
      state.last = nil
      state.pass += 1
    }
  }

  /// The next asset's first step: its file opened and its header read, nothing decoded. `nil`: every asset that lacks a
  /// placeholder was seen since `restart`, and all results are in the sink.
  ///
  /// One caller at a time, as for `carryOut`.
  package func next() throws(AssetSourceError) -> Step? {
    while let asset = try nextAsset() {
      if let step = try step(for: asset, from: .embedded) { return step }
    }
    try flush()
    return nil
  }

  /// Makes the placeholder.
  ///
  /// - Returns: what is to be done instead where this led to none, or `nil` when the asset is done with for now.
  package func carryOut(_ step: Step, stop: StopFlag) throws(AssetSourceError) -> Step? {
    let placeholder: [UInt8]?
    do throws(CodecError) {
      placeholder = try maker.placeholder(by: step.render, stop: stop)
    } catch {
      return try failed(error, step.source, step.asset)
    }
    guard let placeholder else { return try self.step(for: step.asset, after: step.source) }
    // Overwritten in place while it was read, it may be half of one picture and half of another.
    if step.render.source.isUnchanged { try add(placeholder, of: step.asset) }
    return nil
  }

  /// Hands over the results that wait for a full batch: for whoever stops before `next` answers `nil`.
  package func flush() throws(AssetSourceError) {
    let results = state.withLock { state in
      defer {
        state.results = []
        state.firstResult = nil
      }
      return state.results
    }
    try sink.store(results)
  }

  private func nextAsset() throws(AssetSourceError) -> Asset? {
    while true {
      let (asset, last, pass, tellsMark) = state.withLock { state in
        (state.page.popFirst(), state.last, state.pass, !state.hasToldMark)
      }
      if let asset { return asset }
      if tellsMark {
        try sink.makesPlaceholders(with: "\(maker.mark) \(maximumBytes)")
        state.withLock { $0.hasToldMark = true }
      }
      let page = try sink.assetsWithoutPlaceholder(after: last, limit: Self.pageSize)
      let isCurrent = state.withLock { state in
        guard state.pass == pass else { return false }
        state.page = page[...]
        state.last = page.last ?? last
        return true
      }
      if isCurrent && page.isEmpty { return nil }
    }
  }

  private func step(for asset: Asset, after source: Source) throws(AssetSourceError) -> Step? {
    try Source(rawValue: source.rawValue + 1).flatMap { source throws(AssetSourceError) in
      try step(for: asset, from: source)
    }
  }

  /// The first of the sources, from one on, that there is. `nil`: there is none for now; or none for good, which is
  /// noted.
  private func step(for asset: Asset, from first: Source) throws(AssetSourceError) -> Step? {
    for source in Source.allCases[first.rawValue...] {
      do throws(CodecError) {
        guard let render = try render(source, asset) else { continue }
        if render.peakBytes > maximumBytes {
          throw .limitExceeded("the memory for a placeholder", limit: maximumBytes, found: render.peakBytes)
        }
        return Step(asset: asset, render: render, source: source)
      } catch {
        return try failed(error, source, asset)
      }
    }
    return nil
  }

  private func render(_ source: Source, _ asset: Asset) throws(CodecError) -> PlaceholderRender? {
    let isKnown = asset.original.embeddedThumbnail != nil
    switch source {
    case .embedded: return isKnown ? try open(asset).flatMap(maker.render(ofThumbnailIn:)) : nil
    case .derivative: return try derivative(asset).map(maker.render(ofWhole:))
    case .preview: return isKnown ? nil : try open(asset).flatMap(maker.render(ofThumbnailIn:))
    case .original: return try open(asset).map(maker.render(ofWhole:))
    }
  }

  /// `nil`: not to be had for now.
  private func open(_ asset: Asset) -> (any ByteSource)? {
    do throws(OriginalStoreError) {
      return try store.open(asset.original)
    } catch {
      logger.debug("no placeholder for now", metadata: ["asset": "\(asset.localIdentifier)", "reason": "\(error)"])
      return nil
    }
  }

  /// After an error: the next source; of the original, either nothing for now or nothing for good.
  private func failed(_ error: CodecError, _ source: Source, _ asset: Asset) throws(AssetSourceError) -> Step? {
    switch error {
    case .stopped, .outOfMemory, .readFailed: return nil
    case .malformed, .unsupported, .limitExceeded, .truncated, .encodingFailed: break
    }
    if source != .original { return try step(for: asset, after: source) }
    logger.info("no placeholder", metadata: ["asset": "\(asset.localIdentifier)", "reason": "\(error)"])
    try add(nil, of: asset)
    return nil
  }

  private func add(_ placeholder: [UInt8]?, of asset: Asset) throws(AssetSourceError) {
    let time = now()
    let isDue = state.withLock { state in
      state.results.append(
        PlaceholderResult(
          localIdentifier: asset.localIdentifier, contentVersion: asset.contentVersion, placeholder: placeholder))
      let first = state.firstResult ?? time
      state.firstResult = first
      return state.results.count >= Self.batchSize || time - first >= Self.batchDelay
    }
    if isDue { try flush() }
  }
}
