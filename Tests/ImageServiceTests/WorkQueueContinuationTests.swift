import Dispatch
import ImageService
import Testing

#if canImport(Glibc)
  import Glibc
#endif

@Suite("Work that follows other work on its thread")
struct WorkQueueContinuationTests {
  private let first = WorkQueue(label: "first", workers: 1, limit: .max, qos: .default)
  private let second = WorkQueue(label: "second", workers: 1, limit: 1, qos: .default)
  private let log = EventLog()

  @Test("it begins when the current work has returned, on the same thread")
  func sameThread() async {
    let accepted = first.submit { [second, log] in
      let thread = pthread_self()
      let isAccepted = second.submit(
        { log.append(pthread_self() == thread ? "the same thread" : "another thread") }, afterCurrentWork: true)
      log.append("accepted: \(isAccepted)")
    }
    #expect(accepted)
    #expect(await log.lines(2) == ["accepted: true", "the same thread"])
  }

  @Test("it counts on its own queue, and the other queue has its workers meanwhile")
  func counted() async {
    let gate = Gate()
    gate.shut()
    _ = first.submit { [second] in _ = second.submit({ gate.pass() }, afterCurrentWork: true) }
    await gate.waitUntilBlocked()
    #expect(second.depth.running == 1)
    let admissions = [
      second.submit { [log] in log.append("second") },
      second.submit { [log] in log.append("refused") },
      first.submit { [log] in log.append("first") },
    ]
    #expect(admissions == [true, false, true])
    #expect(await log.next() == "first")
    gate.open()
    #expect(await log.next() == "second")
  }

  @Test("what waits on the first queue does not wait for it")
  func waiting() async {
    let (entry, gate) = (Gate(), Gate())
    entry.shut()
    gate.shut()
    _ = first.submit { [second] in
      entry.pass()
      _ = second.submit({ gate.pass() }, afterCurrentWork: true)
    }
    await entry.waitUntilBlocked()
    _ = first.submit { [log] in log.append("first") }
    entry.open()
    #expect(await log.next() == "first")
    gate.open()
  }

  @Test("several of one work, and those of other callers, all run")
  func several() async {
    let wide = WorkQueue(label: "wide", workers: 3, limit: .max, qos: .default)
    _ = first.submit { [log] in
      for _ in 0..<3 { _ = wide.submit({ log.append("ran") }, afterCurrentWork: true) }
    }
    // This caller is no worker.
    _ = wide.submit({ [log] in log.append("ran") }, afterCurrentWork: true)
    #expect(await log.lines(4) == ["ran", "ran", "ran", "ran"])
  }
}
