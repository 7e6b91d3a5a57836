import Foundation
import PhotoFixtures
import Testing

/// Edits of pictures over HTTP, in a daemon of each test.
@Suite("Adjustments over HTTP", .blocking)
struct AdjustmentTests {
  private static let scene = Scene(seed: 6, grain: 4).pixels(width: 640, height: 480)
  private static let crop =
    #"{"operations": [{"type": "crop", "rect": [0, 0, 0.5, 1]}, {"type": "rotate", "quarterTurns": 1}]}"#
  private static let sepia =
    #"{"operations": [{"type": "blackAndWhite", "amount": 1}, {"type": "warmth", "amount": 0.5}]}"#

  private static func daemon() throws -> (daemon: TestDaemon, asset: String, identifier: String) {
    let daemon = try TestDaemon {
      try $0.put(JPEGFile { $0.quality = 95 }.encoded(scene), "IMG_1.jpg")
      try $0.put(JPEGFile { $0.exif = EXIFBlock { $0.orientation = 6 } }.encoded(scene), "IMG_2.jpg")
    }
    let identifier = try daemon.identifier("IMG_1.jpg")
    return (daemon, "/v1/assets/\(identifier)", identifier)
  }

  private static func put(_ body: String, _ asset: String, _ daemon: TestDaemon, _ fields: [String] = []) throws
    -> TestDaemon.Response
  { try daemon.post(asset + "/adjustments", body, method: "PUT", fields) }

  private static func size(_ response: TestDaemon.Response) -> [Int] {
    Pixels.decoded(response.body).map { [$0.pixels.width, $0.pixels.height] } ?? []
  }

  @Test("an edit shows in every picture at once, each version keeps its own, and reverting brings back the same tags")
  func versions() throws {
    let (daemon, asset, identifier) = try Self.daemon()
    let paths = [
      "/image?targetSize=200x200&format=jpeg", "/image?targetSize=max&format=jpeg",
      "/image?targetSize=90x90&contentMode=aspectFill&format=jpeg",
    ]
    let before = try paths.map { try daemon.get(asset + $0) }
    let facts = try daemon.get(asset).json
    let data = try daemon.get(asset + "/data")
    let start = try #require(try daemon.get("/v1/assets").json["changeToken"] as? String)
    #expect(try daemon.get(asset + "/adjustments").status == 404)

    let answer = try Self.put(Self.crop, asset, daemon)
    #expect(
      answer.status == 200 && answer.json["pixelWidth"] as? Int == 480 && answer.json["pixelHeight"] as? Int == 320)
    let edited = try daemon.get(asset).json
    #expect(edited["hasAdjustments"] as? Bool == true)
    #expect(edited["pixelWidth"] as? Int == 480 && edited["unadjustedPixelWidth"] as? Int == 640)
    let version = try #require(edited["contentVersion"] as? String)
    #expect(version == answer.json["contentVersion"] as? String && version != facts["contentVersion"] as? String)

    for (path, old) in zip(paths, before) {
      let new = try daemon.get(asset + path)
      #expect(new["ETag"] != old["ETag"] && new.body != old.body, "\(path)")
      for version in ["unadjusted", "original"] {
        let same = try daemon.get(asset + path + "&version=\(version)")
        #expect(same["ETag"] == old["ETag"] && same.body == old.body, "\(path) \(version)")
      }
      // A client that has the old picture gets the new one, by date too.
      #expect(try daemon.get(asset + path, ["If-None-Match: \(old["ETag"] ?? "")"]).status == 200)
    }
    #expect(try Self.size(daemon.get(asset + paths[0])) == [200, 133])
    #expect(try Self.size(daemon.get(asset + paths[1])) == [480, 320])
    #expect(try daemon.get(asset + paths[0] + "&v=\(version)")["Cache-Control"]?.contains("immutable") == true)
    #expect(try daemon.get(asset + paths[0] + "&v=\(facts["contentVersion"] as? String ?? "")").status == 404)

    // The upper left corner was the lower left one.
    let turned = try #require(Pixels.decoded(daemon.get(asset + "/image?targetSize=max&format=png").body)).pixels
    let expected = Self.scene.cropped(x: 0, y: 0, width: 320, height: 480).mapped(width: 480, height: 320) {
      ($1, 479 - $0)
    }
    #expect(try #require(turned.channels(3).meanDifference(from: expected)) < 4)

