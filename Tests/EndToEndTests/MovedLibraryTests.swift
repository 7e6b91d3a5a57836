import Foundation
import GRDB
import PhotoFixtures
import Testing

#if canImport(Glibc)
  import Glibc
#endif

/// A library and its backup, moved to a machine that has nothing.
@Suite("Backup under load, and restore on an empty machine", .blocking)
struct MovedLibraryTests {
  private static let pictures = 8

  /// What a client sees of a library: by path, because identifiers are compared with it.
  private func state(_ daemon: TestDaemon, _ bearer: String) throws -> [String] {
    var lines: [String] = []
    func lists(_ target: String, _ key: String) throws -> [[String: Any]] {
      let response = try daemon.get(target, [bearer])
      try #require(response.status == 200, "\(target): \(response.json)")
      return response.json[key] as? [[String: Any]] ?? []
    }
    for asset in try lists("/v1/assets?limit=1000&includeHiddenAssets=true", "assets") {
      let words = [
        "relativePath", "localIdentifier", "isFavorite", "isHidden", "hasAdjustments", "caption", "pixelWidth",
      ]
      lines.append("asset " + words.map { "\(asset[$0] ?? "-")" }.joined(separator: " "))
    }
    for album in try lists("/v1/collections?type=album", "collections") {
      let identifier = try #require(album["localIdentifier"] as? String)
      let members = try lists("/v1/collections/\(identifier)/assets?limit=1000", "assets")
      let names = members.map { "\($0["relativePath"] ?? "-")" }
      lines.append("album \(album["title"] ?? "-") \(identifier): \(names.joined(separator: " "))")
    }
    for asset in try lists("/v1/trash", "assets") { lines.append("trash \(asset["localIdentifier"] ?? "-")") }
    return lines.sorted()
  }

  /// Copies a library as a user does, with the times of its files. Their inodes are new.
  private func copy(_ library: String, to destination: String) throws {
    let process = try Process.run(
      URL(filePath: "/bin/cp"), arguments: ["--archive", "--no-target-directory", library, destination])
    process.waitUntilExit()
    try #require(process.terminationStatus == 0)
  }

