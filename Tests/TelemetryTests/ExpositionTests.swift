import CoreMetrics
import Dispatch
import Telemetry
import Testing

@Suite("Metrics exposition")
struct ExpositionTests {
  struct Row: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let fill: @Sendable (MetricsRegistry) -> Void
    let text: String

    init(_ description: String, _ text: String, _ fill: @escaping @Sendable (MetricsRegistry) -> Void) {
      testDescription = description
      self.fill = fill
      self.text = text
    }
  }

  static let rows = [
    Row("an empty registry", "") { _ in },
    Row(
      "counters, before and after the first increment",
      """
      # HELP a_total How many.
      # TYPE a_total counter
      a_total 5
      # HELP b_total None.
      # TYPE b_total counter
      b_total 0

      """
    ) { registry in
      let counter = registry.counter("a_total", "How many.")
      _ = registry.counter("b_total", "None.")
      counter.increment()
      counter.increment(by: 4)
    },
    Row(
      "names and labels are sorted, in any order of registration",
      """
      # HELP a_total A.
      # TYPE a_total counter
      a_total{kind="x",source="z"} 0
      a_total{kind="y",source="z"} 1
      # HELP b B.
      # TYPE b gauge
      b 2

      """
    ) { registry in
      registry.gauge("b", "B.") { 2 }
      registry.counter("a_total", "A.", ["source": "z", "kind": "y"]).increment()
      _ = registry.counter("a_total", "A.", ["kind": "x", "source": "z"])
    },
    Row(
      "escaping of help texts and labels",
      #"""
      # HELP a A "quoted" \\ and a line\nend é.
      # TYPE a gauge
      a{b="\"quoted\" \\ and a line\nend é"} 1

      """#
    ) { registry in
      registry.gauge("a", "A \"quoted\" \\ and a line\nend é.", ["b": "\"quoted\" \\ and a line\nend é"]) { 1 }
    },
    Row(
      "formats of numbers",
      """
      # HELP a A.
      # TYPE a gauge
      a{b="0"} 0
      a{b="1"} -1.5
      a{b="2"} +Inf
      a{b="3"} -Inf
      a{b="4"} NaN
      a{b="5"} 9007199254740991
      a{b="6"} 1e+300
      a{b="7"} 1e-09

      """
    ) { registry in
      let values: [Double] = [-0.0, -1.5, .infinity, -.infinity, .nan, 9_007_199_254_740_991, 1e300, 1e-9]
      for (i, value) in values.enumerated() { registry.gauge("a", "A.", ["b": "\(i)"]) { value } }
    },
    Row(
      "a gauge without a value is left out, and so is a metric without samples",
      """
      # HELP b B.
      # TYPE b gauge
      b{c="2"} 1

      """
    ) { registry in
      registry.gauge("a", "A.") { nil }
      registry.gauge("b", "B.", ["c": "1"]) { nil }
      registry.gauge("b", "B.", ["c": "2"]) { 1 }
    },
    Row(
      "a histogram: bounds are inclusive, buckets are cumulative, and the last one is the count",
      """
      # HELP a_seconds A.
      # TYPE a_seconds histogram
      a_seconds_bucket{stage="x",le="0.001"} 2
      a_seconds_bucket{stage="x",le="0.5"} 3
      a_seconds_bucket{stage="x",le="10"} 3
      a_seconds_bucket{stage="x",le="+Inf"} 4
      a_seconds_sum{stage="x"} 20.501
      a_seconds_count{stage="x"} 4
      a_seconds_bucket{stage="y",le="0.001"} 0
      a_seconds_bucket{stage="y",le="0.5"} 0
      a_seconds_bucket{stage="y",le="10"} 0
      a_seconds_bucket{stage="y",le="+Inf"} 0
      a_seconds_sum{stage="y"} 0
      a_seconds_count{stage="y"} 0

      """
    ) { registry in
      let x = registry.timer("a_seconds", "A.", ["stage": "x"], bounds: [0.001, 0.5, 10])
      _ = registry.timer("a_seconds", "A.", ["stage": "y"], bounds: [0.001, 0.5, 10])
      for nanoseconds in [1_000_000, 0, 500_000_000, 20_000_000_000] as [Int64] { x.recordNanoseconds(nanoseconds) }
    },
    Row(
      "metrics of libraries by swift-metrics, with invalid names replaced",
      """
      # TYPE _5_things counter
      _5_things 2.5
      # TYPE pool_size gauge
      pool_size{le_="x",pool_name="main"} 3
      # TYPE spread histogram
      spread_bucket{le="0.0001"} 0
      spread_bucket{le="0.00025"} 0
      spread_bucket{le="0.0005"} 0
      spread_bucket{le="0.001"} 0
      spread_bucket{le="0.0025"} 0
      spread_bucket{le="0.005"} 0
      spread_bucket{le="0.01"} 0
      spread_bucket{le="0.025"} 0
      spread_bucket{le="0.05"} 0
      spread_bucket{le="0.1"} 0
      spread_bucket{le="0.25"} 0
      spread_bucket{le="0.5"} 0
      spread_bucket{le="1"} 0
      spread_bucket{le="2.5"} 1
      spread_bucket{le="5"} 1
      spread_bucket{le="10"} 1
      spread_bucket{le="30"} 1
      spread_bucket{le="+Inf"} 2
      spread_sum 42
      spread_count 2
      # TYPE temperature gauge
      temperature 21.5

      """
    ) { registry in
      let things = FloatingPointCounter(label: "5.things", factory: registry)
      things.increment(by: 2.5)
      let pool = Meter(label: "pool.size", dimensions: [("pool:name", "main"), ("le", "x")], factory: registry)
      pool.set(4)
      pool.decrement(by: 1)
      let spread = Recorder(label: "spread", factory: registry)
      spread.record(2)
      spread.record(40)
      Gauge(label: "temperature", factory: registry).record(21.5)
      // A name belongs to one metric, so this counter is ignored.
      Counter(label: "temperature", factory: registry).increment()
    },
  ]

  @Test("each registry is written as exactly this text", arguments: rows)
  func text(_ row: Row) {
    let registry = MetricsRegistry()
    row.fill(registry)
    #expect(String(decoding: registry.exposition(), as: UTF8.self) == row.text)
  }

  @Test("at the limit of series new series are dropped, and existing ones still count")
  func limit() {
    let registry = MetricsRegistry(maximumSeries: 2)
    for i in 0..<5 {
      for _ in 0..<2 { Counter(label: "a", dimensions: [("i", "\(i)")], factory: registry).increment() }
    }
    let text = String(decoding: registry.exposition(), as: UTF8.self)
    #expect(text == "# TYPE a counter\na{i=\"0\"} 2\na{i=\"1\"} 2\n")
  }

  @Test("no count is lost when several threads count, also while the text is written")
  func together() {
    let registry = MetricsRegistry()
    let counter = registry.counter("a_total", "A.")
    let timer = registry.timer("b_seconds", "B.", bounds: [1])
    DispatchQueue.concurrentPerform(iterations: 8) { i in
      for _ in 0..<2000 {
        counter.increment()
        timer.recordNanoseconds(500_000_000)
        timer.recordNanoseconds(1_500_000_000)
      }
      _ = registry.exposition()
    }
    #expect(
      String(decoding: registry.exposition(), as: UTF8.self) == """
        # HELP a_total A.
        # TYPE a_total counter
        a_total 16000
        # HELP b_seconds B.
        # TYPE b_seconds histogram
        b_seconds_bucket{le="1"} 16000
        b_seconds_bucket{le="+Inf"} 32000
        b_seconds_sum 32000
        b_seconds_count 32000

        """)
  }

  @Test("all metrics of the image manager exist from the start with 0, and each event increments its own")
  func images() {
    let registry = MetricsRegistry()
    let metrics = ImageMetrics(registry)
    func samples() -> [Substring: Substring] {
      let lines = String(decoding: registry.exposition(), as: UTF8.self).split(separator: "\n")
      let pairs = lines.filter { !$0.hasPrefix("#") }.map { $0.split(separator: " ") }
      return Dictionary(uniqueKeysWithValues: pairs.map { ($0[0], $0[1]) })
    }
    let before = samples()
    #expect(before.values.allSatisfy { $0 == "0" })
    #expect(before.keys.filter { $0.hasPrefix("photod_image_frames_total") }.count == 14)
    #expect(before.keys.filter { $0.hasPrefix("photod_image_stage_seconds_count") }.count == 6)
    var timings = StageTimings()
    timings[.decode] = .milliseconds(3)
    timings[.encode] = .seconds(100)
    metrics.frameDelivered(.derivative, .degraded, timings: timings)
    metrics.taskFailed(.imageTooLarge)
    metrics.taskCancelled()
    metrics.jobBegan()
    metrics.taskCoalesced()
    metrics.decodeShared(frames: 2)
    metrics.earlyRenderEnded(.finished)
    let changed = samples().filter { before[$0.key] != $0.value && !$0.key.contains("_bucket") }
    #expect(
      changed == [
        "photod_image_frames_total{kind=\"degraded\",source=\"derivative\"}": "1",
        "photod_image_stage_seconds_sum{stage=\"decode\"}": "0.003",
        "photod_image_stage_seconds_count{stage=\"decode\"}": "1",
        "photod_image_stage_seconds_sum{stage=\"encode\"}": "100",
        "photod_image_stage_seconds_count{stage=\"encode\"}": "1",
        "photod_image_failures_total{reason=\"image-too-large\"}": "1", "photod_image_cancelled_tasks_total": "1",
        "photod_image_jobs_total": "1", "photod_image_coalesced_tasks_total": "1",
        "photod_image_shared_decodes_total": "2", "photod_image_early_renders_total{result=\"finished\"}": "1",
      ])
  }
}
