import Foundation
import GRDB
import PhotoFixtures
import Testing

#if canImport(Glibc)
  import Glibc
#endif

/// The power fails while photod writes: whatever was not synced is gone.
@Suite("Power cuts", .blocking, .serialized, .enabled(if: PowerCut.library != nil))
struct PowerCutTests {
  @Test(
    "after a power cut during a load, everything confirmed is there and the catalogue is intact",
    arguments: WriterKillTests.Load.allCases)
  func daemon(_ load: WriterKillTests.Load) throws {
    let world = try LoadedLibrary(assets: 6)
    var numbers = Sampling.generator("power cuts during \(load.rawValue)")
    for number in 0..<Kills.count {
      let cut = try PowerCut(root: world.folders.base + "/", log: Self.log(world.folders))
      let daemon = try TestDaemon(serving: world.folders, environment: cut.environment)
      let client = LoadClient(daemon, load, world)
      client.run(milliseconds: Int.random(in: 1...300, using: &numbers))
      daemon.signal(SIGKILL)
      #expect(daemon.waitUntilKilled())
      client.finish()
      _ = try cut.apply()
      let comment = "\(load.rawValue), power cut \(number), \(Sampling.note)"
      _ = try CatalogueIntegrity(world.folders.data, comment)
      try world.recover()
      try client.check(comment)
    }
    // Cutting a file changes its time, so a scan has to read it again.
    try TestDaemon.succeed(["scan"] + world.options)
    let check = try TestDaemon.run(["check"] + world.options)
    #expect(check.status == 0, "\(check.output)")
  }

  @Test("after a power cut during an import, no asset has a damaged file, and the next import completes it")
  func imports() throws {
    let folders = try TestDaemon.Folders()
    let export = FileManager.default.temporaryDirectory.path + "/photod-export-\(UInt64.random(in: 0 ... .max))"
    defer { try? FileManager.default.removeItem(atPath: export) }
    let files = TestDaemon.Files(root: export)
    let pictures = (0..<30).map {
      JPEGFile { _ in }.encoded(Pixels.orientationCard(width: 32, height: 24)) + Array("-\($0)".utf8)
    }
    for (number, picture) in pictures.enumerated() { try files.put(picture, "\(number).jpg") }
    let options = ["--library", folders.library, "--data", folders.data]
    try TestDaemon.succeed(["scan"] + options)
    var numbers = Sampling.generator("power cuts during an import")
    for number in 0..<Kills.count {
      let cut = try PowerCut(root: folders.base + "/", log: Self.log(folders))
      let process = try KilledProcess(["import", "takeout", export] + options, environment: cut.environment)
      _ = process.end(killingAfter: Int.random(in: 50...900, using: &numbers))
      _ = try cut.apply()
      let comment = "import, power cut \(number), \(Sampling.note)"
      _ = try CatalogueIntegrity(folders.data, comment)
      for path in try folders.catalogue({ try String.fetchAll($0, sql: "SELECT CAST(path AS TEXT) FROM file") }) {
        let bytes = FileManager.default.contents(atPath: folders.library + "/" + path).map { [UInt8]($0) }
        #expect(bytes.map(pictures.contains) == true, "\(comment): \(path) is damaged")
      }
    }
    try TestDaemon.succeed(["import", "takeout", export] + options)
    #expect(try folders.catalogue { try Int.fetchOne($0, sql: "SELECT count(*) FROM asset") } == 30)
  }

  @Test("if the disk ignores syncs, confirmed changes are lost: the simulation finds what it is for")
  func deaf() throws {
    let world = try LoadedLibrary(assets: 2)
    let cut = try PowerCut(root: world.folders.base + "/", log: Self.log(world.folders), ignoresSyncs: true)
    let daemon = try TestDaemon(serving: world.folders, environment: cut.environment)
    let list = #"{"changes": [{"type": "updateAsset", "asset": "\#(world.identifiers[0])", "caption": "confirmed"}]}"#
    #expect(try daemon.post("/v1/changes", list).status == 200)
    daemon.signal(SIGKILL)
    #expect(daemon.waitUntilKilled())
    #expect(try cut.apply() > 0)
    let captions = try world.folders.catalogue {
      try String.fetchAll($0, sql: "SELECT caption FROM asset WHERE caption IS NOT NULL")
    }
    #expect(captions == [])
  }

