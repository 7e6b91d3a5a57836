import Cryptography
import Foundation
import GRDB
import PhotoFixtures
import Synchronization
import Testing

#if canImport(Glibc)
  import Glibc
#endif

/// Every writer of photod, killed again and again at random moments. After each kill the catalogue is intact and
/// everything that was confirmed is there; at the end photod check finds no difference.
@Suite("Killing each writer at random moments", .blocking, .serialized)
struct WriterKillTests {
  /// What a client of the daemon does in a loop.
  enum Load: String, CaseIterable, CustomTestStringConvertible {
    case uploads, changeLists = "change lists", adjustments, trash

    var testDescription: String { rawValue }
  }

  private static let assets = 6

  private static func picture(_ number: Int) -> [UInt8] {
    JPEGFile { _ in }.encoded(Pixels.orientationCard(width: 32 + number % 64, height: 24)) + Array("\(number)".utf8)
  }

  @Test("a daemon that is killed during a load keeps what it has confirmed", arguments: Load.allCases)
  func daemon(_ load: Load) throws {
    let world = try LoadedLibrary(assets: Self.assets)
    var numbers = Sampling.generator("kills of a daemon during \(load.rawValue)")
    for number in 0..<Kills.count {
      let daemon = try TestDaemon(serving: world.folders)
      let delay = Int.random(in: 1...250, using: &numbers)
      let client = LoadClient(daemon, load, world)
      client.run(milliseconds: delay)
      daemon.signal(SIGKILL)
      #expect(daemon.waitUntilKilled())
      client.finish()
      let comment = "\(load.rawValue), kill \(number), \(Sampling.note)"
      _ = try CatalogueIntegrity(world.folders.data, comment)
      try world.recover()
      try client.check(comment)
    }
    // An upload that was not confirmed may have left a whole file, which a scan finds.
    try TestDaemon.succeed(["scan"] + world.options)
    let check = try TestDaemon.run(["check"] + world.options)
    #expect(check.status == 0, "\(check.output)")
  }

  @Test("an import that is killed again and again ends with each picture once, with its description and its album")
  func imports() throws {
    let folders = try TestDaemon.Folders()
    let export = folders.base + "/export"
    let files = TestDaemon.Files(root: export)
    let count = 40
    try files.put(Array(#"{"title": "Album"}"#.utf8), "Album/metadata.json")
    for number in 0..<count {
      try files.put(Self.picture(number), "Album/\(number).jpg")
      let json = #"{"photoTakenTime": {"timestamp": "\#(1_500_000_000 + number)"}, "description": "\#(number)"}"#
      try files.put(Array(json.utf8), "Album/\(number).jpg.json")
    }
    let options = ["--library", folders.library, "--data", folders.data]
    try TestDaemon.succeed(["scan"] + options)
    var numbers = Sampling.generator("kills of an import")
    var (killed, ended) = (0, 0)
    while killed < Kills.count && ended < 3 {
      let process = try KilledProcess(["import", "takeout", export] + options)
      if process.end(killingAfter: Int.random(in: 20...600, using: &numbers)) == nil { killed += 1 } else { ended += 1 }
      _ = try CatalogueIntegrity(folders.data, "import, kill \(killed), \(Sampling.note)")
    }
    let last = try TestDaemon.run(["import", "takeout", export] + options)
    #expect(last.status == 0, "\(last)")
    let rows = try folders.catalogue { db in
      try Row.fetchAll(
        db,
        sql: """
          SELECT caption, creationDate, (SELECT count(*) FROM member WHERE member.asset = asset.id) FROM asset
          ORDER BY creationDate
          """)
    }
    #expect(rows.count == count, "\(rows.count) assets, \(Sampling.note)")
    for (number, row) in rows.enumerated() {
      let (caption, date, albums): (String?, Int64, Int) = (row[0], row[1], row[2])
      #expect(caption == "\(number)" && date == Int64(1_500_000_000 + number) * 1000 && albums == 1, "\(row)")
    }
    #expect(
      try folders.catalogue { try Int.fetchOne($0, sql: "SELECT count(*) FROM collection WHERE type = 'album'") } == 1)
    let check = try TestDaemon.run(["check"] + options)
    #expect(check.status == 0, "\(check.output)")
    let media = TestDaemon.files(in: folders.library).filter { $0.hasSuffix(".jpg") }
    #expect(media.count == count)
  }

  @Test("a backup that is killed leaves a whole copy or none, and the catalogue as it was")
  func backups() throws {
    let world = try LoadedLibrary(assets: 200)
    let copy = world.folders.base + "/copy.sqlite"
    var numbers = Sampling.generator("kills of a backup")
    var killed = 0
    for _ in 0..<10 * Kills.count where killed < Kills.count {
      let process = try KilledProcess(["backup", copy, "--replace"] + world.options)
      if process.end(killingAfter: Int.random(in: 1...150, using: &numbers)) == nil { killed += 1 }
      guard FileManager.default.fileExists(atPath: copy) else { continue }
      let queue = try DatabaseQueue(path: copy)
      #expect(try queue.read { try String.fetchAll($0, sql: "PRAGMA integrity_check") } == ["ok"])
      #expect(try queue.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM asset") } == 200)
      try queue.close()
    }
    try TestDaemon.succeed(["backup", copy, "--replace"] + world.options)
    _ = try CatalogueIntegrity(world.folders.data, "after backups, \(Sampling.note)")
    #expect(try TestDaemon.run(["check"] + world.options).status == 0)
  }

  @Test("a repair that is killed leaves the damaged catalogue or the repaired one")
  func repairs() throws {
    let world = try LoadedLibrary(assets: 200)
    var numbers = Sampling.generator("kills of a repair")
    for _ in 0..<Kills.count {
      try world.folders.catalogue { try $0.execute(sql: "UPDATE counter SET assets = 7") }
      let process = try KilledProcess(["check", "--repair"] + world.options)
      _ = process.end(killingAfter: Int.random(in: 1...400, using: &numbers))
      let (words, kept, counted) = try world.folders.catalogue { db in
        (
          try String.fetchAll(db, sql: "PRAGMA integrity_check"),
          try Int.fetchAll(db, sql: "SELECT DISTINCT assets FROM counter WHERE library = 0 ORDER BY 1"),
          try Int.fetchOne(db, sql: "SELECT count(*) FROM sqlite_schema WHERE type = 'trigger'")
        )
      }
      #expect(words == ["ok"] && (kept == [7] || kept == [0, 200]) && (counted ?? 0) > 50, "\(kept), \(Sampling.note)")
    }
    #expect(try TestDaemon.run(["check", "--repair"] + world.options).status == 0)
  }
}

/// A library that many daemons serve in turn.
final class LoadedLibrary {
  let folders: TestDaemon.Folders
  /// The assets that the library had at first.
  let identifiers: [String]
  var options: [String] { ["--library", folders.library, "--data", folders.data] }

