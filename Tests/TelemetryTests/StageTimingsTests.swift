import Telemetry
import Testing

@Suite("Timings of stages")
struct StageTimingsTests {
  @Test("Server-Timing has each stage that took time, with its milliseconds and a description")
  func serverTiming() {
    var timings = StageTimings()
    #expect(timings.serverTiming.isEmpty)
    timings[.decode] = .microseconds(12_500)
    timings[.queue] = .milliseconds(1)
    #expect(
      timings.serverTiming
        == "queue;dur=1.000;desc=\"wait for a render worker\", decode;dur=12.500;desc=\"decode\"")
  }

  @Test("every description is a quoted string without escapes")
  func summaries() {
    for stage in Stage.allCases {
      let text = "\(stage.summary)"
      #expect(!text.isEmpty && text.utf8.allSatisfy { (0x20..<0x7F).contains($0) && $0 != 0x22 && $0 != 0x5C })
    }
  }
}
