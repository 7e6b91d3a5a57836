// Makes the derivatives that assets lack, the newest assets first, so that small pictures never have to be made of their
// originals. What a render has made already on its way is not made again.

import ImageCodec
import ImageRender
import Logging
import OriginalStore
import PhotoModel
import Synchronization

package final class LadderWork: BackgroundWork {
  private struct State {
    var page: ArraySlice<Asset> = []
    var cursor: String?
    var isAtEnd = false
    /// Counts restarts, so that a page that was asked for before one is not taken for one after it.
    var pass = 0
  }

  private static let pageSize = 256

  private let library: any AssetSource
  private let originals: OriginalStore
  private let store: FrameStore
  private let maker: FrameMaker
  private let logger: Logger
  private let state = Mutex(State())

  package init(
    library: any AssetSource, originals: OriginalStore, store: FrameStore, limits: CodecLimits, logger: Logger
  ) {
    self.library = library
    self.originals = originals
    self.store = store
    maker = FrameMaker(limits: limits, logger: logger)
    self.logger = logger
  }

  package func restart() {
    state.withLock { state in
      let pass = state.pass + 1
      state = State()
      state.pass = pass
    }
  }

  package func next() throws(AssetSourceError) -> BackgroundStep? {
    // What is made ahead must not turn out what was made ahead.
    while store.hasRoomAhead, let asset = try nextAsset() {
      guard asset.hasDecoder else { continue }
      let missing = maker.ladder.rungs(of: asset.pixelSize).filter { !store.hasDerivative($0, of: asset) }
      if !missing.isEmpty, let step = step(for: asset, missing) { return step }
    }
    return nil
  }

  private func nextAsset() throws(AssetSourceError) -> Asset? {
    while true {
      let (asset, cursor, isAtEnd, pass) = state.withLock { state in
        (state.page.popFirst(), state.cursor, state.isAtEnd, state.pass)
      }
      if let asset { return asset }
      if isAtEnd { return nil }
      let query = AssetQuery(
        limit: Self.pageSize, cursor: cursor, includesHidden: true, includesAllBurstAssets: true)
      let page = try library.assets(query, for: .local)
      state.withLock { state in
        guard state.pass == pass else { return }
        state.page = page.assets[...]
        state.cursor = page.nextCursor
        state.isAtEnd = page.nextCursor == nil
      }
    }
  }

  /// The missing rungs by one decode. `nil`: the original can't be read now, which whoever asks for it will be told.
  private func step(for asset: Asset, _ rungs: [DerivativeLadder.Rung]) -> BackgroundStep? {
    let source: any ByteSource
    let header: ImageHeader
    do {
      source = try originals.open(asset.original)
      header = try maker.header(of: source)
    } catch {
      logger.debug("no derivatives", metadata: ["asset": "\(asset.localIdentifier)", "reason": "\(error)"])
      return nil
    }
    let requests = rungs.map { maker.ladder.request(for: $0, of: asset.pixelSize, hasAlpha: asset.hasAlpha) }
    let plan = maker.planner.sharedPlan(header, requests)
    return BackgroundStep(bytes: plan.peakBytes) { [self] stop throws(AssetSourceError) in
      let stops = plan.members.map { _ in stop }
      do throws(ImageServiceError) {
        try maker.render(plan, from: source, of: asset, stops: stops) { member, result in
          guard case .success(let image) = result, !image.isIncomplete, source.isUnchanged else { return }
          store.store(image, as: rungs[plan.members[member].request], of: asset)
        }
      } catch {
        logger.debug("no derivatives", metadata: ["asset": "\(asset.localIdentifier)", "reason": "\(error)"])
      }
    }
  }
}
