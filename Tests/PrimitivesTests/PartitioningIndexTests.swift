import Primitives
import Testing

@Suite("Partitioning index")
struct PartitioningIndexTests {
  @Test("the search finds any index from which a predicate is true, or the end of the range if there is none")
  func everyIndex() {
    for range in [0..<0, 3..<3, 0..<1, 0..<2, -2..<5, 7..<64, Int.max - 3..<Int.max] {
      for first in range.lowerBound...range.upperBound {
        #expect(range.partitioningIndex(where: { $0 >= first }) == first, "\(range)")
      }
    }
  }

  @Test("the search tests few indexes, and none outside of the range")
  func fewQuestions() {
    var asked: [Int] = []
    let found = (5..<1_000_005).partitioningIndex { index in
      asked.append(index)
      return index >= 700_000
    }
    #expect(found == 700_000)
    #expect(asked.allSatisfy { (5..<1_000_005).contains($0) })
    #expect(asked.count <= 20)
  }
}
