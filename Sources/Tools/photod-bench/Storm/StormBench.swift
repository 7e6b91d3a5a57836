// All kinds of load at once, for minutes. Checks that resident memory stays below its ceiling and shrinks afterwards,
// and that frames in memory still come at once.
//
// It also checks that allocated memory, without cached frames and memory of renders, does not grow: more than
// `--max-slope` MiB a minute ends the benchmark with an error, however far from the ceiling it is.
//
// The ceiling is memoryBudgetBytes + cache.frameBytes + a fixed part, which the daemon needs without any picture. The
// peak is the kernel's (VmHWM), so no peak between two samples is missed.

import ArgumentParser
import Foundation
import PhotoModel

#if canImport(Glibc)
  import Glibc
#endif

struct StormBench: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "storm",
    abstract: "Resident memory and the latency of a cached frame under all kinds of load at once.")

  @Option(help: "The daemon's binary.")
  var photod = ".build/release/photod"

  @Option(help: "A folder of JPEGs and PNGs. Default: a generated set, kept between runs.")
  var photos: String?

  @Option(help: "Minutes.")
  var minutes = 10.0

  @Option(help: "Connections; half of them behave like a gallery.")
  var connections = 64

  @Option(help: "memoryBudgetBytes in MiB; 0 for the daemon's default.")
  var memoryBudget = 0

  @Option(help: "cache.frameBytes in MiB.")
  var frameCache = 128

  @Option(help: "Memory that the daemon may use besides budget and frames, in MiB.")
  var fixedPart = 96

  @Option(
    help: "Allowed growth of allocated memory in MiB per minute, from the second minute on; needs five minutes."
  )
  var maxSlope = 0.5

  @Option(help: "Seconds after the end until memory is measured again.")
  var settleSeconds = 60

  @Option(help: "Additional settings of the daemon, as KEY=VALUE. Repeatable.")
  var set: [String] = []

  func run() throws {
    let photographs = try PictureOptions.folder(photos)
    try TemporaryFolder.with { try measure(StormLibrary(photographs: photographs, in: $0 + "/library"), in: $0) }
  }

  private func measure(_ library: StormLibrary, in folder: String) throws {
    let daemon = try DaemonUnderTest(
      binary: photod, library: folder + "/library", data: folder + "/data",
      settings: [
        "accessLog=false", "memoryBudgetBytes=\(memoryBudget << 20)", "cache.frameBytes=\(frameCache << 20)",
      ] + set)
    try daemon.waitUntilIdle()
    let (context, outcomes) = try context(daemon, library)
    let probe = context.ordinary[0] + "?targetSize=200x200&contentMode=aspectFill&format=jpeg"
    let idle = try ProcessUsage.residentBytes(of: daemon.identifier)
    let descriptors = try ProcessUsage.descriptors(of: daemon.identifier)
    try ProcessUsage.resetPeak(of: daemon.identifier)
    _ = try RequestSender.perform([daemon.url + probe])
    let watch = StormMonitor(process: daemon.identifier, port: context.port, path: probe)
    usleep(3_000_000)
    let calm = watch.take()
    printTitle(idle: idle, context)

    var hits: [Double] = []
    var others: [String: Int] = [:]
    var allocated: [Double] = []
    let roles = roles()
    let storm = WorkerThreads(roles.count) { StormClient(behavior: roles[$0], number: $0, context: context).run() }
    let table = Table(
      [
        "minute", "RSS MiB", "memory in use", "frame cache", "other allocated", "cached frame p50 ms", "p99", "slowest",
        "daemon's cores",
      ], labels: 0)
    table.row(["calm"] + cells(calm) + ["–"])
    let whole = Int(minutes.rounded(.up))
    for minute in 1...max(whole, 1) {
      let seconds = min(60, minutes * 60 - Double(minute - 1) * 60)
      let cpu = try daemon.cpuSeconds { usleep(UInt32(seconds * 1e6)) }
      let observations = watch.take()
      hits += observations.hits
      if let bytes = observations.otherAllocatedBytes { allocated.append(bytes.mebibytes) }
      others.merge(observations.otherSources, uniquingKeysWith: +)
      table.row(["\(minute)"] + cells(observations) + [(cpu / seconds).text(1)])
    }
    context.stop.raise()
    _ = storm.wait()
    let peak = try ProcessUsage.peakBytes(of: daemon.identifier)
    sleep(UInt32(settleSeconds))
    let after = watch.take()
    watch.end()
    let metrics = DaemonMetrics(HTTPClient(port: context.port))
    let settled = try ProcessUsage.residentBytes(of: daemon.identifier)
    printMemory(idle: idle, peak: peak, settled: settled, metrics)
    print(
      "A cached frame: \(hits.count) hits, p50 \(hits.percentile(50).text()) ms, p99 \(hits.percentile(99).text()), p99.9 "
        + "\(hits.percentile(99.9).text()), slowest \(hits.max().text()); calm before p99 "
        + "\(calm.hits.percentile(99).text()), calm after \(after.hits.percentile(99).text())"
        + (others.isEmpty ? "" : "; otherwise: \(others.map { "\($0.value) \($0.key)" }.joined(separator: ", "))"))
    let open = try ProcessUsage.descriptors(of: daemon.identifier)
    print("Descriptors: \(descriptors) before, \(open) a while after\n")
    let endings = Table(["clients; pictures that need care", "answers"], labels: 2)
    for (kind, list) in outcomes.list {
      endings.row([kind, list.map { "\($0.1) × \($0.0)" }.joined(separator: ", ")])
    }
    try check(allocated)
  }

  /// Fails if memory grows steadily: if the slope of the best straight line, less twice its standard error, is above
  /// the limit. A large render in one minute is no trend.
  private func check(_ allocated: [Double]) throws {
    let steady = Array(allocated.dropFirst())
    guard steady.count >= 4 else { return }
    let (slope, standardError) = Self.slope(steady)
    print(
      "\nAllocated beside frames and renders: \(slope.text(2)) ± \(standardError.text(2)) MiB a minute over "
        + "\(steady.count) minutes")
    if slope - 2 * standardError > maxSlope {
      throw BenchError(description: "memory grows by \(slope.text(2)) MiB a minute: a leak")
    }
  }

  /// The slope of the best straight line, by least squares, and its standard error.
  private static func slope(_ values: [Double]) -> (slope: Double, standardError: Double) {
    let meanX = Double(values.count - 1) / 2
    let meanY = values.reduce(0, +) / Double(values.count)
    var (product, square) = (0.0, 0.0)
    for (x, y) in values.enumerated() {
      product += (Double(x) - meanX) * (y - meanY)
      square += (Double(x) - meanX) * (Double(x) - meanX)
    }
    let slope = product / square
    let residual = values.enumerated().reduce(0) { sum, value in
      let error = value.element - meanY - slope * (Double(value.offset) - meanX)
      return sum + error * error
    }
    return (slope, (residual / Double(values.count - 2) / square).squareRoot())
  }

  // MARK: - Clients

  private func context(_ daemon: DaemonUnderTest, _ library: StormLibrary) throws -> (
    StormClient.Context, StormOutcomes
  ) {
    let assets = try daemon.identifiersByPath()
    func paths(_ names: [String]) -> [String] {
      names.compactMap { assets[$0] }.map { "/v1/assets/\($0)/image" }
    }
    let (port, _) = try LoadGenerator.parts(of: daemon.url)
    let ordinary = paths(library.ordinary)
    let giants = paths(library.giants)
    guard !ordinary.isEmpty, !giants.isEmpty else { throw BenchError(description: "the scan missed photographs") }
    // Tests whether the daemon knows the parameter.
    let named = try HTTPClient(port: port).perform(
      HTTPClient.request(ordinary[0] + "?targetSize=64x64&requestID=storm"))
    let outcomes = StormOutcomes()
    let context = StormClient.Context(
      port: port, ordinary: ordinary, giants: giants,
      giantNames: Dictionary(uniqueKeysWithValues: zip(giants, library.giants)), canCancel: named.status == 200,
      outcomes: outcomes,
      stop: StopFlag())
    return (context, outcomes)
  }

  /// The behaviour of each client, by the behaviours' shares in 64.
  private func roles() -> [StormClient.Behavior] {
    let all = StormClient.Behavior.allCases.flatMap { [StormClient.Behavior](repeating: $0, count: $0.share) }
    return (0..<connections).map { all[$0 * all.count / connections % all.count] }
  }

  // MARK: - Output

  private func printTitle(idle: Int, _ context: StormClient.Context) {
    print(
      "\(connections) connections for \(minutes.text(1)) minutes; idle before: \(idle.mebibytes.text(1)) MiB resident"
        + (context.canCancel ? "" : "; requests can't be withdrawn by name, so those who would leave instead") + "\n")
  }

  private func cells(_ observations: StormMonitor.Observations) -> [String] {
    [
      observations.residentBytes.mebibytes.text(1), (observations.memoryInUseBytes?.mebibytes).text(1),
      (observations.frameCacheBytes?.mebibytes).text(1), (observations.otherAllocatedBytes?.mebibytes).text(1),
      observations.hits.percentile(50).text(), observations.hits.percentile(99).text(),
      observations.hits.max().text(),
    ]
  }

  private func printMemory(idle: Int, peak: Int, settled: Int, _ metrics: DaemonMetrics?) {
    // The daemon's default: see config/photod.json.
    let standard = min(512 << 20, Int(clamping: ProcessInfo.processInfo.physicalMemory / 4))
    let budget = metrics?.memoryBudgetBytes ?? (memoryBudget > 0 ? memoryBudget << 20 : standard)
    let ceiling = budget + (frameCache + fixedPart) << 20
    print(
      "\nResident: peak \(peak.mebibytes.text(1)) MiB; ceiling \(ceiling.mebibytes.text(0)) = budget "
        + "\(budget.mebibytes.text(0)) + frames \(frameCache) + fixed \(fixedPart): "
        + (peak <= ceiling ? "held" : "EXCEEDED"))
    guard let cached = metrics?.frameCacheBytes else {
      print(
        "\(settleSeconds) s after: \(settled.mebibytes.text(1)) MiB, idle was \(idle.mebibytes.text(1)); the "
          + "daemon does not report the size of its frame cache")
      return
    }
    let expected = idle + cached
    let share = Double(settled) / Double(expected)
    print(
      "\(settleSeconds) s after: \(settled.mebibytes.text(1)) MiB; idle \(idle.mebibytes.text(1)) + cached frames "
        + "\(cached.mebibytes.text(1)) = \(expected.mebibytes.text(1)); \(share.text()) of it: "
        + (share <= 1.2 ? "within 20%" : "MORE than 20% above"))
  }
}
