import ImageService
import Testing

@Suite("Coalesced work")
struct CoalescedWorkTests {
  @Test func `However many changes there are while the queue is busy, the work has one place in it`() async {
    let queue = WorkQueue(label: "test", workers: 1, limit: .max, qos: .default)
    let work = CoalescedWork(on: queue)
    let gate = Gate()
    let log = EventLog()
    gate.shut()
    #expect(queue.submit { gate.pass() })
    await gate.waitUntilBlocked()
    for _ in 0..<16 { work.schedule { log.append("work") } }
    #expect(queue.depth.waiting == 1)
    // It is scheduled, so it does not run here.
    work.run { log.append("work at once") }
    #expect(queue.submit { log.append("other work") })
    gate.open()
    #expect(await log.lines(2) == ["work", "other work"])
  }

  @Test func `Changes while the work runs repeat it once, without another place`() async {
    let queue = WorkQueue(label: "test", workers: 1, limit: .max, qos: .default)
    let work = CoalescedWork(on: queue)
    let gate = Gate()
    let log = EventLog()
    let step: WorkQueue.Work = {
      log.append("work")
      gate.pass()
    }
    gate.shut()
    work.schedule(step)
    await gate.waitUntilBlocked()
    for _ in 0..<16 { work.schedule(step) }
    #expect(queue.depth.waiting == 0)
    #expect(queue.submit { log.append("other work") })
    gate.open()
    #expect(await log.lines(3) == ["work", "work", "other work"])
  }

  @Test func `Work that is not scheduled runs on the caller's thread, and again if it reports a change`() async {
    let work = CoalescedWork(on: WorkQueue(label: "test", workers: 1, limit: .max, qos: .default))
    let log = EventLog()
    var runs = 0
    work.run {
      runs += 1
      if runs == 1 { work.schedule { log.append("work elsewhere") } }
    }
    #expect(runs == 2)
    work.schedule { log.append("work") }
    #expect(await log.next() == "work")
  }
}
