import Foundation
import GRDB
import Synchronization

/// Another client, which listens to the daemon's change stream, or checks every millisecond for commits, and records
/// when it learns of each asset.
final class ChangeListener: Sendable {
  private struct State {
    var reportTimes: [String: Double] = [:]
  }

  /// An event of GET /v1/changes/stream, with the members that are needed here.
  private struct Event: Decodable {
    struct Assets: Decodable { let inserted: [String] }

    let assets: Assets
  }

  private let state = Mutex(State())
  private let arrived = DispatchSemaphore(value: 0)
  private let curl: Curl?
  private let isEnded = Atomic<Bool>(false)

  /// `@unchecked Sendable` because it is started before any other thread knows it, and only ended afterwards.
  private struct Curl: @unchecked Sendable { let process: Process }

  init(url: String) throws {
    let process = Process()
    process.executableURL = URL(filePath: "/usr/bin/env")
    process.arguments = ["curl", "-fsSN", url + "/v1/changes/stream"]
    let output = Pipe()
    process.standardOutput = output
    curl = Curl(process: process)
    try process.run()
    let handle = output.fileHandleForReading
    // The first bytes mean that the stream is open.
    guard !handle.availableData.isEmpty else { throw BenchError(description: "there is no stream of changes") }
    Thread.detachNewThread { [self] in
      var rest = Data()
      while case let more = handle.availableData, !more.isEmpty {
        let now = HTTPClient.now()
        rest += more
        while let end = rest.firstIndex(of: 0x0A) {
          receive(rest[rest.startIndex..<end], now)
          rest = Data(rest[rest.index(after: end)...])
        }
      }
    }
  }

  /// Reads the catalogue directly, in this process.
  init(catalogue: String) throws {
    curl = nil
    var configuration = Configuration()
    configuration.readonly = true
    let queue = try DatabaseQueue(path: catalogue, configuration: configuration)
    let first = try queue.read { try Int64.fetchOne($0, sql: "SELECT max(id) FROM asset") ?? 0 }
    Thread.detachNewThread { [self] in
      var last = first
      while !isEnded.load(ordering: .relaxed) {
        let rows =
          (try? queue.read {
            try Row.fetchAll(
              $0, sql: "SELECT id, localIdentifier FROM asset WHERE id > ? ORDER BY id", arguments: [last])
          }) ?? []
        let now = HTTPClient.now()
        if let row = rows.last {
          last = row[0]
          state.withLock { state in for row in rows { state.reportTimes[row[1] as String] = now } }
          arrived.signal()
        }
        usleep(1000)
      }
    }
  }

  func end() {
    isEnded.store(true, ordering: .relaxed)
    curl?.process.terminate()
  }

  /// The number of assets that were reported.
  var count: Int { state.withLock { $0.reportTimes.count } }

  /// The time at which each asset was reported, by identifier.
  var reportTimes: [String: Double] { state.withLock { $0.reportTimes } }

  /// Waits until `count` assets were reported.
  func wait(for count: Int, seconds: Double = 120) throws {
    let end = HTTPClient.now() + seconds
    while self.count < count {
      guard HTTPClient.now() < end else {
        throw BenchError(description: "received events for \(self.count) of \(count) assets in \(Int(seconds)) s")
      }
      _ = arrived.wait(timeout: .now() + 1)
    }
  }

  private func receive(_ line: Data, _ now: Double) {
    guard line.starts(with: Data("data: ".utf8)),
      let event = try? JSONDecoder().decode(Event.self, from: line.dropFirst(6))
    else { return }
    state.withLock { state in
      for identifier in event.assets.inserted where state.reportTimes[identifier] == nil {
        state.reportTimes[identifier] = now
      }
    }
    arrived.signal()
  }
}
