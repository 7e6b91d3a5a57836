import Foundation
import GRDB
import PhotoFixtures
import Testing

#if canImport(Glibc)
  import Glibc
#endif

/// The daemon, killed after steps of what changes files and catalogue. A run without a kill records the steps, so none
/// is left out. The next daemon finds, or restores, the library as it was before the change or after it.
///
/// By default about a third of the 113 kills run: at least one after each kind of step. All run with `PHOTOD_THOROUGH`.
@Suite("Killing the daemon during changes", .blocking)
struct ChangeKillTests {
  /// A change that a daemon makes. In its lists, `@name` is replaced by the identifier of that asset or collection.
  struct Scenario: CustomTestStringConvertible, Sendable {
    let testDescription: String
    /// Lists that are executed before it.
    var before: [String] = []
    /// A list whose daemon was killed before it, and the step.
    var killed: (list: String, point: String)?
    /// The list; `nil` tests the recovery at start.
    var list: String?
    /// The status of the list, and its status when it is sent again after it succeeded.
    var status = 200
    var statusAgain = 404
    var environment: [String: String] = [:]
    /// The number of steps after which the daemon can be killed.
    let kills: Int
    /// The random sample of kills has each kind of step. Otherwise another scenario has the same kinds of steps.
    var coversEachKind = true
    /// Whether it empties the trash.
    var isPurge = false
  }

  private static let album = [
    #"{"type": "createAlbum", "title": "Album", "placeholder": "$a"}"#,
    #"{"type": "addAssets", "collection": "$a", "assets": ["@a.jpg", "@b.jpg", "@c.jpg"]}"#,
    #"{"type": "updateCollection", "collection": "$a", "keyAsset": "@a.jpg"}"#,
  ].joined(separator: ",")
  private static let deletion =
    #"{"type": "deleteAsset", "asset": "@a.jpg"}, {"type": "deleteAsset", "asset": "@b.jpg"}"#
  private static let restoration =
    #"{"type": "restoreAsset", "asset": "@a.jpg"}, {"type": "restoreAsset", "asset": "@b.jpg"}"#
  private static let mixture = [
    #"{"type": "createFolder", "title": "Folder", "placeholder": "$f"}"#,
    #"{"type": "createAlbum", "title": "New", "parent": "$f", "placeholder": "$n"}"#,
    #"{"type": "addAssets", "collection": "$n", "assets": ["@c.jpg", "@d.jpg"]}"#,
    #"{"type": "restoreAsset", "asset": "@a.jpg", "placeholder": "$b"}"#,
    #"{"type": "insertAssets", "collection": "$n", "assets": ["$b"], "index": 1}"#,
    #"{"type": "deleteAsset", "asset": "@b.jpg"}"#,
    #"{"type": "createAsset", "path": "late.jpg", "placeholder": "$l"}"#,
    #"{"type": "addAssets", "collection": "@Album", "assets": ["$l"]}"#,
    #"{"type": "moveAssets", "collection": "@Album", "assets": ["@c.jpg"], "index": 0}"#,
    #"{"type": "updateAsset", "asset": "@d.jpg", "isFavorite": true}"#,
  ].joined(separator: ",")
  private static let firstToTrash = #"{"type": "deleteAsset", "asset": "@a.jpg"}"#

  static let scenarios = [
    Scenario(
      testDescription: "a list without files",
      list: [
        #"{"type": "createFolder", "title": "F", "placeholder": "$f"}"#,
        #"{"type": "createAlbum", "title": "A", "parent": "$f", "placeholder": "$a"}"#,
        #"{"type": "addAssets", "collection": "$a", "assets": ["@a.jpg", "@b.jpg"]}"#,
        #"{"type": "insertAssets", "collection": "$a", "assets": ["@c.jpg"], "index": 1}"#,
        #"{"type": "updateAsset", "asset": "@a.jpg", "isFavorite": true, "ifMatch": "@revision"}"#,
      ].joined(separator: ","), statusAgain: 412, kills: 8, coversEachKind: false),
    Scenario(testDescription: "to delete", before: [album], list: deletion, kills: 15, coversEachKind: false),
    Scenario(
      testDescription: "to restore", before: [album, deletion], list: restoration, kills: 15, coversEachKind: false),
    Scenario(testDescription: "a bit of everything", before: [album, firstToTrash], list: mixture, kills: 23),
    Scenario(
      testDescription: "a list that fails at its last entry", before: [album, firstToTrash],
      list: mixture + #",{"type": "insertAssets", "collection": "$n", "assets": ["@d.jpg"], "index": 99}"#, status: 400,
      kills: 29),
    Scenario(
      testDescription: "to put right a deletion", before: [album], killed: (deletion, "renamed:3"), kills: 8),
    Scenario(
      testDescription: "to put right a restoration", before: [album, deletion], killed: (restoration, "filesMoved:3"),
      kills: 8),
    Scenario(
      testDescription: "to purge the trash", before: [album, deletion],
      environment: ["PHOTOD_TRASH_RETENTION_DAYS": "0"],
      kills: 7,
      isPurge: true),
  ]

