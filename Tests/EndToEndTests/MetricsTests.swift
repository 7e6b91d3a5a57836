import Foundation
import PhotoFixtures
import Testing

#if canImport(Glibc)
  import Glibc
#endif

@Suite("Metrics over real sockets", .blocking)
struct MetricsTests {
  private static func daemon(_ arguments: [String] = []) throws -> TestDaemon {
    try TestDaemon(
      { files in try files.put(JPEGFile { _ in }.encoded(Pixels.orientationCard(width: 64, height: 48)), "a.jpg") },
      arguments: arguments)
  }

  /// One daemon for the tests that don't compare values.
  private static let shared: TestDaemon = {
    do { return try daemon() } catch { fatalError("no daemon: \(error)") }
  }()

  @Test("responses, bytes and connections are counted exactly")
  func counts() throws {
    let daemon = try Self.daemon()
    let image = "/v1/assets/\(try daemon.identifier("a.jpg"))/image?targetSize=30x30"
    let first = try daemon.get("/metrics")
    let before = try Exposition(first)
    var answers = [first]
    for _ in 0..<3 { answers.append(try daemon.get(image)) }
    let tag = try #require(answers[1]["ETag"])
    answers.append(try daemon.get(image, ["If-None-Match: \(tag)"]))
    answers.append(try daemon.get("/nothing"))
    answers.append(try daemon.get("/metrics", method: "HEAD"))
    answers.append(try TestDaemon.parsed(try daemon.send("nonsense\r\n\r\n")))
    let after = try Exposition(try daemon.get("/metrics"))
    func change(_ series: String) throws -> Double {
      try #require(after[series], "\(series)") - #require(before[series], "\(series)")
    }
    #expect(try change("photod_http_requests_total{status=\"2xx\"}") == 5)
    #expect(try change("photod_http_requests_total{status=\"304\"}") == 1)
    #expect(try change("photod_http_requests_total{status=\"3xx\"}") == 0)
    #expect(try change("photod_http_requests_total{status=\"4xx\"}") == 2)
    #expect(try change("photod_http_requests_total{status=\"5xx\"}") == 0)
    #expect(try change("photod_http_prepared_responses_total") == 3, "two whole, one 304")
    #expect(try change("photod_http_sent_bytes_total") == Double(answers.reduce(0) { $0 + $1.raw.count }))
    #expect(after["photod_http_request_buffer_bytes"] == 0)
    #expect(after["photod_http_request_buffer_capacity_bytes"] == Double(32 << 20))
    #expect(after["photod_http_response_buffer_bytes"] == 0)
    #expect(after["photod_http_response_buffer_capacity_bytes"] == Double(16 << 20))
    #expect(before["photod_frame_cache_bytes"] == 0)
    #expect(try change("photod_frame_cache_bytes") >= Double(answers[1].body.count))
    #expect(after["photod_frame_cache_capacity_bytes"] == Double(128 << 20))
    // A worker releases its memory a moment after its response.
    try daemon.until("no memory is in use") {
      try Exposition(try daemon.get("/metrics"))["photod_memory_in_use_bytes"] == 0
    }
    #expect((after["photod_memory_budget_bytes"] ?? 0) > 0x1p20)
  }

  @Test("process metrics have the standard names of Prometheus")
  func process() throws {
    let daemon = try Self.daemon(["--set", "memoryBudgetBytes=123456789", "--set", "render.queueLength=77"])
    let first = try Exposition(try daemon.get("/metrics"))
    #expect(first["photod_memory_budget_bytes"] == 123_456_789)
    #expect(first["photod_render_waiting_jobs_limit"] == 77)
    #expect(first.samples.keys.contains { $0.hasPrefix("photod_build_info{version=\"") })
    let now = Date().timeIntervalSince1970
    let started = try #require(first["process_start_time_seconds"])
    #expect(started > now - 3600 && started < now + 2)
    #expect((first["process_resident_memory_bytes"] ?? 0) > 0x1p20)
    let cpu = try #require(first["process_cpu_seconds_total"])
    #expect(cpu > 0)
    let descriptors = try #require(first["process_open_fds"])
    #expect((first["process_max_fds"] ?? 0) > descriptors)
    let held = try (0..<50).map { _ in try daemon.connection() }
    defer { for descriptor in held { close(descriptor) } }
    let second = try Exposition(try daemon.get("/metrics"))
    // SQLite and a scan may open and close a few meanwhile.
    #expect(abs((second["process_open_fds"] ?? 0) - descriptors - 50) < 20)
    #expect(second["photod_http_connections"] == 51, "these, and the one of this request")
    #expect((second["process_cpu_seconds_total"] ?? 0) > cpu)
  }

