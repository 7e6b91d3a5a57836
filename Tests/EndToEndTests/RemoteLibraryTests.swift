import Foundation
import PhotoFixtures
import StoreFixtures
import Testing

@Suite("Remote libraries", .blocking)
struct RemoteLibraryTests {
  @Test(arguments: RemoteFixture.Kind.allCases)
  func `A remote library is scanned, and its originals are fetched when a request allows it`(
    _ kind: RemoteFixture.Kind
  ) throws {
    let remote = try RemoteFixture(kind)
    defer { remote.stop() }
    for number in 0..<3 { remote.set("2024/\(number) a.jpg", RemoteFixture.picture(number)) }
    let daemon = try remote.daemon()
    let assets = try #require(try daemon.get("/v1/assets").json["assets"] as? [[String: Any]])
    #expect(assets.count == 3 && assets.allSatisfy { $0["isInCloud"] as? Bool == true })
    #expect(assets.allSatisfy { $0["pixelWidth"] as? Int == 1200 })

    let refused = try daemon.image("2024/0 a.jpg", "targetSize=200x200")
    #expect(refused.status == 404 && refused.problem == "/problems/image-is-in-cloud")
    #expect(refused.result("in-cloud") == "?1")
    #expect(
      remote.server.requests.allSatisfy {
        $0.method != "GET" || $0.fields["range"] != nil || $0.path.hasSuffix("json") || !$0.query.isEmpty
      })

