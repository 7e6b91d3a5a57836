import Dispatch
import Foundation
import Synchronization
import Testing

/// Runs the tests of a suite on threads of their own. Tests of the built daemon block: they read from sockets and wait
/// for processes. On the threads of Swift's concurrency, of which there is one for each core, they would hold up all
/// other tests.
struct BlockingSuite: SuiteTrait, TestTrait, TestScoping {
  /// Applies to each test; swift-testing requires `TestTrait` for that.
  var isRecursive: Bool { true }

  func provideScope(
    for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
  ) async throws {
    try await withTaskExecutorPreference(BlockingThreads.shared) { try await function() }
  }
}

extension Trait where Self == BlockingSuite {
  static var blocking: Self { Self() }
}

/// A few threads that run tasks in the order in which they become ready.
private final class BlockingThreads: TaskExecutor {
  /// More threads than cores, because some of the tests wait for their daemons.
  static let shared = BlockingThreads(count: ProcessInfo.processInfo.activeProcessorCount + 2)

  private let jobs = Mutex<[UnownedJob]>([])
  private let ready = DispatchSemaphore(value: 0)

  private init(count: Int) {
    for number in 1...count {
      let thread = Thread { [self] in
        while true {
          ready.wait()
          let job = jobs.withLock { $0.removeFirst() }
          job.runSynchronously(on: asUnownedTaskExecutor())
        }
      }
      thread.name = "blocking-\(number)"
      thread.stackSize = 8 << 20
      thread.start()
    }
  }

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    jobs.withLock { $0.append(job) }
    ready.signal()
  }
}
