import Foundation
import PhotoModel

/// What is resident of a server, looked at ten times a second.
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

  /// The most that was seen, of all processes together.
  consuming func end() -> Int {
    stop.raise()
    return workers.wait().first ?? 0
  }

  /// Pages that two of them share are counted twice.
  static func residentBytes(of processes: [Int32]) -> Int {
    processes.reduce(0) { $0 + ((try? ProcessUsage.residentBytesWithChildren(of: $1)) ?? 0) }
  }
}