  @Test("albums, favourites, adjustments and the trash come back, and tokens if asked for")
  func moved() throws {
    let old = try TestDaemon({ files in
      for number in 0..<Self.pictures {
        try files.put(
          JPEGFile { _ in }.encoded(Pixels.orientationCard(width: 32 + number, height: 24)), "\(number).jpg")
      }
    })
    let names = try (0..<Self.pictures).map { try old.identifier("\($0).jpg") }
    // From here on, each request needs a token.
    let secret = try old.makeToken("read,write,location")
    let bearer = TestDaemon.bearer(secret)
    let list = """
      {"changes": [
        {"type": "createAlbum", "title": "Sea", "placeholder": "$a"},
        {"type": "addAssets", "collection": "$a", "assets": ["\(names[2])", "\(names[0])", "\(names[5])"]},
        {"type": "updateAsset", "asset": "\(names[1])", "isFavorite": true, "caption": "Words"},
        {"type": "updateAsset", "asset": "\(names[3])", "isHidden": true},
        {"type": "setAdjustments", "asset": "\(names[4])", "adjustments": {"operations": [{"type": "rotate", "quarterTurns": 1}]}},
        {"type": "deleteAsset", "asset": "\(names[5])"}]}
      """
    let changed = try old.post("/v1/changes", list, [bearer])
    try #require(changed.status == 200, "\(changed.json)")

    let backup = old.data + "/../copy.sqlite"
    let before = try state(old, bearer)
    #expect(before.count == Self.pictures - 1 + 1 + 1)
    try TestDaemon.succeed(["backup", backup, "--include-tokens", "--library", old.library, "--data", old.data])
    let mode = try FileManager.default.attributesOfItem(atPath: backup + ".access")[.posixPermissions] as? Int
    #expect(mode == 0o600)

    let new = try TestDaemon.Folders()
    try copy(old.library, to: new.library)
    let options = ["--library", new.library, "--data", new.data]
    do {
      // Without its tokens.
      try TestDaemon.succeed(["restore", backup] + options)
      let daemon = try TestDaemon(serving: new)
      #expect(try daemon.authorization(secret)["status"] as? String == "denied")
    }
    let restore = try TestDaemon.run(["restore", backup, "--include-tokens"] + options)
    try #require(restore.status == 0, "\(restore)")
    #expect(restore.output.contains("access.before-restore.sqlite"))
    try TestDaemon.succeed(["scan"] + options)
    let daemon = try TestDaemon(serving: new)
    let after = try state(daemon, bearer)
    #expect(
      after == before, "\(after.filter { !before.contains($0) }) in place of \(before.filter { !after.contains($0) })")
    let restored = try daemon.post(
      "/v1/changes", "{\"changes\": [{\"type\": \"restoreAsset\", \"asset\": \"\(names[5])\"}]}", [bearer])
    #expect(restored.status == 200, "\(restored.json)")
    #expect(try state(daemon, bearer).contains { $0.hasPrefix("album Sea") && $0.hasSuffix(": 2.jpg 0.jpg 5.jpg") })
    let check = try TestDaemon.run(["check"] + options)
    #expect(check.status == 0, "\(check.output)")
  }

  @Test("a backup during change lists and uploads has each change wholly or not at all")
  func underLoad() throws {
    let daemon = try TestDaemon.ofCards(2)
    let names = try (0..<2).map { try daemon.identifier("\($0).jpg") }
    let stop = DispatchSemaphore(value: 0)
    let ended = DispatchGroup()
    // Both assets have the same caption after each list, and each list adds an album with both of them.
    DispatchQueue.global().async(group: ended) {
      var number = 0
      while stop.wait(timeout: .now()) == .timedOut {
        number += 1
        let updates = names.map { "{\"type\": \"updateAsset\", \"asset\": \"\($0)\", \"caption\": \"\(number)\"}" }
        let list = """
          {"changes": [\(updates.joined(separator: ",")), {"type": "createAlbum", "title": "\(number)", "placeholder": "$a"},
            {"type": "addAssets", "collection": "$a", "assets": ["\(names[0])", "\(names[1])"]}]}
          """
        let response = try? daemon.post("/v1/changes", list)
        #expect(response?.status == 200)
      }
    }
    DispatchQueue.global().async(group: ended) {
      for number in 0..<40 {
        let picture = JPEGFile { _ in }.encoded(Pixels.orientationCard(width: 40 + number, height: 24))
        let head = "POST /v1/assets?filename=u.jpg HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
        guard let descriptor = try? daemon.connection() else { return }
        let bytes = Array((head + "Content-Length: \(picture.count)\r\n\r\n").utf8) + picture
        _ = Glibc.send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL))
        var answer = [UInt8](repeating: 0, count: 65_536)
        while recv(descriptor, &answer, answer.count, 0) > 0 {}
        close(descriptor)
      }
    }
    defer { withExtendedLifetime(daemon) {} }
    for number in 0..<Sampling.count(5, thorough: 40) {
      let copy = daemon.data + "/../copy-\(number).sqlite"
      try TestDaemon.succeed(["backup", copy, "--library", daemon.library, "--data", daemon.data])
      let queue = try DatabaseQueue(path: copy)
      let (captions, members, files) = try queue.read { db in
        (
          try Set(
            String.fetchAll(
              db, sql: "SELECT coalesce(caption, '') FROM asset WHERE localIdentifier IN (?, ?)",
              arguments: [names[0], names[1]])),
          try Int.fetchAll(
            db,
            sql: """
              SELECT (SELECT count(*) FROM member WHERE member.collection = collection.id) FROM collection
              WHERE type = 'album'
              """),
          try Int.fetchOne(
            db, sql: "SELECT count(*) FROM asset WHERE id NOT IN (SELECT asset FROM file WHERE isPrimary = 1)")
        )
      }
      try queue.close()
      #expect(captions.count == 1 && members.allSatisfy { $0 == 2 } && files == 0)
      // A restore of it is consistent, too.
      let target = daemon.data + "/../restored-\(number)"
      try TestDaemon.succeed(["restore", copy, "--library", daemon.library, "--data", target])
      try TestDaemon.succeed(["scan", "--library", daemon.library, "--data", target])
    }
    stop.signal()
    ended.wait()
  }
}
