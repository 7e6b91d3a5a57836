import Foundation
import PhotoFixtures
import StoreFixtures
import Testing

/// The daemon, killed after each step of what changes a bucket and its catalogue. A run without a kill records the steps,
/// so none is left out. The next daemon finds each photograph in the library or in the trash, and never in both.
///
/// By default three of the kills of each scenario run. All run with `PHOTOD_THOROUGH`.
@Suite("Killing the daemon while it writes to a bucket", .blocking)
struct RemoteKillTests {
  enum Scenario: String, CaseIterable, Sendable, CustomTestStringConvertible {
    case upload = "an upload"
    case stagedUpload = "a staged upload that becomes an asset"
    case deletion = "a deletion"
    case restoration = "a restoration"
    case purge = "a purge"
    case recovery = "the recovery of a deletion"

    var testDescription: String { rawValue }

    /// The number of steps after which the daemon can be killed.
    var steps: Int {
      switch self {
      case .upload: 4
      case .stagedUpload: 6
      case .deletion, .restoration: 7
      case .purge: 3
      case .recovery: 1
      }
    }
  }

  private static let picture = RemoteFixture.picture(80)
  private static let uploads = ["--set", "upload.template={name}"]

  /// A bucket whose catalogue is ready for a scenario.
  private struct World {
    let remote: RemoteFixture
    let asset: String
    let upload: String

