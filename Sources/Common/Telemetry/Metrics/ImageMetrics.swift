import CoreMetrics
import Primitives

/// The metrics of the image manager. Each call costs a few additions and is allowed from any thread.
package struct ImageMetrics: Sendable {
  /// The source of a frame's pixels. The raw values are those of `Image-Result`.
  package enum Source: String, Sendable, CaseIterable {
    case memory, disk, derivative, embedded, preview, original, network
  }

  package enum Kind: String, Sendable, CaseIterable {
    case final, degraded
  }

  /// Why a task has no final frame. The raw values are those of the problem types.
  package enum Failure: String, Sendable, CaseIterable {
    case originalMissing = "original-missing"
    case originalChanged = "original-changed"
    case downloadFailed = "original-fetch-failed"
    case originalUnreadable = "original-unreadable"
    case formatUnsupported = "format-unsupported"
    case imageUnreadable = "image-unreadable"
    case imageTooLarge = "image-too-large"
    case encodingFailed = "encoding-failed"
    case overloaded
    case deadlineExceeded = "deadline-exceeded"
  }

  /// How a render that began before its original was complete ended.
  package enum EarlyRender: String, Sendable, CaseIterable {
    case finished, dropped
  }

  private let frames: [Source: [Kind: Counter]]
  private let stages: [CoreMetrics.Timer]
  private let failures: [Failure: Counter]
  private let jobs: Counter
  private let coalesced: Counter
  private let sharedDecodes: Counter
  private let cancelled: Counter
  private let earlyRenders: [EarlyRender: Counter]

  /// Registers all metrics, so that each is exported from the start with the value 0.
  package init(_ registry: MetricsRegistry) {
    func counter(_ name: String, _ help: String, _ labels: KeyValuePairs<String, String> = [:]) -> Counter {
      registry.counter(name, help, labels)
    }
    func all<Case: CaseIterable & Hashable, Value>(_ make: (Case) -> Value) -> [Case: Value] {
      Dictionary(uniqueKeysWithValues: Case.allCases.map { ($0, make($0)) })
    }
    frames = all { source in
      all { kind in
        counter(
          "photod_image_frames_total",
          "Frames rendered or found in a cache, counted once per job. Prepared responses are not counted.",
          ["source": source.rawValue, "kind": kind.rawValue])
      }
    }
    stages = Stage.allCases.map { stage in
      registry.timer(
        "photod_image_stage_seconds", "Time per stage of rendering a frame.", ["stage": stage.name])
    }
    failures = all { reason in
      counter(
        "photod_image_failures_total", "Tasks that ended without a final frame, except cancelled ones.",
        ["reason": reason.rawValue])
    }
    jobs = counter("photod_image_jobs_total", "Jobs started. A job is work that several tasks can share.")
    coalesced = counter("photod_image_coalesced_tasks_total", "Tasks that joined an existing job.")
    sharedDecodes = counter(
      "photod_image_shared_decodes_total", "Frames whose decode also produced another frame.")
    cancelled = counter("photod_image_cancelled_tasks_total", "Cancelled tasks.")
    earlyRenders = all { result in
      counter(
        "photod_image_early_renders_total", "Renders that began while their original was being downloaded.",
        ["result": result.rawValue])
    }
  }

  /// Counts a delivered frame. A stage with a duration of zero did not take part and is not recorded.
  package func frameDelivered(_ source: Source, _ kind: Kind, timings: StageTimings) {
    frames[source]?[kind]?.increment()
    for stage in Stage.allCases {
      let duration = timings[stage]
      if duration > .zero { stages[stage.rawValue].recordNanoseconds(duration.wholeNanoseconds) }
    }
  }

  package func taskFailed(_ reason: Failure) { failures[reason]?.increment() }
  /// Counts a task that was cancelled because its result is no longer needed.
  package func taskCancelled() { cancelled.increment() }
  package func jobBegan() { jobs.increment() }
  package func taskCoalesced() { coalesced.increment() }
  package func earlyRenderEnded(_ result: EarlyRender) { earlyRenders[result]?.increment() }
  package func decodeShared(frames: Int = 1) { sharedDecodes.increment(by: frames) }
}
