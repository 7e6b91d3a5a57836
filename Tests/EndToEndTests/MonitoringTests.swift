import Foundation
import PhotoFixtures
import Testing

/// The metrics and the files for Prometheus and Grafana, read by Prometheus' own programs.
@Suite("Monitoring with Prometheus", .blocking)
struct MonitoringTests {
  private static let promtool = "/usr/bin/promtool"
  private static let hasPromtool = FileManager.default.isExecutableFile(atPath: promtool)
  /// Debian's Python, for which Debian packages the parser.
  private static let python = "/usr/bin/python3"
  private static let hasParser = (try? run(python, ["-c", "import prometheus_client"]).status) == 0

  private static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent()

  private static func run(
    _ program: String, _ arguments: [String], input: [UInt8] = []
  ) throws -> (status: Int32, output: String) {
    let (process, standardInput, output) = (Process(), Pipe(), Pipe())
    process.executableURL = URL(filePath: program)
    process.arguments = arguments
    process.standardInput = standardInput
    process.standardOutput = output
    process.standardError = output
    try process.run()
    DispatchQueue.global().async {
      try? standardInput.fileHandleForWriting.write(contentsOf: Data(input))
      try? standardInput.fileHandleForWriting.close()
    }
    let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    return (process.terminationStatus, text)
  }

  /// The metrics of a daemon that has rendered a picture.
  private static func metrics() throws -> TestDaemon.Response {
    let daemon = try TestDaemon { files in
      try files.put(JPEGFile { _ in }.encoded(Pixels.orientationCard(width: 64, height: 48)), "a.jpg")
    }
    let picture = try daemon.get("/v1/assets/\(try daemon.identifier("a.jpg"))/image?targetSize=30x30")
    #expect(picture.status == 200)
    return try daemon.get("/metrics")
  }

  @Test(
    "prometheus_client reads every metric with its type and its samples",
    .enabled(if: hasParser, "python3-prometheus-client is not installed"))
  func parser() throws {
    let metrics = try Self.metrics()
    let script = """
      import json, sys
      from prometheus_client.parser import text_string_to_metric_families
      families = list(text_string_to_metric_families(sys.stdin.read()))
      print(json.dumps({family.name: [family.type, len(family.samples), bool(family.documentation)]
        for family in families}))
      """
    let run = try Self.run(Self.python, ["-c", script], input: metrics.body)
    try #require(run.status == 0, "\(run.output)")
    let families = try #require(
      try JSONSerialization.jsonObject(with: Data(run.output.utf8)) as? [String: [Any]])
    let lines = String(decoding: metrics.body, as: UTF8.self).split(separator: "\n")
    let types = lines.filter { $0.hasPrefix("# TYPE ") }.map { $0.split(separator: " ") }
    #expect(families.count == types.count && families.count > 40)
    for type in types {
      // The parser names a counter without its suffix.
      let name = type[3] == "counter" ? String(type[2].dropLast("_total".count)) : String(type[2])
      let family = families[name]
      #expect(family?[0] as? String == String(type[3]) && family?[2] as? Bool == true, "\(name)")
    }
    let samples = families.values.reduce(0) { $0 + ($1[1] as? Int ?? 0) }
    #expect(samples == lines.count(where: { !$0.hasPrefix("#") }))
  }

  @Test("promtool accepts the metrics", .enabled(if: hasPromtool, "prometheus is not installed"))
  func exposition() throws {
    let run = try Self.run(Self.promtool, ["check", "metrics"], input: try Self.metrics().body)
    #expect(run.status == 0, "\(run.output)")
  }

  @Test(
    "promtool accepts the configuration with its alert rules, and every query of the dashboard",
    .enabled(if: hasPromtool, "prometheus is not installed"))
  func files() throws {
    let config = Self.root.appending(path: "config")
    let configuration = try Self.run(
      Self.promtool, ["check", "config", config.appending(path: "prometheus.yml").path])
    #expect(configuration.status == 0, "\(configuration.output)")
    let dashboard = try JSONSerialization.jsonObject(
      with: Data(contentsOf: config.appending(path: "photod.dashboard.json")))
    var queries: [String] = []
    func collect(_ value: Any) {
      if let object = value as? [String: Any] {
        if let query = object["expr"] as? String { queries.append(query) }
        object.values.forEach(collect)
      }
      (value as? [Any])?.forEach(collect)
    }
    collect(dashboard)
    #expect(queries.count > 10)
    // Grafana replaces its variables before Prometheus sees a query.
    let rules = queries.enumerated().map { index, query in
      let text = query.replacingOccurrences(of: "$__rate_interval", with: "1m")
        .replacingOccurrences(of: #"\$\{?\w+\}?"#, with: "x", options: .regularExpression)
      return ["record": "query:\(index)", "expr": text]
    }
    let path = FileManager.default.temporaryDirectory.path + "/photod-rules-\(UUID().uuidString).yml"
    defer { try? FileManager.default.removeItem(atPath: path) }
    // JSON is YAML, except for an escaped slash.
    let group: [String: Any] = ["name": "dashboard", "rules": rules]
    let object: [String: Any] = ["groups": [group]]
    try JSONSerialization.data(withJSONObject: object, options: .withoutEscapingSlashes).write(to: URL(filePath: path))
    let check = try Self.run(Self.promtool, ["check", "rules", path])
    #expect(check.status == 0, "\(check.output)")
  }
}
