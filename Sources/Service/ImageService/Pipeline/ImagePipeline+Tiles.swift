// Tiles of large pictures: one pass over the picture makes all its tiles, and each job waits for its own tile.

import ImageRender
import PhotoModel
import Primitives

extension ImagePipeline {
  /// Lets a job wait for the pass that makes its tile, and starts the pass if none runs. Returns false if the job must
  /// be rendered instead: it is not a tile of a large picture, or the pass has ended without this tile.
  func queueTiles(_ job: RenderJob, _ original: OpenedOriginal) throws(ImageServiceError) -> Bool {
    guard !job.bypassesCaches, let pass = TilePass(original.header, minimumPixels: quickFrames.minimumTiledPixels),
      let tile = pass.grid.tile(of: job.wanted),
      TilePass.serves(tile, of: pass.grid), pass.peakBytes <= renderCapacityBytes,
      cache.store.hasRoomForTiles(of: pass.grid.size)
    else { return false }
    if cache.store.hasFrame(for: key(of: pass.lastTile, in: pass.grid, job)) {
      // The pass may have ended since the job looked into the caches.
      guard let frame = cache.frame(for: job.key.rendition) else { return false }
      delivery.finish(job, frame)
      return true
    }
    // Before the pass can begin.
    jobs.tilePassAwaited(job)
    // The ticket is not kept as the job's: the pass continues when the job is cancelled, if other jobs wait for it.
    let ticket = renderLane.makeTicket()
    switch tilePasses.join(job, ticket) {
    case .refused: return false
    case .waits(let ticket, let isRunning):
      if isRunning { jobs.tilePassBegan(job) }
      prioritize(ticket, for: job)
      return true
    case .mustStart: break
    }
    let priority = jobs.priority(of: job) ?? .normal
    renderLane.submit(priority, bytes: pass.peakBytes, for: job.caller, as: ticket) { [self] reservation in
      makeTiles(pass, job, original, ticket, reservation)
    }
    let content = job.key.rendition.contentVersion
    // Others may have joined before `submit`.
    for waiting in tilePasses.jobs(of: content) { prioritize(ticket, for: waiting) }
    // The tasks may have left before `join`, which then added a job without a task. Or they left before `submit`: then
    // their leaving removed the pass, but found no work to withdraw.
    if let abandoned = tilePasses.removeAbandoned(content) { renderLane.withdraw(abandoned) }
    if tilePasses.ticket(of: job) != ticket { renderLane.withdraw(ticket) }
    return true
  }

  private func key(of tile: TileGrid.Tile, in grid: TileGrid, _ job: RenderJob) -> RenditionKey {
    RenditionKey(job.key.rendition.contentVersion, SizedRequest(grid.request(for: tile), upright: grid.size))
  }

  private func makeTiles(
    _ pass: TilePass, _ first: RenderJob, _ original: OpenedOriginal, _ ticket: RenderLane.Ticket,
    _ reservation: ByteBudget.Reservation
  ) {
    let began = now()
    let content = first.key.rendition.contentVersion
    guard let waiting = tilePasses.beginIfWanted(content, ticket) else { return }
    for job in waiting { jobs.tilePassBegan(job) }
    do throws(ImageServiceError) {
      _ = try renderer.tiles(pass, from: original.source, stop: StopFlag()) { tile, image in
        // The file may have been overwritten in place during the read.
        guard original.source.isUnchanged, tilePasses.isWanted(content) else { return false }
        deliver(image, key(of: tile, in: pass.grid, first), first, stepBegan: began)
        // Once for each strip of tiles.
        if tile.column == 0 { cache.store.waitForRoom() }
        return true
      }
    } catch {
      // The remaining jobs are rendered one by one, and report the error.
    }
    for job in tilePasses.end(content) {
      runStep(job) { () throws(ImageServiceError) in try queueRender(job, original.header, preview: nil) }
    }
  }

  private func deliver(
    _ image: RenderedImage, _ key: RenditionKey, _ first: RenderJob, stepBegan: ContinuousClock.Instant
  ) {
    let jobs = tilePasses.take(key).filter { self.jobs.renderingBegan($0) }
    guard let job = jobs.first else {
      let attributes = FrameAttributes(first, .original, derivation: .tile, isDegraded: false, stepBegan: stepBegan)
      // Only on the disk: in memory it would displace frames that are in use.
      return cache.store.store(attributes.frame(image), for: key)
    }
    let attributes = FrameAttributes(job, .original, derivation: .tile, isDegraded: false, stepBegan: stepBegan)
    finish(job, attributes.frame(image)) { [budget = cache.budget] in budget.tryReserve($0) }
  }
}
