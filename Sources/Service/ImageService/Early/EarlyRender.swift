// A render of final frames that begins while its original arrives. It runs in slices on render workers. A slice ends
// when the decoder has used the bytes that have been received, and gives the worker back:
//
//     queued -> running -> suspended -> (enough more bytes) -> queued -> ...
//                       -> decoded   -> (the download is verified) -> finished
//
// The render keeps the pictures until the download has been verified, because no client may get a picture of unverified
// bytes. An error before that only drops the render: its jobs are then rendered from their complete originals, and that
// render reports the error.
//
// This is a state machine: events go in, and what is to be done next comes out. ImagePipeline+EarlyFrames does it.

import ImageCodec
import ImageRender
import PhotoModel
import Primitives
import Synchronization

final class EarlyRender: Sendable {
  /// A slice begins when this many more bytes have been received: a few milliseconds of work.
  static let sliceBytes: Int64 = 256 << 10

  /// A job and its complete, verified original.
  typealias VerifiedJob = (job: RenderJob, original: OpenedOriginal)

  /// What the caller does after an event.
  enum CallerAction {
    /// Nothing: another event follows.
    case wait
    /// Queue a slice.
    case queueSlice
    case finished(Pictures)
    /// Render these jobs without it.
    case dropped([VerifiedJob])
  }

  /// The pictures of a finished render whose original is verified.
  struct Pictures {
    let shared: SharedRender
    let images: [(member: Int, image: RenderedImage)]
    /// Never empty.
    let verified: [VerifiedJob]
  }

  private struct State {
    enum Phase {
      case queued, running, suspended, decoded, ended
    }

    var phase = Phase.queued
    /// The last slice that was queued.
    var slice: RenderLane.Ticket?
    /// Bytes that had been received when the last slice began.
    var seenBytes: Int64 = 0
    /// The memory of the render, held from the first slice to the end.
    var memory: ByteBudget.Reservation?
    var images: [(member: Int, image: RenderedImage)] = []
    var verified: [VerifiedJob] = []
    /// The render ends with the running slice, or has ended without pictures.
    var isDropped = false

    /// Whether the pictures may be delivered.
    var hasVerifiedPictures: Bool { phase == .decoded && !isDropped && !verified.isEmpty }
  }

  let plan: SharedPlan
  /// Jobs and rungs, numbered as in ``SharedRender``.
  let jobs: [RenderJob]
  let rungs: [DerivativeLadder.Rung]
  let source: any ArrivingSource
  private let state = Mutex(State())
  /// Made in the first slice. Held during a slice; slices follow each other.
  private let renderer = Mutex<SharedRenderer?>(nil)

  init(
    _ plan: SharedPlan, _ jobs: [RenderJob], _ rungs: [DerivativeLadder.Rung], source: any ArrivingSource
  ) {
    (self.plan, self.jobs, self.rungs, self.source) = (plan, jobs, rungs, source)
  }

  /// Whether a job's frame is among the pictures.
  func makesFrame(of job: RenderJob) -> Bool { members.contains { $0 === job } }

  /// Whether no job needs its frame any longer.
  var isAbandoned: Bool { members.allSatisfy(\.stop.isRaised) }

  private var members: [RenderJob] { shared([]).members }

  private func shared(_ reservations: [ByteBudget.Reservation]) -> SharedRender {
    SharedRender(plan: plan, jobs: jobs, rungs: rungs, reservations: reservations)
  }

  /// The slice that is queued, or the last one that was.
  var slice: RenderLane.Ticket? { state.withLock { $0.slice } }

  // MARK: Events

  func sliceQueued(as ticket: RenderLane.Ticket) { state.withLock { $0.slice = ticket } }

  func bytesArrived() -> CallerAction {
    state.withLock { state in
      guard state.phase == .suspended, hasEnough(state) else { return .wait }
      state.phase = .queued
      return .queueSlice
    }
  }