  @Test("a kill between two steps of a change leaves the catalogue and the files consistent", arguments: scenarios)
  func killed(_ scenario: Scenario) throws {
    let traced = try KillFixture()
    let trace = traced.folders.base + "/trace"
    let before: LibraryState
    if let list = scenario.list {
      let daemon = try traced.serve(scenario, trace: trace)
      try traced.perform(scenario.before, daemon)
      before = try LibraryState(traced.folders)
      let skipped = try Self.points(trace).count
      #expect(try traced.send(list, daemon).status == scenario.status)
      try Self.checkKills(scenario, trace, skipped, before, LibraryState(traced.folders))
    } else {
      before = try traced.prepare(scenario)
      let daemon = try traced.serve(scenario, trace: trace)
      try traced.settle(daemon, emptiesTrash: scenario.isPurge)
      #expect(daemon.terminate() == 0)
      if scenario.killed != nil {
        #expect(try LibraryState(traced.folders) == before, "it is as it was before that list")
      }
      try Self.checkKills(scenario, trace, 0, before, LibraryState(traced.folders))
    }
  }

  private static func points(_ trace: String) throws -> [String] {
    guard FileManager.default.fileExists(atPath: trace) else { return [] }
    return try String(contentsOfFile: trace, encoding: .utf8).split(separator: "\n").map(String.init)
  }

  private static func checkKills(
    _ scenario: Scenario, _ trace: String, _ skipped: Int, _ before: LibraryState, _ after: LibraryState
  ) throws {
    let points = try points(trace)
    #expect(points.count - skipped == scenario.kills, "\(scenario.testDescription): \(points[skipped...])")
    // The next start continues an interrupted recovery, at whichever step it was killed.
    let end = scenario.list == nil ? 0 : points[skipped...].firstIndex(of: "committed") ?? points.count
    let kills = Sampling.cases(3, of: skipped..<points.count, scenario.testDescription) {
      scenario.coversEachKind ? points[$0] : ""
    }
    for index in kills {
      let turn = points[...index].count { $0 == points[index] }
      let comment = "\(scenario.testDescription), \(points[index]):\(turn), \(Sampling.note)"
      try kill(
        scenario, "\(points[index]):\(turn)", index >= end ? after : before, after, isDone: index >= end, comment)
    }
  }

  private static func kill(
    _ scenario: Scenario, _ point: String, _ expected: LibraryState, _ after: LibraryState, isDone: Bool,
    _ comment: String
  ) throws {
    let world = try KillFixture()
    if scenario.list == nil { _ = try world.prepare(scenario) }
    let daemon = try world.serve(scenario, fault: point)
    if let list = scenario.list {
      try world.perform(scenario.before, daemon)
      #expect(try world.sendToDeath(list, daemon).isEmpty, "\(comment): it was killed before it answered")
    }
    #expect(daemon.waitUntilKilled(), "\(comment)")
    if !isDone { world.takeLateFile() }
    _ = try CatalogueIntegrity(world.folders.data, comment)
    let next = try TestDaemon(serving: world.folders)
    try world.settle(next)
    let found = try LibraryState(world.folders)
    #expect(found == expected, "\(comment): \(found.words(not: expected)) in place of \(expected.words(not: found))")
    try world.check(comment)
    guard let list = scenario.list else { return }
    let again = try world.send(list, next)
    #expect(again.status == (isDone ? scenario.statusAgain : scenario.status), "\(comment): \(again.json)")
    let last = try LibraryState(world.folders)
    #expect(last == after, "\(comment), again: \(last.words(not: after)) in place of \(after.words(not: last))")
    if scenario.status != 200 { world.takeLateFile() }
    try world.check(comment)
  }
}

