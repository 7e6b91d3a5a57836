// The disk cache: the time to open it with a million entries, and the cost of storing and finding an entry.
//
// Work of the caller is measured as CPU time of its thread, work of the store's own thread as that of the process.
// Files are in the page cache, as they usually are soon after they were written; `--cold` drops the page cache before
// the last openings.

import ArgumentParser
import DiskCache
import Foundation
import Logging

#if canImport(Glibc)
  import Glibc
#endif

struct DiskBench: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "disk", abstract: "Opening the disk cache with many entries, and CPU of storing and finding one.")

  @Option(help: "Entries at opening; each takes a block of 4 KiB.")
  var entries = 1_000_000

  @Option(help: "Entries of each size to store and find.")
  var rounds = 2000

  @Flag(help: "Drop the kernel's caches before opening; needs root.")
  var cold = false

  @Option(help: "The folder for the cache, which is removed at the end. Default: the temporary folder.")
  var folder: String?

  func run() throws {
    if let folder { return try measure(in: folder) }
    try TemporaryFolder.with(measure)
  }

  private func measure(in folder: String) throws {
    let cache = folder + "/cache"
    defer { try? FileManager.default.removeItem(atPath: cache) }
    print("\(entries) entries; \(rounds) stored and found of each size\n")
    let table = Table(["", "CPU us", "wall us"], labels: 1)
    var store = open(cache)
    let small = [UInt8](repeating: 1, count: 2000)
    let filling = cost(of: entries) {
      fill(store, from: 0, count: entries, small)
      store.waitUntilIdle()
    }
    table.row(["store 2 KB, while there is room", filling.cpu.text(1), filling.wall.text(1)])
    for isCold in cold ? [false, true] : [false] {
      store.close()
      if isCold && !Machine.dropCaches() { throw BenchError(description: "--cold needs root") }
      let opening = cost(of: 1) { store = open(cache) }
      table.row(["open\(isCold ? ", nothing of it in memory" : "")", opening.cpu.text(0), opening.wall.text(0)])
      guard store.statistics.frames.entries == entries else {
        throw BenchError(description: "\(store.statistics) instead of \(entries) entries")
      }
      if !isCold { continue }
      let finding = cost(of: rounds) {
        for number in 0..<rounds { _ = store.entry(for: Self.key(number * 37 % entries), .frame) }
      }
      table.row(["find 2 KB, nothing of it in memory", finding.cpu.text(1), finding.wall.text(1)])
    }
    for (name, bytes) in [("20 KB", 20_000), ("80 KB", 80_000)] { try one(store, name, bytes, table) }
    let bytes = store.statistics.frames.bytes + store.statistics.derivatives.bytes
    let index = ["", "-wal"].reduce(0) { $0 + Self.size(cache + "/index.sqlite" + $1) }
    store.close()
    // The cache is full from here on: each new entry evicts one.
    store = open(cache, capacityBytes: bytes)
    let evicting = cost(of: rounds) {
      fill(store, from: entries * 3 + 100_000, count: rounds, [UInt8](repeating: 2, count: 20_000))
      store.waitUntilIdle()
    }
    guard store.statistics.evicted > 0 else { throw BenchError(description: "no entry was evicted") }
    table.row(["store 20 KB with evictions", evicting.cpu.text(1), evicting.wall.text(1)])
    print("\n\(store.statistics.evicted) evicted; the index takes \(index / entries) bytes an entry")
    store.close()
  }

  private func one(_ store: DiskStore, _ name: String, _ bytes: Int, _ table: Table) throws {
    let first = entries + bytes
    let blob = (0..<bytes).map { UInt8(truncatingIfNeeded: $0 &* 31) }
    let before = store.statistics
    let storing = cost(of: rounds) {
      fill(store, from: first, count: rounds, blob)
      store.waitUntilIdle()
    }
    table.row(["store \(name), in the background", storing.cpu.text(1), storing.wall.text(1)])
    let finding = cost(of: rounds) {
      for number in first..<first + rounds { _ = store.entry(for: Self.key(number), .frame) }
    }
    table.row(["find \(name)", finding.cpu.text(1), finding.wall.text(1)])
    let checking = cost(of: rounds) {
      for number in first..<first + rounds { _ = store.contains(Self.key(number), .frame) }
    }
    table.row(["check whether it exists", checking.cpu.text(1), checking.wall.text(1)])
    let missing = cost(of: rounds) {
      for number in first..<first + rounds { _ = store.entry(for: Self.key(-number), .frame) }
    }
    table.row(["find none", missing.cpu.text(1), missing.wall.text(1)])
    let now = store.statistics
    guard now.hits - before.hits == rounds, now.misses - before.misses == rounds else {
      throw BenchError(description: "\(now) after \(before)")
    }
  }

  /// Never stores more at once than may wait to be written.
  private func fill(_ store: DiskStore, from first: Int, count: Int, _ bytes: [UInt8]) {
    let together = (4 << 20) / (bytes.count + 4096)
    for number in first..<first + count {
      store.store(bytes, info: [], for: Self.key(number), .frame)
      if number % together == 0 { store.waitUntilIdle() }
    }
  }

  private func open(_ folder: String, capacityBytes: Int64 = 1 << 50) -> DiskStore {
    DiskStore(
      folder: folder, capacityBytes: capacityBytes, epochs: DiskStore.Epochs(frame: 1, derivative: 1),
      logger: Logger(label: "bench") { StreamLogHandler.standardError(label: $0) })
  }

  private static func key(_ number: Int) -> DiskStore.Key { DiskStore.Key(digestOf: Array("\(number)".utf8)) }

  /// CPU time of the process and wall time for each of `count` calls, in microseconds.
  private func cost(of count: Int, _ work: () -> Void) -> (cpu: Double, wall: Double) {
    func now() -> Double {
      var time = timespec()
      clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
      return Double(time.tv_sec) * 1e6 + Double(time.tv_nsec) / 1e3
    }
    let (cpu, wall) = (now(), ContinuousClock.now)
    work()
    return ((now() - cpu) / Double(count), (ContinuousClock.now - wall) / .microseconds(1) / Double(count))
  }

  private static func size(_ path: String) -> Int {
    (try? FileManager.default.attributesOfItem(atPath: path)[.size] as? Int) ?? 0
  }
}
