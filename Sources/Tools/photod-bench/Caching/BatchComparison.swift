// Fetches a screen of thumbnails as single requests on six connections, and as one batch, over a simulated network: two
// network namespaces connected by a link with a delay. Needs root.

import ArgumentParser
import Foundation
import Synchronization

struct BatchComparison {
  private static let space = "photod-bench"
  private static let (server, client) = ("10.77.31.1", "10.77.31.2")
  private static let frames = 100
  static let side = 200
  /// Gives frames of about 8 KB.
  static let quality = 91

  let binary: String
  let library: CachingLibrary
  let data: String
  let roundTripMilliseconds: Int
  let rounds: Int

  func print() throws {
    let wire = try DelayedLink(
      Self.space, near: Self.server, far: Self.client, oneWay: Double(roundTripMilliseconds) / 2000)
    defer { withExtendedLifetime(wire) {} }
    let daemon = try DaemonUnderTest(
      binary: binary, library: library.path, data: data, listen: "\(Self.server):0",
      settings: ["accessLog=false", "allowAnonymous=true", "cache.backgroundDerivatives=false"])
    let (port, _) = try LoadGenerator.parts(of: daemon.url)
    let byPath = try daemon.identifiersByPath()
    let identifiers = library.names.prefix(Self.frames).compactMap { byPath[$0] }
    let text = try Command(
      [
        "ip", "netns", "exec", Self.space, CommandLine.arguments[0], "caching-batch-client", "--host", Self.server,
        "--port", "\(port)", "--rounds", "\(rounds)", "--assets", identifiers.joined(separator: ","),
      ]
    ).text()
    let found = try JSONDecoder().decode(BatchClient.Findings.self, from: Data(text.utf8))
    Swift.print(
      """
      ## A screen of \(Self.frames) thumbnails

      All in memory, \((Double(found.bytes) / Double(Self.frames) / 1000).text(1)) KB each on average. A round trip takes \
      \(roundTripMilliseconds) ms, MTU 1500; connections are warm; \(rounds) rounds in turn, milliseconds until the last \
      byte.

      """)
    let table = Table(["", "median", "fastest", "slowest"], labels: 1)
    for (name, times) in [
      ("\(Self.frames) requests on 6 connections", found.singles), ("one batch, warm connection", found.batches),
      ("one batch, new connection", found.freshBatches),
    ] { table.row([name, times.median.text(1), (times.min() ?? 0).text(1), (times.max() ?? 0).text(1)]) }
    Swift.print(
      "\nOne batch is \((found.singles.median / found.batches.median).text(1)) times as fast; on a new connection "
        + "\((found.singles.median / found.freshBatches.median).text(1)) times.\n")
  }
}

/// The client of the comparison, run in its own namespace.
struct BatchClient: ParsableCommand {
  struct Findings: Codable {
    var bytes = 0
    /// Milliseconds.
    var singles: [Double] = []
    var batches: [Double] = []
    var freshBatches: [Double] = []
  }

  static let configuration = CommandConfiguration(
    commandName: "caching-batch-client", abstract: "The client of the caching benchmark's batch.", shouldDisplay: false)

  private static let connections = 6

  @Option var host: String
  @Option var port: UInt16
  @Option var rounds: Int
  @Option var assets: String

  func run() throws {
    let identifiers = assets.split(separator: ",").map(String.init)
    let side = BatchComparison.side
    let query = "targetSize=\(side)x\(side)&contentMode=aspectFill&quality=\(BatchComparison.quality)"
    let requests = identifiers.map { HTTPClient.request("/v1/assets/\($0)/image?\(query)") }
    let list = identifiers.map { "\"\($0)\"" }.joined(separator: ", ")
    let batch = HTTPClient.request(
      "/v1/images", method: "POST",
      json: "{\"assets\": [\(list)], \"targetSize\": \"\(side)x\(side)\", \"contentMode\": \"aspectFill\", "
        + "\"quality\": \(BatchComparison.quality)}")
    let screen = Screen(requests, connections: Self.connections, host: host, port: port)
    let whole = HTTPClient(port: port, host: host)
    var findings = Findings()
    // Renders all frames and opens the connections before the measurement.
    for _ in 0..<2 {
      _ = try screen.perform()
      _ = try Self.perform(whole, batch, identifiers.count)
    }
    for _ in 0..<rounds {
      let (seconds, bytes) = try screen.perform()
      findings.singles.append(seconds * 1000)
      findings.bytes = bytes
      findings.batches.append(try Self.perform(whole, batch, identifiers.count) * 1000)
      findings.freshBatches.append(
        try Self.perform(HTTPClient(port: port, host: host), batch, identifiers.count) * 1000)
    }
    print(String(decoding: try JSONEncoder().encode(findings), as: UTF8.self))
  }

  private static func perform(_ client: HTTPClient, _ request: [UInt8], _ count: Int) throws -> Double {
    let began = HTTPClient.now()
    let answer = try client.perform(request)
    guard answer.status == 200, answer.frames.count == count, answer.frames.allSatisfy({ !$0.isProblem }) else {
      throw BenchError(description: "the batch was answered \(answer.outcome) with \(answer.frames.count) parts")
    }
    return HTTPClient.now() - began
  }

  /// Connections that are reused from screen to screen, each with its own thread.
  private final class Screen: Sendable {
    private struct State {
      var next = 0
      var left = 0
      var bytes = 0
      var failed = 0
    }

    private let requests: [[UInt8]]
    private let state = Mutex(State())
    private let starts: [DispatchSemaphore]
    private let isDone = DispatchSemaphore(value: 0)

    init(_ requests: [[UInt8]], connections: Int, host: String, port: UInt16) {
      self.requests = requests
      starts = (0..<connections).map { _ in DispatchSemaphore(value: 0) }
      for start in starts {
        Thread.detachNewThread { [self] in
          let client = HTTPClient(port: port, host: host)
          while true {
            start.wait()
            while let request = next() {
              let answer = try? client.perform(request)
              state.withLock { state in
                state.bytes += answer?.bodyBytes ?? 0
                if answer?.status != 200 { state.failed += 1 }
              }
            }
            if state.withLock({ state in
              state.left -= 1
              return state.left == 0
            }) {
              isDone.signal()
            }
          }
        }
      }
    }

    private func next() -> [UInt8]? {
      state.withLock { state in
        guard state.next < requests.count else { return nil }
        defer { state.next += 1 }
        return requests[state.next]
      }
    }

    /// Requests the screen. Returns the seconds and the bytes of all bodies.
    func perform() throws -> (Double, Int) {
      state.withLock { $0 = State(left: starts.count) }
      let began = HTTPClient.now()
      for start in starts { start.signal() }
      isDone.wait()
      let seconds = HTTPClient.now() - began
      let (failed, bytes) = state.withLock { ($0.failed, $0.bytes) }
      if failed > 0 { throw BenchError(description: "\(failed) requests were not answered") }
      return (seconds, bytes)
    }
  }
}