/// A library that several daemons serve in turn: four assets, the first with two files, and a file that is not indexed.
private final class KillFixture {
  let folders: TestDaemon.Folders
  /// The identifiers of assets and collections, by the names that the lists use.
  private var names: [String: String] = [:]

  init() throws {
    folders = try TestDaemon.Folders()
    let files = TestDaemon.Files(root: folders.library)
    for (index, name) in ["a.jpg", "b.jpg", "sub/c.jpg", "d.jpg"].enumerated() {
      try files.put(JPEGFile { _ in }.encoded(Pixels.orientationCard(width: 32 + index, height: 24)), name)
    }
    try scan()
    // A RAW file in another folder. The second scan reads it.
    let raw = MosaicFile(Pixels.orientationCard(width: 32, height: 24)).bytes
    try files.put(raw, "raw/a.dng")
    var facts = stat()
    try #require(stat(folders.library + "/raw/a.dng", &facts) == 0)
    let modified = Int64(facts.st_mtim.tv_sec) * 1_000_000_000 + Int64(facts.st_mtim.tv_nsec)
    try folders.catalogue { db in
      try db.execute(
        sql: """
          INSERT INTO file (asset, role, path, inode, size, modified)
          SELECT id, 'alternatePhoto', CAST('raw/a.dng' AS BLOB), ?, ?, ? FROM asset WHERE originalFilename = 'a.jpg'
          """, arguments: [Int64(facts.st_ino), raw.count, modified])
    }
    try scan()
    try readNames()
  }

  private func scan() throws {
    let scan = try TestDaemon.run(["scan", "--library", folders.library, "--data", folders.data])
    #expect(scan.status == 0, "\(scan.error)")
  }

  private func readNames() throws {
    let rows = try folders.catalogue { db in
      try Row.fetchAll(
        db,
        sql: """
          SELECT originalFilename, localIdentifier FROM asset
          UNION ALL SELECT title, localIdentifier FROM collection WHERE type <> 'smartAlbum'
          """)
    }
    for row in rows where row[0] != nil { names[row[0]] = row[1] }
  }

  /// Executes the preparations in a separate daemon. Returns the library before the list that was killed.
  func prepare(_ scenario: ChangeKillTests.Scenario) throws -> LibraryState {
    let daemon = try TestDaemon(serving: folders, environment: ["PHOTOD_TEST_FAULT": scenario.killed?.point ?? ""])
    try perform(scenario.before, daemon)
    let before = try LibraryState(folders)
    guard let killed = scenario.killed else { return before }
    #expect(try sendToDeath(killed.list, daemon).isEmpty && daemon.waitUntilKilled())
    return before
  }

  func serve(_ scenario: ChangeKillTests.Scenario, trace: String = "", fault: String = "") throws -> TestDaemon {
    let daemon = try TestDaemon(
      serving: folders,
      environment: scenario.environment.merging(
        ["PHOTOD_TEST_FAULT": fault, "PHOTOD_TEST_FAULT_TRACE": trace]) { $1 })
    if scenario.list?.contains("@revision") == true {
      names["revision"] = try daemon.get("/v1/assets/\(names["a.jpg"] ?? "")").json["revision"] as? String
    }
    return daemon
  }

  func perform(_ lists: [String], _ daemon: TestDaemon) throws {
    for list in lists {
      let answer = try send(list, daemon)
      try #require(answer.status == 200, "\(answer.json)")
      try readNames()
    }
  }

  private func body(_ list: String) -> String {
    let named = names.sorted { $0.key > $1.key }.reduce(list) { $0.replacing("@" + $1.key, with: $1.value) }
    return "{\"changes\": [\(named)]}"
  }

  func send(_ list: String, _ daemon: TestDaemon) throws -> TestDaemon.Response {
    if list.contains("late.jpg") { try putLateFile() }
    return try daemon.post("/v1/changes", body(list))
  }

  /// Sends a list to a daemon that is killed during it; returns the response, if any.
  func sendToDeath(_ list: String, _ daemon: TestDaemon) throws -> [UInt8] {
    if list.contains("late.jpg") { try putLateFile() }
    let body = body(list)
    return try daemon.send(
      "POST /v1/changes HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/json\r\n"
        + "Content-Length: \(body.utf8.count)\r\n\r\n" + body)
  }

