import Foundation
import PhotoFixtures
import Testing

/// The IIIF Presentation API 3.0 over real sockets.
@Suite("IIIF manifests and collections", .blocking)
struct PresentationTests {
  private typealias Object = [String: Any]

  private struct World {
    let daemon: TestDaemon
    let folder: String
    let album: String
    let sea: String
  }

  private static let world: World = {
    do { return try makeWorld() } catch { fatalError("no daemon: \(error)") }
  }()

  private static func makeWorld(_ arguments: [String] = []) throws -> World {
    let packet = """
      <x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">
      <rdf:Description rdf:about="" xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:cc="http://creativecommons.org/ns#"
       xmlns:photoshop="http://ns.adobe.com/photoshop/1.0/">
      <dc:title>Sea</dc:title><dc:description>At the sea</dc:description><dc:rights>Ann Quist 2024</dc:rights>
      <cc:license rdf:resource="https://creativecommons.org/licenses/by/4.0/"/>
      <dc:subject><rdf:Bag><rdf:li>water</rdf:li><rdf:li>blue</rdf:li></rdf:Bag></dc:subject>
      <photoshop:City>Quaxwellington</photoshop:City></rdf:Description></rdf:RDF></x:xmpmeta>
      """
    let card = Pixels.orientationCard(width: 64, height: 48)
    let daemon = try TestDaemon(
      { files in
        try files.put(
          JPEGFile {
            $0.segments = [.xmp(packet)]
            $0.exif = EXIFBlock {
              ($0.make, $0.model, $0.dateTimeOriginal) = ("Maker", "C1", "2024:05:06 07:08:09")
              ($0.offsetTimeOriginal, $0.subSecTimeOriginal) = ("+02:00", "50")
              ($0.latitude, $0.longitude) = (48.5, 2.25)
            }
          }.encoded(card), "sea.jpg")
        for number in 0..<4 { try files.put(PNGFile(.rgb(depth: 8)).encoded(card), "\(number).png") }
      }, arguments: arguments)
    let assets = try #require(try daemon.get("/v1/assets?limit=100").json["assets"] as? [Object])
    let all = assets.compactMap { $0["localIdentifier"] as? String }.map { "\"\($0)\"" }.joined(separator: ",")
    let made = try daemon.post(
      "/v1/changes",
      """
      {"changes": [{"type": "createFolder", "title": "Trips", "placeholder": "$f"},
        {"type": "createAlbum", "title": "Coast", "parent": "$f", "placeholder": "$a"},
        {"type": "addAssets", "collection": "$a", "assets": [\(all)]}]}
      """)
    let created = try #require(made.json["created"] as? [String: String], "\(made.json)")
    return World(
      daemon: daemon, folder: created["$f"] ?? "", album: created["$a"] ?? "", sea: try daemon.identifier("sea.jpg"))
  }

  private static func value(_ canvas: Object, _ name: String) -> [String]? {
    (canvas["metadata"] as? [Object])?.first { ($0["label"] as? Object)?["en"] as? [String] == [name] }
      .flatMap { ($0["value"] as? Object)?["none"] as? [String] }
  }

