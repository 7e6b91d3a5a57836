import Foundation
import PhotoModel

/// Samples the resident memory of a server ten times a second.
struct ResidentSampler: ~Copyable {
  private let stop = StopFlag()
  private let workers: WorkerThreads<Int>

  init(_ processes: [Int32]) {
    workers = WorkerThreads(1) { [stop] _ in
      var highest = 0
      while !stop.isRaised {
        highest = max(highest, Self.residentBytes(of: processes))
        usleep(100_000)
      }
      return highest
    }
  }

  /// Ends the sampling. Returns the maximum for all processes together.
  consuming func end() -> Int {
    stop.raise()
    return workers.wait().first ?? 0
  }

  /// The sum over all processes; pages that two of them share are counted twice.
  static func residentBytes(of processes: [Int32]) -> Int {
    processes.reduce(0) { $0 + ((try? ProcessUsage.residentBytesWithChildren(of: $1)) ?? 0) }
  }
}
