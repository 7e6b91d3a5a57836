// A scroll through a gallery, simulated: the caching manager's own state machine, two cores that render for a fixed
// time, and a client on six connections. Nothing runs in real time, so the result is the same on every machine.

import ImageService
import PhotoModel

/// One run of a trace.
struct WindowSimulation {
  /// CPU seconds of one frame.
  struct Costs {
    /// From the original: 12 megapixels to a cell.
    var original = 0.045
    /// From a stored derivative.
    var derivative = 0.0055
  }

  struct Outcome {
    /// How long the evaluated cells waited for their final frame, in seconds; infinite if it was not ready in time.
    var waits: [Double] = []
    /// Frames that the window prepared, including cancelled ones.
    var prepared = 0
    /// Prepared frames that were never shown.
    var wasted = 0
    var cpu = 0.0
    /// CPU seconds of frames that were never shown.
    var wastedCPU = 0.0

    func share(within seconds: Double) -> Double? {
      waits.isEmpty ? nil : Double(waits.count { $0 <= seconds }) / Double(waits.count)
    }
  }

  private struct Job {
    let position: Int
    let began: Double
    let ends: Double
    /// Clients that wait for it.
    var requests: Int
    var preparation: CachingState.PreparationID?
  }

  /// Simulated time advances by this many seconds.
  private static let step = 0.0005
  private static let tick = 1.0 / 60
  private static let connections = 6
  private static let cores = 2
  /// Simultaneous preparations, of which one at most runs: work for windows leaves one worker free.
  private static let maximumPreparations = 2
  private static let maximumEntries = 4096

  private let trace: ScrollTrace
  private let costs: Costs
  private let isWarm: Bool
  private let hasWindow: Bool
  private let margin: Int
  private let list: SimulatedList
  private let began = ContinuousClock.now
  private let options = PreheatOptions(
    ImageRequest(targetSize: .size(PixelSize(width: 200, height: 200)), contentMode: .aspectFill), format: nil)
  private let cache = FrameCache(capacityBytes: 1 << 28)

  private var time = 0.0
  private var state: CachingState
  /// Finished frames, by position.
  private var frames: [Int: CachedFrame] = [:]
  private var shown: Set<Int> = []
  private var jobs: [Job] = []
  /// Requests on connections that no job serves yet.
  private var waiting: [Int] = []
  /// Requests that have no connection yet.
  private var pending: [Int] = []
  /// Preparations that have not begun to render.
  private var preparations: [(id: CachingState.PreparationID, position: Int, withoutOriginal: Bool)] = []
  /// The CPU seconds of prepared frames that have not been shown yet, by position.
  private var unseen: [Int: Double] = [:]
  private var visible = 0..<0
  private var visibleSince: [Int: Double] = [:]
  private var finalAt: [Int: Double] = [:]
  private var reported = 0..<0
  private var isAtRest = true
  private var replanAt: Double?
  private var outcome = Outcome()

  /// - Parameters:
  ///   - isWarm: whether every derivative is stored at the start.
  ///   - parameters: the window's; `nil` for no window.
  init(
    _ trace: ScrollTrace, isWarm: Bool, count: Int, margin: Int, parameters: PreheatWindow.Parameters?,
    costs: Costs = Costs()
  ) {
    self.trace = trace
    self.isWarm = isWarm
    self.margin = margin
    self.costs = costs
    hasWindow = parameters != nil
    list = SimulatedList(count: count)
    state = CachingState(maximumAssets: Self.maximumEntries, parameters: parameters ?? .init())
  }

  mutating func run() -> Outcome {
    var nextTick = -1.0
    var nextStop = 0
    var pendingStops: [(at: Double, visible: Range<Int>)] = []
    time = -1
    while time < trace.seconds {
      finishJobs()
      if let replanAt, time >= replanAt { plan() }
      if time >= nextTick {
        nextTick += Self.tick
        updateVisibleCells(trace.position(max(0, time)))
        if nextStop < trace.stops.count, time >= trace.stops[nextStop] {
          pendingStops.append((trace.stops[nextStop], visible))
          nextStop += 1
        }
        if let stop = pendingStops.first, time >= stop.at + 1 {
          pendingStops.removeFirst()
          outcome.waits += stop.visible.map { max(0, (finalAt[$0] ?? .infinity) - stop.at) }
        }
      }
      startJobs()
      time += Self.step
    }
    if trace.measurement == .eachCell {
      for position in visible { cellLeft(position) }
    }
    state.recordUses()
    outcome.wastedCPU += unseen.values.reduce(0, +)
    outcome.wasted += unseen.count
    return outcome
  }

  // MARK: The client

