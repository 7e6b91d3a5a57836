import PhotoModel
import Primitives
import Synchronization
import Telemetry

/// The renders that began before their originals were complete: a few, with a part of the memory for renders. They wait for
/// the network with their memory, so they give it back when a render needs it that could begin at once.
final class EarlyRenders: Sendable {
  /// Maximum number of renders at a time. 0: originals are not read before they are complete.
  let limit: Int
  /// Maximum memory of all of them together.
  private let maximumBytes: Int
  private let renderLane: RenderLane
  private let metrics: ImageMetrics
  private let state = Mutex<[EarlyRender]>([])

  init(limit: Int, maximumBytes: Int, renderLane: RenderLane, metrics: ImageMetrics) {
    (self.limit, self.maximumBytes, self.renderLane, self.metrics) = (limit, maximumBytes, renderLane, metrics)
  }

  /// The memory that one more render may have.
  var availableBytes: Int {
    state.withLock { $0.count < limit ? maximumBytes - $0.reduce(0) { $0 + $1.plan.peakBytes } : 0 }
  }

  /// Returns false if there is no place for it, or if another one decodes the same original.
  func insert(_ render: EarlyRender) -> Bool {
    state.withLock { renders in
      guard renders.count < limit,
        renders.reduce(render.plan.peakBytes, { $0 + $1.plan.peakBytes }) <= maximumBytes,
        !renders.contains(where: { $0.content == render.content })
      else { return false }
      renders.append(render)
      return true
    }
  }

  /// The render that makes a job's frame.
  func render(of job: RenderJob) -> EarlyRender? {
    state.withLock { renders in renders.first { $0.makesFrame(of: job) } }
  }

  func finished(_ render: EarlyRender) { remove([render], .finished) }

  /// Drops a render, unless it has finished.
  func drop(_ render: EarlyRender) {
    if render.drop() { remove([render], .dropped) }
  }

  /// Drops renders whose jobs were all cancelled or have failed.
  func dropAbandoned() {
    for render in state.withLock({ $0 }) where render.isAbandoned { drop(render) }
  }

  /// A render waits for bytes, with its memory.
  func suspended() {
    renderLane.onMemoryShortage(of: self) { [weak self] in
      guard let self else { return }
      remove(state.withLock { $0 }.filter { $0.dropForMemory() }, .dropped)
    }
  }

  private func remove(_ ended: [EarlyRender], _ result: ImageMetrics.EarlyRender) {
    let removed = state.withLock { renders in
      let count = renders.count
      renders.removeAll { render in ended.contains { $0 === render } }
      return count - renders.count
    }
    for _ in 0..<removed { metrics.earlyRenderEnded(result) }
  }
}

extension EarlyRender {
  var content: ContentVersion { jobs[0].key.rendition.contentVersion }
}
