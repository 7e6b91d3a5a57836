import PhotoFixtures
import Testing

@Suite("Random samples of test cases", .blocking)
struct SamplingTests {
  private static let steps = ["open", "write", "write", "write", "sync", "write", "rename", "write"]

  private static func sample(_ count: Int, seed: UInt64) -> [Int] {
    Sampling.sample(count, of: Array(steps.indices), using: SplitMix(state: seed)) { steps[$0] }
  }

  @Test("a sample has its size, keeps the order and has a case of each kind", arguments: 0..<50 as Range<UInt64>)
  func kinds(_ seed: UInt64) {
    for count in 0...Self.steps.count {
      let sample = Self.sample(count, seed: seed)
      // There are four kinds.
      #expect(sample.count == max(count, 4) && Set(sample).count == sample.count && sample == sample.sorted())
      #expect(Set(sample.map { Self.steps[$0] }) == Set(Self.steps))
    }
  }

  @Test("the same seed gives the same sample; over fifty seeds each case is chosen")
  func seeds() {
    #expect(Self.sample(4, seed: 7) == Self.sample(4, seed: 7))
    #expect(Set((0..<50).flatMap { Self.sample(4, seed: $0) }) == Set(Self.steps.indices))
  }

  @Test("lists have samples of their own")
  func lists() {
    var (one, other, same) = (Sampling.generator("one"), Sampling.generator("other"), Sampling.generator("one"))
    let number = one.next()
    #expect(number != other.next() && number == same.next())
  }
}
