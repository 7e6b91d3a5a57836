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
  private var nanoseconds: (UInt64, UInt64, UInt64, UInt64, UInt64, UInt64) = (0, 0, 0, 0, 0, 0)

  package init() {}

  package subscript(stage: Stage) -> Duration {
    get { .nanoseconds(Int64(self[nanosecondsOf: stage])) }
    set { self[nanosecondsOf: stage] = newValue.unsignedNanoseconds }
  }

  /// The `Server-Timing` field (W3C Server Timing §3): each stage with its duration in milliseconds and its summary.
  /// Stages with a duration of zero are omitted.
  package var serverTiming: String {
    Stage.allCases.compactMap { stage in
      let value = self[nanosecondsOf: stage]
      guard value > 0 else { return nil }
      return "\(stage.name);dur=\(value.nanosecondsAsMilliseconds);desc=\"\(stage.summary)\""
    }
    .joined(separator: ", ")
  }

  package static func == (lhs: StageTimings, rhs: StageTimings) -> Bool { lhs.nanoseconds == rhs.nanoseconds }

  private subscript(nanosecondsOf stage: Stage) -> UInt64 {
    get {
      switch stage {
      case .queue: nanoseconds.0
      case .read: nanoseconds.1
      case .worker: nanoseconds.2
      case .decode: nanoseconds.3
      case .resize: nanoseconds.4
      case .encode: nanoseconds.5
      }
    }
    set {
      switch stage {
      case .queue: nanoseconds.0 = newValue
      case .read: nanoseconds.1 = newValue
      case .worker: nanoseconds.2 = newValue
      case .decode: nanoseconds.3 = newValue
      case .resize: nanoseconds.4 = newValue
      case .encode: nanoseconds.5 = newValue
      }
    }
  }
}
