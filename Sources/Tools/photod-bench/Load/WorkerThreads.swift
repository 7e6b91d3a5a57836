import Foundation
import Synchronization

/// Threads that run a function concurrently, each with its own number.
struct WorkerThreads<Value: Sendable>: ~Copyable {
  private let group = DispatchGroup()
  private let results: Results

  /// The results, guarded by a mutex.
  private final class Results: Sendable {
    let list = Mutex<[Value]>([])
  }

  /// Starts them.
  init(_ count: Int, _ work: @escaping @Sendable (Int) -> Value) {
    let results = Results()
    self.results = results
    for i in 0..<count {
      group.enter()
      Thread.detachNewThread { [group] in
        let value = work(i)
        results.list.withLock { $0.append(value) }
        group.leave()
      }
    }
  }

  /// Waits for all threads. Returns their results in the order of completion.
  consuming func wait() -> [Value] {
    group.wait()
    return results.list.withLock { $0 }
  }
}