    let fetched = try daemon.image("2024/0 a.jpg", "targetSize=200x200&networkAccessAllowed=true")
    #expect(fetched.status == 200 && fetched.result("source") == "network" && fetched.result("in-cloud") == "?0")
    #expect(fetched["ETag"] != nil)
    let local = try daemon.image("2024/0 a.jpg", "targetSize=700x700")
    #expect(local.status == 200 && local.result("in-cloud") == "?0" && local.result("degraded") == "?0")
    #expect(try daemon.asset("2024/0 a.jpg")["isInCloud"] as? Bool == false)
    #expect(try daemon.asset("2024/1 a.jpg")["isInCloud"] as? Bool == true)
    #expect(remote.localOriginals.count == 1)
    #expect(try daemon.metric("photod_downloads_ended_total{result=\"complete\"}") == 1)
    #expect(try daemon.metric("photod_originals") == 1)
  }

  @Test func `The data of a file is sent after its download, whole and in ranges`() throws {
    let remote = try RemoteFixture()
    defer { remote.stop() }
    let bytes = RemoteFixture.picture(1)
    remote.set("a.jpg", bytes)
    let daemon = try remote.daemon()
    let data = "/v1/assets/\(try daemon.identifier("a.jpg"))/data"
    func isLocal() throws -> Bool? {
      let resources = try daemon.get(data.replacing("/data", with: "/resources")).json["resources"] as? [[String: Any]]
      return resources?.first?["isLocal"] as? Bool
    }
    #expect(try isLocal() == false)
    let refused = try daemon.get(data)
    #expect(refused.status == 404 && refused.problem == "/problems/image-is-in-cloud")
    let range = try daemon.get(data + "?networkAccessAllowed=true", ["Range: bytes=10-19"])
    #expect(range.status == 206 && range.body == Array(bytes[10..<20]))
    #expect(try daemon.get(data).body == bytes)
    #expect(try isLocal() == true)
    #expect(remote.downloads(of: "a.jpg") == 1)

    // The picture at its full size is the file.
    let whole = try daemon.image("a.jpg", "targetSize=max")
    #expect(whole.body == bytes)
  }

  @Test func `Of an adjusted picture in the cloud, only the adjustments are local`() throws {
    let remote = try RemoteFixture()
    defer { remote.stop() }
    remote.set("a.jpg", RemoteFixture.picture(1))
    let daemon = try remote.daemon()
    let asset = "/v1/assets/\(try daemon.identifier("a.jpg"))"
    let crop = #"{"operations": [{"type": "crop", "rect": [0.1, 0.2, 0.5, 0.3]}]}"#
    #expect(try daemon.post(asset + "/adjustments", crop, method: "PUT").status == 200)
    func localTypes() throws -> [String] {
      let resources = try #require(try daemon.get(asset + "/resources").json["resources"] as? [[String: Any]])
      return resources.filter { $0["isLocal"] as? Bool == true }.compactMap { $0["type"] as? String }
    }
    #expect(try localTypes() == ["adjustmentData"])
    for type in ["fullSizePhoto", "adjustmentBasePhoto"] {
      #expect(try daemon.get(asset + "/resources/\(type)/data").problem == "/problems/image-is-in-cloud")
    }
    #expect(try daemon.get(asset + "/data?version=original&networkAccessAllowed=true").status == 200)
    #expect(try localTypes() == ["photo", "fullSizePhoto", "adjustmentData", "adjustmentBasePhoto"])
    for type in ["fullSizePhoto", "adjustmentBasePhoto"] {
      #expect(try daemon.get(asset + "/resources/\(type)/data").status == 200)
    }
  }

  @Test func `Metadata, full-size images and batches fetch originals too`() throws {
    let remote = try RemoteFixture()
    defer { remote.stop() }
    for name in ["a", "b", "c", "d"] { remote.set("\(name).jpg", RemoteFixture.picture(Int(name.utf8.first!))) }
    let daemon = try remote.daemon()
    let identifiers = try ["a", "b", "c", "d"].map { try daemon.identifier("\($0).jpg") }
    #expect(try daemon.get("/v1/assets/\(identifiers[0])/metadata").problem == "/problems/image-is-in-cloud")
    #expect(try daemon.get("/v1/assets/\(identifiers[0])/metadata?networkAccessAllowed=true").status == 200)
    let whole = try daemon.get("/v1/assets/\(identifiers[1])/image?targetSize=max&networkAccessAllowed=true")
    #expect(whole.status == 200 && whole.body == RemoteFixture.picture(98))
    let list = identifiers.map { "\"\($0)\"" }.joined(separator: ",")
    func statuses(_ more: String) throws -> [String] {
      let batch = try daemon.post("/v1/images", "{\"assets\":[\(list)],\"targetSize\":\"300x300\"\(more)}")
      return try Multipart(batch).parts.map { $0.fields["image-result"] ?? "" }.sorted()
    }
    let local = try statuses("")
    #expect(local.count { $0.hasPrefix("status=404, in-cloud=?1") } == 2)
    #expect(local.count { $0.hasPrefix("status=200") } == 2)
    #expect(try statuses(",\"networkAccessAllowed\":true").allSatisfy { $0.hasPrefix("status=200") })
  }

  @Test(arguments: RemoteFixture.Kind.allCases)
  func `The next scan finds what was added, replaced and removed`(_ kind: RemoteFixture.Kind) throws {
    let remote = try RemoteFixture(kind)
    defer { remote.stop() }
    for name in ["a", "b", "c"] { remote.set("\(name).jpg", RemoteFixture.picture(Int(name.utf8.first!))) }
    let daemon = try remote.daemon()
    _ = try daemon.image("a.jpg", "targetSize=100x100&networkAccessAllowed=true")
    let version = try #require(try daemon.asset("a.jpg")["contentVersion"] as? String)
    remote.set("a.jpg", RemoteFixture.picture(7))
    remote.set("d.jpg", RemoteFixture.picture(8))
    remote.remove("c.jpg")
    // Before the scan, the file of the catalogue is served where it is here, and no other one.
    #expect(try daemon.image("a.jpg", "targetSize=90x90&networkAccessAllowed=true").status == 200)
    #expect(
      try daemon.image("c.jpg", "targetSize=90x90&networkAccessAllowed=true").problem == "/problems/original-missing")
    try daemon.requestScan()
    try daemon.until("the scan has seen the changes") {
      let assets = try #require(try daemon.get("/v1/assets").json["assets"] as? [[String: Any]])
      return Set(assets.compactMap { $0["relativePath"] as? String }) == ["a.jpg", "b.jpg", "d.jpg"]
    }
    #expect(try daemon.asset("a.jpg")["contentVersion"] as? String != version)
    let replaced = try daemon.image("a.jpg", "targetSize=100x100&networkAccessAllowed=true")
    #expect(replaced.status == 200 && replaced.result("source") == "network")
  }

  @Test func `An embedded thumbnail stands in for an original in the cloud, and gives the placeholder`() throws {
    let remote = try RemoteFixture()
    defer { remote.stop() }
    let scene = Scene(seed: 4, grain: 2).pixels(width: 1200, height: 900)
    let thumbnail = JPEGFile { _ in }.encoded(scene.averaged(width: 160, height: 120))
    remote.set("a.jpg", JPEGFile { $0.exif = EXIFBlock { $0.thumbnail = thumbnail } }.encoded(scene))
    // Nothing of this one is kept.
    remote.set("b.jpg", RemoteFixture.picture(2))
    let daemon = try remote.daemon()
    try daemon.until("the placeholder is made") { try daemon.asset("a.jpg")["placeholder"] is String }
    #expect(try daemon.asset("b.jpg")["placeholder"] is NSNull)
    for delivery in ["fastFormat", "highQualityFormat"] {
      let image = try daemon.image("a.jpg", "targetSize=400x400&deliveryMode=\(delivery)")
      #expect(image.status == 200 && image.result("source") == "embedded", "\(image.json)")
      #expect(image.result("in-cloud") == "?1" && image.result("degraded") == "?1" && image["ETag"] == nil)
      let path = "/v1/assets/\(try daemon.identifier("a.jpg"))/image?targetSize=400x400&deliveryMode=\(delivery)"
      let head = try daemon.get(path, method: "HEAD")
      #expect(head.status == 200 && head["ETag"] == nil && head["Cache-Control"] == image["Cache-Control"])
      #expect(head.result("in-cloud") == "?1" && head.body.isEmpty)
    }
    let missing = "/v1/assets/\(try daemon.identifier("b.jpg"))/image?targetSize=50x50"
    #expect(try daemon.get(missing, method: "HEAD").status == 404)
    let both = try daemon.image(
      "a.jpg", "targetSize=400x400&deliveryMode=opportunistic&multipart=mixed&networkAccessAllowed=true")
    let pictures = try Multipart(both).parts.filter { $0.fields["content-type"] == "image/jpeg" }
    #expect(pictures.first?.fields["image-result"]?.contains("source=embedded") == true && pictures.count == 2)
    #expect(remote.downloads(of: "a.jpg") == 1 && remote.downloads(of: "b.jpg") == 0)
  }

  @Test func `A library on a web server is read-only, and what is only in the catalogue can be changed`() throws {
    let remote = try RemoteFixture(.origin)
    defer { remote.stop() }
    remote.set("a.jpg", RemoteFixture.picture(1))
    let daemon = try remote.daemon()
    let asset = try daemon.identifier("a.jpg")
    let upload = try daemon.post(
      "/v1/assets", String(repeating: "x", count: 100), type: "image/jpeg",
      ["Content-Disposition: attachment; filename=\"b.jpg\""])
    #expect(upload.status == 409 && upload.problem == "/problems/library-read-only")
    let deletion = try daemon.post("/v1/changes", "{\"changes\":[{\"type\":\"deleteAsset\",\"asset\":\"\(asset)\"}]}")
    #expect(deletion.status == 409 && deletion.problem == "/problems/library-read-only", "\(deletion.json)")
    let favorite = try daemon.post(
      "/v1/changes", "{\"changes\":[{\"type\":\"updateAsset\",\"asset\":\"\(asset)\",\"isFavorite\":true}]}")
    #expect(favorite.status == 200, "\(favorite.json)")
    #expect(try daemon.asset("a.jpg")["isFavorite"] as? Bool == true)
    for command in [["check"], ["import", "apple", remote.folders.library], ["get", asset, "-o", "-"]] {
      let run = try TestDaemon.run(
        command + ["--library", remote.library, "--data", remote.folders.data] + remote.arguments,
        environment: remote.environment)
      #expect(
        run.status != 0 && run.error.contains("this command needs a library in a folder"), "\(command) \(run.error)")
    }
    let list = try TestDaemon.run(
      ["ls", "--library", remote.library, "--data", remote.folders.data] + remote.arguments)
    #expect(list.status == 0 && list.output.contains("a.jpg"), "\(list.error)")
  }
}
