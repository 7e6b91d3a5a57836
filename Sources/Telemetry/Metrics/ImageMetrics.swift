import CoreMetrics

/// What the image manager counts. Each call is a few additions, from any thread.
package struct ImageMetrics: Sendable {
  /// Where a frame's pixels came from; the words are those of `Image-Result`.
  package enum Source: String, Sendable, CaseIterable {
    case memory, disk, derivative, embedded, original, network
  }

  package enum Kind: String, Sendable, CaseIterable {
    case final, degraded
  }

  /// Why there is no final frame; the words are those of the problem types.
  package enum Failure: String, Sendable, CaseIterable {
    case originalMissing = "original-missing"
    case originalChanged = "original-changed"
    case originalUnreadable = "original-unreadable"
    case formatUnsupported = "format-unsupported"
    case imageUnreadable = "image-unreadable"
    case imageTooLarge = "image-too-large"
    case encodingFailed = "encoding-failed"
    case overloaded
    case deadlineExceeded = "deadline-exceeded"
  }

  private let frames: [Source: [Kind: Counter]]
  private let stages: [CoreMetrics.Timer]
  private let failures: [Failure: Counter]
  private let jobs: Counter
  private let coalesced: Counter
  private let sharedDecodes: Counter
  private let cancelled: Counter

  /// Registers them all, so that each is there from the start, with 0.
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
          "Frames that were made, or found in a cache; one for all tasks of a job, none for prepared answers.",
          ["source": source.rawValue, "kind": kind.rawValue])
      }
    }
    stages = Stage.allCases.map { stage in
      registry.timer(
        "photod_image_stage_seconds", "Time that a stage took of a frame that was made.", ["stage": stage.name])
    }
    failures = all { reason in
      counter(
        "photod_image_failures_total", "Tasks that ended without a final frame, beside those that were cancelled.",
        ["reason": reason.rawValue])
    }
    jobs = counter("photod_image_jobs_total", "Jobs that were begun: work that any number of tasks share.")
    coalesced = counter("photod_image_coalesced_total", "Tasks that joined a job which was there already.")
    sharedDecodes = counter(
      "photod_image_shared_decodes_total", "Frames that came out of a decode which another frame came out of too.")
    cancelled = counter("photod_image_cancelled_total", "Tasks that were cancelled.")
  }

  /// A frame goes to those who wait for it. Stages that took no time took no part.
  package func frameDelivered(_ source: Source, _ kind: Kind, timings: StageTimings) {
    frames[source]?[kind]?.increment()
    for stage in Stage.allCases {
      let duration = timings[stage]
      if duration > .zero { stages[stage.rawValue].recordNanoseconds(Int64(duration / .nanoseconds(1))) }
    }
  }

  /// A task ends without its final frame.
  package func taskFailed(_ reason: Failure) { failures[reason]?.increment() }
  /// A task ends because nobody wants it any more.
  package func taskCancelled() { cancelled.increment() }
  package func jobBegan() { jobs.increment() }
  package func taskCoalesced() { coalesced.increment() }
  package func decodeShared(frames: Int = 1) { sharedDecodes.increment(by: frames) }
}
