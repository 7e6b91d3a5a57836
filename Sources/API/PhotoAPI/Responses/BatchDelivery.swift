// The response to POST /v1/images: parts of multipart/mixed. Each is written as soon as it is ready and the client has
// read what was written before.
//
//     begin -> parts that need no work: 304s, problems, frames in memory -+-> gathered into few writes -> client
//           -> a few requests at a time, each a task of its own -> ready -+        ^ more when there is room
//
// A frame is in one of these states: not requested, a task, ready, or written. Tasks and ready frames together are at
// most `maximumInFlight`, so a client that does not read holds no more than that in memory, plus one write. A frame
// that finds no place in a queue is requested again when a request of the same caller has ended: if the queue is short,
// the caller's batches wait for their frames and for each other's instead of failing in most parts.

import HTTPCore
import HTTPServer
import ImageService
import Logging
import PhotoModel
import Synchronization

final class BatchDelivery: Sendable {
  /// A frame that is in memory or must be requested.
  struct Frame: Sendable {
    let index: Int
    let headers: ImageHeaders
    let location: String
    /// Its `ifNoneMatch` is `*`: if the frame has an entity tag, its part is a 304.
    let matchesAny: Bool
    /// A queue refused the frame while the caller had no request in progress. The next refusal is final, unless the
    /// caller has a request in progress by then.
    var isLastAttempt = false
  }

  enum Entry: Sendable {
    case frame(Frame)
    /// The head of a part without a body.
    case notModified(head: [(name: String, value: String)])
    case problem(Problem, location: String)
  }

  /// A complete part.
  private struct Part: Sendable {
    let head: [(name: String, value: String)]
    let body: [UInt8]
    var memoryOwner: (any AnyObject & Sendable)?
  }

  /// Owns the memory of one write.
  private final class MemoryOwners: Sendable {
    let all: [any AnyObject & Sendable]
    init(_ all: [any AnyObject & Sendable]) { self.all = all }
  }

  private struct State {
    /// Parts without an image, and frames that were in memory when they were checked.
    var entries: ArraySlice<Entry>
    /// Frames that must be requested.
    var waiting: ArraySlice<Frame> = []
    var ready: ArraySlice<Part> = []
    /// Requested frames that have not arrived, by index. The task is set as soon as `requestImage` has returned it.
    var tasks: [Int: ImageTask?] = [:]
    /// A queue was full, and no request of the caller has ended since: no frame is requested until ``resume()``.
    var isHeldBack = false
    /// The number of parts not yet written.
    var remainingParts: Int
    /// True when the client has read most of the written bytes.
    var hasRoom = true
    var isClosed = false
    /// No more frames are requested; those that are missing become problem parts.
    var isCancelled = false
  }

  /// Maximum number of active requests and ready frames together.
  private static let maximumInFlight = 16
  /// Approximate size of one write.
  private static let writeBytes = 256 << 10

  private let images: ImageManager
  private let context: ImageManager.RequestContext
  private let reply: Reply
  private let logger: Logger
  private let writer = MultipartWriter(boundary: Boundary.make())
  private let state: Mutex<State>
  /// Runs ``pump()`` after changes, one at a time.
  private let pumping: CoalescedWork

  init(
    _ entries: [Entry], images: ImageManager, context: ImageManager.RequestContext, reply: Reply, queue: WorkQueue,
    logger: Logger
  ) {
    self.images = images
    self.context = context
    self.reply = reply
    self.logger = logger
    pumping = CoalescedWork(on: queue)
    var state = State(entries: [], remainingParts: entries.count)
    for entry in entries {
      if case .frame(let frame) = entry, !images.isInMemory(frame.headers.key) {
        state.waiting.append(frame)
      } else {
        state.entries.append(entry)
      }
    }
    self.state = Mutex(state)
  }

  /// Sends the head and the available parts, and requests the rest. Blocks while a few files are read.
  func begin() {
    var isStarted = false
    // The head is part of the pump's first run, so a cancellation on another thread can't write before the head.
    pumping.run {
      if !isStarted { start() }
      isStarted = true
      pump()
    }
  }

