import Foundation
import PhotoFixtures
import PhotoModel

#if canImport(Glibc)
  import Glibc
#endif

/// A client of a storm, with one behaviour until it is stopped.
struct StormClient: Sendable {
  enum Behavior: String, CaseIterable, Sendable {
    /// The requests of a gallery, some in sizes that were never requested.
    case gallery
    /// The largest pictures, in all sizes.
    case giants
    /// Degraded and final frames, in all forms of delivery.
    case deliveries
    /// Closes the connection before or during the response.
    case leaver
    /// Receives the full size slowly.
    case slow
    /// Cancels its requests by identifier.
    case canceller

    /// The share of clients, out of 64.
    var share: Int {
      switch self {
      case .gallery: 32
      case .giants: 4
      case .deliveries: 8
      case .leaver: 8
      case .slow: 8
      case .canceller: 4
      }
    }
  }

  /// The data that all clients share.
  struct Context: Sendable {
    let port: UInt16
    /// Paths of image resources.
    let ordinary, giants: [String]
    /// The file names of the giants, by path.
    let giantNames: [String: String]
    let canCancel: Bool
    let outcomes: StormOutcomes
    let stop: StopFlag
  }

  let behavior: Behavior
  let number: Int
  let context: Context

  func run() {
    var random = SplitMix(state: UInt64(number) &* 0x1_0001 &+ 7)
    let client = HTTPClient(
      port: context.port, receiveBufferBytes: behavior == .slow ? 32 << 10 : nil)
    if behavior == .slow {
      client.bytesPerSecond = 400_000
      client.leaveAfterSeconds = 20
    }
    while !context.stop.isRaised {
      switch behavior {
      case .gallery: perform(client, galleryPath(&random), noCache: Int.random(in: 0..<20, using: &random) == 0)
      case .giants: perform(client, giantPath(&random), noCache: Bool.random(using: &random))
      case .deliveries: perform(client, deliveryPath(&random), noCache: Int.random(in: 0..<4, using: &random) == 0)
      case .leaver: leave(client, &random)
      case .slow: perform(client, pick(context.ordinary + context.giants, &random) + "?targetSize=max", noCache: false)
      case .canceller: cancel(client, &random)
      }
    }
  }

  // MARK: - Requests

  private func galleryPath(_ random: inout SplitMix) -> String {
    let (_, target) = Gallery.target(Int.random(in: 0..<100, using: &random))
    let isOdd = Int.random(in: 0..<5, using: &random) == 0
    let side = Int.random(in: 64...1600, using: &random)
    let size = isOdd ? "\(side)x\(side)" : target.size.description
    // One request in a hundred is for a giant.
    let isGiant = Int.random(in: 0..<100, using: &random) == 0
    return pick(isGiant ? context.giants : context.ordinary, &random) + "?targetSize=\(size)&contentMode=\(target.mode)"
  }

  private func giantPath(_ random: inout SplitMix) -> String {
    let queries = [
      "?targetSize=200x200&contentMode=aspectFill", "?targetSize=1600x1600", "?targetSize=4000x4000", "?targetSize=max",
      "?targetSize=2500x2500&format=png", "?normalizedCropRect=0.4,0.4,0.2,0.2", "?targetSize=800x800&resizeMode=fast",
    ]
    return pick(context.giants, &random) + pick(queries, &random)
  }

  private func deliveryPath(_ random: inout SplitMix) -> String {
    let forms = [
      "deliveryMode=opportunistic&multipart=mixed", "deliveryMode=opportunistic&multipart=replace",
      "deliveryMode=fastFormat",
    ]
    let side = Int.random(in: 100...2000, using: &random)
    let isGiant = Int.random(in: 0..<20, using: &random) == 0
    return pick(isGiant ? context.giants : context.ordinary, &random) + "?targetSize=\(side)x\(side)&"
      + pick(forms, &random)
  }

  private func pick(_ list: [String], _ random: inout SplitMix) -> String {
    list[Int.random(in: 0..<list.count, using: &random)]
  }

  // MARK: - Behaviours

  private func perform(_ client: HTTPClient, _ path: String, noCache: Bool) {
    let header = noCache ? "Cache-Control: no-cache\r\n" : ""
    var outcome: String
    do { outcome = try client.perform(HTTPClient.request(path, header: header)).outcome } catch {
      outcome = Self.name(error)
    }
    note(outcome)
    if let giant = context.giantNames[String(path.prefix { $0 != "?" })] { context.outcomes.note(giant, outcome) }
  }

  /// Closes the connection before the response, after the first frame, or within a large body; with or without a reset.
  private func leave(_ client: HTTPClient, _ random: inout SplitMix) {
    let isReset = Bool.random(using: &random)
    do {
      switch Int.random(in: 0..<3, using: &random) {
      case 0:
        try client.send(HTTPClient.request(giantPath(&random), header: "Cache-Control: no-cache\r\n"))
        usleep(UInt32.random(in: 0..<200_000, using: &random))
      case 1:
        let side = Int.random(in: 600...2000, using: &random)
        let query = "?targetSize=\(side)x\(side)&deliveryMode=opportunistic&multipart=mixed"
        try client.send(HTTPClient.request(pick(context.ordinary, &random) + query))
        _ = try client.receive(frames: 1)
      default:
        client.leaveAfterSeconds = Double.random(in: 0.01..<0.3, using: &random)
        defer { client.leaveAfterSeconds = .infinity }
        try client.send(HTTPClient.request(pick(context.ordinary, &random) + "?targetSize=max"))
        _ = try client.receive()
      }
      note("left")
    } catch HTTPClient.Failure.timeLimitReached {
      note("left")
    } catch {
      note(Self.name(error))
    }
    client.close(isReset: isReset)
  }

  private func cancel(_ client: HTTPClient, _ random: inout SplitMix) {
    guard context.canCancel else { return leave(client, &random) }
    let identifier = "storm-\(UInt64.random(in: 0...UInt64.max, using: &random))"
    let other = HTTPClient(port: context.port)
    do {
      try client.send(
        HTTPClient.request(giantPath(&random) + "&requestID=\(identifier)", header: "Cache-Control: no-cache\r\n"))
      usleep(UInt32.random(in: 0..<300_000, using: &random))
      let answer = try other.perform(HTTPClient.request("/v1/requests/\(identifier)", method: "DELETE"))
      note("DELETE: \(answer.outcome)")
      note("its request: \(try client.receive().outcome)")
    } catch {
      note(Self.name(error))
    }
  }

  private func note(_ outcome: String) { context.outcomes.note(behavior.rawValue, outcome) }

  private static func name(_ error: any Error) -> String {
    switch error {
    case HTTPClient.Failure.timeLimitReached: "left"
    case HTTPClient.Failure.closed: "closed by the daemon"
    case HTTPClient.Failure.notConnected(let code): "not connected: \(String(cString: strerror(code)))"
    default: "\(error)"
    }
  }
}
