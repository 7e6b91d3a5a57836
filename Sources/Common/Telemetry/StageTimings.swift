import Primitives

/// The stages of rendering a frame, in order. The names are those of `Server-Timing`.
package enum Stage: Int, Sendable, CaseIterable {
  case queue, read, worker, decode, resize, encode

  var name: String {
    switch self {
    case .queue: "queue"
    case .read: "read"
    case .worker: "worker"
    case .decode: "decode"
    case .resize: "resize"
    case .encode: "encode"
    }
  }

  /// The text that browsers show beside the duration. It has no characters that a quoted string would have to escape.
  package var summary: StaticString {
    switch self {
    case .queue: "wait for a render worker"
    case .read: "open and read the original"
    case .worker: "wait for the decoder process"
    case .decode: "decode"
    case .resize: "resample and convert colours"
    case .encode: "encode"
    }
  }
}

/// The duration of each stage. A value without heap allocation, so copying it is cheap.
package struct StageTimings: Sendable, Equatable {
  /// By the raw values of the stages.
  private var nanoseconds = InlineArray<6, UInt64>(repeating: 0)

  package init() {}

  package subscript(stage: Stage) -> Duration {
    get { .nanoseconds(Int64(nanoseconds[stage.rawValue])) }
    set { nanoseconds[stage.rawValue] = newValue.unsignedNanoseconds }
  }

  /// The `Server-Timing` field (W3C Server Timing §3): each stage with its duration in milliseconds and its summary.
  /// Stages with a duration of zero are omitted.
  package var serverTiming: String {
    Stage.allCases.compactMap { stage in
      let value = nanoseconds[stage.rawValue]
      guard value > 0 else { return nil }
      return "\(stage.name);dur=\(value.nanosecondsAsMilliseconds);desc=\"\(stage.summary)\""
    }
    .joined(separator: ", ")
  }

  package static func == (lhs: StageTimings, rhs: StageTimings) -> Bool {
    Stage.allCases.allSatisfy { lhs.nanoseconds[$0.rawValue] == rhs.nanoseconds[$0.rawValue] }
  }
}
