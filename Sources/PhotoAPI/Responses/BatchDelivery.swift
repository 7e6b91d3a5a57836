// The answer to POST /v1/images: parts of multipart/mixed, each as soon as it is ready and the client has taken what
// was written before it.
//
//     begin -> parts that need no work: 304s, problems, frames in memory -+-> gathered into few writes -> client
//           -> a few requests at a time, each a task of its own -> ready -+        ^ more when there is room
//
// A frame is in one of these places: not asked for yet, a task, ready, or written. Tasks and ready ones together are at
// most `width`, so a client that reads nothing is owed no more than that, beside one write.

import HTTPCore
import HTTPServer
import ImageService
import Logging
import PhotoModel
import Synchronization

final class BatchDelivery: Sendable {
  /// A frame that is to be had, or asked for.
  struct Frame: Sendable {
    let index: Int
    let asset: Asset
    let request: ImageRequest
    let headers: ImageHeaders
    let location: String
  }

  enum Entry: Sendable {
    case frame(Frame)
    case notModified(tag: String, location: String)
    case problem(Problem, location: String)
  }

  /// A part with all that is in it.
  private struct Part: Sendable {
    let head: [(name: String, value: String)]
    let body: [UInt8]
    var holding: (any AnyObject & Sendable)?
  }

  /// What holds the memory of one write.
  private final class Holdings: Sendable {
    let all: [any AnyObject & Sendable]
    init(_ all: [any AnyObject & Sendable]) { self.all = all }
  }

  private struct State {
    /// Parts without a picture, and frames that were in memory when they were looked at.
    var entries: ArraySlice<Entry>
    /// Frames that have to be asked for.
    var waiting: ArraySlice<Frame> = []
    var ready: ArraySlice<Part> = []
    /// Those that were asked for and have not come, by index; a task as soon as it is known.
    var tasks: [Int: ImageTask?] = [:]
    /// Parts that are not written.
    var left: Int
    /// The client has taken most of what was written.
    var hasRoom = true
    var isPumping = false
    /// Something has changed since the pump looked.
    var isDue = false
    var isClosed = false
  }

  /// Requests under way at a time, and frames that wait to be written.
  private static let width = 16
  /// What is written at a time, about.
  private static let writeBytes = 256 << 10

  private let images: ImageManager
  private let caller: ImageManager.Caller
  private let reply: Reply
  private let queue: WorkQueue
  private let logger: Logger
  private let writer = MultipartWriter(boundary: Boundary.make())
  private let state: Mutex<State>

  init(
    _ entries: [Entry], images: ImageManager, caller: ImageManager.Caller, reply: Reply, queue: WorkQueue,
    logger: Logger
  ) {
    self.images = images
    self.caller = caller
    self.reply = reply
    self.queue = queue
    self.logger = logger
    var state = State(entries: [], left: entries.count)
    for entry in entries {
      if case .frame(let frame) = entry, !images.isInMemory(frame.headers.key) {
        state.waiting.append(frame)
      } else {
        state.entries.append(entry)
      }
    }
    self.state = Mutex(state)
  }

  /// Sends the head and what is there, and asks for the rest. Blocks for as long as a few files take to read.
  func begin() {
    reply.start(
      ResponseHead(
        .ok,
        [
          ("Content-Type", "multipart/mixed; boundary=\(writer.boundary)"), ("Cache-Control", "no-store"),
          ("X-Content-Type-Options", "nosniff"),
        ]))
    reply.write([writer.opening])
    pump()
  }

