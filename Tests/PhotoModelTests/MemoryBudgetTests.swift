import PhotoModel
import Synchronization
import Testing

@Suite("Memory budget")
struct MemoryBudgetTests {
  @Test("what fits is granted, what does not is not, and what is given back can be had again")
  func admission() {
    let budget = MemoryBudget(capacityBytes: 100)
    let first = budget.tryReserve(60)
    #expect(first != nil && budget.tryReserve(41) == nil && budget.tryReserve(-1) == nil)
    let second = budget.tryReserve(40)
    #expect(second != nil && budget.bytesInUse == 100)
    first?.release()
    #expect(budget.bytesInUse == 40 && budget.peakBytesInUse == 100)
    #expect(budget.tryReserve(.max) == nil)
  }

  @Test("whoever waits for room is told each time that there is more of it")
  func room() {
    let budget = MemoryBudget(capacityBytes: 100)
    let told = Mutex(0)
    budget.onRelease { told.withLock { $0 += 1 } }
    let reservation = budget.tryReserve(10)
    #expect(told.withLock { $0 } == 0)
    reservation?.release()
    #expect(told.withLock { $0 } == 1)
  }

  @Test("releasing twice gives back once, and forgetting gives back too")
  func endings() {
    let budget = MemoryBudget(capacityBytes: 100)
    let reservation = budget.tryReserve(40)
    reservation?.release()
    reservation?.release()
    #expect(budget.bytesInUse == 0)
    do { _ = budget.tryReserve(40) }
    #expect(budget.bytesInUse == 0)
  }

  @Test("a part that is split off is held for itself, and is never more than there was")
  func parts() {
    let budget = MemoryBudget(capacityBytes: 100)
    let whole = budget.tryReserve(40)
    let part = whole?.split(off: 30)
    #expect(part?.bytes == 30 && whole?.bytes == 10 && budget.bytesInUse == 40)
    whole?.release()
    #expect(budget.bytesInUse == 30)
    #expect(part?.split(off: 100).bytes == 30)
  }
}
