import PhotoFixtures

/// The words of synthetic libraries: pronounceable, some much more frequent than others, as in names and keywords.
enum BenchWords {
  /// 600 words of four to six letters.
  static let words: [String] = {
    let (first, second) = (
      ["ba", "co", "di", "fe", "ga", "ho", "ju", "ka", "lu", "me"], ["na", "ri", "so", "tu", "ve", "za"]
    )
    let last = ["", "l", "nd", "r", "s", "th", "x", "y", "m", "ck"]
    return first.flatMap { a in second.flatMap { b in last.map { a + b + $0 } } }
  }()

  /// A word; the first ones of the list are the most frequent.
  static func one(_ random: inout SplitMix) -> String {
    let share = Double.random(in: 0..<1, using: &random)
    return words[Int(share * share * share * Double(words.count))]
  }

  static func several(_ count: Int, _ random: inout SplitMix) -> [String] { (0..<count).map { _ in one(&random) } }
}