    init(_ scenario: Scenario) throws {
      remote = try RemoteFixture()
      remote.set("a.jpg", RemoteKillTests.picture)
      remote.set("b.jpg", RemoteFixture.picture(81))
      let daemon = try remote.daemon(RemoteKillTests.uploads)
      asset = try daemon.identifier("a.jpg")
      switch scenario {
      case .restoration, .purge:
        #expect(try daemon.change(#"{"type": "deleteAsset", "asset": "\#(asset)"}"#).status == 200)
        upload = ""
      case .stagedUpload:
        let bytes = RemoteFixture.picture(82)
        let staged = try daemon.exchange(
          "POST /v1/uploads?filename=new.jpg HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
            + "Upload-Complete: ?1\r\nContent-Length: \(bytes.count)\r\n\r\n", bytes)
        upload = try #require(staged.json["upload"] as? String)
      case .upload, .deletion: upload = ""
      case .recovery:
        _ = daemon.terminate()
        let killed = try remote.serve(RemoteKillTests.uploads, environment: ["PHOTOD_TEST_FAULT": "renamed"])
        _ = try RemoteKillTests.send(#"{"type": "deleteAsset", "asset": "\#(asset)"}"#, killed)
        #expect(killed.waitUntilKilled())
        upload = ""
      }
    }

    /// Makes the change; the daemon may be killed by it.
    func act(_ scenario: Scenario, _ daemon: TestDaemon) throws {
      switch scenario {
      case .upload:
        let bytes = RemoteFixture.picture(82)
        _ = try daemon.exchanged(
          "POST /v1/assets?filename=new.jpg HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
            + "Content-Length: \(bytes.count)\r\n\r\n", bytes)
      case .stagedUpload:
        _ = try RemoteKillTests.send(#"{"type": "createAsset", "upload": "\#(upload)", "placeholder": "$a"}"#, daemon)
      case .deletion: _ = try RemoteKillTests.send(#"{"type": "deleteAsset", "asset": "\#(asset)"}"#, daemon)
      case .restoration: _ = try RemoteKillTests.send(#"{"type": "restoreAsset", "asset": "\#(asset)"}"#, daemon)
      // At start.
      case .purge, .recovery: break
      }
    }
  }

  private static func send(_ entry: String, _ daemon: TestDaemon) throws -> [UInt8] {
    let body = "{\"changes\": [\(entry)]}"
    return try daemon.send(
      "POST /v1/changes HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/json\r\n"
        + "Content-Length: \(body.utf8.count)\r\n\r\n" + body)
  }

  private static func serve(_ world: World, _ scenario: Scenario, _ environment: [String: String]) throws -> TestDaemon
  {
    try world.remote.serve(
      uploads + (scenario == .purge ? ["--set", "trash.retentionDays=0"] : []), environment: environment)
  }

  @Test(arguments: Scenario.allCases) func `A kill after any step loses nothing`(_ scenario: Scenario) throws {
    let traced = try World(scenario)
    defer { traced.remote.stop() }
    let trace = traced.remote.folders.base + "/trace"
    func points() -> [String] {
      ((try? String(contentsOfFile: trace, encoding: .utf8)) ?? "").split(separator: "\n").map(String.init)
    }
    do {
      let daemon = try Self.serve(traced, scenario, ["PHOTOD_TEST_FAULT_TRACE": trace])
      try traced.act(scenario, daemon)
      try daemon.until("the steps are done: \(points())") { points().count >= scenario.steps }
      try daemon.scanAgain()
      #expect(try BucketState(daemon, traced.remote).isConsistent)
    }
    let steps = points()
    #expect(steps.count == scenario.steps, "\(steps)")
    for index in Sampling.cases(3, of: 0..<steps.count, scenario.rawValue) {
      let turn = steps[...index].count { $0 == steps[index] }
      try kill(scenario, "\(steps[index]):\(turn)")
    }
  }

  private func kill(_ scenario: Scenario, _ point: String) throws {
    let world = try World(scenario)
    let remote = world.remote
    defer { remote.stop() }
    do {
      let daemon = try? Self.serve(world, scenario, ["PHOTOD_TEST_FAULT": point])
      if let daemon {
        try world.act(scenario, daemon)
        #expect(daemon.waitUntilKilled(), "\(point)")
      }
    }
    let daemon = try Self.serve(world, scenario, [:])
    try daemon.scanAgain()
    let state = try BucketState(daemon, remote)
    #expect(state.isConsistent, "\(scenario.rawValue), \(point): \(state)")
    let copies = remote.server.keys.count { remote.server.bytes(of: $0) == Self.picture }
    switch scenario {
    case .purge: #expect(copies == 0 && state.trash == [] && state.assets == ["b.jpg"], "\(point): \(state)")
    case .recovery: #expect(copies == 1 && state.assets == ["a.jpg", "b.jpg"], "\(point): \(state)")
    default: #expect(copies == 1, "\(scenario.rawValue), \(point): \(state)")
    }
    if state.assets.contains("a.jpg") { #expect(try daemon.identifier("a.jpg") == world.asset, "\(point)") }
    // The change can be made again, and ends as without the kill.
    switch scenario {
    case .upload:
      #expect(
        [200, 201].contains(try daemon.upload(RemoteFixture.picture(82), "?filename=new.jpg").status), "\(point)")
    case .stagedUpload:
      if !state.assets.contains("new.jpg") { try world.act(scenario, daemon) }
    case .deletion where state.assets.contains("a.jpg"), .restoration where !state.assets.contains("a.jpg"):
      try world.act(scenario, daemon)
    default: break
    }
    let last = try BucketState(daemon, remote)
    let expected =
      switch scenario {
      case .upload, .stagedUpload: ["a.jpg", "b.jpg", "new.jpg"]
      case .deletion, .purge: ["b.jpg"]
      case .restoration, .recovery: ["a.jpg", "b.jpg"]
      }
    #expect(last.assets == expected && last.isConsistent, "\(scenario.rawValue), \(point), again: \(last)")
  }

  @Test func `A start keeps the object that another daemon has put where a killed one wanted to`() throws {
    let world = try World(.stagedUpload)
    let remote = world.remote
    defer { remote.stop() }
    do {
      let killed = try Self.serve(world, .stagedUpload, ["PHOTOD_TEST_FAULT": "intended"])
      try world.act(.stagedUpload, killed)
      #expect(killed.waitUntilKilled())
    }
    #expect(remote.server.bytes(of: "album/new.jpg") == nil)
    let sharing = try RemoteFixture(sharing: remote)
    let other = try sharing.daemon(Self.uploads)
    let bytes = RemoteFixture.picture(82)
    #expect(try other.upload(bytes, "?filename=new.jpg").status == 201)
    let daemon = try Self.serve(world, .stagedUpload, [:])
    try daemon.scanAgain()
    #expect(remote.server.bytes(of: "album/new.jpg") == bytes)
    // The first client's list is repeated.
    let entry = #"{"type": "createAsset", "upload": "\#(world.upload)", "placeholder": "$a"}"#
    #expect(try daemon.change(entry).status == 200)
    for daemon in [daemon, other] {
      let state = try BucketState(daemon, remote)
      #expect(state.assets == ["a.jpg", "b.jpg", "new.jpg"] && state.isConsistent, "\(state)")
    }
  }
}
