import Foundation

/// The cases of a long list that a test run covers: a random sample by default, all with `PHOTOD_THOROUGH=1`.
///
/// For cases that start processes or take long. Each run draws another sample and prints its seed once;
/// `PHOTOD_TEST_SEED` repeats the sample of an earlier run.
package enum Sampling {
  package static let isThorough = ProcessInfo.processInfo.environment["PHOTOD_THOROUGH"].map { $0 != "0" } ?? false

  package static let seed: UInt64 = {
    let set = ProcessInfo.processInfo.environment["PHOTOD_TEST_SEED"].flatMap { UInt64($0) }
    let seed = set ?? UInt64.random(in: 0...999_999)
    print("random samples of tests: PHOTOD_TEST_SEED=\(seed)")
    return seed
  }()

  /// For the messages of failures.
  package static var note: String { (isThorough ? "PHOTOD_THOROUGH=1 " : "") + "PHOTOD_TEST_SEED=\(seed)" }

  /// Some of the cases, in their order: one of each kind, then others up to `count`; all of them in a thorough run.
  ///
  /// - Parameter list: names the list, so that each list has a sample of its own whatever else the run samples.
  package static func cases<Case, Kind: Hashable>(
    _ count: Int, of all: some Collection<Case>, _ list: String, kind: (Case) -> Kind
  ) -> [Case] {
    isThorough ? Array(all) : sample(count, of: Array(all), using: generator(list), kind: kind)
  }

  /// The same without kinds.
  package static func cases<Case>(_ count: Int, of all: some Collection<Case>, _ list: String) -> [Case] {
    cases(count, of: all, list) { _ in 0 }
  }

  /// How often to repeat a random test.
  package static func count(_ usual: Int, thorough: Int) -> Int { isThorough ? thorough : usual }

  /// Random numbers that depend on the seed and the name only.
  package static func generator(_ list: String) -> SplitMix {
    // FNV-1a, which is the same in each process; `Hasher` is not.
    let name = list.utf8.reduce(0xCBF2_9CE4_8422_2325 as UInt64) { ($0 ^ UInt64($1)) &* 0x0000_0100_0000_01B3 }
    return SplitMix(state: seed ^ name)
  }

  /// One case of each kind, then others up to `count`, in their order.
  package static func sample<Case, Kind: Hashable>(
    _ count: Int, of all: [Case], using generator: SplitMix, kind: (Case) -> Kind
  ) -> [Case] {
    var generator = generator
    var seen: Set<Kind> = []
    var chosen: [Int] = []
    var others: [Int] = []
    for index in all.indices.shuffled(using: &generator) {
      if seen.insert(kind(all[index])).inserted { chosen.append(index) } else { others.append(index) }
    }
    chosen += others.prefix(max(0, count - chosen.count))
    return chosen.sorted().map { all[$0] }
  }
}

/// Random numbers that are the same for the same state (SplitMix64, Steele, Lea and Flood).
package struct SplitMix: RandomNumberGenerator, Sendable {
  private var state: UInt64

  package init(state: UInt64) { self.state = state }

  package mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var z = state
    z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
    z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
    return z ^ (z >> 31)
  }
}

extension RandomNumberGenerator {
  /// From 0 to the bound, which is not included.
  package mutating func below(_ bound: Int) -> Int { Int.random(in: 0..<bound, using: &self) }

  /// `true` once in so many times.
  package mutating func oneIn(_ bound: Int) -> Bool { below(bound) == 0 }

  package mutating func one<Element>(of elements: [Element]) -> Element { elements[below(elements.count)] }
}
