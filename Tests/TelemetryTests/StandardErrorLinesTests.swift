import Foundation
import Testing

@testable import Telemetry

#if canImport(Glibc)
  import Glibc
#endif

@Suite("Lines on standard error")
struct StandardErrorLinesTests {
  @Test("a full pipe does not block the thread that logs; dropped lines are counted when it is read again")
  func stalled() throws {
    var ends: [Int32] = [0, 0]
    try #require(pipe(&ends) == 0)
    defer { for end in ends { close(end) } }
    let lines = StandardErrorLines(descriptor: ends[1])
    let line = Array((String(repeating: "x", count: 1023) + "\n").utf8)
    // More than a pipe holds: a blocking write would never return.
    for _ in 0..<200 { lines.write(line, .logfmt) }
    var buffer = [UInt8](repeating: 0, count: 1 << 20)
    let count = read(ends[0], &buffer, buffer.count)
    let written = count / line.count
    #expect(written > 0 && written < 200 && count % line.count == 0, "whole lines: \(count)")
    lines.write(Array("next\n".utf8), .logfmt)
    let more = read(ends[0], &buffer, buffer.count)
    let text = String(decoding: buffer.prefix(max(0, more)), as: UTF8.self)
    #expect(text.contains("lines dropped") && text.contains("count=\(200 - written)\n") && text.hasSuffix("\nnext\n"))
  }
}
