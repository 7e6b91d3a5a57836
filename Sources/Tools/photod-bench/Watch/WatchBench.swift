// The time from a file's last byte to the event in another client, and the cost of watching.

import ArgumentParser
import Foundation
import PhotoFixtures
import Synchronization

#if canImport(Glibc)
  import Glibc
#endif

struct WatchBench: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "watch",
    abstract: "The time from a file's last byte to the event in another client; what watching costs.")

  @Option(help: "Number of files, written one after the other and in a burst.")
  var files = 1000

  @Option(help: "Number of files that are copied at once while a client reads.")
  var storm = 20_000

  @Option(parsing: .upToNextOption, help: "Numbers of folders in libraries that are only watched.")
  var folders = [10_000, 100_000]

  @Option(help: "The daemon's binary.")
  var photod = ".build/release/photod"

  func run() throws { try TemporaryFolder.with(measure) }

  private func measure(in folder: String) throws {
    try measureFiles(in: folder)
    try measureStorm(in: folder)
    try measureFolders(in: folder)
  }

  // MARK: Files

  private func measureFiles(in folder: String) throws {
    let library = try TemporaryFolder.library(in: folder + "/files", width: 400, height: 300)
    let daemon = try DaemonUnderTest(binary: photod, library: library, data: folder + "/files-data")
    let commits = try ChangeListener(catalogue: folder + "/files-data/catalogue.sqlite")
    let events = try ChangeListener(url: daemon.url)
    defer {
      commits.end()
      events.end()
    }
    func wait(for count: Int) throws {
      try commits.wait(for: count)
      try events.wait(for: count)
    }
    let kinds = Self.kinds()
    // The first file shows that its folder is watched by now.
    _ = try Self.put(kinds[0].bytes, 0, library + "/first.jpg")
    try wait(for: 1)

    var closed: [String: Double] = [:]
    var count = 1
    for number in 0..<files {
      let kind = kinds[number % kinds.count]
      let name = "one-\(number).\(kind.ending)"
      closed[name] = try Self.put(kind.bytes, number, "\(library)/\(name)")
      count += 1
      try wait(for: count)
    }
    for number in 0..<files {
      let kind = kinds[number % kinds.count]
      let name = "burst-\(number).\(kind.ending)"
      closed[name] = try Self.put(kind.bytes, files + number, "\(library)/\(name)")
    }
    try wait(for: count + files)

    let identifiers = try daemon.identifiersByPath()
    print("From the last byte to the commit, and to the event in another client, in milliseconds\n")
    let table = Table(["files", "how", "until", "p50", "p99", "longest"], labels: 3)
    for (until, reportTimes) in [
      ("the commit", commits.reportTimes), ("the event", events.reportTimes),
    ] {
      func taken(_ how: String, _ isOfKind: (Int) -> Bool = { _ in true }) -> [Double] {
        (0..<files).filter(isOfKind).compactMap { number in
          let name = "\(how)-\(number).\(kinds[number % kinds.count].ending)"
          guard let end = closed[name], let identifier = identifiers[name], let reported = reportTimes[identifier]
          else {
            return nil
          }
          return (reported - end) * 1000
        }
      }
      for (index, kind) in kinds.enumerated() {
        table.row(kind.name, "one after the other", until, taken("one") { $0 % kinds.count == index })
      }
      table.row("all \(files)", "one after the other", until, taken("one"))
      table.row("all \(files)", "in a burst", until, taken("burst"))
    }
  }

  /// Kinds of files, and how they arrive: written under their names, or renamed to them.
  private static func kinds() -> [(name: String, ending: String, bytes: [UInt8])] {
    let scene = Scene(seed: 3, grain: 14)
    return [
      ("JPEG, 0.1 MP", "jpg", JPEGFile { _ in }.encoded(scene.pixels(width: 400, height: 300))),
      ("JPEG, 12 MP", "jpg", JPEGFile { _ in }.encoded(scene.pixels(width: 4000, height: 3000))),
      ("PNG, 2 MP", "png", PNGFile(.rgb(depth: 8)).encoded(scene.pixels(width: 1600, height: 1200))),
      ("JPEG, 0.1 MP, renamed", "jpeg", JPEGFile { _ in }.encoded(scene.pixels(width: 400, height: 300))),
    ]
  }

  /// Writes a file with unique content, as copying programs do.
  ///
  /// - Returns: the time at which it was complete.
  private static func put(_ bytes: [UInt8], _ number: Int, _ path: String) throws -> Double {
    let isRenamed = path.hasSuffix(".jpeg")
    let name = isRenamed ? path + ".part" : path
    let descriptor = open(name, O_CREAT | O_WRONLY, 0o600)
    let whole = bytes + withUnsafeBytes(of: number.littleEndian) { Array($0) }
    guard descriptor >= 0, write(descriptor, whole, whole.count) == whole.count else {
      throw BenchError(description: "\(name) can't be written")
    }
    close(descriptor)
    if isRenamed { rename(name, path) }
    return HTTPClient.now()
  }

  // MARK: A storm

  /// The seconds that writing all files took.
  private final class Written: Sendable { let seconds = Mutex<Double?>(nil) }

  private func measureStorm(in folder: String) throws {
    if storm == 0 { return }
    let library = try TemporaryFolder.library(in: folder + "/storm", width: 400, height: 300)
    let daemon = try DaemonUnderTest(binary: photod, library: library, data: folder + "/storm-data")
    let listener = try ChangeListener(catalogue: folder + "/storm-data/catalogue.sqlite")
    defer { listener.end() }
    let bytes = Self.kinds()[0].bytes
    _ = try Self.put(bytes, 0, library + "/first.jpg")
    try listener.wait(for: 1)
    try daemon.waitUntilIdle()
    guard let port = daemon.url.split(separator: ":").last.flatMap({ UInt16($0) }) else {
      throw BenchError(description: "no port in \(daemon.url)")
    }
    try ProcessUsage.resetPeak(of: daemon.identifier)
    let before = try ProcessUsage.residentBytes(of: daemon.identifier)
    let start = HTTPClient.now()
    let written = Written()
    Thread.detachNewThread { [storm] in
      for number in 0..<storm {
        let place = "\(library)/\(number / 1000)"
        if number % 1000 == 0 { mkdir(place, 0o700) }
        _ = try? Self.put(bytes, number, "\(place)/\(number).jpg")
      }
      written.seconds.withLock { $0 = HTTPClient.now() - start }
    }
    let client = HTTPClient(port: port)
    let request = HTTPClient.request("/v1/assets?limit=100")
    var answers: [Double] = []
    while listener.count < storm + 1 {
      guard HTTPClient.now() < start + 1800 else {
        throw BenchError(description: "\(listener.count) after half an hour")
      }
      answers.append(try client.perform(request).seconds * 1000)
      usleep(10_000)
    }
    let seconds = HTTPClient.now() - start
    print("\n\(storm) files copied at once, a thousand a folder, while a client asks for a page of a hundred assets\n")
    let table = Table(
      ["files", "copied in s", "reported in s", "resident before MiB", "peak MiB", "page p50 ms", "p99 ms"], labels: 0)
    table.row([
      "\(storm)", written.seconds.withLock { $0 }.text(1), seconds.text(1), before.mebibytes.text(1),
      try ProcessUsage.peakBytes(of: daemon.identifier).mebibytes.text(1), answers.percentile(50).text(),
      answers.percentile(99).text(),
    ])
    let metrics = try Command(["curl", "-fsS", daemon.url + "/metrics"]).text()
    for line in metrics.split(separator: "\n") where line.hasPrefix("photod_watch_") { print("    \(line)") }
  }

  // MARK: Folders

  private func measureFolders(in folder: String) throws {
    if folders.isEmpty { return }
    print("\nLibraries in which nothing happens, of empty folders, a hundred in each\n")
    let table = Table(
      [
        "folders", "scan without watching, CPU ms", "with", "inotify_add_watch alone, CPU ms", "resident without MiB",
        "with", "bytes a folder", "CPU ms a minute",
      ], labels: 0)
    for count in folders {
      let library = "\(folder)/folders-\(count)"
      let paths = (0..<count).map { "\(library)/\($0 / 10_000)/\($0 / 100 % 100)/\($0 % 100)" }
      for path in paths {
        guard (try? FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)) != nil else {
          throw BenchError(description: "\(path) can't be made")
        }
      }
      try Data(Self.kinds()[0].bytes).write(to: URL(filePath: library + "/photo.jpg"))
      var resident: [Int] = []
      var scans: [Double] = []
      var idle = 0.0
      for isWatched in [false, true] {
        let daemon = try DaemonUnderTest(
          binary: photod, library: library, data: "\(folder)/folders-data-\(count)-\(isWatched)",
          settings: ["accessLog=false", "watch.enabled=\(isWatched)"])
        try daemon.waitUntilIdle()
        let scan = try daemon.cpuSeconds {
          try daemon.requestScan()
          usleep(1_000_000)
          try daemon.waitUntilIdle()
        }
        scans.append(scan)
        resident.append(try ProcessUsage.residentBytes(of: daemon.identifier))
        if isWatched { idle = try daemon.cpuSeconds { usleep(20_000_000) } * 3 }
      }
      table.row([
        "\(count)", (scans[0] * 1000).text(0), (scans[1] * 1000).text(0), (try Self.bareWatches(paths) * 1000).text(0),
        resident[0].mebibytes.text(1), resident[1].mebibytes.text(1), "\((resident[1] - resident[0]) / count)",
        (idle * 1000).text(1),
      ])
    }
  }
}

extension WatchBench {
  /// The kernel's part: CPU seconds of a loop that only watches folders.
  private static func bareWatches(_ paths: [String]) throws -> Double {
    let descriptor = inotify_init1(0)
    defer { close(descriptor) }
    return try ProcessUsage.cpuSeconds {
      for path in paths where inotify_add_watch(descriptor, path, UInt32(IN_CREATE | IN_DELETE)) < 0 {
        throw BenchError(description: "\(path) can't be watched: \(String(cString: strerror(errno)))")
      }
    }
  }
}

extension Table {
  fileprivate func row(_ files: String, _ how: String, _ until: String, _ milliseconds: [Double]) {
    row([
      files, how, until, milliseconds.percentile(50).text(0), milliseconds.percentile(99).text(0),
      milliseconds.max().text(0),
    ])
  }
}
