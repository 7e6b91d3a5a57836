import CPhotodSystem
import Dispatch
import Synchronization
import Testing

@testable import HTTPServer

#if canImport(Glibc)
  import Glibc
#endif

@Suite("Work that other threads hand to a loop")
struct LoopInboxTests {
  private static let threads = 4

  /// The consumer waits without a time limit, as no loop does: a wake-up that is lost would hang the test.
  @Test("no wake-up is lost, and the work of each thread stays in order", .timeLimit(.minutes(1)), arguments: [1, 500])
  func wakeUps(_ batch: Int) async {
    let inbox = LoopInbox()
    let taken = Mutex<[[Int]]>(Array(repeating: [], count: Self.threads))
    let total = 20_000
    let wakes = DispatchSemaphore(value: 0)
    for thread in 0..<Self.threads {
      DispatchQueue(label: "producer").async {
        for number in 0..<total / Self.threads {
          inbox.append {
            taken.withLock { $0[thread].append(number) }
            if number % batch == 0 { wakes.signal() }
          }
          // The consumer goes to sleep often.
          if number % batch == 0 { wakes.wait() }
        }
      }
    }
    await withCheckedContinuation { ended in
      DispatchQueue(label: "consumer").async {
        let epoll = epoll_create1(0)
        defer { close(epoll) }
        _ = photod_epoll_add(epoll, inbox.descriptor, EPOLLIN.rawValue | EPOLLET.rawValue, 0)
        var event = epoll_event()
        var done = 0
        while true {
          let work = inbox.takeAll()
          for item in work { item() }
          done += work.count
          if done == total { break }
          _ = epoll_wait(epoll, &event, 1, inbox.prepareToWait() ? -1 : 0)
          inbox.waitEnded()
        }
        ended.resume()
      }
    }
    let expected = Array(repeating: Array(0..<total / Self.threads), count: Self.threads)
    #expect(taken.withLock { $0 } == expected)
  }
}
