// Live previews of adjustments: while a slider moves, each request renders other operations of one picture.
//
//     request -> the client's session; its earlier request is cancelled
//             -> no proxy of this content yet: decode the picture once into a proxy, on the render lane
//             -> render the operations from the proxy, on the render lane -> one JPEG
//
// A session belongs to a client of a principal. Its proxy stays reserved in the memory budget until its lease ends.

import ImageCodec
import ImageRender
import Logging
import PhotoModel
import Primitives
import Synchronization

/// A preview of a picture with given operations.
package struct PreviewRequest: Sendable {
  /// The principal's name, and the name that its client gives itself.
  package var owner: String
  package var client: String
  /// Without its adjustments.
  package var asset: Asset
  package var adjustments: Adjustments
  package var targetSize: TargetSize

  package init(owner: String, client: String, asset: Asset, adjustments: Adjustments, targetSize: TargetSize) {
    self.owner = owner
    self.client = client
    self.asset = asset.unadjusted
    self.adjustments = adjustments
    self.targetSize = targetSize
  }
}

/// A request that waits for its preview.
package final class PreviewTask: Sendable {
  let stop = StopFlag()
  private let deliver: Mutex<(@Sendable (Result<RenderedImage, ImageServiceError>) -> Void)?>

  init(_ deliver: @escaping @Sendable (Result<RenderedImage, ImageServiceError>) -> Void) {
    self.deliver = Mutex(deliver)
  }

  /// The first result is delivered, later ones are dropped.
  func finish(_ result: Result<RenderedImage, ImageServiceError>) { deliver.withLock { $0.take() }?(result) }

  package func cancel() {
    stop.raise()
    finish(.failure(.cancelled))
  }
}

