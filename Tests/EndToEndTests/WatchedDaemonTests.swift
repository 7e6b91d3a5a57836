import Foundation
import PhotoFixtures
import Testing

#if canImport(Glibc)
  import Glibc
#endif

/// `photod serve` over a library that other programs change.
@Suite("A watched library", .blocking, .serialized)
struct WatchedDaemonTests {
  private static let watching = ["--set", "watch.enabled=true", "--set", "scan.intervalSeconds=0"]
  private static let picture = JPEGFile { _ in }.encoded(Pixels.orientationCard(width: 32, height: 24))

  /// Waits until the assets have the expected paths; returns paths and identifiers.
  private func assets(
    of daemon: TestDaemon, _ isExpected: ([String: String]) -> Bool
  ) throws -> [String: String] {
    var found: [String: String] = [:]
    defer { if !isExpected(found) { Issue.record("still \(found.keys.sorted())") } }
    try daemon.until("the library has the expected assets") {
      let assets = try #require(try daemon.get("/v1/assets?limit=1000").json["assets"] as? [[String: Any]])
      found = Dictionary(
        uniqueKeysWithValues: assets.compactMap { asset in
          (asset["relativePath"] as? String).flatMap { path in (asset["localIdentifier"] as? String).map { (path, $0) }
          }
        })
      return isExpected(found)
    }
    return found
  }

  @Test("copied, renamed and removed files are found without a full scan")
  func follows() throws {
    let daemon = try TestDaemon({ try $0.put(Self.picture, "a.jpg") }, arguments: Self.watching)
    let files = TestDaemon.Files(root: daemon.library)
    // The first scan must have read this folder.
    try daemon.until("the first scan watches the folder") {
      try daemon.get("/metrics").body.contains(Array("photod_watch_folders 1\n".utf8))
    }
    let before = try assets(of: daemon) { $0.count == 1 }
    try files.put(Self.picture + [1], "new/folder/b.jpg")
    let copied = try assets(of: daemon) { $0.count == 2 }
    #expect(Set(copied.keys) == ["a.jpg", "new/folder/b.jpg"])
    #expect(rename(daemon.library + "/a.jpg", daemon.library + "/new/c.jpg") == 0)
    let renamed = try assets(of: daemon) { $0["new/c.jpg"] != nil }
    #expect(renamed["new/c.jpg"] == before["a.jpg"] && renamed.count == 2)
    try FileManager.default.removeItem(atPath: daemon.library + "/new/folder")
    #expect(try Array(assets(of: daemon) { $0.count == 1 }.keys) == ["new/c.jpg"])
    let metrics = String(decoding: try daemon.get("/metrics").body, as: UTF8.self)
    #expect(metrics.contains("photod_watch_overflows_total 0\n") && metrics.contains("photod_watch_folders 2\n"))
    #expect(metrics.contains("photod_watch_unwatched_folders 0\n"))
  }

  @Test("a file that is saved through a temporary file keeps its asset, also if that file was indexed")
  func savedThroughTemporaryFile() throws {
    let daemon = try TestDaemon({ try $0.put(Self.picture, "a.jpg") }, arguments: Self.watching)
    let files = TestDaemon.Files(root: daemon.library)
    try daemon.until("the first scan watches the folder") {
      try daemon.get("/metrics").body.contains(Array("photod_watch_folders 1\n".utf8))
    }
    let before = try assets(of: daemon) { $0.count == 1 }
    let identifier = try #require(before["a.jpg"])
    let asset = "/v1/assets/\(identifier)"
    let favorite = #"{"changes": [{"type": "updateAsset", "asset": "\#(identifier)", "isFavorite": true}]}"#
    #expect(try daemon.post("/v1/changes", favorite).status == 200)
    let brighter = #"{"operations": [{"type": "exposure", "ev": 1}]}"#
    #expect(try daemon.post(asset + "/adjustments", brighter, method: "PUT").status == 200)
    let saved = JPEGFile { _ in }.encoded(Pixels.orientationCard(width: 48, height: 36))
    try files.put(saved, ".a.jpg.tmp")
    _ = try assets(of: daemon) { $0[".a.jpg.tmp"] != nil }
    #expect(rename(daemon.library + "/.a.jpg.tmp", daemon.library + "/a.jpg") == 0)
    try daemon.until("the asset has the new content") { try daemon.get(asset).json["pixelWidth"] as? Int == 48 }
    let facts = try daemon.get(asset).json
    #expect(facts["isFavorite"] as? Bool == true && facts["hasAdjustments"] as? Bool == true)
    #expect(try assets(of: daemon) { $0.count == 1 } == before)
  }

  @Test(
    "a file that was renamed a moment ago is not deleted before its new path is scanned",
    arguments: [("a/p.jpg", "b/q.jpg", "b/q.jpg"), ("a", "c", "c/p.jpg")])
  func deletedAfterRename(_ from: String, _ to: String, _ path: String) throws {
    // Only the full scan that the test requests finds the new path.
    let slow = ["--set", "watch.debounceMilliseconds=10000", "--set", "scan.settleSeconds=0"]
    let daemon = try TestDaemon(
      {
        try $0.put(Self.picture, "a/p.jpg")
        try $0.put(Self.picture + [1], "b/other.jpg")
      }, arguments: Self.watching + slow)
    try daemon.until("the first scan has ended") {
      let metrics = String(decoding: try daemon.get("/metrics").body, as: UTF8.self)
      return metrics.contains("photod_library_scans_total{result=\"completed\"} 1\n")
    }
    let identifier = try #require(try assets(of: daemon) { $0.count == 2 }["a/p.jpg"])
    let deletion = #"{"changes": [{"type": "deleteAsset", "asset": "\#(identifier)"}]}"#
    #expect(rename("\(daemon.library)/\(from)", "\(daemon.library)/\(to)") == 0)
    let refused = try daemon.post("/v1/changes", deletion)
    #expect(refused.status == 503 && refused["Retry-After"] == "1", "\(refused.json)")
    #expect(try daemon.get("/v1/assets/\(identifier)").status == 200)
    try daemon.requestScan()
    let renamed = try assets(of: daemon) { $0[path] != nil }
    #expect(renamed[path] == identifier)
    #expect(try daemon.post("/v1/changes", deletion).status == 200)
    #expect(!FileManager.default.fileExists(atPath: "\(daemon.library)/\(path)"))
  }