  private mutating func updateVisibleCells(_ position: Int) {
    let now = position..<position + ScrollTrace.visible
    if now != visible {
      for old in visible where !now.contains(old) { cellLeft(old) }
      let new = now.filter { !visible.contains($0) }
      for position in new {
        visibleSince[position] = time
        finalAt[position] = nil
      }
      pending = pending.filter(now.contains) + new
      visible = now
    }
    guard hasWindow, visible != reported || !isAtRest else { return }
    isAtRest = visible == reported
    reported = visible
    let instant = instant
    let missing = state.windowMoved(to: visible, margin: margin, options, over: list, at: instant)
    _ = state.assetsLookedUp(list.assets(at: missing), at: missing, of: list)
    plan()
  }

  private mutating func cellLeft(_ position: Int) {
    guard let since = visibleSince.removeValue(forKey: position) else { return }
    if trace.measurement == .eachCell, since > 0 {
      outcome.waits.append((finalAt[position] ?? .infinity) - since)
    }
  }

  private mutating func show(_ position: Int) {
    frames[position]?.markUsed()
    unseen[position] = nil
    if visible.contains(position), finalAt[position] == nil { finalAt[position] = time }
  }

  // MARK: The window

  private var instant: ContinuousClock.Instant { began + .seconds(time) }

  private mutating func plan() {
    let instant = instant
    let missing = state.missingPositions(at: instant)
    if !missing.isEmpty { _ = state.assetsLookedUp(list.assets(at: missing), at: missing, of: list) }
    state.recordUses()
    state.plan(at: instant, maximumEntries: Self.maximumEntries)
    replanAt = state.nextWindowChange(after: instant).map { time + instant.duration(to: $0) / .seconds(1) }
    perform()
  }

  /// Carries out the effects of the last events, and starts further preparations.
  private mutating func perform() {
    while true {
      let effects = state.takeEffects()
      for effect in effects {
        switch effect {
        case .pin, .unpin: break
        case .prepare(let id, let wanted, let withoutOriginal):
          preparations.append((id, SimulatedList.position(of: wanted.asset), withoutOriginal))
        case .cancel(let id, let side): cancel(id, side)
        // The simulated library is on this machine.
        case .download, .cancelDownload, .endHold: break
        case .checkMemory(let key, let side): state.frameLeft(side, wasSeen: cache.frame(for: key) != nil)
        }
      }
      let active = preparations.count + jobs.count { $0.preparation != nil }
      let hasBegun = active < Self.maximumPreparations && state.startNext()
      if effects.isEmpty, !hasBegun { return }
    }
  }

  private mutating func cancel(_ id: CachingState.PreparationID, _ side: PreheatWindow.Side?) {
    preparations.removeAll { $0.id == id }
    guard let index = jobs.firstIndex(where: { $0.preparation == id }) else { return }
    jobs[index].preparation = nil
    guard jobs[index].requests == 0 else { return }
    let job = jobs.remove(at: index)
    outcome.cpu += time - job.began
    outcome.wastedCPU += time - job.began
    outcome.prepared += 1
    outcome.wasted += 1
    state.renderStopped(side)
  }

  // MARK: Renders

  private func cost(_ position: Int) -> Double { isWarm ? costs.derivative : costs.original }

  private mutating func finishJobs() {
    while let index = jobs.firstIndex(where: { $0.ends <= time }) {
      let job = jobs.remove(at: index)
      let wanted = list.wanted(job.position, options)
      let frame = cache.store(SimulatedList.frame, for: wanted.key)
      frames[job.position] = frame
      outcome.cpu += job.ends - job.began
      if let id = job.preparation, let frame {
        outcome.prepared += 1
        unseen[job.position] = job.ends - job.began
        state.preparationEnded(id, .prepared(frame), isPinned: true)
      }
      if job.requests > 0 { show(job.position) }
      perform()
    }
  }

  private mutating func startJobs() {
    // A connection takes the next request when its last one was answered.
    while !pending.isEmpty, waiting.count + jobs.reduce(0, { $0 + $1.requests }) < Self.connections {
      let position = pending.removeFirst()
      if frames[position] != nil {
        show(position)
      } else if let index = jobs.firstIndex(where: { $0.position == position }) {
        jobs[index].requests += 1
      } else {
        waiting.append(position)
      }
    }
    while jobs.count < Self.cores, !waiting.isEmpty {
      let position = waiting.removeFirst()
      jobs.append(Job(position: position, began: time, ends: time + cost(position), requests: 1))
    }
    while waiting.isEmpty, jobs.count < Self.cores - 1, !preparations.isEmpty {
      let next = preparations.removeFirst()
      if let frame = frames[next.position] {
        state.preparationEnded(next.id, .alreadyInMemory(frame), isPinned: true)
      } else if next.withoutOriginal, !isWarm {
        state.preparationEnded(next.id, .needsOriginal, isPinned: false)
      } else {
        jobs.append(
          Job(
            position: next.position, began: time, ends: time + cost(next.position), requests: 0, preparation: next.id))
      }
      perform()
    }
  }
}