  init(assets: Int) throws {
    folders = try TestDaemon.Folders()
    let picture = JPEGFile { _ in }.encoded(Pixels.orientationCard(width: 32, height: 24))
    for number in 0..<assets {
      try TestDaemon.Files(root: folders.library).put(picture + Array("-\(number)".utf8), "first/\(number).jpg")
    }
    let scan = try TestDaemon.run(["scan", "--library", folders.library, "--data", folders.data])
    try #require(scan.status == 0, "\(scan.error)")
    identifiers = try folders.catalogue {
      try String.fetchAll($0, sql: "SELECT localIdentifier FROM asset ORDER BY id")
    }
  }

  /// Lets a daemon complete or undo what the killed one had begun.
  func recover() throws {
    let daemon = try TestDaemon(serving: folders)
    try daemon.until("nothing is under way") {
      try folders.catalogue { db in
        try Int.fetchOne(
          db,
          sql: """
            SELECT (SELECT count(*) FROM trash WHERE state <> 'trashed')
              + (SELECT count(*) FROM stagedUpload WHERE path IS NOT NULL)
            """)
      } == 0
    }
    #expect(daemon.terminate() == 0)
  }
}

/// Sends requests until its daemon is killed, and knows which were confirmed.
final class LoadClient: Sendable {
  private struct State {
    var sent = 0
    var confirmed = 0
    /// Digests of confirmed uploads.
    var uploads: Set<Data> = []
    var failures: [String] = []
  }

  private let daemon: TestDaemon
  private let load: WriterKillTests.Load
  private let folders: TestDaemon.Folders
  private let identifiers: [String]
  private let state = Mutex(State())
  private let ended = DispatchGroup()
  private let isStopped = Atomic(false)

  init(_ daemon: TestDaemon, _ load: WriterKillTests.Load, _ world: LoadedLibrary) {
    self.daemon = daemon
    self.load = load
    folders = world.folders
    identifiers = world.identifiers
  }

  /// Sends requests for that long.
  func run(milliseconds: Int) {
    DispatchQueue.global().async(group: ended) { [self] in
      var number = 1
      while !isStopped.load(ordering: .relaxed) {
        state.withLock { $0.sent = number }
        guard request(number) else { return }
        number += 1
      }
    }
    // Not a wait for something: the moment of the kill.
    usleep(UInt32(milliseconds) * 1000)
  }

  /// Waits for the end of the last request. Its daemon is gone.
  func finish() {
    isStopped.store(true, ordering: .relaxed)
    ended.wait()
  }

