// What reads of the catalogue cost as the library grows: the same reads of a synthetic catalogue of each size, in process and
// by the wall's clock, since that is what whoever waits for an answer sees. Each size is read by a process of its own, and
// they take their turns round by round. Its file is read through before, so that what is measured is the catalogue and not
// the disk behind it: a gigabyte that was not asked for lately is not all in memory, however much of that there is.

import ArgumentParser
import Foundation

struct LibraryBench: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "library", abstract: "Reads of the catalogue at several sizes, and the memory that they take.")

  @Option(parsing: .upToNextOption, help: "How many assets the catalogues have.")
  var sizes = [10_000, 100_000, 1_000_000]

  @Option(help: "Repetitions of a read in each round; some that take longer have fewer.")
  var repetitions = 300

  @Option(help: "How often each size has its turn.")
  var rounds = 3

  @Option(help: "Where catalogues are kept between runs; one of 1,000,000 assets takes about a gigabyte.")
  var cache = ".build/bench-library"

  // Every benchmark is told where the daemon is; this one has no use for it.
  @Option(help: .hidden)
  var photod = ""

  func run() throws {
    let catalogues = try sizes.map { try SyntheticCatalogue(assets: $0, in: cache) }
    var reports = [[LibraryReads.Report]](repeating: [], count: sizes.count)
    for _ in 0..<rounds {
      for (i, catalogue) in catalogues.enumerated() { reports[i].append(try read(catalogue)) }
    }
    print("Reads of the catalogue, milliseconds, \(rounds) rounds, files in memory; \(Machine.cores)\n")
    printReads(reports)
    printMemory(reports)
  }

  private func read(_ catalogue: SyntheticCatalogue) throws -> LibraryReads.Report {
    try Self.readThrough(catalogue.folder + "/catalogue.sqlite")
    let text = try Command([
      "/proc/self/exe", "library-reads", "--data", catalogue.folder, "--repetitions", "\(repetitions)",
    ]).text()
    return try JSONDecoder().decode(LibraryReads.Report.self, from: Data(text.utf8))
  }

  private static func readThrough(_ path: String) throws {
    let file = try FileHandle(forReadingFrom: URL(filePath: path))
    while try file.read(upToCount: 1 << 20)?.isEmpty == false {}
  }

  private func printReads(_ reports: [[LibraryReads.Report]]) {
    let columns = sizes.flatMap { ["\($0): p50", "p99"] } + ["growth of p50", "of p99", "found at the largest"]
    let table = Table(["read"] + columns, labels: 1)
    for name in reports[reports.count - 1][0].reads.map(\.name) {
      let times = reports.map { $0.flatMap { $0.reads.filter { $0.name == name }.flatMap(\.microseconds) } }
      let (p50, p99) = (times.map { $0.percentile(50) }, times.map { $0.percentile(99) })
      let last = reports[reports.count - 1][0].reads.first { $0.name == name }
      let found = last.map { Double($0.found) / Double($0.microseconds.count) }
      var cells = [name]
      for (p50, p99) in zip(p50, p99) { cells += [(p50 / 1000).text(3), (p99 / 1000).text(3)] }
      cells += [growth(p50).text(), growth(p99).text(), found.text(0)]
      table.row(cells)
    }
  }

  /// From the smallest size to the largest.
  private func growth(_ values: [Double?]) -> Double? { values[values.count - 1] / values[0] }

  private func printMemory(_ reports: [[LibraryReads.Report]]) {
    print("\nResident memory of the process, MiB\n")
    let table = Table(["assets", "before the reads", "after them", "with a handle over everything"], labels: 0)
    var after: [Double] = []
    for (size, reports) in zip(sizes, reports) {
      func median(_ bytes: (LibraryReads.Report) -> Int) -> Double? { reports.map { bytes($0).mebibytes }.median }
      after.append(median { $0.residentBytesAfter } ?? 0)
      table.row([
        "\(size)", median { $0.residentBytesBefore }.text(1), after[after.count - 1].text(1),
        median { $0.residentBytesWithHandle }.text(1),
      ])
    }
    print("\nAfter the reads: \(((after.max() ?? 0) - (after.min() ?? 0)).text(1)) MiB apart")
  }
}