  /// Adds a file that no scan has found when the list arrives.
  private func putLateFile() throws {
    if FileManager.default.fileExists(atPath: folders.library + "/late.jpg") { return }
    try TestDaemon.Files(root: folders.library).put(
      JPEGFile { _ in }.encoded(Pixels.orientationCard(width: 64, height: 24)), "late.jpg")
  }

  func takeLateFile() { try? FileManager.default.removeItem(atPath: folders.library + "/late.jpg") }

  /// Waits until the start has recovered the files and a scan has completed after that.
  func settle(_ daemon: TestDaemon, emptiesTrash: Bool = false) throws {
    let rest = emptiesTrash ? "1" : "state <> 'trashed'"
    try daemon.until("nothing is under way") {
      try folders.catalogue { try Int.fetchOne($0, sql: "SELECT count(*) FROM trash WHERE \(rest)") } == 0
    }
    // A scan of the daemon may be running.
    try daemon.until("a scan is complete") {
      try TestDaemon.run(["scan", "--library", folders.library, "--data", folders.data]).status == 0
    }
  }

  /// Checks that catalogue and disk agree and that no change is unfinished.
  func check(_ comment: String) throws {
    let check = try TestDaemon.run(["check", "--library", folders.library, "--data", folders.data])
    #expect(check.status == 0, "\(comment): \(check.output)")
    let (trashed, underWay) = try folders.catalogue { db in
      (
        try String.fetchSet(db, sql: "SELECT CAST(trashPath AS TEXT) FROM trashFile"),
        try Int.fetchOne(db, sql: "SELECT count(*) FROM trash WHERE state <> 'trashed'")
      )
    }
    #expect(underWay == 0, "\(comment)")
    let onDisk = TestDaemon.files(in: folders.library).filter { $0.hasPrefix(".photod-") }
    #expect(onDisk == trashed, "\(comment)")
    let kept = Set(trashed.compactMap { $0.split(separator: "/").dropFirst().first.map(String.init) })
    let trash = folders.library + "/.photod-trash"
    guard FileManager.default.fileExists(atPath: trash) else { return }
    #expect(try Set(FileManager.default.contentsOfDirectory(atPath: trash)) == kept, "\(comment): folders of the trash")
  }
}

/// Everything that a client can see of a library, except random values.
private struct LibraryState: Equatable, CustomTestStringConvertible {
  private let assets: [String]
  private let collections: [String]
  private let trash: [String]
  private let files: [String]
  private let changes: Int

  var testDescription: String { "a state" }

  private var words: [String] { assets + collections + trash + files + ["token \(changes)"] }

  /// The entries that the other snapshot lacks.
  func words(not other: LibraryState) -> [String] { words.filter { !other.words.contains($0) } }

  init(_ folders: TestDaemon.Folders) throws {
    (assets, collections, trash, changes) = try folders.catalogue { db in
      (
        try String.fetchAll(
          db,
          sql: """
            SELECT format('%s %d%d %s', originalFilename, isFavorite, isHidden,
              (SELECT group_concat(path, ' ') FROM (
                SELECT CAST(path AS TEXT) AS path FROM file WHERE asset = asset.id ORDER BY isPrimary DESC, path)))
            FROM asset ORDER BY originalFilename
            """),
        try String.fetchAll(
          db,
          sql: """
            SELECT format('%s %s in %s, key %s: %s', type, title,
              (SELECT title FROM collection AS parent WHERE parent.id = collection.parent),
              (SELECT originalFilename FROM asset WHERE asset.id = collection.keyAsset),
              (SELECT group_concat(name, ' ') FROM (
                SELECT originalFilename AS name FROM member JOIN asset ON asset.id = member.asset
                WHERE member.collection = collection.id ORDER BY position)))
            FROM collection WHERE type <> 'smartAlbum' ORDER BY title
            """),
        try String.fetchAll(
          db,
          sql: """
            SELECT format('%s %s', state, CAST(path AS TEXT)) FROM trash JOIN trashFile ON trashFile.trash = trash.id
            ORDER BY path
            """),
        try Int.fetchOne(db, sql: "SELECT revision FROM library WHERE id = 0") ?? -1
      )
    }
    files = TestDaemon.files(in: folders.library).filter { $0 != "late.jpg" }.map { name in
      let parts = name.split(separator: "/")
      return parts[0] == ".photod-trash" && parts.count == 3 ? "\(parts[0])/*/\(parts[2])" : name
    }.sorted()
  }
}
