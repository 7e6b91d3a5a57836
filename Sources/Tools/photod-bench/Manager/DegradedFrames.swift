import Foundation
import PhotoModel
import Synchronization

/// Degraded frames from an embedded picture: the cost of one, and its latency while all cores render.
///
/// `Cache-Control: no-cache` excludes stored derivatives. The cost is measured with `fastFormat`, whose only frame is
/// the degraded one. Under load the client closes the connection after the first frame of an opportunistic response,
/// like a client that scrolls on.
struct DegradedFrames {
  let workspace: BenchWorkspace
  let frames: Int

  private static let floodConnections = 4
  /// The time limit for a slow daemon.
  private static let secondsEach = 5.0

  func print() throws {
    let library = workspace.folder + "/degraded"
    try FileManager.default.createDirectory(atPath: library, withIntermediateDirectories: true)
    for photograph in DegradedPhotographs.all {
      try Data(photograph.bytes).write(to: URL(filePath: library + "/" + Self.file(photograph.name)))
    }
    let large = workspace.photographs.filter {
      $0.isJPEG && $0.storedSize.width * $0.storedSize.height > 8_000_000
    }
    for photograph in large {
      try TemporaryFolder.place(photograph.path, as: library + "/" + photograph.name)
    }
    let daemon = try DaemonUnderTest(
      binary: workspace.photod.binary, library: library, data: workspace.folder + "/degraded-data",
      settings: ["accessLog=false", "http.requestsPerConnection=1000000000"])
    try daemon.waitUntilIdle()
    let assets = try daemon.identifiersByPath()
    func image(_ file: String) throws -> String {
      guard let asset = assets[file] else { throw BenchError(description: "no asset \(file)") }
      return "\(daemon.url)/v1/assets/\(asset)/image"
    }
    let kinds = try DegradedPhotographs.all.map { ($0.name, try image(Self.file($0.name))) }
    Swift.print(
      "Degraded frames for 800x800 from embedded pictures, up to \(frames) of each kind, one at a time; then the same "
        + "while \(Self.floodConnections) connections request cold renders to 1600x1600\n")
    let table = Table(
      [
        "photograph", "from", "frame", "CPU us, one at a time", "8 at a time", "ms, idle p50", "p99",
        "ms under load p50", "p99",
        "opportunistic's first p50", "p99",
      ], labels: 3)
    let alone = try kinds.map { _, url -> (cpu: Double, together: Double, answers: [BenchResponse]) in
      let sender = try RequestSender(url + Self.fast, header: Self.noCache)
      _ = try sender.perform()
      var answers: [BenchResponse] = []
      let cpu = try daemon.cpuSeconds { answers = try Self.repeated(frames) { try sender.perform() } }
      let together = try daemon.cpuSeconds { try Self.together(url + Self.fast, frames) }
      return (cpu / Double(answers.count) * 1e6, together / Double(frames) * 1e6, answers)
    }
    let flood = try Flood(large.map { try image($0.name) + "?targetSize=1600x1600&format=jpeg" })
    var cpuShare = 0.0
    var rows: [[String]] = []
    let began = HTTPClient.now()
    cpuShare =
      try daemon.cpuSeconds {
        for (i, (name, url)) in kinds.enumerated() {
          let sender = try RequestSender(url + Self.fast, header: Self.noCache)
          let loaded = try Self.repeated(frames) { try sender.perform() }
          let first = try Self.repeated(frames) { try Self.firstFrame(url + Self.opportunistic) }
          let frame = alone[i].answers[0].frames[0]
          let size = frame.imageResult.matches(of: /(?:width|height)=(\d+)/).map { String($0.1) }
          rows.append(
            [name, frame.source, size.joined(separator: "x"), alone[i].cpu.text(0), alone[i].together.text(0)]
              + Self.times(alone[i].answers) + Self.times(loaded) + Self.times(first))
        }
      } / (HTTPClient.now() - began)
    // Also a frame in memory, which renders should not delay.
    let cached = try RequestSender(image(large[0].name) + "?targetSize=200x200&format=jpeg")
    _ = try cached.perform()
    let hits = try Self.repeated(frames) { try cached.perform() }
    let renders = flood.end()
    for row in rows { table.row(row) }
    Swift.print(
      "\nA cached frame under the same load: p50 \(Self.times(hits)[0]) ms, p99 \(Self.times(hits)[1]) ms. Cores that "
        + "the daemon kept busy: \(cpuShare.text(1)); cold renders done: \(renders)\n")
  }

  private static let noCache = "Cache-Control: no-cache\r\n"
  private static let fast = "?targetSize=800x800&format=jpeg&deliveryMode=fastFormat"
  private static let opportunistic = "?targetSize=800x800&format=jpeg&deliveryMode=opportunistic&multipart=mixed"

  private static func file(_ name: String) -> String { name.replacing("/", with: "-") + ".jpg" }

  private static func repeated(_ count: Int, _ perform: () throws -> BenchResponse) throws -> [BenchResponse] {
    var answers: [BenchResponse] = []
    let end = HTTPClient.now() + secondsEach
    while answers.count < count, answers.isEmpty || HTTPClient.now() < end { answers.append(try perform()) }
    return answers
  }

  /// Requests over eight connections at once; a browser opens six.
  private static func together(_ url: String, _ count: Int) throws {
    let workers = WorkerThreads(8) { i in
      let share = (count + i) / 8
      guard let sender = try? RequestSender(url, header: noCache) else { return false }
      return (0..<share).allSatisfy { _ in (try? sender.perform()) != nil }
    }
    guard workers.wait().allSatisfy({ $0 }) else { throw BenchError(description: "not every frame came: \(url)") }
  }

  /// The first frame of an opportunistic response, whose connection is then closed.
  private static func firstFrame(_ url: String) throws -> BenchResponse {
    let (port, target) = try LoadGenerator.parts(of: url)
    let client = HTTPClient(port: port)
    try client.send(HTTPClient.request(target, header: noCache))
    return try client.receive(frames: 1)
  }

  /// p50 and p99 of the first frames, in milliseconds.
  private static func times(_ answers: [BenchResponse]) -> [String] {
    let times = answers.compactMap { $0.frames.first.map { $0.seconds * 1000 } }
    return [times.percentile(50).text(), times.percentile(99).text()]
  }

  /// Cold renders until the flood is ended.
  private struct Flood: ~Copyable {
    private let stop = StopFlag()
    private let workers: WorkerThreads<Int>

    /// Returns when the first renders have finished, so that the load is steady.
    init(_ urls: [String]) throws {
      let parts = try urls.map { try LoadGenerator.parts(of: $0) }
      let isUnderWay = DispatchSemaphore(value: 0)
      workers = WorkerThreads(DegradedFrames.floodConnections) { [stop] i in
        let client = HTTPClient(port: parts[0].port)
        var done = 0
        while !stop.isRaised {
          let target = parts[(i + done * DegradedFrames.floodConnections) % parts.count].target
          if (try? client.perform(HTTPClient.request(target, header: DegradedFrames.noCache)))?.status != 200 {
            usleep(1000)
          }
          done += 1
          if done == 1 { isUnderWay.signal() }
        }
        return done
      }
      for _ in 0..<DegradedFrames.floodConnections { isUnderWay.wait() }
    }

    /// Ends the flood. Returns the number of renders.
    consuming func end() -> Int {
      stop.raise()
      return workers.wait().reduce(0, +)
    }
  }
}
