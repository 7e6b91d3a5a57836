/// One of those who are asked for the same picture.
struct Contestant {
  /// Makes so many pictures; CPU seconds of them all.
  let turn: (Int) throws -> Double

  /// What a picture costs each, in CPU seconds: the medians of so many rounds, in each of which all have their turn.
  ///
  /// A first round, of one picture each, warms caches and is not counted. It also tells how many pictures a turn has: as
  /// many as take this long, so that a quick one isn't lost in the noise.
  static func medians(_ contestants: [Contestant], rounds: Int, turnSeconds: Double = 0.04) throws -> [Double] {
    let counts = try contestants.map { min(max(Int(turnSeconds / max(try $0.turn(1), 0.001)), 1), 8) }
    var samples = [[Double]](repeating: [], count: contestants.count)
    for _ in 0..<rounds {
      for (i, contestant) in contestants.enumerated() {
        samples[i].append(try contestant.turn(counts[i]) / Double(counts[i]))
      }
    }
    return samples.map { $0.median ?? 0 }
  }
}
