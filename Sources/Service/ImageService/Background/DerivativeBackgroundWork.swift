// Makes missing derivatives, newest assets first, so that small pictures never have to be made from originals. It skips
// derivatives that are on the disk, and those in the shared store, from which requests read them. Derivatives that only
// the disk has are written to the shared store.

import ImageCodec
import ImageRender
import Logging
import PhotoModel
import Synchronization

package final class DerivativeBackgroundWork: BackgroundWork {
  private struct State {
    var page: ArraySlice<Asset> = []
    var cursor: PageCursor?
    var isAtEnd = false
    /// Counts restarts, to detect a page that was requested before the last restart.
    var restartCount = 0
  }

  private static let pageSize = 256

  private let library: any AssetSource
  private let originals: OriginalStore
  private let store: FrameStore
  private let renderer: FrameRenderer
  private let logger: Logger
  private let state = Mutex(State())

  package init(
    library: any AssetSource, originals: OriginalStore, store: FrameStore, limits: CodecLimits,
    workers: (any CodedPictureDecoder)? = nil, logger: Logger
  ) {
    self.library = library
    self.originals = originals
    self.store = store
    renderer = FrameRenderer(limits: limits, workers: workers, logger: logger)
    self.logger = logger
  }

  package func restart() {
    state.withLock { state in
      let restartCount = state.restartCount + 1
      state = State()
      state.restartCount = restartCount
    }
  }

  package func next() throws(AssetSourceError) -> BackgroundStep? {
    // Derivatives that are made before a request must not evict each other.
    while store.hasRoomForBackgroundWork, let asset = try nextAsset() {
      guard asset.hasDecoder else { continue }
      let missing = renderer.ladder.rungs(of: asset.pixelSize).filter { !store.hasDerivative($0, of: asset) }
      if missing.isEmpty {
        store.writeSharedIfMissing(of: asset)
      } else if !originals.isInCloud(asset.original), !store.isInSharedStore(asset),
        let step = step(for: asset, missing)
      {
        return step
      }
    }
    return nil
  }

  private func nextAsset() throws(AssetSourceError) -> Asset? {
    while true {
      let (asset, cursor, isAtEnd, restartCount) = state.withLock { state in
        (state.page.popFirst(), state.cursor, state.isAtEnd, state.restartCount)
      }
      if let asset { return asset }
      if isAtEnd { return nil }
      let page = try library.assets(after: cursor, limit: Self.pageSize)
      state.withLock { state in
        guard state.restartCount == restartCount else { return }
        state.page = page.assets[...]
        state.cursor = page.nextCursor
        state.isAtEnd = page.nextCursor == nil
      }
    }
  }

  /// Makes the missing rungs in one decode. `nil` if the original can't be read now; a request for it reports the
  /// error.
  private func step(for asset: Asset, _ rungs: [DerivativeLadder.Rung]) -> BackgroundStep? {
    let source: any ByteSource
    let header: ImageHeader
    do {
      source = try originals.open(asset.original)
      header = try renderer.header(of: source)
    } catch {
      logger.debug("making derivatives failed", metadata: ["asset": "\(asset.localIdentifier)", "reason": "\(error)"])
      return nil
    }
    let possible = renderer.rungs(of: asset, header)
    // The largest first: the others can be made from the same preview of a RAW file.
    let rungs = rungs.filter(possible.contains).sorted { $0.side > $1.side }
    guard !rungs.isEmpty else { return nil }
    let requests = rungs.map { renderer.ladder.sizedRequest(for: $0, of: asset) }
    let plan = renderer.planner.sharedPlan(header, Array(requests.prefix(1)), extras: Array(requests.dropFirst()))
    return BackgroundStep(bytes: plan.peakBytes) { [self] stop throws(AssetSourceError) in
      let stops = plan.members.map { _ in stop }
      do throws(ImageServiceError) {
        try renderer.render(plan, from: source, of: asset, isUrgent: false, stops: stops) { member, result in
          guard case .success(let image) = result, !image.isIncomplete, source.isUnchanged else { return }
          store.store(image, as: rungs[plan.members[member].requestIndex], of: asset)
        }
      } catch {
        logger.debug(
          "making derivatives failed", metadata: ["asset": "\(asset.localIdentifier)", "reason": "\(error)"])
      }
    }
  }
}
