import Primitives
import Testing

@Suite("Cache of the most recently used values")
struct LRUCacheTests {
  @Test("what was not used for longest is dropped first; a value over the limit is not kept")
  func bytes() {
    var values = LRUCache<String, Int>(capacityBytes: 10)
    values.keep(1, for: "a", bytes: 4)
    values.keep(2, for: "b", bytes: 4)
    #expect(values.value(for: "a") == 1)
    values.keep(3, for: "c", bytes: 4)
    #expect(values.value(for: "a") == 1 && values.value(for: "b") == nil && values.value(for: "c") == 3)
    values.keep(4, for: "d", bytes: 11)
    #expect(values.value(for: "d") == nil && values.bytes == 8)
    values.keep(5, for: "a", bytes: 1)
    #expect(values.value(for: "a") == 5 && values.bytes == 5)
  }

  @Test("values are dropped in the order of their last use, and the caller gets them")
  func order() {
    var values = LRUCache<String, Int>(capacity: 3)
    for (number, key) in ["a", "b", "c"].enumerated() { #expect(values.keep(number, for: key) == []) }
    #expect(values.value(for: "b") == 1)
    #expect(values.keep(10, for: "a") == [0])
    #expect(values.keep(3, for: "d") == [2])
    #expect(values.oldest == 1 && values.removeValue(for: "b") == 1 && values.removeValue(for: "b") == nil)
    #expect(values.keep(4, for: "e") == [])
    #expect(values.removeOldest() == 10 && values.removeOldest() == 3 && values.removeOldest() == 4)
    #expect(values.oldest == nil && values.removeOldest() == nil)
    #expect(values.keep(5, for: "f") == [] && values.value(for: "f") == 5)
  }
}