    let list = try daemon.post(
      "/v1/images", #"{"assets": ["\#(identifier)"], "targetSize": "200x200", "format": "jpeg"}"#)
    #expect(String(decoding: list.body, as: Unicode.ASCII.self).contains("width=200, height=133"))

    let reverted = try daemon.get(asset + "/adjustments", method: "DELETE")
    #expect(reverted.status == 204)
    #expect(try daemon.get(asset + "/adjustments", method: "DELETE").status == 204)
    for (path, old) in zip(paths, before) {
      let new = try daemon.get(asset + path)
      #expect(new["ETag"] == old["ETag"] && new.body == old.body, "\(path)")
    }
    #expect(try daemon.get(asset).json["contentVersion"] as? String == facts["contentVersion"] as? String)
    #expect(try daemon.get(asset + "/data").body == data.body)
    // The history has both changes: a client may have seen the edited picture.
    let changes = try daemon.get("/v1/changes?since=\(start)").json["assets"] as? [String: Any]
    let updated = try #require(changes?["updated"] as? [[String: Any]])
    let change = updated.first { $0["localIdentifier"] as? String == identifier }
    #expect(change?["assetContentChanged"] as? Bool == true)
  }

  @Test("the data of an edited picture are a render at its full size, by ranges too; the original stays reachable")
  func data() throws {
    let (daemon, asset, _) = try Self.daemon()
    let original = try daemon.get(asset + "/data")
    _ = try Self.put(Self.crop, asset, daemon)
    let current = try daemon.get(asset + "/data?download=true")
    #expect(current.status == 200 && Self.size(current) == [480, 320])
    #expect(current["Content-Disposition"]?.contains("IMG_1.jpg") == true)
    #expect(current.result("orientation") == "1")
    let part = try daemon.get(asset + "/data", ["Range: bytes=100-199", "If-Range: \(current["ETag"] ?? "")"])
    #expect(part.status == 206 && part.body == Array(current.body[100..<200]))
    #expect(try daemon.get(asset + "/data", ["If-None-Match: \(current["ETag"] ?? "")"]).status == 304)
    #expect(try daemon.get(asset + "/data", method: "HEAD")["ETag"] == current["ETag"])
    for version in ["original", "unadjusted"] {
      let same = try daemon.get(asset + "/data?version=\(version)")
      #expect(same.body == original.body)
    }
    let resources = try #require(daemon.get(asset + "/resources").json["resources"] as? [[String: Any]])
    #expect(
      resources.compactMap { $0["type"] as? String } == [
        "photo", "fullSizePhoto", "adjustmentData", "adjustmentBasePhoto",
      ])
    #expect(try daemon.get(asset + "/resources/fullSizePhoto/data").body == current.body)
    #expect(try daemon.get(asset + "/resources/adjustmentBasePhoto/data").body == original.body)
    let saved = try daemon.get(asset + "/resources/adjustmentData/data")
    #expect(saved.json["formatIdentifier"] as? String == "photod.adjustments")
    #expect(resources[2]["size"] as? Int == saved.body.count)
    #expect(resources[1]["size"] is NSNull && resources[2]["uti"] is NSNull, "what is not known is null")
    #expect(resources.allSatisfy { Set($0.keys) == ["type", "uti", "filename", "size", "isLocal"] })
  }

  @Test("invalid adjustments are a 422 that names the operation, and change nothing")
  func invalid() throws {
    let (daemon, asset, identifier) = try Self.daemon()
    let token = try daemon.get("/v1/assets?limit=1").json["changeToken"] as? String
    let cases: [(body: String, status: Int, detail: String)] = [
      ("{}", 422, "operations must be"), (#"{"operations": 1}"#, 400, "must be a list"),
      (#"{"operations": [{"type": "tint", "amount": 0}, {"type": "glow"}]}"#, 422, "operations[1] (glow)"),
      (#"{"operations": [{"type": "crop", "rect": [0.5, 0, 0.6, 1]}]}"#, 422, "operations[0] (crop)"),
      (#"{"operations": [{"type": "toneCurve", "points": [[0, 0], [1, 2]]}]}"#, 422, "operations[0] (toneCurve)"),
      (#"{"operations": [], "rating": 1}"#, 400, "no member"),
      (#"{"formatIdentifier": "com.example", "operations": []}"#, 400, "base64"),
      (#"{"formatIdentifier": "com.example", "data": "%%"}"#, 400, "base64"),
      (#"{"operations": [], "data": "AA=="}"#, 400, "other programs"),
      (#"{"formatVersion": "2", "operations": []}"#, 400, "must be 1"),
      ("[]", 400, "not a JSON object"),
    ]
    for (body, status, detail) in cases {
      let answer = try Self.put(body, asset, daemon)
      #expect(
        answer.status == status && (answer.json["detail"] as? String ?? "").contains(detail), "\(body) \(answer.json)")
    }
    let list = try daemon.post(
      "/v1/changes",
      #"{"changes": [{"type": "updateAsset", "asset": "\#(identifier)", "isFavorite": true}, {"type": "setAdjustments", "asset": "\#(identifier)", "adjustments": {"operations": [{"type": "exposure", "ev": 9}]}}]}"#
    )
    #expect(list.status == 422 && list.json["index"] as? Int == 1)
    #expect(try daemon.get("/v1/assets?limit=1").json["changeToken"] as? String == token)
  }

  @Test("the tag of either coding guards an edit")
  func guardedByCodedTag() throws {
    let (daemon, asset, _) = try Self.daemon()
    let data = String(repeating: "AAAA", count: 500)
    let edit =
      #"{"operations": [], "formatIdentifier": "com.example", "formatVersion": "1", "data": "\#(data)"}"#
    #expect(try Self.put(edit, asset, daemon).status == 200)
    let plain = try #require(try daemon.get(asset + "/adjustments")["ETag"])
    let coded = try daemon.get(asset + "/adjustments", ["Accept-Encoding: gzip"])
    let tag = try #require(coded["ETag"])
    #expect(coded["Content-Encoding"] == "gzip" && tag != plain)
    #expect(try Self.put(edit, asset, daemon, ["If-None-Match: \(tag)"]).status == 412)
    #expect(try Self.put(edit, asset, daemon, ["If-Match: \(tag)", "Accept-Encoding: gzip"]).status == 200)
    #expect(try Self.put(Self.sepia, asset, daemon, ["If-Match: \(plain)"]).status == 200)
    #expect(try Self.put(edit, asset, daemon, ["If-Match: \(tag)"]).status == 412, "another edit was made meanwhile")
  }

  @Test("an edit is guarded by the tag of the adjustments, and copied to many assets in one list")
  func guardedAndCopied() throws {
    let (daemon, asset, identifier) = try Self.daemon()
    let other = try daemon.identifier("IMG_2.jpg")
    #expect(try Self.put(Self.sepia, asset, daemon, ["If-Match: *"]).status == 412)
    let first = try Self.put(Self.sepia, asset, daemon, ["If-None-Match: *"])
    #expect(first.status == 200)
    let tag = try #require(try daemon.get(asset + "/adjustments")["ETag"])
    #expect(tag == first["ETag"])
    #expect(try Self.put(Self.crop, asset, daemon, ["If-Match: \"other\""]).status == 412)
    #expect(try Self.put(Self.crop, asset, daemon, ["If-Match: \(tag)"]).status == 200)
    let list = try daemon.post(
      "/v1/changes",
      #"{"changes": [{"type": "setAdjustments", "assets": ["\#(identifier)", "\#(other)"], "adjustments": \#(Self.sepia)}]}"#
    )
    #expect(list.status == 200, "\(list.json)")
    for name in [identifier, other] {
      let operations = try daemon.get("/v1/assets/\(name)/adjustments").json["operations"] as? [[String: Any]]
      #expect(operations?.compactMap { $0["type"] as? String } == ["blackAndWhite", "warmth"])
    }
    let edited = try #require(
      try daemon.get("/v1/assets?predicate=hasAdjustments%20%3D%3D%20YES&count=true").json["count"] as? Int)
    #expect(edited == 2)
    let back = try daemon.post(
      "/v1/changes", #"{"changes": [{"type": "revertAdjustments", "assets": ["\#(identifier)", "\#(other)"]}]}"#)
    #expect(back.status == 200)
    #expect(try daemon.get("/v1/assets/\(other)").json["hasAdjustments"] as? Bool == false)
  }

  @Test("a preview shows operations without saving them")
  func preview() throws {
    let (daemon, asset, _) = try Self.daemon()
    let before = try daemon.get(asset).json["revision"] as? String
    let body = #"{"operations": [{"type": "rotate", "quarterTurns": 1}], "targetSize": "100x100", "client": "tab"}"#
    let answer = try daemon.post(asset + "/preview", body)
    #expect(answer.status == 200 && answer["Content-Type"] == "image/jpeg" && answer["Cache-Control"] == "no-store")
    #expect(Self.size(answer) == [75, 100] && answer.result("width") == "75")
    #expect(try daemon.get(asset).json["revision"] as? String == before)
    for (body, status) in [
      (#"{"operations": [{"type": "glow"}]}"#, 422), (#"{"targetSize": "100x100"}"#, 422),
      (#"{"operations": [], "client": "a b"}"#, 400), (#"{"operations": [], "size": 1}"#, 400),
    ] { #expect(try daemon.post(asset + "/preview", body).status == status, "\(body)") }
    #expect(try daemon.post("/v1/assets/none/preview", body).status == 404)
    let named = try daemon.post(asset + "/preview?client=tab", #"{"operations": [], "targetSize": "20x20"}"#)
    #expect(named.status == 200, "the table has the parameter")
  }

  @Test("data of another program come back byte for byte, and the picture is not changed by them")
  func foreign() throws {
    let (daemon, asset, _) = try Self.daemon()
    let before = try daemon.get(asset + "/image?targetSize=100x100")
    let bytes: [UInt8] = (0...255).map { $0 }
    let body =
      #"{"formatIdentifier": "com.example.editor", "formatVersion": "3.1", "data": "\#(Data(bytes).base64EncodedString())"}"#
    #expect(try Self.put(body, asset, daemon).status == 200)
    let saved = try daemon.get(asset + "/adjustments").json
    #expect(saved["formatIdentifier"] as? String == "com.example.editor" && saved["formatVersion"] as? String == "3.1")
    #expect(try daemon.get(asset + "/resources/adjustmentData/data").body == bytes)
    #expect(try daemon.get(asset + "/image?targetSize=100x100")["ETag"] == before["ETag"])
    #expect(try daemon.get(asset).json["hasAdjustments"] as? Bool == true)
  }

  @Test("a rescan of the file keeps the adjustments, also if its pixels changed")
  func rescan() throws {
    let folders = try TestDaemon.Folders()
    let files = TestDaemon.Files(root: folders.library)
    func scan() throws { try TestDaemon.succeed(["scan", "--library", folders.library, "--data", folders.data]) }
    try files.put(JPEGFile().encoded(Self.scene), "IMG_1.jpg")
    try scan()
    let (asset, before) = try {
      let daemon = try TestDaemon(serving: folders)
      let asset = "/v1/assets/\(try daemon.identifier("IMG_1.jpg"))"
      #expect(try Self.put(Self.crop, asset, daemon).status == 200)
      return (asset, try daemon.get(asset).json)
    }()
    try files.put(JPEGFile().encoded(Scene(seed: 9).pixels(width: 800, height: 600)), "IMG_1.jpg")
    try scan()
    let daemon = try TestDaemon(serving: folders)
    let after = try daemon.get(asset).json
    #expect(after["unadjustedPixelWidth"] as? Int == 800)
    #expect(after["pixelWidth"] as? Int == 600 && after["pixelHeight"] as? Int == 400)
    #expect(after["contentVersion"] as? String != before["contentVersion"] as? String)
    #expect(after["hasAdjustments"] as? Bool == true)
    #expect(try Self.size(daemon.get(asset + "/image?targetSize=max&format=png")) == [600, 400])
    _ = try daemon.get(asset + "/adjustments", method: "DELETE")
    #expect(try daemon.get(asset).json["pixelWidth"] as? Int == 800)
  }
}
