import Foundation
import PhotoModel
import Synchronization

/// A client that scrolls through a gallery. Sixty times a second it determines the visible cells, requests new ones on
/// six connections, drops those that left the screen before their turn, and, if it has a window, reports its position.
final class ScrollClient: Sendable {
  struct Configuration: Sendable {
    let port: UInt16
    /// By position.
    let identifiers: [String]
    /// The query of each image request.
    let query: String
    /// The window's path and the members of its body besides `visible`; `nil` without a window.
    let window: (path: String, members: String)?
  }

  /// The history of a cell, in seconds of the trace.
  struct Cell: Sendable {
    var visibleAt: Double
    var degradedAt = Double.infinity
    var finalAt = Double.infinity
  }

  private struct State {
    var cells: [Int: Cell] = [:]
    var visible = 0..<0
    /// Positions to request, in the order in which they became visible.
    var pending: [Int] = []
    /// Cells that left the screen, in their state at that moment.
    var past: [Cell] = []
    /// Cells of stops, in their state a second after the stop.
    var measuredCells: [Cell] = []
    /// Stops still to be evaluated: their time, and what was visible.
    var stops: [(at: Double, visible: Range<Int>)] = []
    var isOver = false
    var failures = 0
  }

  private static let connections = 6
  private static let tick = 1.0 / 60

  private let configuration: Configuration
  private let trace: ScrollTrace
  private let state = Mutex(State())
  private let work = DispatchSemaphore(value: 0)
  private let positionChanged = DispatchSemaphore(value: 0)

  init(_ configuration: Configuration, _ trace: ScrollTrace) {
    self.configuration = configuration
    self.trace = trace
  }

  /// The result of a run.
  struct Outcome: Sendable {
    /// The cells that count: those that became visible after the first screen, or those of stops.
    let cells: [Cell]
    let failures: Int

    /// The share of cells that had their final frame, or any frame, within this time.
    func share(within seconds: Double, finalOnly: Bool) -> Double {
      let ready = cells.count { min($0.finalAt, finalOnly ? .infinity : $0.degradedAt) - $0.visibleAt <= seconds }
      return cells.isEmpty ? .nan : Double(ready) / Double(cells.count)
    }

    /// The times of all received final frames, in milliseconds.
    var waits: [Double] { cells.map { max(0, $0.finalAt - $0.visibleAt) * 1000 }.filter(\.isFinite) }
  }

  func run() -> Outcome {
    let began = HTTPClient.now() + 1
    @Sendable func now() -> Double { HTTPClient.now() - began }
    let senders = WorkerThreads(Self.connections) { [self] _ in requestCells(now) }
    let windows = WorkerThreads(1) { [self] _ in reportPositions() }
    // The first screen, before the scrolling begins.
    updateVisibleCells(at: -1, trace.position(0))
    var nextStop = 0
    var next = began
    while true {
      pause(until: next)
      next += Self.tick
      let time = now()
      if time >= trace.seconds { break }
      let position = trace.position(time)
      updateVisibleCells(at: time, position)
      if nextStop < trace.stops.count, time >= trace.stops[nextStop] {
        nextStop += 1
        state.withLock { $0.stops.append((time, position..<position + ScrollTrace.visible)) }
      }
    }
    state.withLock { $0.isOver = true }
    for _ in 0..<Self.connections { work.signal() }
    positionChanged.signal()
    _ = senders.wait()
    _ = windows.wait()
    return state.withLock { state in
      let present = state.cells.values
      switch trace.measurement {
      case .eachCell:
        let all = state.past + present
        return Outcome(cells: all.filter { $0.visibleAt > 0 }, failures: state.failures)
      case .stops: return Outcome(cells: state.measuredCells, failures: state.failures)
      }
    }
  }

  /// Updates the visible cells.
  private func updateVisibleCells(at time: Double, _ position: Int) {
    let visible = position..<position + ScrollTrace.visible
    let added = state.withLock { state -> Int in
      evaluateStop(&state, time)
      guard visible != state.visible else { return 0 }
      for old in state.visible where !visible.contains(old) {
        if let cell = state.cells.removeValue(forKey: old) { state.past.append(cell) }
      }
      let new = visible.filter { !state.visible.contains($0) }
      for position in new { state.cells[position] = Cell(visibleAt: time) }
      state.pending = state.pending.filter(visible.contains) + new
      state.visible = visible
      return new.count
    }
    for _ in 0..<added { work.signal() }
    positionChanged.signal()
  }

  /// Evaluates the cells of a stop one second after it began, including cells that were visible before it.
  private func evaluateStop(_ state: inout State, _ time: Double) {
    guard let stop = state.stops.first, time >= stop.at + 1 else { return }
    state.stops.removeFirst()
    for position in stop.visible {
      guard var cell = state.cells[position] else { continue }
      cell.visibleAt = stop.at
      state.measuredCells.append(cell)
    }
  }

  // MARK: Images

  private func requestCells(_ now: () -> Double) {
    let client = HTTPClient(port: configuration.port)
    while true {
      work.wait()
      let (position, isOver) = state.withLock { state -> (Int?, Bool) in
        (state.pending.isEmpty || state.isOver ? nil : state.pending.removeFirst(), state.isOver)
      }
      if isOver { return }
      guard let position else { continue }
      let started = now()
      let target = "/v1/assets/\(configuration.identifiers[position])/image?\(configuration.query)"
      let answer = try? client.perform(HTTPClient.request(target))
      state.withLock { state in
        guard let answer, answer.status == 200 else { return state.failures += 1 }
        if let degraded = answer.degraded { state.cells[position]?.degradedAt = started + degraded.seconds }
        if let final = answer.final { state.cells[position]?.finalAt = started + final.seconds }
      }
    }
  }

  // MARK: The window

  /// Reports the visible range when it has changed and the previous report was answered, and once more at rest.
  private func reportPositions() {
    guard let window = configuration.window else { return }
    let client = HTTPClient(port: configuration.port)
    var reported = 0..<0
    var isAtRest = true
    while true {
      positionChanged.wait()
      let (visible, isOver) = state.withLock { ($0.visible, $0.isOver) }
      if isOver { return }
      if visible == reported && isAtRest { continue }
      isAtRest = visible == reported
      reported = visible
      let body = "{\(window.members), \"visible\": [\(visible.lowerBound), \(visible.upperBound - 1)]}"
      let answer = try? client.perform(HTTPClient.request(window.path, method: "PUT", json: body))
      if answer?.status != 200 { state.withLock { $0.failures += 1 } }
    }
  }

  private func pause(until time: Double) {
    let left = time - HTTPClient.now()
    if left > 0 { usleep(UInt32(left * 1e6)) }
  }
}
