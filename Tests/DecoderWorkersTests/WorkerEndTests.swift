import DecoderWorkers
import Foundation
import PhotoModel
import Synchronization
import Testing

@Suite("Decoder workers: ends and restarts")
struct WorkerEndTests {
  @Test("a cancelled decode kills its worker")
  func cancellation() {
    let pool = TestDecoders.pool()
    let stop = StopFlag()
    let error = Mutex<DecoderError?>(nil)
    do throws(DecoderError) {
      // The codec loops after its first tile.
      try pool.decode(TestDecoders.request("loop", cpuSeconds: 100), of: .bytes([0]), stop: stop) { _, _ in
        stop.raise()
        return .more
      }
    } catch let thrown {
      error.withLock { $0 = thrown }
    }
    #expect(error.withLock { $0 } == .cancelled)
    #expect(pool.workerCount == 0)
    #expect(DecoderFailure.allCases.allSatisfy { pool.failures.count(.test, $0) == 0 })
  }

  @Test("a decode that is cancelled before it begins starts no worker")
  func cancelledBefore() {
    let pool = TestDecoders.pool()
    let stop = StopFlag()
    stop.raise()
    #expect(throws: DecoderError.cancelled) { try pool.rows(TestDecoders.request("rows"), stop: stop) }
  }

  /// Decodes a picture whose worker sends rows and then nothing. From the rows on, `clock` runs.
  private static func silentDecode(
    by pool: DecoderPool, _ clock: SteppingClock, stop: StopFlag = StopFlag()
  ) -> DecoderError? {
    // The stall time is at least four times the CPU time. With a flag, waits are short.
    let request = TestDecoders.request("wait", cpuSeconds: 1)
    do throws(DecoderError) {
      try pool.decode(request, of: .bytes([0]), file: silentFile, stop: stop) { _, _ in
        clock.run()
        return .more
      }
      return nil
    } catch {
      return error
    }
  }

  private static let silentFile = DecodedFile(identity: FileIdentity(inode: 1, size: 10, modified: 1), epoch: 1)

  @Test("a worker that sends nothing is ended after the stall time, and its file is remembered the second time")
  func stall() {
    let clock = SteppingClock { _ in .milliseconds(500) }
    let pool = TestDecoders.pool(stall: .milliseconds(200), now: { clock.now })
    #expect(Self.silentDecode(by: pool, clock) == .interrupted(.test))
    #expect(pool.failures.failure(of: DecodedPicture(TestDecoders.request("wait"), of: Self.silentFile)) == nil)
    clock.rest()
    #expect(Self.silentDecode(by: pool, clock) == .failed(.test, .stalled))
    #expect(pool.error(TestDecoders.request("rows"), file: Self.silentFile) == .failed(.test, .stalled))
    #expect(pool.failures.count(.test, .stalled) == 2)
  }

  @Test("time for which photod itself was stopped is no silence of the worker")
  func stopped() {
    let stop = StopFlag()
    // One wait takes an hour; some waits later, the decode is cancelled.
    let clock = SteppingClock { step in
      if step == 12 { stop.raise() }
      return step == 5 ? .seconds(3600) : .zero
    }
    let pool = TestDecoders.pool(stall: .milliseconds(200), now: { clock.now })
    #expect(Self.silentDecode(by: pool, clock, stop: stop) == .cancelled)
    #expect(pool.failures.count(.test, .stalled) == 0)
  }

  @Test("a zygote that starts no worker is killed and started again, and the decode does not notice")
  func hungZygote() throws {
    // Eleven seconds pass at once, and then the clock is slow again for the second zygote.
    let clock = SteppingClock { $0 <= 22 ? .milliseconds(500) : .zero }
    let pool = TestDecoders.pool(now: { clock.now })
    _ = try pool.rows(TestDecoders.request("rows"))
    let first = try #require(pool.processIdentifier(of: .test))
    kill(first, SIGSTOP)
    clock.run()
    _ = try pool.rows(TestDecoders.request("rows"), stop: StopFlag())
    let second = try #require(pool.processIdentifier(of: .test))
    #expect(second != first)
  }

  @Test("a zygote that was killed is started again, and the decode does not notice")
  func restart() throws {
    let pool = TestDecoders.pool()
    _ = try pool.rows(TestDecoders.request("rows"))
    let first = try #require(pool.processIdentifier(of: .test))
    kill(first, SIGKILL)
    _ = try pool.rows(TestDecoders.request("rows"))
    let second = try #require(pool.processIdentifier(of: .test))
    #expect(second != first)
  }

