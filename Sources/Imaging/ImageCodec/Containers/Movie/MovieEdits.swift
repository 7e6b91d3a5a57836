/// When a movie shows the times of a track: its edit list (ISO/IEC 14496-12 §8.6.6).
struct MovieEdits {
  private struct Edit {
    /// Ticks of the movie.
    let duration: Int
    /// Ticks of the track; `nil` shows nothing.
    let start: Int?
  }

  private var edits: [Edit] = []
  /// Ticks of the movie in a second.
  private var movieTimescale = 1

  /// The whole track.
  init() {}

  /// - Parameters:
  ///   - fields: of `elst`.
  ///   - movieTimescale: ticks of the movie in a second.
  init(_ fields: BoxFields, movieTimescale: Int) throws(CodecError) {
    self.movieTimescale = max(1, movieTimescale)
    var fields = fields
    let bytes = try fields.version().version == 1 ? 8 : 4
    for _ in 0..<min(try fields.number(4), ContainerLimits.edits) {
      let duration = try fields.number(bytes)
      let start = try fields.number(bytes)
      // A rate, which nothing here depends on.
      _ = try fields.take(4)
      let isEmpty = start == (bytes == 8 ? Int.max : 0xFFFF_FFFF)
      edits.append(Edit(duration: duration, start: isEmpty ? nil : start))
    }
  }

  /// The first tick of the track that is shown.
  var start: Int { edits.lazy.compactMap(\.start).first ?? 0 }

  /// The tick of the track that is shown at a time of the movie; during an empty edit, the next one that is shown.
  ///
  /// - Parameters:
  ///   - second: rounded to microseconds. A tick up to a microsecond later counts too: programs state the time of a
  ///     frame in six decimals, which may be earlier than the frame.
  ///   - timescale: ticks of the track in a second.
  func tick(atSecond second: Double, timescale: Int) -> Int {
    // Counts in millionths of a movie tick, in which microseconds and ticks are whole numbers. Sums of floating-point
    // seconds are not exact, and could select the frame or the edit before the right one.
    let microseconds = Int64((min(max(0, second), Self.lastSecond) * 1_000_000).rounded())
    var left = (Int128(microseconds) + 1) * Int128(movieTimescale)
    var last = start
    for edit in edits {
      let duration = Int128(edit.duration) * 1_000_000
      guard let start = edit.start else {
        left = max(0, left - duration)
        continue
      }
      // The duration of the last edit may be unknown, which is 0.
      if left < duration || duration == 0 { return sum(start, left, timescale) }
      last = sum(start, duration, timescale)
      left -= duration
    }
    return edits.isEmpty ? sum(0, left, timescale) : last
  }

  /// The tick of the track that is `time`, in millionths of a movie tick, after `start`.
  private func sum(_ start: Int, _ time: Int128, _ timescale: Int) -> Int {
    let ticks = time * Int128(timescale) / (Int128(movieTimescale) * 1_000_000)
    return MovieSamples.sum(start, Int(clamping: ticks))
  }

  /// In seconds; later than any request's `posterTime`.
  private static let lastSecond = 1e9
}
