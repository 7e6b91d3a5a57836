import Foundation
import PhotoModel
import Synchronization

/// Connections that request a gallery's pictures, one after the other, for some time.
struct LoadGenerator {
  /// One or several server processes, used in turn.
  struct Target {
    let name: String
    let servers: [any ImageServer]
    /// Additional header lines of each request.
    var header = ""

    var processes: [Int32] { servers.map(\.identifier) }
  }

  struct Sample: Sendable {
    let kind: Gallery.Kind
    let seconds: Double
    let isSuccess: Bool
  }

  struct Turn {
    let samples: [Sample]
    let wallSeconds: Double
    let cpuSeconds: Double
    let peakBytes: Int
  }

  let connections: Int
  let seconds: Double

  /// Each connection takes the next request of the list until the time is up. Requests in progress are completed.
  func run(_ gallery: Gallery, on server: Target) throws -> Turn {
    let ports = try server.servers.map { try Self.parts(of: $0.url(of: gallery.requests[0].benchPicture)).port }
    let plan = try gallery.requests.map { request in
      PlannedRequest(
        kind: request.kind,
        bytes: try server.servers.map {
          HTTPClient.request(try Self.parts(of: $0.url(of: request.benchPicture)).target, header: server.header)
        })
    }
    let counter = RequestCounter()
    let sampler = ResidentSampler(server.processes)
    let before = try server.processes.reduce(0) { try $0 + ProcessUsage.cpuSeconds(of: $1) }
    let began = HTTPClient.now()
    let end = began + seconds
    let workers = WorkerThreads(connections) { i in
      let process = i % ports.count
      let client = HTTPClient(port: ports[process])
      var samples: [Sample] = []
      while HTTPClient.now() < end {
        let planned = plan[counter.next() % plan.count]
        let started = HTTPClient.now()
        let answer = try? client.perform(planned.bytes[process])
        samples.append(
          Sample(kind: planned.kind, seconds: HTTPClient.now() - started, isSuccess: answer?.status == 200))
      }
      return samples
    }
    let samples = workers.wait().flatMap { $0 }
    let wall = HTTPClient.now() - began
    let cpu = try server.processes.reduce(0) { try $0 + ProcessUsage.cpuSeconds(of: $1) } - before
    return Turn(samples: samples, wallSeconds: wall, cpuSeconds: cpu, peakBytes: sampler.end())
  }

  private struct PlannedRequest: Sendable {
    let kind: Gallery.Kind
    /// The request for each of the processes.
    let bytes: [[UInt8]]
  }

  /// The position in the list, shared by all connections.
  private final class RequestCounter: Sendable {
    private let index = Atomic<Int>(0)
    func next() -> Int { index.wrappingAdd(1, ordering: .relaxed).oldValue }
  }

  /// `http://127.0.0.1:PORT/TARGET`
  static func parts(of url: String) throws -> (port: UInt16, target: String) {
    let rest = url.dropFirst("http://".count)
    let authority = rest.prefix { $0 != "/" }
    guard let port = authority.split(separator: ":").last.flatMap({ UInt16($0) }) else {
      throw BenchError(description: "no port in \(url)")
    }
    return (port, authority.count == rest.count ? "/" : String(rest.dropFirst(authority.count)))
  }
}
