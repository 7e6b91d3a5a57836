import Foundation
import PhotoFixtures
import Testing

/// The album sidebar of a client: folders and albums that a user makes, nests, orders and deletes, over sockets.
@Suite("The album sidebar", .blocking)
struct CollectionTreeTests {
  private typealias Object = [String: Any]

  private func perform(_ entries: String, _ daemon: TestDaemon, status: Int = 200) throws -> Object {
    let answer = try daemon.post("/v1/changes", "{\"changes\": [\(entries)]}")
    #expect(answer.status == status, "\(answer.json)")
    return answer.json
  }

  private func collections(_ query: String, _ daemon: TestDaemon) throws -> [Object] {
    let answer = try daemon.get("/v1/collections?\(query)")
    #expect(answer.status == 200, "\(query): \(answer.json)")
    return answer.json["collections"] as? [Object] ?? []
  }

  /// The tree as text, read one level at a time as a sidebar does: `F(A B) C`.
  private func tree(_ daemon: TestDaemon, _ parent: String = "root") throws -> String {
    try collections("parent=\(parent)", daemon).map { one in
      let (title, id) = (one["title"] as? String ?? "", one["localIdentifier"] as? String ?? "")
      #expect(one["parent"] as? String == (parent == "root" ? nil : parent), "\(title)")
      let children = one["type"] as? String == "folder" ? try tree(daemon, id) : ""
      return children.isEmpty ? title : "\(title)(\(children))"
    }.joined(separator: " ")
  }

