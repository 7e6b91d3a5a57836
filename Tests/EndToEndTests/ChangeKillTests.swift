import Foundation
import GRDB
import PhotoFixtures
import Testing

#if canImport(Glibc)
  import Glibc
#endif

/// The daemon, killed between every two steps of a change list: what the next one finds is the library before it or after it.
@Suite("Change lists that are killed", .serialized)
struct ChangeKillTests {
  private static let entries = 5
  /// Each step, and how often a list comes by it.
  static let steps: [(step: String, isDone: Bool)] = {
    var steps = [(step: "filesMoved:1", isDone: false)]
    for entry in 1...entries { steps.append((step: "entryWritten:\(entry)", isDone: false)) }
    steps.append((step: "written:1", isDone: false))
    steps.append((step: "committed:1", isDone: true))
    return steps
  }()

  private struct State: Equatable {
    var collections: [String] = []
    var members: [String] = []
    var assets: [String] = []
    var token = 0
    var changes = 0

    init(_ data: String) throws {
      let queue = try DatabaseQueue(path: data + "/catalogue.sqlite")
      (collections, members, assets, token, changes) = try queue.read {
        db -> ([String], [String], [String], Int, Int) in
        #expect(try String.fetchAll(db, sql: "PRAGMA integrity_check") == ["ok"])
        #expect(try Row.fetchOne(db, sql: "PRAGMA foreign_key_check") == nil)
        return (
          try String.fetchAll(db, sql: "SELECT title FROM collection WHERE type <> 'smartAlbum' ORDER BY title"),
          try String.fetchAll(
            db,
            sql:
              "SELECT originalFilename FROM member JOIN asset ON asset.id = member.asset ORDER BY collection, position"),
          try String.fetchAll(
            db, sql: "SELECT originalFilename || isFavorite FROM asset ORDER BY originalFilename"),
          try Int.fetchOne(db, sql: "SELECT value FROM library WHERE key = 'token'") ?? -1,
          try Int.fetchOne(db, sql: "SELECT count(DISTINCT token) FROM changedObject") ?? -1
        )
      }
    }
  }

  @Test("between every two steps", arguments: ChangeKillTests.steps.indices)
  func killed(_ index: Int) throws {
    let (step, isDone) = Self.steps[index]
    let daemon = try TestDaemon(
      { files in
        for number in 0..<3 {
          try files.put(
            JPEGFile { _ in }.encoded(Pixels.orientationCard(width: 32 + number, height: 24)), "\(number).jpg")
        }
      }, launcher: "PHOTOD_TEST_CHANGE_FAULT=\(step) exec \"$@\"")
    let names = try (0..<3).map { try daemon.identifier("\($0).jpg") }
    let before = try State(daemon.data)
    let body = """
      {"changes": [
        {"type": "createFolder", "title": "F", "placeholder": "$f"},
        {"type": "createAlbum", "title": "A", "parent": "$f", "placeholder": "$a"},
        {"type": "addAssets", "collection": "$a", "assets": ["\(names[0])", "\(names[1])"]},
        {"type": "insertAssets", "collection": "$a", "assets": ["\(names[2])"], "index": 1},
        {"type": "updateAsset", "asset": "\(names[0])", "isFavorite": true}]}
      """
    let raw = try daemon.send(
      "POST /v1/changes HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/json\r\n"
        + "Content-Length: \(body.utf8.count)\r\n\r\n" + body)
    #expect(raw.isEmpty, "it was killed before it answered")
    let after = try State(daemon.data)
    if isDone {
      #expect(after.collections == ["A", "F"] && after.members == ["0.jpg", "2.jpg", "1.jpg"])
      #expect(after.assets == ["0.jpg1", "1.jpg0", "2.jpg0"])
      #expect(after.token == before.token + 1 && after.changes == before.changes + 1)
    } else {
      #expect(after == before)
    }
    // The next one takes it up without a word, and finds nothing to put right.
    let next = try TestDaemon.run(["scan", "--library", daemon.library, "--data", daemon.data])
    #expect(next.status == 0, "\(next.error)")
    #expect(try State(daemon.data) == after)
  }
}
