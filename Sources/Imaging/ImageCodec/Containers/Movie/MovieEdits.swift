/// When a movie shows the times of a track: its edit list (ISO/IEC 14496-12 §8.6.6).
struct MovieEdits {
  private struct Edit {
    /// Seconds of the movie.
    let duration: Double
    /// Ticks of the track; `nil` shows nothing.
    let start: Int?
  }

  private var edits: [Edit] = []

  /// The whole track.
  init() {}

  /// - Parameters:
  ///   - fields: of `elst`.
  ///   - movieTimescale: ticks of the movie in a second.
  init(_ fields: BoxFields, movieTimescale: Int) throws(CodecError) {
    var fields = fields
    let bytes = try fields.version().version == 1 ? 8 : 4
    for _ in 0..<min(try fields.number(4), ContainerLimits.edits) {
      let duration = try fields.number(bytes)
      let start = try fields.number(bytes)
      // A rate, which nothing here depends on.
      _ = try fields.take(4)
      let isEmpty = start == (bytes == 8 ? Int.max : 0xFFFF_FFFF)
      edits.append(
        Edit(duration: Double(duration) / Double(max(1, movieTimescale)), start: isEmpty ? nil : start))
    }
  }

  /// The first tick of the track that is shown.
  var start: Int { edits.lazy.compactMap(\.start).first ?? 0 }

  /// The tick of the track that is shown at a time of the movie; during an empty edit, the next one that is shown.
  ///
  /// - Parameter timescale: ticks of the track in a second.
  func tick(atSecond second: Double, timescale: Int) -> Int {
    var left = max(0, second)
    var last = start
    for edit in edits {
      guard let start = edit.start else {
        left = max(0, left - edit.duration)
        continue
      }
      // The duration of the last edit may be unknown, which is 0.
      if left < edit.duration || edit.duration == 0 { return Self.sum(start, left, timescale) }
      last = Self.sum(start, edit.duration, timescale)
      left -= edit.duration
    }
    return edits.isEmpty ? Self.sum(0, left, timescale) : last
  }

  private static func sum(_ start: Int, _ seconds: Double, _ timescale: Int) -> Int {
    let ticks = min(seconds * Double(timescale), 1e15)
    return start.addingReportingOverflow(Int(ticks)).partialValue
  }
}
