import Foundation
import PhotoFixtures
import Testing

#if canImport(Glibc)
  import Glibc
#endif

/// A token with the scope `add` alone can add to the library, and learns nothing about its contents.
@Suite("A caller who may only add", .blocking)
struct AddOnlyTests {
  private typealias Object = [String: Any]

  /// A daemon with a favourite, uploaded before there were tokens.
  private struct AddOnlyFixture {
    let daemon: TestDaemon
    let existing: String
    let reader: String
    let writer: String

    static let picture = UploadTests.picture(1)

    init() throws {
      daemon = try TestDaemon()
      let answer = try daemon.upload(Self.picture, "?filename=IMG_1.JPG")
      existing = try #require(answer.json["localIdentifier"] as? String)
      let favorite = #"{"changes": [{"type": "updateAsset", "asset": "\#(existing)", "isFavorite": true}]}"#
      #expect(try daemon.post("/v1/changes", favorite).status == 200)
      writer = TestDaemon.bearer(try daemon.token(["create", "--scope", "add"]))
      reader = TestDaemon.bearer(try daemon.makeToken("read,write"))
    }

    func asset(_ identifier: String) throws -> Object {
      // The placeholder is made in the background.
      try daemon.get("/v1/assets/\(identifier)", [reader]).json.filter { $0.key != "placeholder" }
    }

    func count() throws -> Int? { try daemon.get("/v1/assets?count=true", [reader]).json["count"] as? Int }
  }

  /// A response without its date and the new identifier: its status, its fields and its length.
  private func shape(_ answer: TestDaemon.Response) -> String {
    let name = answer.json["localIdentifier"] as? String ?? "none"
    let fields = answer.fields.filter { !["date", "x-request-id"].contains($0.key) }.sorted { $0.key < $1.key }
    return "\(answer.status) \(fields) \(answer.body.count)".replacing(name, with: "NAME")
  }