  @Test("if writes and syncs fail, nothing is confirmed and reads go on; afterwards photod continues")
  func failing() throws {
    let world = try LoadedLibrary(assets: 2)
    let failing = Self.log(world.folders) + ".failing"
    defer { unlink(failing) }
    let cut = try PowerCut(root: world.folders.base + "/", log: Self.log(world.folders))
    let daemon = try TestDaemon(
      serving: world.folders, environment: cut.environment.merging(["POWER_CUT_FAIL": failing]) { $1 })
    func setCaption(_ text: String) throws -> Int {
      let list = #"{"type": "updateAsset", "asset": "\#(world.identifiers[0])", "caption": "\#(text)"}"#
      return try daemon.post("/v1/changes", #"{"changes": [\#(list)]}"#).status
    }
    #expect(try setCaption("before") == 200)
    try Data().write(to: URL(filePath: failing))
    #expect(try setCaption("during") >= 500)
    #expect(try daemon.get("/v1/assets").status == 200)
    unlink(failing)
    #expect(try setCaption("after") == 200)
    daemon.signal(SIGKILL)
    #expect(daemon.waitUntilKilled())
    _ = try cut.apply()
    _ = try CatalogueIntegrity(world.folders.data, "after a failing disk")
    try world.recover()
    let captions = try world.folders.catalogue {
      try String.fetchAll($0, sql: "SELECT caption FROM asset WHERE caption IS NOT NULL")
    }
    #expect(captions == ["after"])
    try TestDaemon.succeed(["scan"] + world.options)
    #expect(try TestDaemon.run(["check"] + world.options).status == 0)
  }

  /// A change that moves a file before its transaction.
  enum MovingChange: CaseIterable { case delete, restore, create }

  @Test(
    "a change that failed because its commit could not be synced stays undone after a kill, with its files",
    arguments: MovingChange.allCases)
  func unsyncedCommit(_ change: MovingChange) throws {
    let world = try LoadedLibrary(assets: 1)
    let failing = Self.log(world.folders) + ".failing"
    defer { unlink(failing) }
    let cut = try PowerCut(root: world.folders.base + "/", log: Self.log(world.folders))
    let daemon = try TestDaemon(
      serving: world.folders, arguments: ["--set", "cache.diskBytes=0"],
      environment: cut.environment.merging(["POWER_CUT_FAIL_COMMIT": failing]) { $1 })
    func perform(_ type: String, _ object: String) throws -> Int {
      try daemon.post("/v1/changes", #"{"changes": [{"type": "\#(type)", \#(object)}]}"#).status
    }
    /// The files, and the numbers of assets, deleted assets and staged uploads.
    func state() throws -> (files: Set<String>, rows: [Int?]) {
      let rows = try world.folders.catalogue { db in
        try ["asset", "trash", "stagedUpload"].map { try Int.fetchOne(db, sql: "SELECT count(*) FROM \($0)") }
      }
      return (TestDaemon.files(in: world.folders.library), rows)
    }
    let asset = #""asset": "\#(world.identifiers[0])""#
    let entry: (type: String, object: String)
    switch change {
    case .delete: entry = ("deleteAsset", asset)
    case .restore:
      #expect(try perform("deleteAsset", asset) == 200)
      entry = ("restoreAsset", asset)
    case .create:
      let staged = try daemon.stage(UploadTests.picture(1), "?filename=a.jpg", ["Upload-Complete: ?1"])
      let upload = try #require(staged.json["upload"] as? String)
      entry = ("createAsset", #""upload": "\#(upload)""#)
    }
    let before = try state()
    try Data().write(to: URL(filePath: failing))
    #expect(try perform(entry.type, entry.object) == 500)
    daemon.signal(SIGKILL)
    #expect(daemon.waitUntilKilled())
    unlink(failing)
    try world.recover()
    let after = try state()
    #expect(after.files == before.files && after.rows == before.rows, "\(after), before \(before)")
    let check = try TestDaemon.run(["check"] + world.options)
    #expect(check.status == 0, "\(check.output)")
  }

  @Test("read errors of the disk do not count as damaged pages: photod is ready afterwards")
  func refusedReads() throws {
    let world = try LoadedLibrary(assets: 2)
    let failing = Self.log(world.folders) + ".failing"
    defer { unlink(failing) }
    let cut = try PowerCut(root: world.folders.base + "/", log: Self.log(world.folders))
    let daemon = try TestDaemon(
      serving: world.folders, environment: cut.environment.merging(["POWER_CUT_FAIL_READS": failing]) { $1 })
    var refused = 0
    // A reader has some pages in memory. After a commit it reads most of them again.
    for number in 0..<20 where refused < 3 {
      let list = #"{"type": "updateAsset", "asset": "\#(world.identifiers[0])", "caption": "\#(number)"}"#
      #expect(try daemon.post("/v1/changes", #"{"changes": [\#(list)]}"#).status == 200)
      try Data().write(to: URL(filePath: failing))
      if try daemon.get("/v1/assets").status >= 500 { refused += 1 }
      unlink(failing)
      #expect(try daemon.get("/v1/assets").status == 200)
    }
    #expect(refused == 3)
    #expect(try daemon.get("/readyz").status == 200)
  }

  @Test("an upload whose folder can't be synced is refused and leaves no file, so that a repeated one makes one file")
  func unsyncedFolder() throws {
    let folders = try TestDaemon.Folders()
    let failing = Self.log(folders) + ".failing"
    defer { unlink(failing) }
    let cut = try PowerCut(root: folders.base + "/", log: Self.log(folders))
    let daemon = try TestDaemon(
      serving: folders, arguments: ["--set", "upload.template={name}"],
      environment: cut.environment.merging(["POWER_CUT_FAIL_FOLDERS": failing]) { $1 })
    #expect(try daemon.upload(UploadTests.picture(1), "?filename=a.jpg").status == 201)
    try Data().write(to: URL(filePath: failing))
    for _ in 0..<2 { #expect(try daemon.upload(UploadTests.picture(2), "?filename=b.jpg").status == 500) }
    #expect(TestDaemon.files(in: folders.library) == ["a.jpg"])
    unlink(failing)
    #expect(try daemon.upload(UploadTests.picture(2), "?filename=b.jpg").status == 201)
    #expect(TestDaemon.files(in: folders.library) == ["a.jpg", "b.jpg"])
  }

  /// Outside of the folders, on the same disk.
  private static func log(_ folders: TestDaemon.Folders) -> String { folders.base + ".power-cut" }
}
