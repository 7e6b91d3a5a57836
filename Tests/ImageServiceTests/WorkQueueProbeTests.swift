import ImageService
import Testing

@Suite("Probes of a work queue")
struct WorkQueueProbeTests {
  @Test("a queue with a free worker answers at once")
  func free() async {
    let queue = WorkQueue(label: "test", workers: 1, limit: .max, qos: .default)
    let log = EventLog()
    queue.probe { log.append("answered") }
    #expect(await log.lines(1) == ["answered"])
  }

  @Test("a busy queue answers when its first work ends, before all that waits, and only once")
  func busy() async {
    let queue = WorkQueue(label: "test", workers: 1, limit: .max, qos: .default)
    let gate = Gate()
    gate.shut()
    let log = EventLog()
    #expect(queue.submit { gate.pass() })
    await gate.waitUntilBlocked()
    for i in 0..<2 { #expect(queue.submit { log.append("work \(i)") }) }
    queue.probe { log.append("answered") }
    log.append("the gate opens")
    gate.open()
    #expect(await log.lines(4) == ["the gate opens", "answered", "work 0", "work 1"])
  }

  @Test("a full queue, which refuses work, still answers")
  func full() async {
    let queue = WorkQueue(label: "test", workers: 1, limit: 0, qos: .default)
    let gate = Gate()
    gate.shut()
    let log = EventLog()
    #expect(queue.submit { gate.pass() })
    await gate.waitUntilBlocked()
    #expect(!queue.submit { log.append("refused") })
    queue.probe { log.append("answered") }
    gate.open()
    #expect(await log.lines(1) == ["answered"])
  }
}
