// Live previews of adjustments: while a slider moves, each request renders other operations of one picture.
//
//     request -> the client's session; its earlier request is cancelled
//             -> no proxy of this content yet: wait for the session's decode of the picture into a proxy, which the first
//                such request starts on the render lane
//             -> render the operations of the latest request from the proxy, on the render lane -> one JPEG
//
// A session belongs to a client of a principal. Its proxy stays reserved in the memory budget until its lease ends, or
// until work of the render lane waits for memory: then the least recently used proxies are released. A preview that
// waits in the lane does not keep its proxy; if that is gone at its turn, the picture is decoded again. The decode
// belongs to the session too, not to a request: an editor sends requests faster than a picture is decoded.
//
// So a session has at most one entry in the render lane: its decode, or the preview of its latest request.

import ImageCodec
import ImageRender
import Logging
import PhotoModel
import Primitives
import Synchronization

package final class PreviewService: Sendable {
  package struct Limits: Sendable, Hashable {
    /// The maximum number of clients with a session. The least recently used session ends when one more begins.
    package var sessions = 8
    /// The maximum of the longer side of a proxy.
    package var proxySide = 2048
    /// How long a session that is not used keeps its proxy.
    var lease = Duration.seconds(60)
    /// Maximum duration of a task.
    package var deadline = Duration.seconds(60)

    package init() {}
  }

  private struct Key: Hashable {
    let owner: String
    let client: String

    init(_ request: PreviewRequest) { (owner, client) = (request.owner, request.client) }
  }

  /// Facts about the picture itself that previews need.
  private struct SourceFacts {
    /// Upright, without adjustments.
    let size: PixelSize
    let isGray: Bool
    /// Whether the file ends early, so that the proxy shows only a part.
    let isIncomplete: Bool
  }

  private final class Proxy: Sendable {
    let contentVersion: ContentVersion
    let source: MemoryByteSource
    let header: ImageHeader
    let original: SourceFacts
    /// Released with the proxy.
    let reservation: ByteBudget.Reservation

    init(
      _ contentVersion: ContentVersion, _ source: MemoryByteSource, _ header: ImageHeader, of original: SourceFacts,
      _ reservation: ByteBudget.Reservation
    ) {
      self.contentVersion = contentVersion
      self.source = source
      self.header = header
      self.original = original
      self.reservation = reservation
    }

    deinit { reservation.release() }
  }

  /// The decode of a picture into a proxy. Requests for the same content wait for it.
  private final class Decode: Sendable {
    let contentVersion: ContentVersion
    /// Memory for the preview that follows in the same turn; 0 if it is not known yet.
    let renderBytes: Int
    /// Cancelled when its session ends or shows another content.
    let work: PreviewWork

    init(_ contentVersion: ContentVersion, _ work: PreviewWork, renderBytes: Int = 0) {
      self.contentVersion = contentVersion
      self.work = work
      self.renderBytes = renderBytes
    }
  }

  private struct Session {
    var proxy: Proxy?
    /// Makes the proxy, while there is none.
    var decode: Decode?
    /// The client's latest request, and the task that waits for its preview.
    var request: PreviewRequest
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
    let task = PreviewTask(PreviewWork(lane), created: now(), deliver)
    let (session, startsDecode, ended) = begin(task, request)
    // Released and called without the lock.
    for earlier in ended {
      earlier.task.cancel()
      if let decode = earlier.decode, decode !== session.decode { decode.work.cancel() }
    }
    if let proxy = session.proxy {
      submit(request, task, proxy)
    } else if startsDecode, let decode = session.decode {
      start(decode, request)
    }
    return task
  }

  /// Ends tasks that exceed their deadline, and sessions whose lease has expired. Call it about once a second.
  package func expire() {
    let time = now()
    // Ended without the lock: a task has a lock of its own and calls its handler.
    let all = sessions.withLock { $0 }
    for session in all.values where session.task.created < time - limits.deadline {
      session.task.end(.deadlineExceeded)
    }
    // A session with a request that waits is kept. Its lease restarts when the proxy is made.
    let oldest = time - limits.lease
    let unused = all.filter { $0.value.lastUse < oldest && $0.value.task.hasEnded }
    let ended = sessions.withLock { sessions in
      // Leaves out those that were used meanwhile.
      let ended = sessions.filter { unused[$0.key] != nil && $0.value.lastUse < oldest }
      for key in ended.keys { sessions[key] = nil }
      return ended
    }
    // Their proxies are released here, without the lock.
    for session in ended.values { session.decode?.work.cancel() }
  }

  /// Notes a request as its client's latest. Returns its session with the proxy or the decode of its content, whether
  /// the decode is new, so that the caller must start it, and sessions to end: the client's earlier one, and the oldest
  /// if there are too many.
  private func begin(
    _ task: PreviewTask, _ request: PreviewRequest
  ) -> (session: Session, startsDecode: Bool, ended: [Session]) {
    let key = Key(request)
    let content = request.asset.contentVersion
    var session = Session(request: request, task: task, lastUse: now())
    return sessions.withLock { sessions in
      var ended: [Session] = []
      if let earlier = sessions[key] {
        ended.append(earlier)
        if earlier.proxy?.contentVersion == content { session.proxy = earlier.proxy }
        if earlier.decode?.contentVersion == content { session.decode = earlier.decode }
      } else if sessions.count >= limits.sessions,
        let oldest = sessions.min(by: { $0.value.lastUse < $1.value.lastUse })
      {
        ended.append(oldest.value)
        sessions[oldest.key] = nil
      }
      let startsDecode = session.proxy == nil && session.decode == nil
      if startsDecode { session.decode = Decode(content, PreviewWork(lane)) }
      sessions[key] = session
      return (session, startsDecode, ended)
    }
  }

  // MARK: The proxy

  private func start(_ decode: Decode, _ request: PreviewRequest) {
    let key = Key(request)
    do throws(ImageServiceError) {
      try queue(decode, request.asset, key)
    } catch {
      failed(decode, key, error)
    }
  }

  private func queue(_ decode: Decode, _ asset: Asset, _ key: Key) throws(ImageServiceError) {
    let source: any ByteSource
    do throws(OriginalStoreError) {
      source = try originals.open(asset.original)
    } catch {
      throw ImageServiceError(error)
    }
    let limits = codecLimits
    let header = try codec { () throws(CodecError) in try ImageHeader.read(from: source, limits: limits) }
    let originalSize = header.requestedSize
    let plan = ProxyPicture.plan(header, side: self.limits.proxySide)
    let proxyBytes = ProxyPicture.byteCount(plan)
    let bytes = proxyBytes + max(plan.peakBytes, decode.renderBytes)
    try checkCapacity(for: bytes)
    decode.work.submit(bytes: bytes, for: key.owner) { [self] reservation in
      do throws(ImageServiceError) {
        let image = try codec { () throws(CodecError) in
          try ProxyPicture.render(
            plan, source: source, workers: workers, transforms: transforms, limits: limits, stop: decode.work.stop)
        }
        if !source.isUnchanged { throw .originalChanged }
        let memory = MemoryByteSource(image.bytes)
        let original = SourceFacts(
          size: originalSize, isGray: plan.header.colorChannels == 1, isIncomplete: image.isIncomplete)
        let header = try codec { () throws(CodecError) in try ImageHeader.read(from: memory, limits: limits) }
        let proxy = Proxy(asset.contentVersion, memory, header, of: original, reservation.split(off: proxyBytes))
        finished(decode, key, proxy, reservation)
      } catch {
        failed(decode, key, error)
      }
    }
  }

  /// The proxy is made: the latest request is rendered from it, at once if the memory of this turn is enough.
  ///
  /// - Parameter reservation: the memory of this turn, without the proxy's. Released before a later turn is requested:
  ///   the lane would take memory that is about to be free for a shortage, and release proxies.
  private func finished(_ decode: Decode, _ key: Key, _ proxy: Proxy, _ reservation: ByteBudget.Reservation) {
    guard let session = endDecode(decode, key, proxy) else { return }
    watchMemory()
    let plan = previewPlan(of: session.request, from: proxy)
    if plan.stagedPeakBytes <= reservation.bytes {
      render(plan, proxy, session.task)
    } else {
      reservation.release()
      submit(session.request, session.task, proxy)
    }
  }

  /// Decodes the picture of a waiting request whose proxy was released meanwhile. The preview follows in the same turn:
  /// otherwise, in scarce memory, two clients could release each other's proxies again and again.
  private func decodeAgain(_ request: PreviewRequest, _ task: PreviewTask, renderBytes: Int) {
    let decode = Decode(request.asset.contentVersion, PreviewWork(lane), renderBytes: renderBytes)
    let key = Key(request)
    let isLatest = sessions.withLock { sessions in
      // Otherwise a later request, or the end of the session, is about to cancel this one.
      guard sessions[key]?.task === task else { return false }
      sessions[key]?.decode = decode
      return true
    }
    if isLatest { start(decode, request) }
  }

  /// Releases proxies when other work waits for memory, so that an idle session does not delay renders until its lease
  /// ends. The session's next request decodes the picture again.
  private func watchMemory() {
    lane.onMemoryShortage(of: self) { [weak self] in self?.releaseOldestProxy() }
  }

  /// One proxy at a time: its release makes the lane look for memory again.
  private func releaseOldestProxy() {
    let (proxy, hasMore) = sessions.withLock { sessions -> (Proxy?, Bool) in
      let holders = sessions.filter { $0.value.proxy != nil }
      guard let oldest = holders.min(by: { $0.value.lastUse < $1.value.lastUse }) else { return (nil, false) }
      sessions[oldest.key]?.proxy = nil
      return (oldest.value.proxy, holders.count > 1)
    }
    if hasMore { watchMemory() }
    // Released here, without the lock, or at the end of a render that uses it. A waiting preview does not hold it.
    withExtendedLifetime(proxy) {}
  }

  private func failed(_ decode: Decode, _ key: Key, _ error: ImageServiceError) {
    endDecode(decode, key, nil)?.task.finish(.failure(error))
  }

  /// Records the end of a decode. Returns the session that waits for it; `nil` if the session has ended, or shows
  /// another content now.
  private func endDecode(_ decode: Decode, _ key: Key, _ proxy: Proxy?) -> Session? {
    let time = now()
    return sessions.withLock { sessions in
      guard var session = sessions[key], session.decode === decode else { return nil }
      session.decode = nil
      session.proxy = proxy
      session.lastUse = time
      sessions[key] = session
      return session
    }
  }

  // MARK: The preview

  private func previewPlan(of request: PreviewRequest, from proxy: Proxy) -> RenderPlan {
    // Coded in the quickest way, at any size: in one scan.
    let imageRequest = ImageRequest(targetSize: request.targetSize, deliveryMode: .fastFormat, format: .jpeg)
    return ProxyPicture.plan(
      imageRequest, request.adjustments, from: proxy.header, of: proxy.original.size, isGray: proxy.original.isGray)
  }

  private func submit(_ request: PreviewRequest, _ task: PreviewTask, _ proxy: Proxy) {
    let plan = previewPlan(of: request, from: proxy)
    let bytes = plan.stagedPeakBytes
    do throws(ImageServiceError) {
      // The preview needs its memory beside its own proxy. Proxies of other sessions are released if it waits for
      // memory.
      try checkCapacity(for: bytes + proxy.reservation.bytes)
    } catch {
      return task.finish(.failure(error))
    }
    task.work.submit(bytes: bytes, for: request.owner) { [self, weak proxy] reservation in
      guard let proxy else {
        // As in `finished`.
        reservation.release()
        return decodeAgain(request, task, renderBytes: bytes)
      }
      render(plan, proxy, task)
    }
  }

  /// Renders on several cores: a client waits for this picture, and has one preview at a time.
  private func render(_ plan: RenderPlan, _ proxy: Proxy, _ task: PreviewTask) {
    do throws(ImageServiceError) {
      let image = try codec { () throws(CodecError) in
        let renderer = try Renderer(
          plan, source: proxy.source, transforms: transforms, stages: lane.stages, limits: codecLimits,
          stop: task.work.stop)
        var image = try renderer.render()
        image.isIncomplete = proxy.original.isIncomplete
        return image
      }
      task.finish(.success(image))
    } catch {
      task.finish(.failure(error))
    }
  }

  /// Throws `overBudget` if work needs more memory than the budget: it would wait forever, and block all work after it.
  private func checkCapacity(for bytes: Int) throws(ImageServiceError) {
    guard bytes <= lane.capacityBytes else { throw .overBudget(needed: bytes, budget: lane.capacityBytes) }
  }

  private func codec<Value>(_ body: () throws(CodecError) -> Value) throws(ImageServiceError) -> Value {
    do throws(CodecError) { return try body() } catch {
      throw error == .stopped ? ImageServiceError.cancelled : .codec(error)
    }
  }
}
