/// A program that makes pictures, compared with others.
struct Contestant {
  /// Makes this number of pictures, and returns the CPU seconds of all.
  let turn: (Int) throws -> Double

  /// CPU seconds per picture of each contestant: the medians of `rounds` rounds, in each of which all have their turn.
  ///
  /// A first round of one picture each warms caches and is not counted. It also determines how many pictures a turn
  /// has: as many as take `turnSeconds`, so that fast ones exceed the noise.
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
