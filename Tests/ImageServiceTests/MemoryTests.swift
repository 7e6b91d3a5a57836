import Foundation
import Testing

/// Memory of the image manager, counted by the allocator in a process of its own, because other tests allocate too.
@Suite("Memory")
struct MemoryTests {
  @Test("a storm of requests allocates no more than the budget, the cache and a fixed part")
  func storm() throws {
    let process = Process()
    process.executableURL = URL(filePath: CommandLine.arguments[0]).resolvingSymlinksInPath()
      .deletingLastPathComponent().appending(path: "image-storm")
    let output = Pipe()
    process.standardOutput = output
    try process.run()
    let text = output.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    #expect(process.terminationStatus == 0)
    let numbers = try JSONDecoder().decode([String: Int].self, from: text)
    let peak = try #require(numbers["peakBytes"])
    let allowed = try #require(numbers["allowedBytes"])
    #expect(peak <= allowed, "\(numbers)")
    // Otherwise it was no storm.
    #expect(peak > allowed / 5, "\(numbers)")
    #expect(try #require(numbers["highestReserved"]) <= #require(numbers["budget"]))
    #expect((numbers["final"] ?? 0) > 100 && (numbers["cancelled"] ?? 0) > 10 && numbers["failed"] == nil, "\(numbers)")
  }
}
