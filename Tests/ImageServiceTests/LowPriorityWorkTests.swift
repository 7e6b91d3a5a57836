import ImageService
import Testing

/// Low-priority work in a queue with other work.
@Suite("Low-priority work")
struct LowPriorityWorkTests {
  @Test("low-priority work leaves one worker free for other work")
  func leavesOne() async {
    let queue = WorkQueue(label: "test", workers: 2, limit: .max, qos: .default)
    let gate = Gate()
    gate.shut()
    let log = EventLog()
    for _ in 0..<2 {
      queue.submitLowPriority {
        log.append("begins")
        gate.pass()
        log.append("ends")
      }
    }
    await gate.waitUntilBlocked()
    #expect(queue.depth == (1, 1))
    #expect(queue.submit { log.append("asked for") })
    #expect(await log.lines(2) == ["begins", "asked for"])
    gate.open()
    #expect(await log.lines(3) == ["ends", "begins", "ends"])
  }

  @Test("low-priority work runs after all other work, in its own order")
  func comesLast() async {
    let queue = WorkQueue(label: "test", workers: 1, limit: .max, qos: .default)
    let gate = Gate()
    gate.shut()
    let log = EventLog()
    #expect(queue.submit { gate.pass() })
    await gate.waitUntilBlocked()
    for i in 0..<3 {
      queue.submitLowPriority { log.append("idle \(i)") }
      #expect(queue.submit { log.append("asked \(i)") })
    }
    gate.open()
    #expect(await log.lines(6) == ["asked 0", "asked 1", "asked 2", "idle 0", "idle 1", "idle 2"])
  }
}