  @Test("creates a new asset with each upload, and can't detect whether the content existed")
  func uploads() throws {
    let world = try AddOnlyFixture()
    let before = try world.asset(world.existing)
    let there = try world.daemon.upload(AddOnlyFixture.picture, "?filename=IMG_1.JPG", [world.writer])
    let new = try world.daemon.upload(UploadTests.picture(2), "?filename=IMG_2.JPG", [world.writer])
    let again = try world.daemon.upload(UploadTests.picture(2), "?filename=IMG_2.JPG", [world.writer])
    for answer in [there, new, again] {
      #expect(answer.status == 201 && Set(answer.json.keys) == ["localIdentifier", "contentVersion"])
      #expect(shape(answer) == shape(new))
    }
    let names = [there, new, again].compactMap { $0.json["localIdentifier"] as? String }
    #expect(Set(names + [world.existing]).count == 4, "each is an asset of its own")
    #expect(try NSDictionary(dictionary: world.asset(world.existing)) == NSDictionary(dictionary: before))
    #expect(try world.count() == 4)
    // The same as several files of one form.
    let form = TestDaemon.form([
      ("a.jpg", AddOnlyFixture.picture), ("b.jpg", UploadTests.picture(3)), ("no.jpg", [1, 2, 3]),
    ])
    let several = try world.daemon.upload(form, type: "multipart/form-data; boundary=xyz", [world.writer])
    let added = try #require(several.json["assets"] as? [Object])
    let problems = try #require(several.json["problems"] as? [Object])
    #expect(
      several.status == 201 && added.count == 2 && problems.compactMap { $0["filename"] as? String } == ["no.jpg"])
    for asset in added {
      #expect(Set(asset.keys) == ["localIdentifier", "contentVersion"])
      #expect(asset["localIdentifier"] as? String != world.existing)
    }
    #expect(try world.count() == 6)
    // A staged upload, whose response was lost.
    let staged = try world.daemon.stage(UploadTests.picture(4), "", ["Upload-Complete: ?1", world.writer])
    let upload = #"{"upload": "\#(staged.json["upload"] as? String ?? "")"}"#
    let lost = try world.daemon.post("/v1/assets", upload, [world.writer])
    let repeated = try world.daemon.post("/v1/assets", upload, [world.writer])
    #expect(lost.status == 201 && repeated.status == 201 && repeated.body == lost.body)
    #expect(Set(lost.json.keys) == ["localIdentifier", "contentVersion"])
    #expect(try world.count() == 7)
    // A caller with `read` gets the existing asset.
    let seen = try world.daemon.upload(AddOnlyFixture.picture, "", [world.reader])
    #expect(seen.status == 200 && seen.json["localIdentifier"] as? String == world.existing)
    #expect(seen.json["isFavorite"] as? Bool == true)
  }

  @Test("creates assets from its own staged uploads, which do not exist for callers who may write")
  func stagedUploads() throws {
    let world = try AddOnlyFixture()
    let daemon = world.daemon
    let whole = ["Upload-Complete: ?1", world.writer]
    for picture in [AddOnlyFixture.picture, UploadTests.picture(2)] {
      let made = try daemon.stage(picture, "?filename=IMG_1.JPG", whole)
      let location = try #require(made["Location"])
      let body = #"{"upload": "\#(made.json["upload"] as? String ?? "")"}"#
      for method in ["GET", "HEAD", "DELETE"] {
        #expect(try daemon.get(location, [world.reader], method: method).status == 404, "\(method)")
      }
      #expect(try daemon.append([1], to: location, at: picture.count, [world.reader]).status == 404)
      #expect(try daemon.ask("POST", "/v1/assets", [world.reader], body: body).status == 404)
      let list = #"{"changes": [{"type": "createAsset", "placeholder": "$a", \#(body.dropFirst())]}"#
      #expect(try daemon.ask("POST", "/v1/changes", [world.reader], body: list).status == 404)
      for method in ["GET", "HEAD"] {
        let progress = try daemon.get(location, [world.writer], method: method)
        #expect(progress.status == 204 && progress["Upload-Offset"] == "\(picture.count)")
        #expect(progress["Upload-Complete"] == "?1")
      }
      // The first picture exists already. That is not revealed.
      let asset = try daemon.ask("POST", "/v1/assets", [world.writer], body: body)
      #expect(asset.status == 201 && Set(asset.json.keys) == ["localIdentifier", "contentVersion"])
      #expect(asset.json["localIdentifier"] as? String != world.existing)
      let again = try daemon.ask("POST", "/v1/assets", [world.writer], body: body)
      #expect(again.status == 201 && again.body == asset.body, "the response may have been lost")
      #expect(try daemon.ask("POST", "/v1/assets", [world.reader], body: body).status == 404)
      #expect(try daemon.get(location, [world.writer]).status == 404)
    }
    #expect(try world.count() == 3)
  }

  @Test("can't perform change lists, and gets the same refusal whatever the list names")
  func changes() throws {
    let world = try AddOnlyFixture()
    let deleted = try world.daemon.upload(UploadTests.picture(4), "", [world.reader])
    let gone = try #require(deleted.json["localIdentifier"] as? String)
    func list(_ entry: String) -> String { "{\"changes\": [\(entry)]}" }
    #expect(
      try world.daemon.post("/v1/changes", list(#"{"type": "deleteAsset", "asset": "\#(gone)"}"#), [world.reader])
        .status == 200)
    let own = try world.daemon.upload(UploadTests.picture(5), "", [world.writer])
    let ownName = try #require(own.json["localIdentifier"] as? String)
    let never = String(repeating: "z", count: world.existing.count)
    var bodies = ["{}", "no JSON", list("")]
    for name in [world.existing, never, gone, ownName] {
      bodies += [
        list(#"{"type": "deleteAsset", "asset": "\#(name)"}"#), list(#"{"type": "restoreAsset", "asset": "\#(name)"}"#),
        list(#"{"type": "updateAsset", "asset": "\#(name)", "isHidden": true, "ifMatch": "x"}"#),
        list(#"{"type": "createAsset", "upload": "\#(name)", "placeholder": "$a"}"#),
        list(#"{"type": "addAssets", "collection": "\#(name)", "assets": ["\#(name)"]}"#),
      ]
    }
    bodies += [
      list(#"{"type": "createAsset", "path": "2021/07/IMG_1.JPG"}"#),
      list(#"{"type": "createAlbum", "title": "A", "placeholder": "$a"}"#),
    ]
    let before = try world.asset(world.existing)
    let answers = try bodies.map { try world.daemon.post("/v1/changes", $0, [world.writer]) }
    for (body, answer) in zip(bodies, answers) {
      #expect(answer.status == 403 && answer.json["type"] as? String == "/problems/insufficient-scope", "\(body)")
      #expect(answer["WWW-Authenticate"]?.contains("scope=\"write\"") == true)
      #expect(shape(answer) == shape(answers[0]) && answer.body == answers[0].body, "\(body)")
    }
    #expect(try NSDictionary(dictionary: world.asset(world.existing)) == NSDictionary(dictionary: before))
    #expect(try world.daemon.get("/v1/trash", [world.writer]).status == 403)
    let trash = try world.daemon.get("/v1/trash", [world.reader]).json["assets"] as? [Object]
    #expect(trash?.compactMap { $0["localIdentifier"] as? String } == [gone])
  }

  @Test("can't read its uploads or count assets")
  func reads() throws {
    let world = try AddOnlyFixture()
    let own = try world.daemon.upload(UploadTests.picture(5), "", [world.writer])
    let location = try #require(own["Location"])
    for target in [location, location + "/image", location + "/metadata", "/v1/assets", "/v1/requests", "/metrics"] {
      #expect(try world.daemon.get(target, [world.writer]).status == 403, "\(target)")
    }
    func indexed(_ caller: String) throws -> Int? {
      (try world.daemon.get("/readyz", [caller]).json["firstScan"] as? Object)?["indexed"] as? Int
    }
    #expect(try indexed(world.writer) == nil)
    #expect(try indexed(world.reader) == 2)
  }

  @Test("uploads a RAW file that joins its picture only if it may see the picture")
  func partners() throws {
    let exif = EXIFBlock {
      $0.dateTimeOriginal = "2024:05:06 07:08:09"
      $0.offsetTimeOriginal = "+00:00"
    }
    let picture = JPEGFile { $0.exif = exif }.encoded(Pixels.orientationCard(width: 32, height: 24))
    let raw = TIFFPicture.nef(
      TIFFPicture.Details { ($0.make, $0.offsetTimeOriginal) = ("NIKON", "+00:00") }
    ).bytes
    let daemon = try TestDaemon()
    let stems = ["A", "B", "C", "D"]
    for name in stems {
      #expect(try daemon.upload(picture + Array(name.utf8), "?filename=\(name).JPG").status == 201)
    }
    try daemon.makeAlbum("album", title: "Holiday", ["2024/05/B.JPG"])
    let names = try stems.map { try daemon.identifier("2024/05/\($0).JPG") }
    let writer = TestDaemon.bearer(try daemon.token(["create", "--scope", "add"]))
    let limited = TestDaemon.bearer(try daemon.token(["create", "--scope", "read,write", "--limit-to", "Holiday"]))
    let reader = TestDaemon.bearer(try daemon.makeToken("read,write"))
    for (index, sender, joins) in [(0, writer, false), (1, limited, true), (2, limited, false), (3, reader, true)] {
      let bytes = raw + Array(stems[index].utf8)
      let answer = try daemon.upload(bytes, "?filename=\(stems[index]).NEF", type: "application/octet-stream", [sender])
      #expect(answer.status == 201, "\(stems[index])")
      #expect((answer.json["localIdentifier"] as? String == names[index]) == joins, "\(stems[index])")
      let asset = try daemon.get("/v1/assets/\(names[index])", [reader]).json
      #expect(asset["isRAW"] as? Bool == joins, "\(stems[index])")
    }
  }
}
