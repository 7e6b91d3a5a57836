import PhotoModel
import Synchronization
import Testing

@Suite("Memory budget")
struct MemoryBudgetTests {
  private final class Log: Sendable {
    private let entries = Mutex<[(String, MemoryBudget.Reservation)]>([])

    func note(_ name: String) -> @Sendable (MemoryBudget.Reservation) -> Void {
      { reservation in self.entries.withLock { $0.append((name, reservation)) } }
    }

    var names: [String] { entries.withLock { $0.map(\.0) } }

    func release(_ name: String) {
      let found = entries.withLock { $0.first { $0.0 == name }?.1 }
      found?.release()
    }
  }

  @Test("what fits is granted at once, what does not waits, what never could is refused")
  func admission() {
    let budget = MemoryBudget(capacityBytes: 100)
    let log = Log()
    #expect(budget.reserve(60, granted: log.note("a")))
    #expect(budget.reserve(60, granted: log.note("b")))
    #expect(!budget.reserve(101, granted: log.note("never")))
    #expect(log.names == ["a"])
    log.release("a")
    #expect(log.names == ["a", "b"])
    #expect(budget.bytesInUse == 60)
  }

  @Test("a large reservation that waits is not overtaken by a small one")
  func order() {
    let budget = MemoryBudget(capacityBytes: 100)
    let log = Log()
    _ = budget.reserve(50, granted: log.note("first"))
    _ = budget.reserve(100, granted: log.note("large"))
    _ = budget.reserve(1, granted: log.note("small"))
    #expect(log.names == ["first"])
    log.release("first")
    #expect(log.names == ["first", "large"])
    log.release("large")
    #expect(log.names == ["first", "large", "small"])
  }

  @Test("releasing twice gives back once")
  func doubleRelease() {
    let budget = MemoryBudget(capacityBytes: 100)
    let log = Log()
    _ = budget.reserve(40, granted: log.note("a"))
    log.release("a")
    log.release("a")
    #expect(budget.bytesInUse == 0)
  }
}
