import Foundation
import GRDB
import PhotoFixtures
import Testing

/// What was made of photographs stays on the disk only as long as they are in the library.
@Suite("Pictures of deleted photographs", .blocking)
struct FormerPictureTests {
  /// Background work would add derivatives at any time.
  private static let arguments = ["--set", "cache.backgroundDerivatives=false"]

  private static func files(_ folder: String) -> [String] {
    let names = FileManager.default.enumerator(atPath: folder)?.compactMap { $0 as? String } ?? []
    return names.filter { name in
      var isFolder: ObjCBool = false
      let exists = FileManager.default.fileExists(atPath: "\(folder)/\(name)", isDirectory: &isFolder)
      return exists && !isFolder.boolValue && !name.hasPrefix("index.sqlite") && name != "lock"
    }
  }

  private struct Stored: Equatable {
    var cache: Set<String>
    var renders: Set<String>

    var derivatives: Int { cache.count { $0.hasPrefix("derivative") } }
  }

  private static func stored(_ folders: TestDaemon.Folders) -> Stored {
    Stored(cache: Set(files(folders.data + "/cache")), renders: Set(files(folders.data + "/renders")))
  }

  /// Shows a photograph as a gallery does, and its edited data. Waits for its derivative, which is made after the frame
  /// has been sent: a daemon that ends does not wait for it.
  private static func show(_ name: String, _ daemon: TestDaemon, _ folders: TestDaemon.Folders) throws {
    let derivatives = stored(folders).derivatives
    let asset = "/v1/assets/\(try daemon.identifier(name))"
    #expect(try daemon.get(asset + "/image?targetSize=200x200").status == 200)
    let edit = #"{"operations": [{"type": "rotate", "quarterTurns": 1}]}"#
    #expect(try daemon.post(asset + "/adjustments", edit, method: "PUT").status == 200)
    #expect(try daemon.get(asset + "/image?targetSize=200x200").status == 200)
    #expect(try daemon.get(asset + "/data").status == 200)
    try daemon.until("its derivative is stored") { stored(folders).derivatives > derivatives }
  }

  @Test("frames, derivatives and full-size renders of a deleted photograph are removed, before and after its edit")
  func deletion() throws {
    let folders = try TestDaemon.Folders()
    for (name, seed) in [("a.jpg", 1), ("b.jpg", 2)] {
      let scene = Scene(seed: seed).pixels(width: 1280, height: 960)
      try TestDaemon.Files(root: folders.library).put(JPEGFile().encoded(scene), name)
    }
    try TestDaemon.succeed(["scan", "--library", folders.library, "--data", folders.data])
    let kept = try {
      let daemon = try TestDaemon(serving: folders, arguments: Self.arguments)
      try Self.show("a.jpg", daemon, folders)
      #expect(daemon.terminate() == 0)
      return Self.stored(folders)
    }()
    #expect(kept.cache.count >= 4 && kept.renders.count == 1, "\(kept)")
    do {
      let daemon = try TestDaemon(serving: folders, arguments: Self.arguments)
      try Self.show("b.jpg", daemon, folders)
      let deletion = #"{"changes": [{"type": "deleteAsset", "asset": "\#(try daemon.identifier("b.jpg"))"}]}"#
      #expect(try daemon.post("/v1/changes", deletion).status == 200)
      #expect(daemon.terminate() == 0)
    }
    let all = Self.stored(folders)
    #expect(all.cache.count >= 2 * kept.cache.count && all.renders.count == 2, "\(all)")
    // As if the delay had passed.
    let catalogue = try DatabaseQueue(path: folders.data + "/catalogue.sqlite")
    try catalogue.write { try $0.execute(sql: "UPDATE formerContent SET since = 0") }
    try catalogue.close()
    let daemon = try TestDaemon(serving: folders, arguments: Self.arguments)
    try daemon.until("no content is noted") {
      try folders.catalogue { try Int.fetchOne($0, sql: "SELECT count(*) FROM formerContent") } == 0
    }
    #expect(Self.stored(folders) == kept)
  }
}
