import ImageService
import Testing

/// Work that nobody waits for, in a line of those that somebody does.
@Suite("Idle work")
struct IdleWorkTests {
  @Test("it leaves a worker free, and what somebody waits for runs there at once")
  func leavesOne() async {
    let queue = WorkQueue(label: "test", workers: 2, limit: .max, qos: .default)
    let gate = Gate()
    gate.shut()
    let journal = Journal()
    for _ in 0..<2 {
      queue.submitIdle {
        journal.note("begins")
        gate.pass()
        journal.note("ends")
      }
    }
    await gate.somebodyWaits()
    #expect(queue.depth == (1, 1))
    #expect(queue.submit { journal.note("asked for") })
    #expect(await journal.lines(2) == ["begins", "asked for"])
    gate.open()
    #expect(await journal.lines(3) == ["ends", "begins", "ends"])
  }

  @Test("it comes after all that waits, in its own order")
  func comesLast() async {
    let queue = WorkQueue(label: "test", workers: 1, limit: .max, qos: .default)
    let gate = Gate()
    gate.shut()
    let journal = Journal()
    #expect(queue.submit { gate.pass() })
    await gate.somebodyWaits()
    for i in 0..<3 {
      queue.submitIdle { journal.note("idle \(i)") }
      #expect(queue.submit { journal.note("asked \(i)") })
    }
    gate.open()
    #expect(await journal.lines(6) == ["asked 0", "asked 1", "asked 2", "idle 0", "idle 1", "idle 2"])
  }
}
