import Dispatch
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

  @Test("the lines of both writers stay whole in a pipe that is always full", arguments: [true, false])
  func whole(isBlocking: Bool) throws {
    var ends: [Int32] = [0, 0]
    try #require(pipe(&ends) == 0)
    let (input, output) = (ends[0], ends[1])
    defer { close(input) }
    if !isBlocking { try #require(fcntl(output, F_SETFL, fcntl(output, F_GETFL) | O_NONBLOCK) == 0) }
    let lines = StandardErrorLines(descriptor: output)
    let access = String(repeating: "a", count: 299)
    let event = String(repeating: "e", count: 199)
    let writers = DispatchGroup()
    DispatchQueue(label: "test.access").async(group: writers) {
      lines.writeBlocking(Array(String(repeating: access + "\n", count: 2000).utf8))
    }
    DispatchQueue(label: "test.events").async(group: writers) {
      for _ in 0..<2000 { lines.write(Array((event + "\n").utf8), .logfmt) }
    }
    writers.notify(queue: DispatchQueue(label: "test.end")) { _ = close(output) }
    // Slower than the writers: few bytes at a time, up to the end.
    var written: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 1000)
    while true {
      let count = read(input, &buffer, buffer.count)
      guard count > 0 else { break }
      written += buffer[..<count]
    }
    let found = String(decoding: written, as: UTF8.self).split(separator: "\n")
    #expect(found.count { $0 == access } == 2000, "the access log drops none")
    // The pipe may be full for longer than a logger waits.
    let others = found.filter { $0 != access && $0 != event }
    #expect(others.allSatisfy { $0.hasPrefix("time=") && $0.contains("lines dropped") }, "\(others)")
  }
}
