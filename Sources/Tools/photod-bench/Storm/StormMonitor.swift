import Foundation
import PhotoModel
import Synchronization

#if canImport(Glibc)
  import Glibc
#endif

/// Observes a daemon during a storm.
final class StormMonitor: Sendable {
  struct Observations: Sendable {
    /// Response times of a frame that is in memory, in milliseconds, one sample each 10 ms.
    var hits: [Double] = []
    /// The number of responses that were not from memory, by source, and of failures, by outcome.
    var otherSources: [String: Int] = [:]
    var residentBytes = 0
    /// The daemon's own counts; `nil` if it has none.
    var memoryInUseBytes, frameCacheBytes: Int?
    /// The minimum of allocated memory without cached frames and memory of renders: what nothing accounts for.
    var otherAllocatedBytes: Int?
  }

  private let observations = Mutex(Observations())
  private let stop = StopFlag()

  /// Starts the threads, which end by themselves after `end`.
  ///
  /// - Parameter path: the path of a small frame.
  init(process: Int32, port: UInt16, path: String) {
    Thread.detachNewThread { [self] in
      let client = HTTPClient(port: port)
      let request = HTTPClient.request(path)
      while !stop.isRaised {
        note(try? client.perform(request))
        usleep(10_000)
      }
    }
    Thread.detachNewThread { [self] in
      let client = HTTPClient(port: port)
      for i in 0... where !stop.isRaised {
        let resident = ResidentSampler.residentBytes(of: [process])
        let metrics = i % 5 == 0 ? DaemonMetrics(client) : nil
        observations.withLock {
          $0.residentBytes = max($0.residentBytes, resident)
          $0.memoryInUseBytes = max($0.memoryInUseBytes, metrics?.memoryInUseBytes)
          $0.frameCacheBytes = max($0.frameCacheBytes, metrics?.frameCacheBytes)
          $0.otherAllocatedBytes = [$0.otherAllocatedBytes, metrics?.otherAllocatedBytes].compactMap(\.self).min()
        }
        usleep(100_000)
        if stop.isRaised { return }
      }
    }
  }

  private func note(_ answer: BenchResponse?) {
    observations.withLock {
      let source = answer.map { $0.status == 200 ? $0.frames[0].source : $0.outcome } ?? "no answer"
      if let answer, source == "memory" {
        $0.hits.append(answer.seconds * 1000)
      } else {
        $0.otherSources[source, default: 0] += 1
      }
    }
  }

  /// Returns the observations since the last call: all hits, and the maximum of everything else.
  func take() -> Observations {
    observations.withLock { observations in
      defer { observations = Observations() }
      return observations
    }
  }

  func end() { stop.raise() }

  private func max(_ left: Int, _ right: Int) -> Int { Swift.max(left, right) }

  private func max(_ left: Int?, _ right: Int?) -> Int? { [left, right].compactMap { $0 }.max() }
}
