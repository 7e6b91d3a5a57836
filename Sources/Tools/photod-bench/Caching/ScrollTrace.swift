import PhotoFixtures

/// A scrolling trace: the first visible position at each moment.
struct ScrollTrace: Sendable {
  enum Measurement: Sendable {
    /// Each cell, when it becomes visible.
    case eachCell
    /// The visible cells, when the list has stopped.
    case stops
  }

  let name: String
  let seconds: Double
  let measurement: Measurement
  /// The first visible position at a time.
  let position: @Sendable (Double) -> Int
  /// The times of stops.
  let stops: [Double]

  static let visible = 40
  /// Cells in a row; a grid scrolls by rows.
  private static let row = 5
  private static let flingSeconds = 1.5
  private static let flingSpeed = 2000.0

  /// Slow reading, steady scrolling at 60 assets a second, flings with stops, and jumps to dates.
  ///
  /// - Parameters:
  ///   - cycles: the number of flings and of jumps.
  ///   - rest: the duration of each stop, in seconds.
  static func all(of count: Int, seconds: Double, cycles: Int, rest: Double) -> [ScrollTrace] {
    let last = count - visible
    let cycle = flingSeconds + rest
    // Moves to the end of the list and back, repeatedly.
    @Sendable func bounced(_ distance: Double) -> Double {
      let turn = distance.truncatingRemainder(dividingBy: 2 * Double(last))
      return turn < Double(last) ? turn : 2 * Double(last) - turn
    }
    var random = SplitMix(state: 11)
    let dates = (0...cycles).map { _ in Int.random(in: 0..<last / row, using: &random) * row }
    return [
      ScrollTrace(
        name: "slow read, 5/s", seconds: seconds, measurement: .eachCell,
        position: { min(last, 1000 + Int($0) * row) }, stops: []),
      ScrollTrace(
        name: "steady, 60/s", seconds: seconds, measurement: .eachCell,
        position: { min(last, 2000 + Int($0 * 60 / Double(row)) * row) }, stops: []),
      ScrollTrace(
        name: "flings, 2000/s", seconds: Double(cycles) * cycle, measurement: .stops,
        position: { time in
          let whole = (time / cycle).rounded(.down)
          let moved = min(time - whole * cycle, flingSeconds)
          return min(last, Int(bounced((whole * flingSeconds + moved) * flingSpeed) / Double(row)) * row)
        },
        stops: (0..<cycles).map { Double($0) * cycle + flingSeconds }),
      ScrollTrace(
        name: "jumps", seconds: Double(cycles) * rest, measurement: .stops,
        position: { dates[min(cycles, Int($0 / rest) + 1)] },
        stops: (0..<cycles).map { Double($0) * rest }),
    ]
  }

  /// Traces of people who look through a gallery, for simulations: reading with glances back, jumps to distant parts
  /// with long rests, and scrolling screen by screen.
  static func people(of count: Int) -> [ScrollTrace] {
    [
      // Three seconds on at 60 a second, one second back.
      path("forth and back", [(60, 3), (0, 1), (-60, 1), (0, 1)], repeats: 6, of: count),
      // A fling, a long rest, and then reading on.
      path("visits", [(2000, 1), (0, 6), (40, 3), (0, 3)], repeats: 4, of: count),
      // A screen at a time, with a look at each.
      path("screen by screen", [(160, 0.25), (0, 2)], repeats: 16, of: count),
      path("screen by screen, backwards", [(-160, 0.25), (0, 2)], repeats: 16, of: count),
    ]
  }

  /// A trace of pieces with a constant speed each, in positions a second.
  private static func path(
    _ name: String, _ pieces: [(speed: Double, seconds: Double)], repeats: Int, of count: Int
  ) -> ScrollTrace {
    let pieces = Array(repeatElement(pieces, count: repeats).joined())
    let last = Double(count - visible)
    return ScrollTrace(
      name: name, seconds: pieces.reduce(0) { $0 + $1.seconds }, measurement: .eachCell,
      position: { time in
        var (left, distance) = (time, 0.0)
        for piece in pieces where left > 0 {
          distance += piece.speed * min(left, piece.seconds)
          left -= piece.seconds
        }
        return Int(min(max(0, last / 4 + distance), last)) / row * row
      }, stops: [])
  }
}
