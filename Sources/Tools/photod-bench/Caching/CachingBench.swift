// Preheat windows during scrolling, and a screen of thumbnails in one response.

import ArgumentParser
import Foundation

struct CachingBench: ParsableCommand {
  enum Part: String, CaseIterable, ExpressibleByArgument {
    case scroll, batch
  }

  enum Start: String, CaseIterable, ExpressibleByArgument {
    /// All derivatives are stored, and no frames.
    case warm
    /// Nothing is stored.
    case cold
  }

  static let configuration = CommandConfiguration(
    commandName: "caching",
    abstract:
      "Scrolling through 10,000 photographs with and without preheat windows, and a batch compared with single requests."
  )

  @Option(help: "The daemon's binary.")
  var photod = ".build/release/photod"

  @Option(help: "The folder that keeps photographs and derivatives between runs: about 10 GB.")
  var work = ".build/bench-caching"

  @Option(help: "Number of photographs.")
  var assets = 10_000

  @Option(
    help: ArgumentHelp("Parts to measure: scroll, batch. Repeatable. Default: both.", valueName: "part"))
  var part: [Part] = []

  @Option(help: ArgumentHelp("The state at the start: warm or cold. Repeatable. Default: both.", valueName: "start"))
  var start: [Start] = []

  @Option(help: "Scrolling: the sides of the cells. Repeatable.")
  var side = [100, 200, 400]

  @Option(help: "Scrolling: traces whose names contain this. Repeatable. Default: all.")
  var trace: [String] = []

  @Option(help: "Scrolling: seconds of reading, and of steady scrolling.")
  var seconds = 15.0

  @Option(help: "Scrolling: number of flings and of jumps.")
  var cycles = 12

  @Option(help: "Scrolling: seconds of the stops between flings and jumps; at least 1.1.")
  var rest = 1.5

  @Option(help: "Scrolling: the window's margin.")
  var margin = 40

  @Option(help: "Batch: milliseconds of a round trip.")
  var roundTrip = 20

  @Option(help: "Batch: rounds.")
  var rounds = 15

  func run() throws {
    try FileManager.default.createDirectory(atPath: work, withIntermediateDirectories: true)
    let library = try CachingLibrary(assets, in: work)
    let data = try prepare(library)
    print(
      "# Preheat windows and batches\n\n\(try Machine.line())\n\n\(assets) photographs of 12 megapixels, "
        + "\((Double(library.bytes) / Double(assets) / 1e6).text(2)) MB each.\n")
    let parts = part.isEmpty ? Part.allCases : part
    if parts.contains(.scroll) { try scroll(library, data) }
    if parts.contains(.batch) {
      try BatchComparison(
        binary: photod, library: library, data: data.warm, roundTripMilliseconds: roundTrip, rounds: rounds
      ).print()
    }
  }

  // MARK: Data folders

  /// Prepares a data folder with all derivatives, and one with only the catalogue.
  private func prepare(_ library: CachingLibrary) throws -> (warm: String, cold: String) {
    let (warm, cold) = ("\(work)/warm-\(assets)", "\(work)/cold-\(assets)")
    let manager = FileManager.default
    if manager.fileExists(atPath: cold) { return (warm, cold) }
    try? manager.removeItem(atPath: warm)
    do {
      // Background work leaves one worker free.
      let daemon = try DaemonUnderTest(
        binary: photod, library: library.path, data: warm,
        settings: ["accessLog=false", "render.workers=\(ProcessInfo.processInfo.activeProcessorCount + 1)"])
      try daemon.waitUntilIdle()
    }
    try manager.createDirectory(atPath: cold + ".new", withIntermediateDirectories: true)
    for name in try manager.contentsOfDirectory(atPath: warm) where name != "cache" {
      try manager.copyItem(atPath: "\(warm)/\(name)", toPath: "\(cold).new/\(name)")
    }
    try manager.moveItem(atPath: cold + ".new", toPath: cold)
    return (warm, cold)
  }

  // MARK: Scrolling

  private func scroll(_ library: CachingLibrary, _ data: (warm: String, cold: String)) throws {
    print(
      """
      ## Scrolling

      40 cells are visible. Six connections request each cell when it becomes visible (`opportunistic`). A window, if any, \
      is updated sixty times a second, with a margin of \(margin). For flings and jumps the cells that are visible at a \
      stop count, from the stop on; otherwise each cell from when it became visible. "At once" means within 16.7 ms, one \
      frame of a display. Wasted: the prepared or cancelled frames that were never shown.

      """)
    let table = Table(
      [
        "start", "side", "trace", "window", "cells", "final at once", "any at once", "final in 100 ms", "any in 100 ms",
        "p50 ms", "p99 ms", "prepared", "wasted", "CPU s", "failed",
      ], labels: 4)
    for start in start.isEmpty ? Start.allCases : start {
      for side in side {
        for trace in traces {
          for hasWindow in [false, true] {
            try turn(start, side, trace, hasWindow, library, data, table)
          }
        }
      }
    }
    print("")
  }