  @Test("a list that makes a new folder for a photograph can delete one whose file is gone", arguments: [false, true])
  func deletedBesideNewFolder(_ isDeletionFirst: Bool) throws {
    // No scan reads the new folder.
    let slow = ["--set", "watch.debounceMilliseconds=10000", "--set", "scan.settleSeconds=0"]
    let daemon = try TestDaemon(
      {
        try $0.put(Self.picture, "a.jpg")
        try $0.put(Self.picture + [1], "b.jpg")
      }, arguments: Self.watching + slow + ["--set", "upload.template=new/{name}"])
    try daemon.until("the first scan has ended") {
      let metrics = String(decoding: try daemon.get("/metrics").body, as: UTF8.self)
      return metrics.contains("photod_library_scans_total{result=\"completed\"} 1\n")
    }
    let identifier = try #require(try assets(of: daemon) { $0.count == 2 }["a.jpg"])
    let staged = try daemon.stage(Self.picture + [2], "?filename=c.jpg", ["Upload-Complete: ?1"])
    let upload = try #require(staged.json["upload"] as? String)
    #expect(unlink(daemon.library + "/a.jpg") == 0)
    let entries = [
      #"{"type": "deleteAsset", "asset": "\#(identifier)"}"#,
      #"{"type": "createAsset", "upload": "\#(upload)", "placeholder": "$c"}"#,
    ]
    let changed = try daemon.change((isDeletionFirst ? entries : entries.reversed()).joined(separator: ", "))
    #expect(changed.status == 200, "\(changed.json)")
    #expect(try Set(assets(of: daemon) { $0.count == 2 }.keys) == ["b.jpg", "new/c.jpg"])
  }

  @Test("after kills while watching, the catalogue is intact, and the next scan completes it")
  func kills() throws {
    let folders = try TestDaemon.Folders()
    defer { withExtendedLifetime(folders) {} }
    let (base, library, data) = (folders.base, folders.library, folders.data)
    let files = TestDaemon.Files(root: library)
    var numbers = Sampling.generator("kills while watching")
    let kills = Sampling.count(10, thorough: 30)
    var names: [String] = []
    var count = 0
    func add() throws {
      count += 1
      names.append("\(count % 5)/\(count).jpg")
      try files.put(Self.picture + Array("\(count)".utf8), names[names.count - 1])
    }
    for _ in 0..<100 { try add() }
    try FileManager.default.createDirectory(atPath: base + "/gone", withIntermediateDirectories: true)
    try TestDaemon.succeed(["scan", "--library", library, "--data", data])
    var seen: [Int64: String] = [:]
    var halves = 0
    for round in 0..<kills {
      let served = try KilledProcess(
        [
          "serve", "--library", library, "--data", data, "--listen", "127.0.0.1:0", "--set",
          "watch.debounceMilliseconds=10",
        ] + Self.watching)
      // It prints its address when it serves.
      served.readLine()
      let before = try CatalogueIntegrity(data, "before \(round)").paths
      // Half are renamed, half are overwritten; some go and some come.
      for index in names.indices where Int.random(in: 0..<3, using: &numbers) > 0 {
        let name = names[index]
        let number = try #require(Int(name.split(separator: "/")[1].prefix { $0.isNumber }))
        if number % 2 == 0 {
          names[index] = "\(numbers.next() % 5)/\(number)-\(numbers.next() % 1000).jpg"
          #expect(rename("\(library)/\(name)", "\(library)/\(names[index])") == 0)
        } else {
          let handle = try #require(FileHandle(forWritingAtPath: "\(library)/\(name)"))
          try handle.truncate(atOffset: 0)
          handle.write(Data(Self.picture + Array("\(name) \(numbers.next())".utf8)))
          try handle.close()
        }
      }
      for _ in 0..<3 {
        let name = names.remove(at: Int.random(in: names.indices, using: &numbers))
        #expect(rename("\(library)/\(name)", "\(base)/gone/\(numbers.next())") == 0)
        try add()
      }
      let status = served.end(killingAfter: Int.random(in: 0..<200, using: &numbers))
      #expect(status == nil)
      let state = try CatalogueIntegrity(data, "kill \(round), \(Sampling.note)")
      if state.paths != before && state.paths != Set(names) { halves += 1 }
      for (inode, identifier) in state.identifiers { seen[inode] = seen[inode] ?? identifier }
    }
    print("killed \(kills) watching daemons, \(halves) of them while they recorded changes")
    try TestDaemon.succeed(["scan", "--library", library, "--data", data])
    let last = try CatalogueIntegrity(data, "at the end, \(Sampling.note)")
    #expect(last.paths == Set(names), "\(Sampling.note)")
    for name in names {
      var status = stat()
      #expect(stat("\(library)/\(name)", &status) == 0)
      let inode = Int64(bitPattern: UInt64(status.st_ino))
      if let before = seen[inode] { #expect(last.identifiers[inode] == before, "\(name), \(Sampling.note)") }
    }
    let check = try TestDaemon.run(["check", "--library", library, "--data", data])
    #expect(check.status == 0 && check.output.hasSuffix("no difference\n"), "\(check.output)")
  }
}