  /// Makes the batch known by its ID, and sends the head.
  private func start() {
    images.batchBegan(context) { [weak self] in self?.cancel() }
    // The client may have disconnected before.
    if state.withLock({ $0.isClosed }) { images.batchEnded(context) }
    reply.start(
      ResponseHead(
        .ok,
        [
          ("Content-Type", "multipart/mixed; boundary=\(writer.boundary)"), ("Cache-Control", "no-store"),
          ("Image-Result", "request-id=\"\(context.requestID)\""), ("X-Content-Type-Options", "nosniff"),
        ]))
    reply.write([writer.opening])
  }

  /// The client has disconnected: requests nothing more, and cancels the tasks.
  func close() {
    let tasks = state.withLock { state in
      state.isClosed = true
      defer {
        state.entries = []
        state.waiting = []
        state.ready = []
        state.tasks = [:]
      }
      return state.tasks.values.compactMap(\.self)
    }
    images.batchEnded(context)
    for task in tasks { images.cancel(task) }
  }

  /// Cancels the frames that are not ready. Their parts say so, and the response ends as usual. Called from any thread.
  private func cancel() {
    let tasks = state.withLock { state in
      state.isCancelled = true
      state.entries += state.waiting.map { .problem(Self.cancellation, location: $0.location) }
      state.waiting = []
      return state.tasks.values.compactMap(\.self)
    }
    for task in tasks { images.cancel(task) }
    schedulePump()
  }

  private static let cancellation = Problem(ImageServiceError.cancelled)

  /// Runs the pump after a change. Called from any thread.
  private func schedulePump() { pumping.schedule { [self] in pump() } }

  /// Writes ready parts, and requests frames for which there is room. Does nothing after ``close()``.
  private func pump() {
    write()
    requestFrames()
    write()
  }

  // MARK: Requesting

  private func requestFrames() {
    while let frame = next() {
      var context = context
      context.requestID += ".\(frame.index)"
      context.retriesWhenFull = true
      let task = images.requestImage(frame.headers.wanted, context) { [self] in delivered($0, frame) }
      let isLate = state.withLock { state in
        // The frame may have been delivered already.
        if state.tasks[frame.index] != nil { state.tasks[frame.index] = .some(task) }
        return state.isClosed || state.isCancelled
      }
      if isLate { images.cancel(task) }
    }
  }

  /// The next frame to request.
  private func next() -> Frame? {
    state.withLock { state -> Frame? in
      guard !state.isClosed, !state.isHeldBack, state.tasks.count + state.ready.count < Self.maximumInFlight,
        let frame = state.waiting.popFirst()
      else { return nil }
      state.tasks[frame.index] = .some(nil)
      return frame
    }
  }

  private func delivered(_ delivery: ImageDelivery, _ frame: Frame) {
    let part: Part
    switch delivery {
    case .progress, .degraded: return
    case .final(let image): part = self.part(image, frame)
    case .failed(let error):
      if error == .queueFull, holdBack(frame) { return }
      part = self.part(reply.problem(error, "image failed", logger), frame.location)
    }
    state.withLock { state in
      guard !state.isClosed else { return }
      state.tasks[frame.index] = nil
      state.ready.append(part)
    }
    schedulePump()
  }

  /// Puts a frame that a queue refused at the front of the waiting frames, until a request of the caller ends. If the
  /// caller has no request in progress, the last one may have ended after the refusal, so the frame is requested once
  /// more at once.
  ///
  /// Returns false if the frame fails: the batch has been closed or cancelled, or only other callers hold the places.
  private func holdBack(_ frame: Frame) -> Bool {
    let isWaiting = state.withLock { state in
      guard !state.isClosed, !state.isCancelled else { return false }
      state.tasks[frame.index] = nil
      // Before the wait begins, because it may end at once.
      state.isHeldBack = true
      var waiting = frame
      waiting.isLastAttempt = false
      state.waiting.insert(waiting, at: state.waiting.startIndex)
      return true
    }
    guard isWaiting else { return false }
    if images.awaitRequestEnd(context, wake: { [weak self] in self?.resume() }) { return true }
    let fails = state.withLock { state in
      // A cancellation may have taken it, or an earlier wait of the batch may have ended and requested it again.
      guard let index = state.waiting.firstIndex(where: { $0.index == frame.index }) else { return false }
      if frame.isLastAttempt { state.waiting.remove(at: index) } else { state.waiting[index].isLastAttempt = true }
      return frame.isLastAttempt
    }
    if fails { images.refusalWasFinal() }
    resume()
    return !fails
  }

