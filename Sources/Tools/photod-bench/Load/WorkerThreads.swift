import Foundation
import Synchronization

/// Threads that work at the same time, each of its own.
struct WorkerThreads<Value: Sendable>: ~Copyable {
  private let group = DispatchGroup()
  private let results: Results

  /// Guarded by its mutex.
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

  /// What they found, in the order in which they were done.
  consuming func wait() -> [Value] {
    group.wait()
    return results.list.withLock { $0 }
  }
}
