import DiskCache
import Foundation
import PhotoFixtures
import Testing

/// `disk-cache-writer`, which stores entries endlessly in a process of its own.
private final class Writer {
  let process = Process()
  private let output = Pipe()
  private var text = ""

  init(_ arguments: [String]) throws {
    process.executableURL = URL(filePath: CommandLine.arguments[0]).resolvingSymlinksInPath()
      .deletingLastPathComponent().appending(path: "disk-cache-writer")
    process.arguments = arguments
    process.standardOutput = output
    try process.run()
  }

  deinit {
    kill()
    process.waitUntilExit()
  }

  func kill() {
    // The identifier is 0, its own process group, if it never started, and may be another process's after it has ended.
    if process.isRunning { Foundation.kill(process.processIdentifier, SIGKILL) }
  }

  /// The next number that it prints; `nil` after it has exited.
  func number() -> Int? {
    while !text.contains("\n") {
      let more = output.fileHandleForReading.availableData
      if more.isEmpty { return nil }
      text += String(decoding: more, as: UTF8.self)
    }
    let line = text.prefix { $0 != "\n" }
    text = String(text.dropFirst(line.count + 1))
    return Int(line)
  }
}

@Suite("Disk cache: killed processes", .serialized)
struct ProcessTests {
  private let boot = DiskEnvironment.system.bootIdentifier()

  private func kind(_ number: Int) -> DiskStore.Kind { number % 3 == 0 ? .derivative : .frame }

  /// Opens the folder of a killed process and checks what must always hold.
  private func examine(
    _ cache: TemporaryCache, capacity: Int64, done: Int, _ comment: String
  ) throws {
    cache.state.withLock { $0.boot = boot }
    // No batch has run since: files and rows are as the process left them.
    let store = cache.open(capacityBytes: capacity)
    #expect(!store.statistics.isOff && !store.statistics.isSuspended, "\(comment): \(cache.lines)")
    #expect(!cache.exists("entry.partial"), "\(comment)")
    #expect(try cache.diskBytes() <= capacity, "\(comment)")
    let found = (0..<done + 200).filter { store.finds($0, kind($0)) }
    #expect(store.statistics.corrupt == 0, "\(comment)")
    if capacity == .max { #expect(found.count >= done && found.prefix(done) == Array(0..<done)[...], "\(comment)") }
    store.close()
    let (files, rows) = (Set(try cache.entryFiles().keys), try cache.rows())
    #expect(files.isSubset(of: rows), "\(comment): \(files.subtracting(rows).count) files without a row")
    #expect(rows.count - files.count < 100, "\(comment)")
  }

  /// Each step is killed once, 13 kills; 46 kills in a thorough run.
  @Test(
    "a kill at any step leaves no file without a row, no damaged entry and no partial file",
    arguments: DiskStep.allCases, [Int64.max, 300_000])
  func steps(_ step: DiskStep, _ capacity: Int64) throws {
    if step == .removeFile && capacity == .max { return }
    for times in step == .openIndex ? [1] : Sampling.cases(1, of: [1, 2, 45, 130], "\(step) \(capacity)") {
      let cache = try TemporaryCache()
      let writer = try Writer([cache.folder, "\(capacity)", "0", step.rawValue, "\(times)"])
      var done = 0
      while done < 2000, let number = writer.number() { done = number + 1 }
      #expect(done < 2000, "\(step) never came for the \(times)th time, \(Sampling.note)")
      writer.kill()
      writer.process.waitUntilExit()
      #expect(writer.process.terminationReason == .uncaughtSignal && writer.process.terminationStatus == SIGKILL)
      if step == .openIndex { continue }
      try examine(cache, capacity: capacity, done: done, "\(step) \(times), \(Sampling.note)")
    }
  }

  @Test("repeated kills from outside leave a consistent folder", arguments: [Int64.max, 2_000_000])
  func again(_ capacity: Int64) throws {
    let cache = try TemporaryCache()
    var done = 0
    for round in 0..<Sampling.count(4, thorough: 6) {
      let writer = try Writer([cache.folder, "\(capacity)", "\(done)"])
      for _ in 0...round * 3 { done = (writer.number() ?? done - 1) + 1 }
      writer.kill()
      writer.process.waitUntilExit()
      try examine(cache, capacity: capacity, done: done, "round \(round)")
    }
    #expect(done >= 240)
  }

  @Test("a folder that another process uses is not touched; it is free when that process is dead")
  func taken() throws {
    let cache = try TemporaryCache()
    let writer = try Writer([cache.folder, "1000000", "0"])
    #expect(writer.number() == 19)
    let store = cache.open(capacityBytes: 1_000_000)
    #expect(store.statistics.isOff && !store.finds(19))
    #expect(cache.lines == ["notice disk cache waits for another process"])
    writer.kill()
    writer.process.waitUntilExit()
    #expect(store.reopen() && !store.statistics.isOff && store.statistics.frames.entries > 0)
    #expect(
      cache.lines.first == "notice disk cache waits for another process"
        && cache.lines.contains("info disk cache enabled"))
  }

  @Test("concurrent lookups find what was stored under their key")
  func threads() throws {
    let cache = try TemporaryCache()
    let store = cache.open(capacityBytes: 600_000)
    DispatchQueue.concurrentPerform(iterations: 4) { thread in
      for step in 0..<300 {
        let number = (step * 7 + thread * 13) % 90
        if (step + thread) % 3 == 0 { store.store(number) } else { _ = store.finds(number) }
      }
    }
    store.waitUntilIdle()
    let now = store.statistics
    #expect(now.corrupt == 0 && now.hits + now.misses == 800 && now.failures == 0)
    store.close()
    #expect(try cache.rows() == Set(cache.entryFiles().keys))
    #expect(try cache.diskBytes() <= 600_000)
  }
}
