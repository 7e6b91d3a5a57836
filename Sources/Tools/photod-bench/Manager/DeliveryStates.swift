import Foundation

/// Opportunistic delivery as `multipart/mixed`, by what is stored already.
///
/// - original: `Cache-Control: no-cache`, which ignores everything stored.
/// - ladder: a smaller derivative is on disk, and no frame. Every request is for a frame that was never requested, of
///   the target's size or a few pixels less, in a quality near the default.
/// - disk: the same requests again, after a restart of the daemon.
/// - memory: one request, repeated.
///
/// Originals and stored files are in the page cache throughout.
struct DeliveryStates {
  let workspace: BenchWorkspace
  let vips: VipsServer?
  let coldRounds, rounds: Int

  private static let targets = [
    Target(200, 200, "aspectFill"), Target(400, 400, "aspectFit"), Target(1600, 1600, "aspectFit"),
  ]

  /// - Parameter names: selects photographs whose names contain one of these.
  func print(_ names: [String]) throws {
    let photographs = workspace.photographs.filter { photograph in names.contains { photograph.name.contains($0) } }
    let benchPictures = photographs.flatMap { photograph in
      Self.targets.map { BenchPicture(photograph: photograph, target: $0) }
    }
    Swift.print(
      "Opportunistic delivery, ms from a request's first byte to a frame's last; \(coldRounds) renders from the original, "
        + "\(rounds) requests otherwise, one at a time; CPU of the server, ms a request\n")
    let data = workspace.folder + "/delivery"
    let (cold, peers, ladder) = try before(benchPictures, data)
    let (disk, memory) = try afterRestart(benchPictures, data)
    let table = Table(
      [
        "photograph", "target", "state", "frames", "degraded p50", "p99", "final p50", "p99", "CPU",
        "warm libvips final p50", "CPU", "libvips / photod CPU",
      ], labels: 4)
    for i in benchPictures.indices {
      for (state, list) in [("original", cold), ("ladder", ladder), ("disk", disk), ("memory", memory)] {
        let label = [benchPictures[i].photograph.name, benchPictures[i].target.description, state]
        let peer = peers[i].map { $0.answers.map { $0.seconds * 1000 }.percentile(50) } ?? nil
        let peerCPU = peers[i]?.cpuMilliseconds
        table.row(
          label + list[i].cells + [peer.text(1), peerCPU.text(1), (peerCPU / list[i].cpuMilliseconds).text(1)])
      }
    }
    Swift.print("")
  }

  // MARK: - States

  private func before(
    _ benchPictures: [BenchPicture], _ data: String
  ) throws -> (cold: [DeliverySamples], peers: [DeliverySamples?], ladder: [DeliverySamples]) {
    let server = try workspace.photodServer(data: data)
    try server.waitUntilIdle()
    let cold = try benchPictures.map { try fromOriginal($0, server) }
    for benchPicture in benchPictures where benchPicture.target.size.width == Self.targets[0].size.width {
      try makeLadder(benchPicture.photograph, server)
    }
    // Different requests for each, so that no frame is shared.
    let ladder = try benchPictures.map { try deliveries(requests($0, server), server) }
    return (cold.map(\.ours), cold.map(\.theirs), ladder)
  }

  private func afterRestart(
    _ benchPictures: [BenchPicture], _ data: String
  ) throws -> (disk: [DeliverySamples], memory: [DeliverySamples]) {
    let server = try workspace.photodServer(data: data)
    try server.waitUntilIdle()
    let disk = try benchPictures.map { try deliveries(requests($0, server), server) }
    let memory = try benchPictures.map { benchPicture in
      let request = try requests(benchPicture, server)[0]
      _ = try RequestSender.perform([request])
      return try deliveries([String](repeating: request, count: rounds), server)
    }
    return (disk, memory)
  }

  /// The contestants take turns, one picture each.
  private func fromOriginal(_ benchPicture: BenchPicture, _ server: PhotodServer) throws -> (
    ours: DeliverySamples, theirs: DeliverySamples?
  ) {
    let photod = try RequestSender(
      server.url(of: benchPicture) + Self.opportunistic, header: "Cache-Control: no-cache\r\n")
    let peer = try vips.map { try RequestSender($0.url(of: benchPicture)) }
    _ = try (photod.perform(), peer?.perform())
    func spent() throws -> [Double] {
      try ([server.identifier] + (vips.map { [$0.identifier] } ?? [])).map { try ProcessUsage.cpuSeconds(of: $0) }
    }
    let before = try spent()
    var (ours, theirs) = ([BenchResponse](), [BenchResponse]())
    for _ in 0..<coldRounds {
      ours.append(try photod.perform())
      if let peer { theirs.append(try peer.perform()) }
    }
    let costs = try zip(spent(), before).map { ($0 - $1) / Double(coldRounds) * 1000 }
    return (
      DeliverySamples(answers: ours, cpuMilliseconds: costs[0]),
      peer.map { _ in DeliverySamples(answers: theirs, cpuMilliseconds: costs[1]) }
    )
  }

  /// Renders the photograph once, and waits until a small size comes from a derivative, if that happens.
  private func makeLadder(_ photograph: Photograph, _ server: PhotodServer) throws {
    func source(_ side: Int) throws -> String? {
      let benchPicture = BenchPicture(photograph: photograph, target: Target(side, side, "aspectFit"))
      return try RequestSender(server.url(of: benchPicture)).perform().final?.source
    }
    _ = try source(1610)
    let end = HTTPClient.now() + 5
    for side in 100..<150 where HTTPClient.now() < end {
      if try source(side) == "derivative" { return }
      usleep(100_000)
    }
    Swift.print("\(photograph.name): no derivative was made within five seconds\n")
  }

  /// Different requests, for the target's size or a few pixels less.
  private func requests(_ benchPicture: BenchPicture, _ server: PhotodServer) throws -> [String] {
    try (0..<rounds).map { i in
      let (width, height) = (benchPicture.target.size.width - i / 21, benchPicture.target.size.height - i / 21)
      let near = BenchPicture(
        photograph: benchPicture.photograph, target: Target(width, height, benchPicture.target.mode))
      return try server.url(of: near, quality: CodecFloor.quality - 10 + i % 21) + Self.opportunistic
    }
  }

  private func deliveries(_ requests: [String], _ server: PhotodServer) throws -> DeliverySamples {
    let before = try ProcessUsage.cpuSeconds(of: server.identifier)
    let answers = try RequestSender.perform(requests)
    let spent = try ProcessUsage.cpuSeconds(of: server.identifier) - before
    return DeliverySamples(answers: answers, cpuMilliseconds: spent / Double(requests.count) * 1000)
  }

  private static let opportunistic = "&deliveryMode=opportunistic&multipart=mixed"
}