  /// The job's download has been verified, and its header is that of the plan.
  func originalVerified(_ verified: VerifiedJob) -> CallerAction {
    handle { state in
      guard state.phase != .ended, !state.isDropped else { return .dropped([verified]) }
      state.verified.append(verified)
      guard state.phase == .suspended else { return state.phase == .decoded ? nil : .wait }
      state.phase = .queued
      return .queueSlice
    }
  }

  /// Returns false if the render was dropped in the queue.
  ///
  /// - Parameter memory: the slice's reservation. That of the first slice is kept until the render ends.
  func sliceBegan(_ memory: ByteBudget.Reservation) -> Bool {
    state.withLock { state in
      guard state.phase == .queued else { return false }
      state.phase = .running
      state.seenBytes = source.availableBytes
      if state.memory == nil { state.memory = memory.split(off: memory.bytes) }
      return true
    }
  }

  /// Decodes the bytes that have been received, and ends the slice.
  func runSlice(_ frameRenderer: FrameRenderer) -> CallerAction {
    if state.withLock({ $0.isDropped }) { return handle { _ in nil } }
    let stops = shared([]).stops
    let outcome = Result { [plan, source] () throws(CodecError) in
      try renderer.withLock { renderer throws(CodecError) in
        if renderer == nil {
          renderer = try frameRenderer.resumableRenderer(plan, from: source, stops: stops)
        }
        var images: [(member: Int, image: RenderedImage)] = []
        let isDecoded = renderer?.resume { member, result in
          if case .success(let image) = result { images.append((member, image)) }
        }
        return (images: images, isDecoded: isDecoded ?? true)
      }
    }
    return handle { state in
      guard !state.isDropped, case .success(let slice) = outcome else { return nil }
      state.images += slice.images
      if slice.isDecoded {
        state.phase = .decoded
        return state.verified.isEmpty ? .wait : nil
      }
      if hasEnough(state) {
        state.phase = .queued
        return .queueSlice
      }
      // A decoder that has had all bytes needs no more.
      guard state.verified.isEmpty, state.seenBytes < source.size else { return nil }
      state.phase = .suspended
      return .wait
    }
  }

  /// Drops the render: now, or at the end of a slice if one is running or has verified jobs to return. Returns false if
  /// it has finished.
  func drop() -> Bool {
    _ = handle { state in
      guard state.phase != .ended else { return .wait }
      state.isDropped = true
      return state.phase != .running && state.verified.isEmpty ? nil : .wait
    }
    return state.withLock { $0.isDropped }
  }

  /// Drops the render if that gives memory back at once and the download is not complete. Returns whether it did.
  func dropForMemory() -> Bool {
    var isDropped = false
    _ = handle { state in
      guard state.verified.isEmpty, state.memory != nil, state.phase != .running else { return .wait }
      isDropped = true
      return nil
    }
    return isDropped
  }

  private func hasEnough(_ state: borrowing State) -> Bool {
    let available = source.availableBytes
    return available - state.seenBytes >= Self.sliceBytes || (available == source.size && state.seenBytes < available)
  }

  /// Handles an event. If it returns `nil`, the render ends before the lock is released, so that no other event ends it
  /// too. The renderer is then released, and the memory unless pictures are delivered with it.
  private func handle(_ event: (inout State) -> CallerAction?) -> CallerAction {
    let (next, last) = state.withLock { state -> (CallerAction?, State) in
      let next = event(&state)
      let last = state
      if next == nil {
        state.isDropped = !state.hasVerifiedPictures
        (state.phase, state.memory, state.images, state.verified) = (.ended, nil, [], [])
      }
      return (next, last)
    }
    if let next { return next }
    renderer.withLock { $0 = nil }
    guard last.hasVerifiedPictures, let memory = last.memory else {
      last.memory?.release()
      return .dropped(last.verified)
    }
    return .finished(Pictures(shared: shared([memory]), images: last.images, verified: last.verified))
  }
}