  @Test("a user makes, nests, orders and deletes folders and albums")
  func sidebar() throws {
    let daemon = try TestDaemon.ofCards(3)
    let assets = try (0..<3).map { try daemon.identifier("\($0).jpg") }
    let done = try perform(
      """
      {"type": "createFolder", "title": "Trips", "placeholder": "$trips"},
      {"type": "createFolder", "title": "2024", "parent": "$trips", "placeholder": "$year"},
      {"type": "createAlbum", "title": "Graz", "parent": "$year", "placeholder": "$graz"},
      {"type": "createAlbum", "title": "Rome", "parent": "root", "placeholder": "$rome"},
      {"type": "createAlbum", "title": "Oslo", "parent": null, "placeholder": "$oslo"},
      {"type": "addAssets", "collection": "$graz", "assets": ["\(assets[0])", "\(assets[1])"]},
      {"type": "addAssets", "collection": "$rome", "assets": ["\(assets[1])", "\(assets[2])"]}
      """, daemon)
    let ids = try #require(done["created"] as? [String: String])
    let (trips, year) = (try #require(ids["$trips"]), try #require(ids["$year"]))
    let (graz, rome, oslo) = (try #require(ids["$graz"]), try #require(ids["$rome"]), try #require(ids["$oslo"]))
    #expect(try tree(daemon) == "Trips(2024(Graz)) Rome Oslo")

    // Dragging.
    _ = try perform(
      #"{"type": "insertCollections", "parent": "\#(year)", "collections": ["\#(rome)"], "index": 0}"#, daemon)
    #expect(try tree(daemon) == "Trips(2024(Rome Graz)) Oslo")
    let moved = try perform(
      #"{"type": "moveCollections", "parent": null, "collections": ["\#(oslo)"], "index": 0}"#, daemon)
    #expect(try tree(daemon) == "Oslo Trips(2024(Rome Graz))")
    // The same again changes nothing.
    let again = try perform(
      #"{"type": "moveCollections", "parent": "root", "collections": ["\#(oslo)"], "index": 0}"#, daemon)
    #expect(again["changeToken"] as? String == moved["changeToken"] as? String)

    // Everything below a folder, each asset once.
    let folder = try daemon.get("/v1/collections/\(trips)").json
    #expect(folder["estimatedAssetCount"] as? Int == 3 && folder["estimatedCollectionCount"] as? Int == 1)
    for path in ["assets?count=true", "assets?count=true&sortDescriptors=originalFilename"] {
      let page = try daemon.get("/v1/collections/\(trips)/\(path)").json
      let listed = (page["assets"] as? [Object] ?? []).compactMap { $0["localIdentifier"] as? String }
      #expect(Set(listed) == Set(assets) && listed.count == 3 && page["count"] as? Int == 3, "\(path)")
    }
    let columns = try daemon.get("/v1/collections/\(year)/assets?layout=columns&predicate=isFavorite%20==%20NO").json
    #expect(columns["count"] as? Int == 3)
    let handle = try daemon.post("/v1/fetchResults", "{\"collection\": \"\(trips)\"}")
    #expect(handle.status == 201 && handle.json["count"] as? Int == 3)
    let names = try collections("containing=\(assets[0])&predicate=type%20!=%20smartAlbum", daemon)
    #expect(names.compactMap { $0["title"] as? String } == ["Trips", "2024", "Graz"])
    let inYear = try collections("parent=\(year)&containing=\(assets[2])", daemon)
    #expect(inYear.map { $0["title"] as? String } == ["Rome"])

    // Back to the top level, and away.
    _ = try perform(#"{"type": "removeCollections", "parent": "\#(year)", "collections": ["\#(graz)"]}"#, daemon)
    #expect(try tree(daemon) == "Oslo Trips(2024(Rome)) Graz")
    _ = try perform(#"{"type": "deleteCollection", "collection": "\#(trips)"}"#, daemon)
    #expect(try tree(daemon) == "Oslo Graz")
    let changes = try daemon.get("/v1/fetchResults/\(handle.json["id"] ?? "")/changes").json
    #expect(changes["removedIndexes"] as? [Int] == [0, 1, 2])
    try TestDaemon.succeed(["check", "--library", daemon.library, "--data", daemon.data])
  }

  @Test("a refused order names what is wrong, and years and moments have their parents")
  func refusals() throws {
    let daemon = try TestDaemon.ofCards(1)
    let done = try perform(
      """
      {"type": "createFolder", "title": "F", "placeholder": "$f"},
      {"type": "createFolder", "title": "G", "parent": "$f", "placeholder": "$g"}
      """, daemon)
    let ids = try #require(done["created"] as? [String: String])
    let (f, g) = (try #require(ids["$f"]), try #require(ids["$g"]))
    for (entry, status, parameter) in [
      (#""parent": "\#(g)", "collections": ["\#(f)"], "index": 0"#, 409, "collections"),
      (#""parent": "\#(f)", "collections": ["\#(g)"], "index": 1"#, 400, "index"),
      (#""parent": "\#(f)", "collections": ["\#(g)", "\#(g)"], "index": 0"#, 400, "collections"),
      (#""parent": "nothing", "collections": ["\#(g)"], "index": 0"#, 404, "parent"),
      (#""parent": "\#(f)", "collections": ["nothing"], "index": 0"#, 404, "collections"),
      (#""collections": ["\#(g)"], "index": 0"#, 400, "parent"), (#""parent": null, "index": 0"#, 400, "collections"),
      (#""parent": null, "collections": ["\#(g)"]"#, 400, "index"),
      (#""parent": "\#(f)", "collections": ["\#(g)"], "index": 0, "ifMatch": "x""#, 412, "ifMatch"),
    ] {
      let answer = try perform("{\"type\": \"moveCollections\", \(entry)}", daemon, status: status)
      #expect(answer["parameter"] as? String == parameter && answer["index"] as? Int == 0, "\(entry)")
    }
    #expect(try tree(daemon) == "F(G)")
    for query in ["parent=nothing", "containing=nothing"] {
      let answer = try daemon.get("/v1/collections?\(query)")
      #expect(answer.status == 404, "\(query)")
      if query.hasPrefix("c") { #expect(answer.json["parameter"] as? String == "containing") }
    }
    let moment = try #require(try collections("type=moment", daemon).first)
    let month = try daemon.get("/v1/collections/\(try #require(moment["parent"] as? String))").json
    #expect(month["estimatedCollectionCount"] as? Int == 1 && month["estimatedAssetCount"] as? Int == 1)
    let year = try daemon.get("/v1/collections/\(try #require(month["parent"] as? String))").json
    #expect(year["parent"] is NSNull && year["estimatedCollectionCount"] as? Int == 1)
    #expect(try collections("parent=root&type=smartAlbum", daemon).isEmpty)
  }

  @Test("an asset without a decoder says so, and never is a key asset")
  func renderable() throws {
    let daemon = try TestDaemon(
      { files in
        try files.put(JPEGFile { _ in }.encoded(Pixels.orientationCard(width: 32, height: 24)), "a.jpg")
        // Without a preview.
        try files.put(RAWSamples.file("nef", .init(), previews: []), "b.nef")
      }, arguments: ["--set", "decoders.folder=/nonexistent"])
    let (shown, unshown) = (try daemon.identifier("a.jpg"), try daemon.identifier("b.nef"))
    #expect(try daemon.get("/v1/assets/\(shown)").json["isRenderable"] as? Bool == true)
    #expect(try daemon.get("/v1/assets/\(unshown)").json["isRenderable"] as? Bool == false)
    #expect(try daemon.get("/v1/assets/\(unshown)/image").status == 415)
    let list = try daemon.get("/v1/assets?fields=localIdentifier,isRenderable").json["assets"] as? [Object] ?? []
    #expect(list.count == 2 && list.filter { $0["isRenderable"] as? Bool == true }.count == 1)
    let albums = try collections("type=smartAlbum&subtype=smartAlbumUserLibrary", daemon)
    #expect(albums.map { $0["estimatedAssetCount"] as? Int } == [2])
    #expect(albums.map { $0["keyAssets"] as? [String] } == [[shown]])
  }
}
