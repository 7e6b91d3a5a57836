import Primitives
import Synchronization
import Testing

@Suite("Byte budget")
struct ByteBudgetTests {
  @Test("reservations are granted until the capacity is used, and again after a release")
  func admission() {
    let budget = ByteBudget(capacityBytes: 100)
    let first = budget.tryReserve(60)
    #expect(first != nil && budget.tryReserve(41) == nil && budget.tryReserve(-1) == nil)
    let second = budget.tryReserve(40)
    #expect(second != nil && budget.bytesInUse == 100)
    first?.release()
    #expect(budget.bytesInUse == 40 && budget.peakBytesInUse == 100)
    #expect(budget.tryReserve(.max) == nil)
  }

  @Test("a reservation that leaves a part of the capacity can't use that part, and other reservations can")
  func unused() {
    let budget = ByteBudget(capacityBytes: 100)
    #expect(budget.tryReserve(76, leaving: 25) == nil)
    let first = budget.tryReserve(75, leaving: 25)
    #expect(first != nil && budget.tryReserve(1, leaving: 25) == nil)
    let second = budget.tryReserve(25)
    #expect(second != nil && budget.tryReserve(0, leaving: 25) == nil && budget.bytesInUse == 100)
  }

  @Test("each release calls the observers once")
  func observers() {
    let budget = ByteBudget(capacityBytes: 100)
    let calls = Mutex(0)
    budget.onRelease { calls.withLock { $0 += 1 } }
    let reservation = budget.tryReserve(10)
    #expect(calls.withLock { $0 } == 0)
    reservation?.release()
    #expect(calls.withLock { $0 } == 1)
    reservation?.release()
    #expect(calls.withLock { $0 } == 1)
  }

  @Test("an observer may reserve the memory that was released")
  func observerReserves() {
    let budget = ByteBudget(capacityBytes: 100)
    let taken = Mutex<ByteBudget.Reservation?>(nil)
    let reservation = budget.tryReserve(100)
    budget.onRelease { taken.withLock { $0 = $0 ?? budget.tryReserve(100) } }
    reservation?.release()
    #expect(taken.withLock { $0 }?.bytes == 100)
    #expect(budget.bytesInUse == 100)
  }

  @Test("releasing twice returns the bytes once, and losing the last reference returns them too")
  func endings() {
    let budget = ByteBudget(capacityBytes: 100)
    let reservation = budget.tryReserve(40)
    reservation?.release()
    reservation?.release()
    #expect(budget.bytesInUse == 0)
    do { _ = budget.tryReserve(40) }
    #expect(budget.bytesInUse == 0)
  }

  @Test("a part that is split off is released separately and is never more than the whole")
  func parts() {
    let budget = ByteBudget(capacityBytes: 100)
    let whole = budget.tryReserve(40)
    let part = whole?.split(off: 30)
    #expect(part?.bytes == 30 && whole?.bytes == 10 && budget.bytesInUse == 40)
    whole?.release()
    #expect(budget.bytesInUse == 30)
    #expect(part?.split(off: 100).bytes == 30)
  }

  @Test("a reservation grows within the budget and never shrinks")
  func growing() {
    let budget = ByteBudget(capacityBytes: 100)
    let reservation = ByteBudget.Reservation(of: budget)
    #expect(reservation.bytes == 0)
    #expect(reservation.grow(to: 60) && budget.bytesInUse == 60)
    #expect(reservation.grow(to: 10) && reservation.bytes == 60)
    #expect(!reservation.grow(to: 101) && budget.bytesInUse == 60)
    #expect(reservation.grow(to: 100) && budget.peakBytesInUse == 100)
  }

  @Test("concurrent reservations never exceed the capacity")
  func concurrent() async {
    let budget = ByteBudget(capacityBytes: 1000)
    await withTaskGroup(of: Void.self) { group in
      for _ in 0..<4 {
        group.addTask {
          for number in 1...2000 { budget.tryReserve(number % 400)?.release() }
        }
      }
    }
    #expect(budget.bytesInUse == 0)
    #expect(budget.peakBytesInUse <= 1000 && budget.peakBytesInUse > 0)
  }
}
