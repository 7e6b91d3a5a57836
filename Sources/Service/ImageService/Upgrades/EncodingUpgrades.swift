// Upgrades: smaller encodings of frames that are requested again, or that a preheat window has prepared: WebP, AVIF or
// JPEG XL instead of JPEG or PNG.
//
//     request, preparedFrame -> waiting (bounded) -> after the pause that the budget asks for
//         -> ImageManager.prepare, in the background
//       -> smaller: in the caches under a key of its own, and the observer gets the frame that it replaces
//       -> not smaller, or never possible: remembered, and not made again
//       -> failed for another reason: the next request for the frame tries again
//       -> its window has moved away before its turn: dropped
//
// An upgrade costs more CPU than the frame that it replaces, and only bytes are gained. So it runs when nothing else
// wants the render lane, and takes at most a share of one core.

import Dispatch
import ImageCodec
import PhotoModel
import Primitives
import Synchronization

package final class EncodingUpgrades: Sendable {
  package struct Limits: Sendable {
    /// The most CPU time that upgrades take, in percent of one core. 0: none are made.
    package var sharePercent = 10
    /// Maximum number of waiting upgrades. Further frames are upgraded when they are requested once more.
    package var waiting = 256
    /// Maximum number of frames for which the service remembers that the other encoding was not smaller or can't be
    /// made, and of files that were sent.
    var remembered = 16_384

    package init() {}
  }

  /// For metrics.
  package struct Statistics: Sendable {
    package var made = 0
    package var notSmaller = 0
    package var failed = 0
    /// Bytes of the replaced frames minus those of the new ones.
    package var savedBytes = 0
    package var seconds = 0.0
  }

  private struct Upgrade: Sendable {
    let wanted: ResolvedRequest
    let replacedBytes: Int
    /// Weak: waiting for an upgrade does not keep the frame in memory. `nil` also for a file.
    weak var replaced: CachedFrame?
    /// Asked at its turn, on `queue`.
    let isStillWanted: @Sendable () -> Bool
  }

  private struct State {
    var waiting: [Upgrade] = []
    /// Upgrades that wait or run.
    var pending: Set<RenditionKey> = []
    /// Frames whose other encoding was not smaller, or can never be made.
    var refused: Set<RenditionKey> = []
    /// An upgrade runs, or the timer for the next one does.
    var isBusy = false
    var statistics = Statistics()
    var observer: (@Sendable (CachedFrame) -> Void)?
  }

  /// The formats whose encoders are installed.
  package let formats: Set<OutputFormat>
  private let images: ImageManager
  private let limits: Limits
  private let queue = DispatchQueue(label: "photod.upgrade", qos: .utility)
  private let sentFiles: SentFiles
  private let state = Mutex(State())

  package init(_ images: ImageManager, formats: Set<OutputFormat>, limits: Limits) {
    self.images = images
    self.formats = limits.sharePercent > 0 ? formats : []
    self.limits = limits
    sentFiles = SentFiles(capacity: limits.remembered)
  }

  /// The encoders among which `format=auto` chooses.
  package var automaticEncoders: AutomaticEncoders {
    AutomaticEncoders(formats, renderBytes: images.renderCapacityBytes)
  }

  package var statistics: Statistics { state.withLock { $0.statistics } }

  /// Calls `observer` with each frame that a smaller one replaces, or whose upgrade has failed and may be requested
  /// again: prepared responses must no longer answer for it. On a worker and without a lock held. Called once, before
  /// the first request.
  package func observe(_ observer: @escaping @Sendable (CachedFrame) -> Void) {
    state.withLock { $0.observer = observer }
  }

  /// The cached smaller frame of a request; `nil` if there is none. Blocks while one file is read.
  package func frame(_ key: RenditionKey) -> ImageFrame? {
    state.withLock { $0.refused.contains(key) } ? nil : images.cachedFrame(key)
  }

  /// Whether a smaller frame is in memory. Does not count as a use.
  package func isMade(_ key: RenditionKey) -> Bool {
    !state.withLock { $0.refused.contains(key) } && images.isInMemory(key)
  }

  /// Whether responses with the first frame may be prepared: its upgrade is pending, so the observer will be called, or
  /// there will be no upgrade.
  package func isPendingOrRefused(_ key: RenditionKey) -> Bool {
    state.withLock { $0.pending.contains(key) || $0.refused.contains(key) }
  }

  /// Requests an upgrade. Returns false if it can't be accepted now: the next request for the frame should try again.
  ///
  /// - Parameters:
  ///   - wanted: the same picture in the smaller format.
  ///   - replaced: the frame that answers requests until then.
  package func request(_ wanted: ResolvedRequest, replacing replaced: CachedFrame) -> Bool {
    request(wanted, replacing: replaced, of: replaced.bytes.count) { true }
  }

  /// Notes that a file is sent without a render, and requests its upgrade if it was sent before.
  ///
  /// - Parameter wanted: the same picture in the smaller format.
  package func fileSent(_ wanted: ResolvedRequest, byteCount: Int) {
    if sentFiles.fileSent(wanted.key), !isMade(wanted.key) {
      _ = request(wanted, replacing: nil, of: byteCount) { true }
    }
  }

  /// Requests an upgrade of a frame that a window has prepared, unless it would lose a gain map or exists.
  ///
  /// - Parameter isStillWanted: asked when its turn comes.
  func preparedFrame(
    _ frame: CachedFrame, of prepared: ResolvedRequest, for formats: UpgradeFormats,
    isStillWanted: @escaping @Sendable () -> Bool
  ) {
    guard !frame.isHDR, let wanted = formats.request(inPlaceOf: prepared),
      self.formats.contains(wanted.request.format), !isMade(wanted.key)
    else { return }
    _ = request(wanted, replacing: frame, of: frame.bytes.count, isStillWanted)
  }

  // MARK: The queue

  private enum Acceptance {
    case refused
    /// It waits, or needs no upgrade.
    case accepted
    /// It waits, and the caller must schedule `next`.
    case acceptedFirst
  }

  private func request(
    _ wanted: ResolvedRequest, replacing replaced: CachedFrame?, of replacedBytes: Int,
    _ isStillWanted: @escaping @Sendable () -> Bool
  ) -> Bool {
    let acceptance = state.withLock { state -> Acceptance in
      if state.pending.contains(wanted.key) || state.refused.contains(wanted.key) { return .accepted }
      guard state.waiting.count < limits.waiting else { return .refused }
      state.pending.insert(wanted.key)
      state.waiting.append(
        Upgrade(
          wanted: wanted, replacedBytes: replacedBytes, replaced: replaced, isStillWanted: isStillWanted))
      defer { state.isBusy = true }
      return state.isBusy ? .accepted : .acceptedFirst
    }
    if acceptance == .acceptedFirst { queue.async { [self] in next() } }
    return acceptance != .refused
  }

  private func next() {
    guard let upgrade = takeNext() else { return }
    let began = ContinuousClock.now
    _ = images.prepare(upgrade.wanted, caller: "", priority: .background, withoutOriginal: false) {
      [self] _, outcome in
      let elapsed = ContinuousClock.now - began
      ended(upgrade, outcome, elapsed)
      // Waiting counts as work too: a busy machine makes fewer upgrades.
      let pause = elapsed * (Double(100 - limits.sharePercent) / Double(limits.sharePercent))
      queue.asyncAfter(deadline: .now() + .nanoseconds(Int(pause.wholeNanoseconds))) { [self] in next() }
    }
  }

  /// The next upgrade that is still wanted; `nil` if none waits.
  private func takeNext() -> Upgrade? {
    while true {
      let upgrade = state.withLock { state -> Upgrade? in
        guard !state.waiting.isEmpty else {
          state.isBusy = false
          return nil
        }
        return state.waiting.removeFirst()
      }
      guard let upgrade, !upgrade.isStillWanted() else { return upgrade }
      state.withLock { _ = $0.pending.remove(upgrade.wanted.key) }
    }
  }

  private func ended(_ upgrade: Upgrade, _ outcome: PreheatTask.Outcome, _ elapsed: Duration) {
    let (found, isMade): (CachedFrame?, Bool) =
      switch outcome {
      case .prepared(let frame): (frame, true)
      // A client has requested this format by name.
      case .alreadyInMemory(let frame): (frame, false)
      case .incomplete, .noRoom, .needsOriginal, .failed: (nil, false)
      }
    let saved = found.map { upgrade.replacedBytes - $0.bytes.count } ?? 0
    let observer = state.withLock { state -> (@Sendable (CachedFrame) -> Void)? in
      state.pending.remove(upgrade.wanted.key)
      state.statistics.seconds += elapsed.seconds
      if saved > 0 {
        state.statistics.made += isMade ? 1 : 0
        state.statistics.savedBytes += isMade ? saved : 0
        return state.observer
      }
      if found == nil { state.statistics.failed += 1 } else { state.statistics.notSmaller += 1 }
      guard found != nil || outcome.failsAlways else { return state.observer }
      if state.refused.count >= limits.remembered { state.refused = [] }
      state.refused.insert(upgrade.wanted.key)
      return nil
    }
    if let replaced = upgrade.replaced { observer?(replaced) }
  }
}

extension PreheatTask.Outcome {
  /// Whether another attempt to make the frame would fail too.
  fileprivate var failsAlways: Bool {
    switch self {
    case .incomplete, .failed(.overBudget): true
    case .failed(.codec(let error)): error.failsAlways
    case .alreadyInMemory, .prepared, .noRoom, .needsOriginal, .failed: false
    }
  }
}

extension CodecError {
  fileprivate var failsAlways: Bool {
    switch self {
    case .malformed, .unsupported, .limitExceeded, .truncated, .decoderFailed, .encodingFailed, .outputTooLarge,
      .decoderUnavailable, .encoderUnavailable:
      true
    case .readFailed, .outOfMemory, .stopped, .decoderInterrupted, .encoderInterrupted: false
    }
  }
}
