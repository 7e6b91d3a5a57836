import Foundation
import Synchronization
import Testing

@testable import OriginalDownloads

@Suite("Downloads for windows") struct WindowDownloadTests {
  private static let bytes = (0..<300_000).map { UInt8(truncatingIfNeeded: $0 &* 7) }

  @Test func `Windows have a rate for all their downloads, and unused time counts for a second`() {
    var throttle = WindowThrottle(bytesPerSecond: 1000)
    #expect(throttle.admit(400, now: .seconds(10)) == nil)
    #expect(throttle.admit(1100, now: .seconds(10)) == nil)
    // 500 bytes too many.
    #expect(throttle.admit(1, now: .seconds(10)) == .milliseconds(501))
    #expect(throttle.admit(1, now: .milliseconds(10_400)) == .milliseconds(101))
    #expect(throttle.admit(1, now: .milliseconds(10_501)) == nil)
    #expect(throttle.admit(5000, now: .seconds(3600)) == nil)
    #expect(throttle.admit(1, now: .seconds(3600)) == .milliseconds(4001))
    var unlimited = WindowThrottle(bytesPerSecond: 0)
    #expect((0..<10).allSatisfy { _ in unlimited.admit(1 << 30, now: .zero) == nil })
  }

  @Test func `A window's download pauses beyond its rate, and a request's does not`() throws {
    let clock = ManualDownloadClock()
    let harness = try DownloadHarness(clock: clock.clock) { $0.windowBytesPerSecond = 1000 }
    let window = TestWaiter()
    _ = harness.join("w.jpg", 300_000, window, priority: .window)
    let read = harness.store.nextRead(0)
    read.begin()
    read.send(Array(Self.bytes[..<1500]))
    read.send(Array(Self.bytes[1500..<2000]))
    try harness.until { clock.waitingCount == 1 && $0.paused == 1 }
    clock.advance(.milliseconds(400))
    #expect(harness.downloads.counts.paused == 1)
    clock.advance(.milliseconds(200))
    window.waitForBytes(2000)
    #expect(harness.downloads.counts.paused == 0)
    // A request for the same original makes it urgent.
    read.send(Array(Self.bytes[2000..<100_000]))
    read.send(Array(Self.bytes[100_000...]))
    try harness.until { $0.paused == 1 }
    let request = TestWaiter()
    _ = harness.join("w.jpg", 300_000, request)
    read.end()
    #expect(try request.wait() == Self.bytes && window.wait() == Self.bytes)
    #expect(harness.store.readCount == 1)
  }

  @Test func `A window's download pauses while a request waits for another original, and goes on after it`() throws {
    let harness = try DownloadHarness { $0.windowBytesPerSecond = 0 }
    let window = TestWaiter()
    _ = harness.join("w.jpg", 300_000, window, priority: .window)
    let read = harness.store.nextRead(0)
    read.begin()
    read.send(Array(Self.bytes[..<1000]))
    window.waitForBytes(1000)
    let leaving = TestWaiter()
    let ticket = harness.join("r.jpg", 300_000, leaving)
    let other = harness.store.nextRead(1)
    read.send(Array(Self.bytes[1000..<2000]))
    try harness.until { $0.paused == 1 }
    let request = TestWaiter()
    _ = harness.join("r.jpg", 300_000, request)
    harness.downloads.leave(ticket)
    other.begin()
    other.send(Self.bytes)
    try harness.until { $0.paused == 1 }
    other.end()
    #expect(try request.wait() == Self.bytes)
    read.send(Array(Self.bytes[2000...]))
    read.end()
    #expect(try window.wait() == Self.bytes)
  }

  @Test func `When the request leaves a download that a window shares, it is the window's again`() throws {
    let harness = try DownloadHarness { $0.windowBytesPerSecond = 0 }
    let window = TestWaiter()
    _ = harness.join("w.jpg", 300_000, window, priority: .window)
    let read = harness.store.nextRead(0)
    read.begin()
    let ticket = harness.join("w.jpg", 300_000, TestWaiter())
    let other = TestWaiter()
    _ = harness.join("r.jpg", 300_000, other)
    read.send(Array(Self.bytes[..<1000]))
    window.waitForBytes(1000)
    harness.downloads.leave(ticket)
    read.send(Array(Self.bytes[1000...]))
    try harness.until { $0.paused == 1 }
    let second = harness.store.nextRead(1)
    second.begin()
    second.send(Self.bytes)
    second.end()
    #expect(try other.wait() == Self.bytes)
    read.end()
    #expect(try window.wait() == Self.bytes)
  }
}