  /// Requests frames again. Called from any thread.
  private func resume() {
    state.withLock { $0.isHeldBack = false }
    schedulePump()
  }

  // MARK: Writing

  private func write() {
    while true {
      let (parts, isLast) = gather()
      guard !parts.isEmpty else { return }
      var pieces: [[UInt8]] = []
      for (index, part) in parts.enumerated() {
        let head = writer.partHead(part.head)
        pieces.append(index == 0 ? head : writer.delimiter + head)
        pieces.append(part.body)
      }
      // The delimiter that ends a part is sent with it.
      pieces.append(isLast ? writer.closing : writer.delimiter)
      let memoryOwners = MemoryOwners(parts.compactMap(\.memoryOwner))
      guard !isLast else {
        reply.write(pieces, owner: memoryOwners)
        images.batchEnded(context)
        return reply.finish()
      }
      reply.write(pieces, owner: memoryOwners) { [self] in
        state.withLock { $0.hasRoom = true }
        schedulePump()
      }
    }
  }

  /// The parts of the next write, and whether they are the last ones.
  private func gather() -> ([Part], isLast: Bool) {
    var parts: [Part] = []
    var bytes = 0
    while bytes < Self.writeBytes, let part = take() {
      parts.append(part)
      bytes += part.body.count
    }
    let isLast = state.withLock { state in
      if !parts.isEmpty { state.hasRoom = false }
      state.remainingParts -= parts.count
      return state.remainingParts == 0
    }
    return (parts, isLast)
  }

  private func take() -> Part? {
    while true {
      let (entry, part) = state.withLock { state -> (Entry?, Part?) in
        guard state.hasRoom, !state.isClosed else { return (nil, nil) }
        if let entry = state.entries.popFirst() { return (entry, nil) }
        return (nil, state.ready.popFirst())
      }
      switch entry {
      case nil: return part
      case .notModified(let head): return Part(head: head, body: [])
      case .problem(let problem, let location): return self.part(problem, location)
      case .frame(let frame):
        if let image = images.frameInMemory(frame.headers.key) {
          var image = image
          image = image.withRequestID(context.requestID + ".\(frame.index)")
          return self.part(image, frame)
        }
        // The frame was evicted from memory in the meantime.
        state.withLock { state in
          if state.isCancelled {
            state.entries.append(.problem(Self.cancellation, location: frame.location))
          } else {
            state.waiting.append(frame)
          }
        }
        schedulePump()
      }
    }
  }

  // MARK: Parts

  private func part(_ image: ImageFrame, _ frame: Frame) -> Part {
    if frame.matchesAny, frame.headers.isStorable(image) {
      return Part(head: frame.headers.batchNotModifiedPart(image.derivation, location: frame.location), body: [])
    }
    return Part(
      head: frame.headers.batchPart(image, location: frame.location), body: image.bytes, memoryOwner: image.memoryOwner)
  }

  private func part(_ problem: Problem, _ location: String) -> Part {
    let body = problem.body
    let fact = problem.isCancellation ? ", cancelled=?1" : problem.isInCloud ? ", in-cloud=?1" : ""
    return Part(
      head: [
        ("Content-Type", Problem.mediaType), ("Content-Length", String(body.count)), ("Content-Location", location),
        ("Image-Result", "status=\(problem.status)\(fact)"),
      ], body: body)
  }
}