package final class PreviewService: Sendable {
  package struct Limits: Sendable, Hashable {
    /// The maximum number of clients with a session; the one that was used longest ago loses its session.
    package var sessions = 8
    /// The maximum of the longer side of a proxy.
    package var proxySide = 2048
    /// How long a session that is not used keeps its proxy.
    package var lease = Duration.seconds(60)

    package init() {}
  }

  private struct Key: Hashable {
    let owner: String
    let client: String
  }

  private final class Proxy: Sendable {
    let contentVersion: ContentVersion
    let source: MemoryByteSource
    let header: ImageHeader
    /// Released with the proxy.
    let reservation: ByteBudget.Reservation

    init(
      _ contentVersion: ContentVersion, _ source: MemoryByteSource, _ header: ImageHeader,
      _ reservation: ByteBudget.Reservation
    ) {
      self.contentVersion = contentVersion
      self.source = source
      self.header = header
      self.reservation = reservation
    }

    deinit { reservation.release() }
  }

  private struct Session {
    var proxy: Proxy?
    var task: PreviewTask
    var lastUse: ContinuousClock.Instant
  }

  private let originals: OriginalStore
  private let lane: RenderLane
  private let codecLimits: CodecLimits
  private let workers: (any CodedPictureDecoder)?
  private let transforms: ColorTransforms
  private let limits: Limits
  private let now: @Sendable () -> ContinuousClock.Instant
  private let sessions = Mutex<[Key: Session]>([:])

  package init(
    originals: OriginalStore, lane: RenderLane, codecLimits: CodecLimits,
    workers: (any CodedPictureDecoder)? = nil, limits: Limits = Limits(),
    now: @escaping @Sendable () -> ContinuousClock.Instant = { .now }
  ) {
    self.originals = originals
    self.lane = lane
    self.codecLimits = codecLimits
    self.workers = workers
    self.limits = limits
    self.now = now
    transforms = ColorTransforms(capacityBytes: codecLimits.colorTransformBytes)
  }

  /// Number of proxies in memory.
  package var proxyCount: Int { sessions.withLock { $0.values.count { $0.proxy != nil } } }

  /// Starts a preview, and cancels the client's earlier one. `deliver` is called once, on any thread.
  ///
  /// Blocks while the header of the original is read, if there is no proxy yet.
  package func render(
    _ request: PreviewRequest, deliver: @escaping @Sendable (Result<RenderedImage, ImageServiceError>) -> Void
  ) -> PreviewTask {
    let task = PreviewTask(deliver)
    let (proxy, ended) = begin(task, request)
    // Released and called without the lock.
    for session in ended { session.task.cancel() }
    do throws(ImageServiceError) {
      if let proxy { try submit(request, task, proxy) } else { try makeProxy(request, task) }
    } catch {
      task.finish(.failure(error))
    }
    return task
  }

  /// Ends the sessions whose lease is over. Call it about once a second.
  package func expire() {
    let oldest = now() - limits.lease
    let ended = sessions.withLock { sessions in
      let ended = sessions.filter { $0.value.lastUse < oldest }
      for key in ended.keys { sessions[key] = nil }
      return ended
    }
    // Only now are their proxies released.
    withExtendedLifetime(ended) {}
  }

  /// Notes a request as its client's latest. Returns the proxy if it is of the same content, and sessions to end: the
  /// client's earlier one, and the oldest if there are too many.
  private func begin(_ task: PreviewTask, _ request: PreviewRequest) -> (Proxy?, ended: [Session]) {
    let key = Key(owner: request.owner, client: request.client)
    let time = now()
    return sessions.withLock { sessions in
      var ended: [Session] = []
      var proxy: Proxy?
      if let earlier = sessions[key] {
        ended.append(earlier)
        if earlier.proxy?.contentVersion == request.asset.contentVersion { proxy = earlier.proxy }
      } else if sessions.count >= limits.sessions,
        let oldest = sessions.min(by: { $0.value.lastUse < $1.value.lastUse })
      {
        ended.append(oldest.value)
        sessions[oldest.key] = nil
      }
      sessions[key] = Session(proxy: proxy, task: task, lastUse: time)
      return (proxy, ended)
    }
  }

  private func makeProxy(_ request: PreviewRequest, _ task: PreviewTask) throws(ImageServiceError) {
    let source: any ByteSource
    do throws(OriginalStoreError) {
      source = try originals.open(request.asset.original)
    } catch {
      throw ImageServiceError(error)
    }
    let limits = codecLimits
    let header = try codec { () throws(CodecError) in try ImageHeader.read(from: source, limits: limits) }
    let plan = ProxyPicture.plan(header, side: self.limits.proxySide)
    let proxyBytes = ProxyPicture.byteCount(plan)
    try submit(task, bytes: plan.peakBytes + proxyBytes) { [self] reservation throws(ImageServiceError) in
      let bytes = try codec { () throws(CodecError) in
        try ProxyPicture.render(
          plan, source: source, workers: workers, transforms: transforms, limits: limits, stop: task.stop)
      }
      if !source.isUnchanged { throw .originalChanged }
      let memory = MemoryByteSource(bytes)
      let header = try codec { () throws(CodecError) in try ImageHeader.read(from: memory, limits: limits) }
      let proxy = Proxy(request.asset.contentVersion, memory, header, reservation.split(off: proxyBytes))
      let key = Key(owner: request.owner, client: request.client)
      sessions.withLock { sessions in
        // A later request of the client may be about another picture.
        if sessions[key]?.task === task { sessions[key]?.proxy = proxy }
      }
      try submit(request, task, proxy)
    }
  }

  private func submit(_ request: PreviewRequest, _ task: PreviewTask, _ proxy: Proxy) throws(ImageServiceError) {
    // Coded in the quickest way, at any size: in one scan.
    let imageRequest = ImageRequest(targetSize: request.targetSize, deliveryMode: .fastFormat, format: .jpeg)
    let plan = RenderPlanner().plan(proxy.header, proxy.header.sized(imageRequest, request.adjustments))
    // On several cores: a client waits for this picture, and has one preview at a time.
    try submit(task, bytes: plan.stagedPeakBytes) { [self] _ throws(ImageServiceError) in
      let image = try codec { () throws(CodecError) in
        let renderer = try Renderer(
          plan, source: proxy.source, transforms: transforms, stages: lane.stages, limits: codecLimits, stop: task.stop)
        guard let image = try renderer.resume() else { throw .truncated(offset: proxy.source.size) }
        return image
      }
      task.finish(.success(image))
    }
  }

  private func submit(
    _ task: PreviewTask, bytes: Int,
    _ step: @escaping @Sendable (ByteBudget.Reservation) throws(ImageServiceError) -> Void
  ) throws(ImageServiceError) {
    guard bytes <= lane.capacityBytes else { throw .overBudget(needed: bytes, budget: lane.capacityBytes) }
    lane.submit(.high, bytes: bytes) { reservation in
      do throws(ImageServiceError) {
        if task.stop.isRaised { throw .cancelled }
        try step(reservation)
      } catch {
        task.finish(.failure(error))
      }
    }
  }

  private func codec<Value>(_ body: () throws(CodecError) -> Value) throws(ImageServiceError) -> Value {
    do throws(CodecError) { return try body() } catch {
      throw error == .stopped ? ImageServiceError.cancelled : .codec(error)
    }
  }
}
