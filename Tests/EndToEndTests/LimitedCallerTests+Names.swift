import Foundation
import PhotoFixtures
import Testing

/// The names of its files.
extension LimitedCallerTests {
  @Test("does not learn from the names of its files which names exist, whichever way it uploads them")
  func names() throws {
    let world = try LimitedCallerFixture()
    let daemon = world.daemon
    let everything = TestDaemon.bearer(try daemon.makeToken("read,write", ["--name", "everything"]))
    let writer = TestDaemon.bearer(try daemon.makeToken("read,write", ["--limit-to", "Mine", "--name", "writer"]))
    let taken = try daemon.upload(UploadTests.picture(1), "?filename=taken.jpg", [everything])
    #expect(taken.json["relativePath"] as? String == "2021/07/taken.jpg")
    func path(_ name: String, _ number: Int, isStaged: Bool) throws -> String {
      let (picture, query) = (UploadTests.picture(number), "?filename=\(name).jpg")
      let sent =
        isStaged
        ? try daemon.stage(picture, query, [writer, "Upload-Complete: ?1"]).json
        : try daemon.upload(picture, query, [writer]).json
      let upload = try #require((sent["upload"] ?? sent["localIdentifier"]) as? String, "\(sent)")
      let list = """
        {"changes": [{"type": "createAsset", "upload": "\(upload)", "placeholder": "$p"},
          {"type": "addAssets", "collection": "mine", "assets": ["$p"]}]}
        """
      let made = try daemon.post("/v1/changes", list, [writer])
      let asset = try #require((made.json["created"] as? [String: String])?["$p"], "\(made.json)")
      let found = try daemon.get("/v1/assets/\(asset)", [writer]).json
      #expect((found["relativePath"] as? String)?.hasSuffix(found["originalFilename"] as? String ?? "?") == true)
      return try #require(found["relativePath"] as? String).replacing(name, with: "NAME")
    }
    for isStaged in [false, true] {
      let number = isStaged ? 4 : 2
      let names = try (path("taken", number, isStaged: isStaged), path("free", number + 1, isStaged: isStaged))
      // The second file of a name follows the caller's own first one.
      #expect(names.0 == names.1 && names.0.hasSuffix("-2.jpg") == isStaged, "\(names)")
    }
  }

  @Test("does not learn from the number of a name which files lie beside a picture that it sees")
  func partNames() throws {
    let world = try LimitedCallerFixture()
    let daemon = world.daemon
    let everything = TestDaemon.bearer(try daemon.makeToken("read,write", ["--name", "everything"]))
    let writer = TestDaemon.bearer(try daemon.makeToken("read,write", ["--limit-to", "Mine", "--name", "writer"]))
    func upload(_ file: [UInt8], _ name: String, _ caller: String) throws -> String {
      let answer = try daemon.upload(file, "?filename=\(name)", [caller])
      return try #require(answer.json["localIdentifier"] as? String, "\(answer.json)")
    }
    func add(_ asset: String, _ caller: String) throws {
      let entry = #"{"type": "addAssets", "collection": "mine", "assets": ["\#(asset)"]}"#
      let answer = try daemon.post("/v1/changes", "{\"changes\": [\(entry)]}", [caller])
      #expect(answer.status == 200, "\(answer.json)")
    }
    func movie(daysLater: Int, ticks: Int) -> [UInt8] {
      // 2024-05-06T07:08:09Z, in seconds since 1904.
      MovieFile { ($0.created, $0.duration) = (3_797_824_089 + daysLater * 86_400, ticks) }.bytes
    }
    for (number, name) in ["taken", "free", "interrupted"].enumerated() {
      let exif = EXIFBlock {
        ($0.dateTimeOriginal, $0.offsetTimeOriginal) = ("2024:05:06 07:08:09", "+00:00")
      }
      let pixels = Pixels.orientationCard(width: 80, height: 48 + 8 * number)
      let picture = try upload(JPEGFile { $0.exif = exif }.encoded(pixels), "\(name).jpg", everything)
      try add(picture, everything)
      if name == "taken" {
        // An upload would get a number.
        try TestDaemon.Files(root: daemon.library).put(movie(daysLater: 14, ticks: 600), "2024/05/taken.mov")
        let administrator = TestDaemon.bearer(try daemon.makeToken("read,admin", ["--name", "administrator"]))
        #expect(try daemon.post("/v1/scan", "", [administrator]).status == 202)
        try daemon.until("the other video is an asset") {
          let assets = try daemon.get("/v1/assets?limit=1000", [administrator]).json["assets"] as? [[String: Any]]
          return assets?.contains { $0["originalFilename"] as? String == "taken.mov" } == true
        }
      }
      let bytes = movie(daysLater: 0, ticks: 900 + 300 * number)
      if name == "interrupted" { try TestDaemon.Files(root: daemon.library).put(bytes, "2024/05/interrupted.mov") }
      let video = try upload(bytes, "\(name).mov", writer)
      #expect((video == picture) == (name != "taken"))
      if video == picture { continue }
      try add(video, writer)
      let asset = try daemon.get("/v1/assets/\(video)", [writer]).json
      let path = try #require(asset["relativePath"] as? String, "\(asset)")
      #expect(path.hasPrefix("2024/05/taken-") && path.hasSuffix(".mov") && !path.hasSuffix("-2.mov"), "\(path)")
    }
  }
}
