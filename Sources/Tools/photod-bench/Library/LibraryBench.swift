// The cost of catalogue reads by library size: the same reads of synthetic catalogues of several sizes, in process and
// in wall time, because that is what a waiting client sees. A separate process reads each size, and the sizes take
// turns round by round. The whole file is read once before, so that all of it is in the page cache and the disk is not
// measured.

import ArgumentParser
import Foundation

struct LibraryBench: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "library", abstract: "Reads of catalogues of several sizes, and their memory.")

  @Option(parsing: .upToNextOption, help: "Numbers of assets in the catalogues.")
  var sizes = [10_000, 100_000, 1_000_000]

  @Option(help: "Repetitions of a read in each round; some slow reads have fewer.")
  var repetitions = 300

  @Option(help: "Turns of each size.")
  var rounds = 3

  @Option(help: "The folder that keeps catalogues between runs; one of 1,000,000 assets takes about a gigabyte.")
  var cache = ".build/bench-library"

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

  /// The growth from the smallest size to the largest.
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