  /// Returns false if there was no response.
  private func request(_ number: Int) -> Bool {
    switch load {
    case .uploads: return upload(number)
    case .changeLists:
      let updates = identifiers.map { #"{"type": "updateAsset", "asset": "\#($0)", "caption": "\#(number)"}"# }
      return change(updates.joined(separator: ","), number)
    case .adjustments:
      let names = identifiers.map { "\"\($0)\"" }.joined(separator: ",")
      let amount = Double(number % 100) / 100
      return change(
        #"{"type": "setAdjustments", "assets": [\#(names)], "adjustments": {"operations": [{"type": "brightness", "amount": \#(amount)}]}}"#,
        number)
    case .trash:
      let type = number % 2 == 1 ? "deleteAsset" : "restoreAsset"
      let entries = identifiers.prefix(3).map { #"{"type": "\#(type)", "asset": "\#($0)"}"# }
      return change(entries.joined(separator: ","), number)
    }
  }

  private func change(_ entries: String, _ number: Int) -> Bool {
    let body = #"{"changes": [\#(entries)]}"#
    let head = "POST /v1/changes HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/json\r\n"
    guard let status = status(Array((head + "Content-Length: \(body.utf8.count)\r\n\r\n" + body).utf8)) else {
      return false
    }
    state.withLock { state in
      // The first list of the trash may find what an earlier daemon has done.
      if status == 200 { state.confirmed = number } else if load != .trash { state.failures.append("\(status)") }
    }
    return true
  }

  private func upload(_ number: Int) -> Bool {
    let picture =
      JPEGFile { _ in }.encoded(Pixels.orientationCard(width: 40, height: 24))
      + Array("\(UInt64.random(in: 0 ... .max))".utf8)
    let head = "POST /v1/assets?filename=u\(number).jpg HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
    guard let status = status(Array((head + "Content-Length: \(picture.count)\r\n\r\n").utf8) + picture) else {
      return false
    }
    state.withLock { state in
      if status == 201 {
        state.uploads.insert(Data(Digest.sha256(picture)))
      } else {
        state.failures.append("\(status)")
      }
    }
    return true
  }

  /// The status of the response to a request; `nil` without one.
  private func status(_ bytes: [UInt8]) -> Int? {
    guard let descriptor = try? daemon.connection() else { return nil }
    defer { close(descriptor) }
    guard Glibc.send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL)) == bytes.count else { return nil }
    var answer: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 65_536)
    while true {
      let count = recv(descriptor, &chunk, chunk.count, 0)
      if count <= 0 { break }
      answer += chunk[..<count]
    }
    // A killed daemon answers with nothing, which is no fault of the test.
    let text = String(decoding: answer.prefix(12), as: UTF8.self)
    return text.hasPrefix("HTTP/1.1 ") ? Int(text.suffix(3)) : nil
  }

  /// Compares the library with what was confirmed.
  func check(_ comment: String) throws {
    let (sent, confirmed, uploads, failures) = state.withLock { ($0.sent, $0.confirmed, $0.uploads, $0.failures) }
    #expect(failures == [], "\(comment)")
    switch load {
    case .uploads:
      var found: Set<Data> = []
      for name in TestDaemon.files(in: folders.library) where name.hasSuffix(".jpg") {
        let bytes = FileManager.default.contents(atPath: folders.library + "/" + name) ?? Data()
        found.insert(Data(Digest.sha256(bytes)))
      }
      #expect(uploads.isSubset(of: found), "\(comment): \(uploads.subtracting(found).count) uploads are lost")
    case .changeLists:
      let values = try column("coalesce(caption, '0')")
      try checkValue(values, from: confirmed, to: sent, comment) { "\($0)" }
    case .adjustments:
      let values = try column("coalesce(adjustments, '0')")
      #expect(Set(values).count == 1, "\(comment): \(Set(values))")
    case .trash:
      let (live, trashed) = try folders.catalogue { db in
        (
          try Int.fetchOne(db, sql: "SELECT count(*) FROM asset") ?? 0,
          try Int.fetchOne(db, sql: "SELECT count(*) FROM trash") ?? 0
        )
      }
      #expect(
        live + trashed == identifiers.count && (trashed == 0 || trashed == 3), "\(comment): \(trashed) in the trash")
      let files = TestDaemon.files(in: folders.library).filter { $0.hasSuffix(".jpg") }
      #expect(files.count == identifiers.count, "\(comment): \(files)")
    }
  }

  private func column(_ expression: String) throws -> [String] {
    try folders.catalogue { try String.fetchAll($0, sql: "SELECT \(expression) FROM asset ORDER BY id") }
  }

  /// All assets have the value of one list: the last confirmed one, or one that was sent after it.
  private func checkValue(
    _ values: [String], from confirmed: Int, to sent: Int, _ comment: String, _ value: (Int) -> String
  ) throws {
    #expect(Set(values).count == 1, "\(comment): a list was stored in part: \(Set(values))")
    // Without a confirmed list of this daemon, an earlier daemon's value may be there.
    guard confirmed > 0, let first = values.first else { return }
    #expect(
      (confirmed...max(confirmed, sent)).map(value).contains(first), "\(comment): \(first), confirmed \(confirmed)")
  }
}
