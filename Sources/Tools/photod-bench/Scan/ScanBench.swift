// The cost of scanning a library: the first scan and the second, compared with two programs that read the same fields
// of the same files and store nothing. Each contestant is one process for all files. CPU is the kernel's account of the
// finished process with all threads, including its start.
//
// All take turns round by round. Every first scan has its own data folder, which the second scan uses.

import ArgumentParser
import Foundation
import LibraryCatalogue
import PhotoModel

#if canImport(Glibc)
  import Glibc
#endif

struct ScanBench: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "scan",
    abstract: "Files per second, CPU per file and memory of a scan, compared with exiv2 and exiftool.")

  @Option(help: "The daemon's binary.")
  var photod = ".build/release/photod"

  @Option(help: "A folder of JPEGs and PNGs to copy into the library. scripts/bench names one with Debian's.")
  var photos: String

  @Option(help: "Number of files, each with different content.")
  var files = 2000

  @Option(help: "Turns of each contestant.")
  var rounds = 5

  @Option(help: "Rounds with an empty page cache, which need root; 0 for none.")
  var coldRounds = 3

  @Option(parsing: .upToNextOption, help: "Numbers of hard links in the libraries for the memory of a scan.")
  var links = [10_000, 100_000]

  @Option(help: "The folder that keeps libraries between runs.")
  var cache = ".build/bench-scan"

  @Option(help: "Additional settings of the daemon, as KEY=VALUE. Repeatable.")
  var set: [String] = []

  func run() throws {
    let library = try ScanLibrary(of: photos, count: files, in: cache)
    try TemporaryFolder.with { folder in
      let run = ScanRun(photod: photod, library: library, folder: folder, settings: set)
      try printTitle(run)
      try printRates(run)
      try printStart(run)
      try ScanCalls(run).printTable()
      try ScanMemory(run).printTable(links)
    }
  }

  private func printTitle(_ run: ScanRun) throws {
    let exiv2 = try Command(["exiv2", "--version"]).text().split(separator: "\n").first ?? "exiv2 ?"
    let exiftool = try Command(["exiftool", "-ver"]).text().trimmingCharacters(in: .whitespacesAndNewlines)
    print(
      "\(files) files, \(Int(run.library.bytes.mebibytes)) MiB; \(Machine.cores), \(exiv2), exiftool \(exiftool)\n\n"
        + (try run.agreement()) + "\n")
  }

  private func printRates(_ run: ScanRun) throws {
    let table = Table(["", "files in memory", "files/s", "CPU ms a file", "to exiv2"], labels: 2)
    try addRows(run, rounds: rounds, in: table, "warm") {}
    guard coldRounds > 0 else { return }
    guard Machine.dropCaches() else { return table.row(["no cold rows: they need root", "", "", "", ""]) }
    try addRows(run, rounds: coldRounds, in: table, "cold") { _ = Machine.dropCaches() }
  }

  /// Prints the part of a first scan that does not depend on the library's size.
  private func printStart(_ run: ScanRun) throws {
    let costs = try (0..<max(rounds, 1)).map { _ in try run.scanEmptyLibrary().cpuSeconds * 1000 }
    print(
      "\nA first scan of an empty folder (start of the program, new catalogue): \(costs.median.text(1)) ms CPU, "
        + "\((costs.median / Double(files)).text(4)) per file of this library\n")
  }

  private func addRows(
    _ run: ScanRun, rounds: Int, in table: Table, _ state: String, before: () -> Void
  ) throws {
    var turns: [ScanContestant: [Command.Usage]] = [:]
    // The first round warms caches and is not counted.
    for round in state == "warm" ? 0...rounds : 1...rounds {
      for contestant in ScanContestant.allCases {
        before()
        let usage = try run.turn(contestant, round)
        if round > 0 { turns[contestant, default: []].append(usage) }
      }
    }
    func cost(_ contestant: ScanContestant) -> Double? {
      turns[contestant]?.map { $0.cpuSeconds * 1000 / Double(files) }.median
    }
    for contestant in ScanContestant.allCases {
      let rate = turns[contestant]?.map { Double(files) / $0.seconds }.median
      table.row([
        contestant.name, state, rate.text(0), cost(contestant).text(4), (cost(contestant) / cost(.exiv2)).text(3),
      ])
    }
  }
}

/// The library and the contestants of one run.
struct ScanRun {
  let photod: String
  let library: ScanLibrary
  /// The folder for files of the run.
  let folder: String
  let settings: [String]

  func scan(_ library: String, data: String) -> Command {
    Command(ScanContestant.scan(photod, library, data: data, settings: settings))
  }

  /// Runs one contestant. A round's first scan must come before its second.
  func turn(_ contestant: ScanContestant, _ round: Int) throws -> Command.Usage {
    switch contestant {
    case .firstScan:
      try? FileManager.default.removeItem(atPath: data)
      return try scan(library.folder, data: data).usage(hiding: STDERR_FILENO)
    case .secondScan: return try scan(library.folder, data: data).usage(hiding: STDERR_FILENO)
    case .exiv2: return try ScanContestant.exiv2(library).usage()
    case .exiftool: return try ScanContestant.exiftool(names: names()).usage()
    }
  }

  func scanEmptyLibrary() throws -> Command.Usage {
    let (empty, data) = (folder + "/empty", folder + "/empty-data")
    try? FileManager.default.removeItem(atPath: data)
    try FileManager.default.createDirectory(atPath: empty, withIntermediateDirectories: true)
    return try scan(empty, data: data).usage(hiding: STDERR_FILENO)
  }

  private var data: String { folder + "/data" }

  /// A file with the names of the library's files.
  private func names() throws -> String {
    let path = folder + "/names"
    try Data(library.files.joined(separator: "\n").utf8).write(to: URL(filePath: path))
    return path
  }

  /// Checks that all contestants read the files: the number of dates that each found.
  func agreement() throws -> String {
    _ = try turn(.firstScan, 0)
    let catalogue = try Catalogue(dataFolder: data)
    var (assets, dated) = (0, 0)
    var fetch = AssetFetch()
    fetch.includesHidden = true
    var page = FetchPageRequest(limit: 1000)
    repeat {
      let found = try catalogue.assets(fetch, page, for: .local)
      assets += found.assets.count
      dated += found.assets.count { $0.creationDateSource != .file }
      page.cursor = found.nextCursor
    } while page.cursor != nil
    let exiv2 = try ScanContestant.exiv2(library).text().split(separator: "\n").count {
      $0.contains(ScanContestant.dateKey)
    }
    let exiftool = try ScanContestant.exiftool(names: names()).text().split(separator: "\n").count {
      !$0.hasPrefix("-\t")
    }
    return "Files with a date: \(dated) of \(assets) assets of photod, \(exiv2) by exiv2, \(exiftool) by exiftool"
  }
}