  @Test("a zygote that ends again and again is started after a growing pause")
  func pause() throws {
    let clock = ManualInstant()
    let pool = TestDecoders.pool(now: { clock.now })
    _ = try pool.rows(TestDecoders.request("rows"))
    var refusals = 0
    for _ in 0..<5 {
      if let process = pool.processIdentifier(of: .test) { kill(process, SIGKILL) }
      switch pool.error(TestDecoders.request("rows")) {
      case nil: break
      case .unavailable(.test, .restarting): refusals += 1
      case let error: Issue.record("\(String(describing: error))")
      }
    }
    #expect(refusals >= 1)
    clock.advance(by: .seconds(60))
    #expect(pool.error(TestDecoders.request("rows")) == nil)
  }

  @Test("workers end with their zygote")
  func orphan() throws {
    let pool = TestDecoders.pool()
    let zygote = Mutex<Int32?>(nil)
    do throws(DecoderError) {
      try pool.decode(TestDecoders.request("loop", cpuSeconds: 100), of: .bytes([0])) { _, _ in
        if let process = pool.processIdentifier(of: .test) {
          zygote.withLock { $0 = process }
          kill(process, SIGKILL)
        }
        return .more
      }
      Issue.record("the decode succeeded")
    } catch {
      #expect(error == .interrupted(.test))
    }
    #expect(zygote.withLock { $0 } != nil && pool.workerCount == 0)
  }

  @Test("a program that is missing, or is no decoder, makes its codec unavailable")
  func missing() throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "photod-decoders-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let pool = TestDecoders.pool(folder: folder.path)
    #expect(pool.error(TestDecoders.request("rows")) == .unavailable(.test, .notInstalled))
    let reports = pool.start()
    #expect(reports.map(\.state) == [.unavailable(.notInstalled)])
    let program = folder.appending(path: "photod-decoder-test")
    try Data("#!/bin/sh\nexit 1\n".utf8).write(to: program)
    try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: program.path)
    #expect(pool.error(TestDecoders.request("rows")) == .unavailable(.test, .notStarting))
  }

  @Test("a program that is killed while it starts makes its codec unavailable only for now")
  func killedAtStart() throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "photod-decoders-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let program = folder.appending(path: "photod-decoder-test")
    try Data("#!/bin/sh\nkill -9 $$\n".utf8).write(to: program)
    try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: program.path)
    let pool = TestDecoders.pool(folder: folder.path)
    #expect(pool.error(TestDecoders.request("rows")) == .unavailable(.test, .restarting))
  }

  @Test("a started pool names each codec with its library and its sandbox")
  func reports() throws {
    let pool = TestDecoders.pool()
    let report = try #require(pool.start().first)
    guard case .ready(let library, let sandbox) = report.state else {
      Issue.record("\(report.summary)")
      return
    }
    #expect(library == "test 1" && sandbox.isSuperset(of: SandboxRequirement.filter.parts))
    #expect(report.summary.hasPrefix("test 1; sandbox: "))
    pool.end()
    #expect(pool.processIdentifier(of: .test) == nil)
  }
}

/// The real clock, which jumps whenever it is read.
final class SteppingClock: Sendable {
  private struct State {
    var isRunning = false
    var steps = 0
    var offset = Duration.zero
  }

  private let state = Mutex(State())
  private let step: @Sendable (Int) -> Duration

  /// - Parameter step: how far it jumps at its nth reading, from 1.
  init(step: @escaping @Sendable (Int) -> Duration) { self.step = step }

  /// Jumps from now on.
  func run() { state.withLock { $0.isRunning = true } }

  /// Stops jumping.
  func rest() { state.withLock { $0.isRunning = false } }

  var now: ContinuousClock.Instant {
    let step = state.withLock { state -> Int? in
      guard state.isRunning else { return nil }
      state.steps += 1
      return state.steps
    }
    let jump = step.map(self.step) ?? .zero
    return state.withLock { state in
      state.offset += jump
      return ContinuousClock.now + state.offset
    }
  }
}

/// A clock that tests move.
final class ManualInstant: Sendable {
  private let offset = Mutex(Duration.zero)
  private let start = ContinuousClock.now

  var now: ContinuousClock.Instant { start + offset.withLock { $0 } }

  func advance(by duration: Duration) { offset.withLock { $0 += duration } }
}