  @Test("an album is a manifest, and its assets are canvases with their picture, date, rights, keywords and place")
  func manifest() throws {
    let (daemon, album) = (Self.world.daemon, Self.world.album)
    let path = "/iiif/presentation/3/\(album)/manifest"
    let answer = try daemon.get(path)
    let manifest = answer.json
    #expect(answer.status == 200 && answer["Link"] == nil)
    #expect(manifest["@context"] as? String == "http://iiif.io/api/presentation/3/context.json")
    #expect(manifest["id"] as? String == "http://localhost" + path && manifest["type"] as? String == "Manifest")
    #expect((manifest["label"] as? Object)?["none"] as? [String] == ["Coast"])
    let folder = "http://localhost/iiif/presentation/3/collection/\(Self.world.folder)"
    #expect((manifest["partOf"] as? [Object])?.first?["id"] as? String == folder)
    let canvases = try #require(manifest["items"] as? [Object])
    #expect(canvases.count == 5)
    let canvas = try #require(canvases.first { ($0["label"] as? Object)?["none"] as? [String] == ["Sea"] })
    #expect(canvas["width"] as? Int == 64 && canvas["height"] as? Int == 48)
    #expect(canvas["navDate"] as? String == "2024-05-06T05:08:09Z")
    #expect(canvas["rights"] as? String == "http://creativecommons.org/licenses/by/4.0/")
    let statement = try #require(canvas["requiredStatement"] as? Object)
    #expect(Self.value(["metadata": [statement]], "Rights") == ["Ann Quist 2024"])
    #expect((canvas["summary"] as? Object)?["none"] as? [String] == ["At the sea"])
    #expect(Self.value(canvas, "Keywords") == ["water", "blue"] && Self.value(canvas, "Camera") == ["Maker C1"])
    #expect(Self.value(canvas, "Place") == ["Quaxwellington"] && Self.value(canvas, "Coordinates") == ["48.5, 2.25"])
    // The picture that is painted on it, and its service.
    let page = try #require((canvas["items"] as? [Object])?.first)
    let annotation = try #require((page["items"] as? [Object])?.first)
    #expect(annotation["motivation"] as? String == "painting")
    #expect(annotation["target"] as? String == canvas["id"] as? String)
    let body = annotation["body"] as? Object
    for picture in [body, (canvas["thumbnail"] as? [Object])?.first] {
      let url = try #require(picture?["id"] as? String)
      let shown = try daemon.get(url.replacing("http://localhost", with: ""))
      #expect(shown.status == 200 && shown["Content-Type"] == picture?["format"] as? String)
      #expect(shown.result("width") == "\(picture?["width"] as? Int ?? 0)")
      let service = (picture?["service"] as? [Object])?.first
      #expect(service?["id"] as? String == "http://localhost/iiif/3/\(Self.world.sea)")
      #expect(service?["type"] as? String == "ImageService3" && service?["profile"] as? String == "level2")
    }
    let linked = try daemon.get(path, ["Accept: application/ld+json"])
    #expect(linked["Content-Type"]?.hasPrefix("application/ld+json;profile=") == true)
    let tag = try #require(answer["ETag"])
    #expect(try daemon.get(path, ["If-None-Match: \(tag)"]).status == 304)
  }

  @Test("a caller without the scope location gets no place in a manifest")
  func places() throws {
    let world = try Self.makeWorld(["--allow-anonymous"])
    let path = "/iiif/presentation/3/\(world.album)/manifest"
    let open = try world.daemon.get(path, ["Origin: https://viewer.example"])
    #expect(open["Access-Control-Allow-Origin"] == "*")
    let (reader, locator) = (try world.daemon.makeToken("read"), try world.daemon.makeToken("read,location"))
    let read = try world.daemon.get(path, [TestDaemon.bearer(reader)])
    for answer in [open, read] {
      let text = String(decoding: answer.body, as: UTF8.self)
      #expect(answer.status == 200 && !text.contains("Quax") && !text.contains("48.5") && text.contains("Ann Quist"))
    }
    let located = String(decoding: try world.daemon.get(path, [TestDaemon.bearer(locator)]).body, as: UTF8.self)
    #expect(located.contains("Quaxwellington"))
    #expect(try world.daemon.get(path).status == 401)
  }

  @Test("folders are collections of manifests and collections, from the top level down")
  func collections() throws {
    let daemon = Self.world.daemon
    let top = try daemon.get("/iiif/presentation/3/collection/top").json
    #expect(top["type"] as? String == "Collection" && top["partOf"] == nil)
    let folder = try #require((top["items"] as? [Object])?.first { $0["type"] as? String == "Collection" })
    #expect((folder["label"] as? Object)?["none"] as? [String] == ["Trips"])
    let url = try #require(folder["id"] as? String)
    let inside = try daemon.get(url.replacing("http://localhost", with: "")).json
    #expect(inside["id"] as? String == url && (inside["partOf"] as? [Object])?.count == 1)
    let album = try #require((inside["items"] as? [Object])?.first)
    #expect(album["type"] as? String == "Manifest")
    #expect(album["id"] as? String == "http://localhost/iiif/presentation/3/\(Self.world.album)/manifest")
    for path in ["collection/none", "none/manifest", "collection/\(Self.world.album)"] {
      #expect(try daemon.get("/iiif/presentation/3/\(path)").status == 404, "\(path)")
    }
  }

  @Test("long lists come in pages, which Link leads to")
  func pages() throws {
    let daemon = Self.world.daemon
    var next: String? = "/iiif/presentation/3/\(Self.world.album)/manifest?limit=2"
    var labels: [String] = []
    while let path = next, labels.count < 20 {
      let answer = try daemon.get(path)
      try #require(answer.status == 200)
      for canvas in answer.json["items"] as? [Object] ?? [] {
        labels += (canvas["label"] as? Object)?["none"] as? [String] ?? []
      }
      next = answer["Link"].map { String($0.dropFirst().prefix { $0 != ">" }) }
    }
    #expect(labels.sorted() == ["0.png", "1.png", "2.png", "3.png", "Sea"])
    #expect(try daemon.get("/iiif/presentation/3/\(Self.world.album)/manifest?limit=0").status == 400)
    #expect(try daemon.get("/iiif/presentation/3/collection/top?cursor=x").status == 400)
  }
}