  /// The client has gone: nothing more is asked for, and what nobody else waits for stops.
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
    for task in tasks { images.cancel(task) }
  }

  /// Something has changed, on whatever thread.
  private func pumpSoon() {
    let begins = state.withLock { state in
      state.isDue = true
      return !state.isPumping && !state.isClosed
    }
    if begins { _ = queue.submit { [self] in pump() } }
  }

  /// Asks for more, and writes what is ready, until there is nothing to do for now. One at a time.
  private func pump() {
    let begins = state.withLock { state in
      guard !state.isPumping, !state.isClosed else { return false }
      state.isPumping = true
      return true
    }
    guard begins else { return }
    while true {
      state.withLock { $0.isDue = false }
      write()
      ask()
      write()
      let isDone = state.withLock { state in
        if state.isDue && !state.isClosed { return false }
        state.isPumping = false
        return true
      }
      if isDone { return }
    }
  }

  // MARK: Asking

  private func ask() {
    while let frame = next() {
      var caller = caller
      caller.requestID += ".\(frame.index)"
      let task = images.requestImage(for: frame.asset, frame.request, caller) { [self] in delivered($0, frame) }
      let isLate = state.withLock { state in
        // It may be here already.
        if state.tasks[frame.index] != nil { state.tasks[frame.index] = .some(task) }
        return state.isClosed
      }
      if isLate { images.cancel(task) }
    }
  }

  private func next() -> Frame? {
    state.withLock { state in
      guard !state.isClosed, state.tasks.count + state.ready.count < Self.width,
        let frame = state.waiting.popFirst()
      else { return nil }
      state.tasks[frame.index] = .some(nil)
      return frame
    }
  }

  private func delivered(_ delivery: ImageDelivery, _ frame: Frame) {
    let part: Part
    switch delivery {
    case .degraded: return
    case .final(let image): part = self.part(image, frame)
    case .failed(let error):
      let problem = Problem(error)
      if problem.status == 500 { logger.error("an image could not be made", metadata: ["error": "\(error)"]) }
      part = self.part(problem, frame.location)
    }
    state.withLock { state in
      guard !state.isClosed else { return }
      state.tasks[frame.index] = nil
      state.ready.append(part)
    }
    pumpSoon()
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
      // The delimiter that ends a part goes with it.
      pieces.append(isLast ? writer.closing : writer.delimiter)
      let holdings = Holdings(parts.compactMap(\.holding))
      guard !isLast else {
        reply.write(pieces, owner: holdings)
        return reply.finish()
      }
      reply.write(pieces, owner: holdings) { [self] in
        state.withLock { $0.hasRoom = true }
        pumpSoon()
      }
    }
  }

  /// The parts of the next write; whether they are the last there are.
  private func gather() -> ([Part], isLast: Bool) {
    var parts: [Part] = []
    var bytes = 0
    while bytes < Self.writeBytes, let part = take() {
      parts.append(part)
      bytes += part.body.count
    }
    let isLast = state.withLock { state in
      if !parts.isEmpty { state.hasRoom = false }
      state.left -= parts.count
      return state.left == 0
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
      case .notModified(let tag, let location): return notModified(tag, location)
      case .problem(let problem, let location): return self.part(problem, location)
      case .frame(let frame):
        if let image = images.frameInMemory(frame.headers.key) {
          var image = image
          image = image.addressed(to: caller.requestID + ".\(frame.index)")
          return self.part(image, frame)
        }
        // It has left memory since.
        state.withLock { state in
          state.waiting.append(frame)
          state.isDue = true
        }
      }
    }
  }

  // MARK: Parts

  private func part(_ image: ImageFrame, _ frame: Frame) -> Part {
    Part(head: frame.headers.batchPart(image, location: frame.location), body: image.bytes, holding: image.holding)
  }

  private func notModified(_ tag: String, _ location: String) -> Part {
    Part(
      head: [
        ("Content-Length", "0"), ("Content-Location", location), ("ETag", tag), ("Image-Result", "status=304"),
      ], body: [])
  }

  private func part(_ problem: Problem, _ location: String) -> Part {
    let body = problem.body
    let cancelled = problem.isCancellation ? ", cancelled=?1" : ""
    return Part(
      head: [
        ("Content-Type", Problem.mediaType), ("Content-Length", String(body.count)), ("Content-Location", location),
        ("Image-Result", "status=\(problem.status)\(cancelled)"),
      ], body: body)
  }
}