  @Test("a daemon that starts while another process has its disk cache opens it when that has ended")
  func diskCacheInUse() throws {
    let folders = try TestDaemon.Folders()
    try FileManager.default.createDirectory(atPath: folders.data + "/cache", withIntermediateDirectories: true)
    let lock = open(folders.data + "/cache/lock", O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
    try #require(lock >= 0 && flock(lock, LOCK_EX | LOCK_NB) == 0)
    let daemon = try TestDaemon(serving: folders)
    let first = try Exposition(try daemon.get("/metrics"))["photod_disk_cache_unavailable"]
    close(lock)
    #expect(first == 1)
    try daemon.until("the disk cache is open") {
      try Exposition(try daemon.get("/metrics"))["photod_disk_cache_unavailable"] == 0
    }
  }

  @Test("the metrics are well-formed and in a stable order")
  func form() throws {
    let daemon = try Self.daemon()
    let answer = try daemon.get("/metrics")
    #expect(answer.status == 200 && answer["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8")
    #expect(answer["Cache-Control"] == "no-store")
    let first = try Exposition(answer)
    let second = try Exposition(try daemon.get("/metrics"))
    #expect(first.order == second.order && first.names == first.names.sorted())
    #expect(try daemon.get("/metrics", method: "HEAD").body.isEmpty)
  }

  @Test("the series are the same without a disk cache, whose values are 0 then, and without a watch")
  func sameSeries() throws {
    let daemon = try Self.daemon(["--set", "cache.diskBytes=0", "--set", "watch.enabled=false"])
    let metrics = try Exposition(try daemon.get("/metrics"))
    #expect(try metrics.order == Exposition(try Self.shared.get("/metrics")).order)
    let ofDiskCache = metrics.samples.filter { $0.key.hasPrefix("photod_disk_cache_") }
    #expect(!ofDiskCache.isEmpty && ofDiskCache.values.allSatisfy { $0 == 0 }, "\(ofDiskCache)")
  }

  private static func guide(_ name: String) throws -> String {
    let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent()
    return try String(contentsOf: root.appending(path: "Sources/photod/photod.docc/\(name).md"), encoding: .utf8)
  }

  @Test("HTTP.md lists every metric and no others")
  func documentation() throws {
    let page = try Self.guide("HTTP")
    let rows = page.split(separator: "\n").filter { $0.hasPrefix("| `photod_") || $0.hasPrefix("| `process_") }
    let told = rows.flatMap { row in
      row.split(separator: "|")[0].matches(of: #/`(\w+)(?:\{[\w, ]*\})?`/#).map { String($0.1) }
    }
    let names = try Exposition(try Self.shared.get("/metrics")).names
    #expect(Set(told) == Set(names) && told.count == names.count)
  }

  @Test("HTTP.md and the pages linked in its table name every value of a label")
  func labels() throws {
    let pages = try ["HTTP", "Decoders", "SharedDerivatives"].map { try Self.guide($0) }.joined(separator: "\n")
    let named = Set(pages.matches(of: #/`([a-z0-9_-]+)`/#).map { String($0.output.1) })
    for series in try Exposition(try Self.shared.get("/metrics")).order {
      for label in series.matches(of: #/(\w+)="([^"]*)"/#) where !["le", "version"].contains(String(label.output.1)) {
        #expect(named.contains(String(label.output.2)), "\(series)")
      }
    }
  }

  @Test("metrics are for local callers and administrators only, also if anonymous callers are allowed")
  func access() throws {
    let refused = try Self.shared.get("/metrics", ["X-Forwarded-For: 10.0.0.1"])
    #expect(refused.status == 403 && refused.json["type"] as? String == "/problems/forbidden")
    #expect(!String(decoding: refused.body, as: UTF8.self).contains("process_"))
    let open = try Self.daemon(["--allow-anonymous"])
    #expect(try open.get("/metrics", ["X-Forwarded-For: 10.0.0.1"]).status == 403)
    #expect(try open.get("/metrics").status == 200)
  }

  @Test("with a trusted proxy, a 403 to a request from this machine names the setting")
  func trustedProxies() throws {
    let daemon = try Self.daemon(["--set", "trustedProxies=10.0.0.0/8"])
    for (method, target, body) in [
      ("GET", "/metrics", nil), ("POST", "/v1/signedURLs", #"{"path": "/v1/assets/none/image"}"#),
    ] as [(String, String, String?)] {
      let refused = try daemon.ask(method, target, body: body)
      #expect(refused.status == 403, "\(target)")
      let detail = refused.json["detail"] as? String ?? ""
      #expect(detail.contains("while the setting trustedProxies is empty"), "\(target): \(detail)")
    }
  }

  /// Prometheus' text format, read strictly by the rules of its page.
  private struct Exposition {
    /// Values by series, as they are written.
    var samples: [String: Double] = [:]
    /// Metrics in their order.
    var names: [String] = []
    /// Series in their order.
    var order: [String] = []

    subscript(series: String) -> Double? { samples[series] }

    init(_ answer: TestDaemon.Response) throws {
      let text = String(decoding: answer.body, as: UTF8.self)
      try #require(text.hasSuffix("\n") && !text.contains("\n\n"), "every line ends with a line feed, none is empty")
      let sample = #/(?<name>[a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(?<labels>.*)\})? (?<value>\S+)/#
      let label = #/(?<name>[a-zA-Z_][a-zA-Z0-9_]*)="(?<value>(?:[^"\\\n]|\\["\\n])*)"/#
      var kind = ""
      var helped = ""
      var buckets: [String: [(bound: Double, count: Double)]] = [:]
      for line in text.split(separator: "\n") {
        let words = line.split(separator: " ", maxSplits: 3, omittingEmptySubsequences: false)
        if line.hasPrefix("# HELP ") {
          helped = String(words[2])
          try #require(words[3].firstMatch(of: #/\\(?![\\n])/#) == nil, "\(line)")
          continue
        }
        if line.hasPrefix("# TYPE ") {
          try #require(words[2] == helped && words[3].contains(#/^(counter|gauge|histogram)$/#), "\(line)")
          kind = String(words[3])
          try #require(!names.contains(helped), "one group a metric")
          names.append(helped)
          continue
        }
        let match = try #require(try sample.wholeMatch(in: line), "\(line)")
        let value = try #require(Double(match.value.replacing("Inf", with: "inf")), "\(line)")
        var labels: [(String, String)] = []
        if let text = match.labels {
          let found = text.matches(of: label)
          try #require(found.map { String($0.0) }.joined(separator: ",") == text, "\(line)")
          labels = found.map { (String($0.name), String($0.value)) }
        }
        try #require(Set(labels.map(\.0)).count == labels.count, "\(line)")
        let name = try #require(names.last)
        switch kind {
        case "histogram":
          try #require(["_bucket", "_sum", "_count"].contains { name + $0 == match.name }, "\(line)")
          let others = labels.filter { $0.0 != "le" }.map { "\($0.0)=\($0.1)" }.joined(separator: ",")
          if match.name.hasSuffix("_bucket") {
            let bound = try #require(labels.first { $0.0 == "le" }?.1, "\(line)")
            buckets[name + others, default: []].append(
              (try #require(Double(bound.replacing("Inf", with: "inf"))), value))
          } else if match.name.hasSuffix("_count") {
            let all = try #require(buckets[name + others])
            try #require(all.last?.bound == .infinity && all.last?.count == value, "\(line)")
            try #require(zip(all, all.dropFirst()).allSatisfy { $0.bound < $1.bound && $0.count <= $1.count })
          }
        case "counter": try #require(name == match.name && name.hasSuffix("_total") && value >= 0, "\(line)")
        default: try #require(name == match.name, "\(line)")
        }
        let series = String(line[..<match.value.startIndex].dropLast())
        try #require(samples.updateValue(value, forKey: series) == nil, "\(line) is there twice")
        order.append(series)
      }
    }
  }
}
