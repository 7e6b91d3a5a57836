import Foundation
import PhotoFixtures
import Testing

#if canImport(Glibc)
  import Glibc
#endif

/// `photod import` of the built binary, beside a daemon.
@Suite("Imports by the command line", .blocking)
struct ImportCommandTests {
  private static func picture(_ number: Int) -> [UInt8] {
    JPEGFile { _ in }.encoded(Pixels.orientationCard(width: 40 + number, height: 24))
  }

  @Test("an import beside a daemon is served by it, and reports in lines, with exit codes")
  func besideADaemon() throws {
    let daemon = try TestDaemon({ try $0.put(Self.picture(0), "known.jpg") })
    let export = daemon.data + "/../export"
    let files = TestDaemon.Files(root: export)
    try files.put(Array(#"{"title": "Sea"}"#.utf8), "Sea/metadata.json")
    for number in 0..<3 {
      try files.put(Self.picture(number), "Sea/\(number).jpg")
      let json =
        #"{"photoTakenTime": {"timestamp": "\#(1_500_000_000 + number)"}, "favorited": true, "imageViews": "3"}"#
      try files.put(Array(json.utf8), "Sea/\(number).jpg.json")
    }
    let options = ["--library", daemon.library, "--data", daemon.data]
    let dry = try TestDaemon.run(["import", "takeout", export, "--dry-run"] + options)
    #expect(dry.status == 0, "\(dry)")
    #expect(
      dry.output == """
        would import 3 files: 2 new, 1 already in the library, 0 failed, 0 skipped
        new albums: 1
        not mapped: imageViews, in 3 descriptions

        """, "\(dry)")
    #expect((try daemon.get("/v1/assets").json["assets"] as? [Any])?.count == 1)

    let run = try TestDaemon.run(["import", "takeout", export] + options)
    #expect(run.status == 0 && run.output == dry.output.replacing("would import", with: "imported"), "\(run)")
    try daemon.until("the daemon lists what was imported") {
      (try daemon.get("/v1/assets").json["assets"] as? [Any])?.count == 3
    }
    let favorites = try daemon.get("/v1/assets?predicate=isFavorite%20==%20YES").json["assets"] as? [[String: Any]]
    #expect(favorites?.count == 3)
    let identifier = try daemon.identifier("2017/07/2.jpg")
    #expect(try daemon.get("/v1/assets/\(identifier)/image?targetSize=16x16").status == 200)

    try files.put(Array("text".utf8), "Sea/text.jpg")
    let damaged = try TestDaemon.run(["import", "takeout", export] + options)
    #expect(damaged.status == 1 && damaged.output.hasPrefix("failed Sea/text.jpg: "), "\(damaged)")
    #expect(damaged.output.contains("0 new, 3 already in the library, 1 failed"), "\(damaged)")
    let check = try TestDaemon.run(["check"] + options)
    #expect(check.status == 0, "\(check.output)")
  }

  @Test("an import after a restore scans first, so that a file that the backup does not know is not added again")
  func afterRestore() throws {
    let folders = try TestDaemon.Folders()
    let export = TestDaemon.Files(root: folders.base + "/export")
    let copy = folders.base + "/copy.sqlite"
    let options = ["--library", folders.library, "--data", folders.data]
    for number in 0..<2 {
      try TestDaemon.Files(root: folders.library).put(Self.picture(number), "\(number).jpg")
      try export.put(Self.picture(number), "\(number).jpg")
      try TestDaemon.succeed(["scan"] + options)
      if number == 0 { try TestDaemon.succeed(["backup", copy] + options) }
    }
    try TestDaemon.succeed(["restore", copy] + options)
    let dry = try TestDaemon.run(["import", "takeout", export.root, "--dry-run"] + options)
    #expect(dry.status == 2 && dry.error.contains("start photod scan first"), "\(dry)")
    let run = try TestDaemon.run(["import", "takeout", export.root] + options)
    #expect(run.status == 0 && run.output.contains("0 new, 2 already in the library"), "\(run)")
  }

  @Test("an import with another time zone than the library's is refused, and changes nothing")
  func otherTimeZone() throws {
    let folders = try TestDaemon.Folders()
    let export = TestDaemon.Files(root: folders.base + "/export")
    try export.put(Self.picture(0), "0.jpg")
    try TestDaemon.Files(root: folders.library).put(Self.picture(1), "1.jpg")
    let options = ["--library", folders.library, "--data", folders.data]
    let vienna = options + ["--set", "timeZone=Europe/Vienna"]
    try TestDaemon.succeed(["scan"] + vienna)
    for more in [[], ["--dry-run"]] {
      let run = try TestDaemon.run(["import", "takeout", export.root] + more + options)
      #expect(run.status == 2 && run.error.contains("--set timeZone=Europe/Vienna"), "\(run)")
      #expect(run.error.contains("timeZone is UTC;"), "\(run)")
    }
    let files = try FileManager.default.contentsOfDirectory(atPath: folders.library)
    #expect(files.filter { !$0.hasPrefix(".") } == ["1.jpg"])
    let run = try TestDaemon.run(["import", "takeout", export.root] + vienna)
    #expect(run.status == 0 && run.output.contains("1 new"), "\(run)")
    // Two names of one zone.
    let calcutta = options + ["--set", "timeZone=Asia/Calcutta"]
    let kolkata = options + ["--set", "timeZone=Asia/Kolkata"]
    try TestDaemon.succeed(["scan"] + calcutta)
    #expect(try TestDaemon.run(["import", "takeout", export.root] + kolkata).status == 0)
    // After a change of the setting, a scan reads all dates in the new zone.
    try TestDaemon.succeed(["scan"] + options)
    #expect(try TestDaemon.run(["import", "takeout", export.root] + options).status == 0)
  }

  @Test("what root imports belongs to the owner of the library", .enabled(if: geteuid() == 0))
  func owner() throws {
    let folders = try TestDaemon.Folders()
    let export = TestDaemon.Files(root: folders.base + "/export")
    for number in 0..<2 { try export.put(Self.picture(number), "\(number).jpg") }
    try #require(chown(folders.library, 12_345, 12_346) == 0)
    try TestDaemon.succeed(
      ["import", "takeout", export.root, "--library", folders.library, "--data", folders.data])
    let names = try FileManager.default.subpathsOfDirectory(atPath: folders.library)
    #expect(names.contains(".photod-staged") && names.filter { $0.hasSuffix(".jpg") }.count == 2)
    for name in names {
      var status = stat()
      let path = folders.library + "/" + name
      #expect(lstat(path, &status) == 0 && status.st_uid == 12_345 && status.st_gid == 12_346, "\(name)")
    }
  }

  @Test("a dry run needs no catalogue, and writes nothing")
  func dryRunWithoutCatalogue() throws {
    let folders = try TestDaemon.Folders()
    let export = TestDaemon.Files(root: folders.base + "/export")
    for number in 0..<2 { try export.put(Self.picture(number), "\(number).jpg") }
    try export.put(Array("RIFF....AVI LIST".utf8), "a.avi")
    let options = ["--library", folders.library, "--data", folders.data]
    let dry = try TestDaemon.run(["import", "takeout", export.root, "--dry-run"] + options)
    #expect(dry.status == 0 && dry.output.contains("would import 2 files: 2 new"), "\(dry)")
    #expect(!FileManager.default.fileExists(atPath: folders.data))
    let run = try TestDaemon.run(["import", "takeout", export.root] + options)
    #expect(run.status == 0 && run.output.contains("unsupported a.avi: "), "\(run)")
  }

  @Test("a dry run without a catalogue leaves no files when a signal ends it", arguments: [SIGINT, SIGTERM])
  func interruptedDryRun(_ signal: Int32) throws {
    let folders = try TestDaemon.Folders()
    let export = TestDaemon.Files(root: folders.base + "/export")
    // The line of each file is not read, and the pipe does not hold all of them, so the run can't end.
    let stem = String(repeating: "x", count: 200)
    for number in 0..<400 { try export.put(Array("text".utf8), "\(stem)\(number).jpg") }
    let temporary = folders.base + "/temporary"
    try FileManager.default.createDirectory(atPath: temporary, withIntermediateDirectories: true)
    func left() throws -> [String] { try FileManager.default.contentsOfDirectory(atPath: temporary) }
    let run = try KilledProcess(
      ["import", "takeout", export.root, "--dry-run", "--library", folders.library, "--data", folders.data],
      environment: ["TMPDIR": temporary])
    try TestDaemon.until("the run has made its folder") { try !left().isEmpty }
    kill(run.process.processIdentifier, signal)
    run.process.waitUntilExit()
    #expect(run.process.terminationReason == .uncaughtSignal && run.process.terminationStatus == signal)
    #expect(try left().isEmpty)
  }

  @Test(
    "an import that can't begin says why and exits with 2",
    arguments: [
      ("takeout", "/none", "can't be read (No such file or directory)"),
      ("takeout", "/library", "contain one another"), ("immich", "/empty", "has no assets.json"),
    ])
  func refused(_ kind: String, _ folder: String, _ reason: String) throws {
    let folders = try TestDaemon.Folders()
    try FileManager.default.createDirectory(atPath: folders.base + "/empty", withIntermediateDirectories: true)
    let run = try TestDaemon.run(
      ["import", kind, folders.base + folder, "--library", folders.library, "--data", folders.data])
    #expect(run.status == 2 && run.error.contains("the import ended early") && run.error.contains(reason), "\(run)")
    // Nothing is made for an export that is not there.
    if folder == "/none" { #expect(!FileManager.default.fileExists(atPath: folders.data)) }
  }

  @Test("a repair by the command line prints what it did, and what is left")
  func repair() throws {
    let folders = try TestDaemon.Folders()
    for number in 0..<3 { try TestDaemon.Files(root: folders.library).put(Self.picture(number), "\(number).jpg") }
    let options = ["--library", folders.library, "--data", folders.data]
    try TestDaemon.succeed(["scan"] + options)
    let sound = try TestDaemon.run(["check", "--repair"] + options)
    #expect(sound.status == 0 && sound.output == "checked 3 files: no difference\n", "\(sound)")
    try folders.catalogue { try $0.execute(sql: "UPDATE dayCount SET value = 9") }
    let repaired = try TestDaemon.run(["check", "--repair"] + options)
    #expect(repaired.status == 0, "\(repaired)")
    let lines = repaired.output.split(separator: "\n")
    #expect(lines.first?.hasPrefix("counter assets of day ") == true && lines.last == "checked 3 files: no difference")
    #expect(lines.contains { $0.hasPrefix("repaired ") && $0.hasSuffix(" counts of days") }, "\(repaired)")
    #expect(lines.contains("the catalogue before the repair is \(folders.data)/catalogue.before-repair.sqlite"))
    let daemon = try TestDaemon(serving: folders)
    let refused = try TestDaemon.run(["check", "--repair"] + options)
    #expect(refused.status == 0, "nothing to repair")
    try folders.catalogue { try $0.execute(sql: "UPDATE dayCount SET value = 9") }
    let inUse = try TestDaemon.run(["check", "--repair"] + options)
    #expect(inUse.status == 2 && inUse.error.contains("is in use; stop the daemon"), "\(inUse)")
    withExtendedLifetime(daemon) {}
  }
}
