// Tiles of large pictures: one pass over the picture makes all of them, and every job for one of them waits for its own.

import ImageCodec
import ImageRender
import PhotoModel
import Primitives

extension ImagePipeline {
  /// Lets a job wait for a pass that makes its tile, and starts that pass if there is none. Returns false if the job is
  /// to be rendered: it is no tile of a large picture, or the pass has been made and this tile is missing.
  func queueTiles(_ job: RenderJob, _ original: OpenedOriginal) throws(ImageServiceError) -> Bool {
    guard !job.bypassesCaches, let pass = TilePass(original.header, minimumPixels: quickFrames.minimumTiledPixels),
      let tile = pass.grid.tile(of: job.wanted),
      tile.factor <= TilePass.maximumFactor, pass.peakBytes <= renderCapacityBytes,
      cache.store.hasRoomForTiles(of: pass.grid.size)
    else { return false }
    if cache.store.hasFrame(for: key(of: pass.lastTile, in: pass.grid, job)) {
      // The pass may have ended since the job looked into the caches.
      guard let frame = cache.frame(for: job.key.rendition) else { return false }
      delivery.finish(job, frame)
      return true
    }
    switch tilePasses.join(job) {
    case .refused: return false
    case .waits: return true
    case .mustStart: break
    }
    let priority = jobs.ticketAndPriority(of: job)?.priority ?? .normal
    // Not the job's ticket: the pass goes on when the job is cancelled, because other jobs wait for it.
    _ = renderLane.submit(priority, bytes: pass.peakBytes) { [self] reservation in
      makeTiles(pass, job, original, reservation)
    }
    return true
  }

  private func key(of tile: TileGrid.Tile, in grid: TileGrid, _ job: RenderJob) -> RenditionKey {
    RenditionKey(job.key.rendition.contentVersion, SizedRequest(grid.request(for: tile), upright: grid.size))
  }

  private func makeTiles(
    _ pass: TilePass, _ first: RenderJob, _ original: OpenedOriginal, _ reservation: ByteBudget.Reservation
  ) {
    let began = now()
    do throws(ImageServiceError) {
      _ = try renderer.tiles(pass, from: original.source, stop: StopFlag()) { tile, image in
        // The file may have been overwritten in place during the read.
        guard original.source.isUnchanged else { return false }
        deliver(image, key(of: tile, in: pass.grid, first), first, stepBegan: began)
        // Once a strip.
        if tile.column == 0 { cache.store.waitUntilWritten() }
        return true
      }
    } catch {
      // The renders of the remaining jobs report what is wrong.
    }
    for job in tilePasses.end(first.key.rendition.contentVersion) {
      runStep(job) { () throws(ImageServiceError) in try queueRender(job, original.header, preview: nil) }
    }
  }

  private func deliver(
    _ image: RenderedImage, _ key: RenditionKey, _ first: RenderJob, stepBegan: ContinuousClock.Instant
  ) {
    let jobs = tilePasses.take(key).filter { self.jobs.renderBegan($0) != nil }
    guard let job = jobs.first else {
      let attributes = FrameAttributes(first, .original, derivation: .tile, isDegraded: false, stepBegan: stepBegan)
      // Only on the disk: in memory it would displace frames that are in use.
      return cache.store.store(attributes.frame(image), for: key)
    }
    let attributes = FrameAttributes(job, .original, derivation: .tile, isDegraded: false, stepBegan: stepBegan)
    finish(job, attributes.frame(image)) { [budget = cache.budget] in budget.tryReserve($0) }
  }
}