  /// The traces to measure.
  var traces: [ScrollTrace] {
    ScrollTrace.all(of: assets, seconds: seconds, cycles: cycles, rest: rest).filter { candidate in
      trace.isEmpty || trace.contains { candidate.name.contains($0) }
    }
  }

  private func turn(
    _ start: Start, _ side: Int, _ trace: ScrollTrace, _ hasWindow: Bool, _ library: CachingLibrary,
    _ data: (warm: String, cold: String), _ table: Table
  ) throws {
    let found = try measure(
      start, side, trace, hasWindow: hasWindow, library, start == .warm ? data.warm : data.cold)
    let outcome = found.outcome
    table.row(
      [
        start.rawValue, "\(side)", trace.name, hasWindow ? "yes" : "no", "\(outcome.cells.count)",
        Self.percent(outcome.share(within: 1.0 / 60, finalOnly: true)),
        Self.percent(outcome.share(within: 1.0 / 60, finalOnly: false)),
        Self.percent(outcome.share(within: 0.1, finalOnly: true)),
        Self.percent(outcome.share(within: 0.1, finalOnly: false)),
        outcome.waits.percentile(50).text(1), outcome.waits.percentile(99).text(1), "\(Int(found.prepared))",
        Self.percent(found.wastedShare), found.cpu.text(1), "\(outcome.failures)",
      ])
  }

  static func percent(_ share: Double?) -> String { share.map { "\(($0 * 100).text(1))%" } ?? "–" }

  /// The result of one run of a trace against a new daemon.
  struct Measurement {
    let outcome: ScrollClient.Outcome
    /// Prepared and cancelled frames; cancelled work was work as well.
    let prepared: Double
    let wasted: Double
    let cpu: Double

    var wastedShare: Double? { prepared > 0 ? wasted / prepared : nil }
  }

  /// - Parameters:
  ///   - original: the data folder at the start.
  func measure(
    _ start: Start, _ side: Int, _ trace: ScrollTrace, hasWindow: Bool, _ library: CachingLibrary, _ original: String
  ) throws -> Measurement {
    let folder = try Self.copied(original, to: "\(work)/turn-\(assets)")
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let settings = ["accessLog=false", "cache.backgroundDerivatives=false", "cache.frameBytes=\(256 << 20)"]
    let daemon = try DaemonUnderTest(
      binary: photod, library: library.path, data: folder, settings: settings)
    let (port, _) = try LoadGenerator.parts(of: daemon.url)
    let client = HTTPClient(port: port)
    let byPath = try daemon.identifiersByPath()
    let result = try Self.fetchResult(client)
    let mode = "\"contentMode\": \"aspectFill\""
    let window = (
      path: "/v1/cachingManagers/default/window",
      members: "\"fetchResult\": \"\(result)\", \"margin\": \(margin), \"targetSize\": \"\(side)x\(side)\", \(mode)"
    )
    try daemon.waitUntilIdle()
    let setting = ScrollClient.Configuration(
      port: port, identifiers: library.names.compactMap { byPath[$0] },
      query: "targetSize=\(side)x\(side)&contentMode=aspectFill&deliveryMode=opportunistic",
      window: hasWindow ? window : nil)
    guard setting.identifiers.count == library.names.count else {
      throw BenchError(description: "some photographs are missing")
    }
    var outcome: ScrollClient.Outcome?
    let cpu = try daemon.cpuSeconds { outcome = ScrollClient(setting, trace).run() }
    guard let outcome else { throw BenchError(description: "a trace was not run") }
    _ = try client.perform(
      HTTPClient.request("/v1/cachingManagers/default/stopCachingAllImages", method: "POST", json: "{}"))
    let metrics = DaemonMetrics(client)
    let cancelled = metrics?["photod_preheat_cancelled_total"] ?? 0
    return Measurement(
      outcome: outcome, prepared: (metrics?["photod_preheat_prepared_total"] ?? 0) + cancelled,
      wasted: (metrics?["photod_preheat_wasted_total"] ?? 0) + cancelled, cpu: cpu)
  }

  /// Copies a data folder for one turn, so that no turn finds the results of another. Files of pictures are never
  /// changed in place, so they are hard-linked; databases are copied.
  private static func copied(_ original: String, to copy: String) throws -> String {
    try? FileManager.default.removeItem(atPath: copy)
    try Command(["cp", "-al", original, copy]).run()
    for name in try FileManager.default.subpathsOfDirectory(atPath: copy) where name.contains(".sqlite") {
      try FileManager.default.removeItem(atPath: "\(copy)/\(name)")
      try FileManager.default.copyItem(atPath: "\(original)/\(name)", toPath: "\(copy)/\(name)")
    }
    return copy
  }

  private static func fetchResult(_ client: HTTPClient) throws -> String {
    struct Shape: Decodable {
      let id: String
    }
    let body = #"{"sortDescriptors": "originalFilename"}"#
    let answer = try client.perform(
      HTTPClient.request("/v1/fetchResults", method: "POST", json: body), keepBytes: 4096)
    return try JSONDecoder().decode(Shape.self, from: Data(answer.kept)).id
  }
}
