import Foundation
import Testing

/// An album sidebar: a handle over collections, its stream, and transient lists.
@Suite("Fetch results over collections", .blocking)
struct CollectionFetchResultTests {
  private typealias Object = [String: Any]

  /// A client that shows collections and follows only the documented rules. Each collection is its JSON text.
  private struct Sidebar {
    let daemon: TestDaemon
    let fields: [String]
    var handle: String
    var list: [String]

    init(_ daemon: TestDaemon, _ collections: String, _ fields: [String]) throws {
      self.daemon = daemon
      self.fields = fields
      let made = try daemon.post("/v1/fetchResults", "{\"collections\": \(collections)}", fields)
      handle = try #require(made.json["id"] as? String, "\(made.json)")
      list = try Self.members(daemon, "/v1/fetchResults/\(handle)/collections?range=0-999", fields)
      #expect(made.json["count"] as? Int == list.count)
    }

    static func members(_ daemon: TestDaemon, _ target: String, _ fields: [String]) throws -> [String] {
      let answer = try daemon.get(target, fields)
      let collections = try #require(answer.json["collections"] as? [Object], "\(answer.json)")
      return try collections.map {
        String(decoding: try JSONSerialization.data(withJSONObject: $0, options: .sortedKeys), as: UTF8.self)
      }
    }

    mutating func apply(_ event: EventStream.Event) throws {
      try #require(event.name == "change", "\(event)")
      let json = event.json
      #expect(json["hasIncrementalChanges"] as? Bool == true)
      handle = try #require((json["fetchResultAfterChanges"] as? Object)?["id"] as? String)
      let now = try Self.members(daemon, "/v1/fetchResults/\(handle)/collections?range=0-999", fields)
      let removed = try #require(json["removedIndexes"] as? [Int])
      let moves = try #require(json["moves"] as? [[String: Int]])
      var cells: [String?] = list.enumerated().filter { !removed.contains($0.offset) }.map(\.element)
      for index in try #require(json["insertedIndexes"] as? [Int]) { cells.insert(nil, at: index) }
      for index in try #require(json["changedIndexes"] as? [Int]) { cells[index] = nil }
      try #require(cells.count == now.count)
      var rest = cells.enumerated().filter { cell in !moves.contains { $0["from"] == cell.offset } }.map(\.element)[...]
      // Reads only inserted and changed collections.
      list = now.indices.map { index in
        let from = moves.first { $0["to"] == index }?["from"]
        let cell = from.map { cells[$0] } ?? rest.removeFirst()
        return cell ?? now[index]
      }
    }
  }

  private static func perform(_ daemon: TestDaemon, _ entries: String..., fields: [String]) throws -> Object {
    let answer = try daemon.post("/v1/changes", "{\"changes\": [\(entries.joined(separator: ","))]}", fields)
    try #require(answer.status == 200, "\(answer.json) \(entries)")
    return answer.json["created"] as? Object ?? [:]
  }

  static let sidebars: [(name: String, collections: String, list: String, token: [String])] = [
    ("everything", "{}", "", ["read"]),
    (
      "albums by title", #"{"type": "album", "sortDescriptors": "title"}"#, "&type=album&sortDescriptors=title",
      ["read"]
    ),
    ("the top level", #"{"parent": null}"#, "&parent=root", ["read,location"]),
    ("the albums of one picture", #"{"containing": "ASSET"}"#, "&containing=ASSET", ["read"]),
    ("a part of the library", "{}", "", ["read", "--limit-to", "album-1"]),
  ]

  @Test("an album sidebar applies the deltas of its stream and shows the current list", arguments: sidebars.indices)
  func sidebar(_ index: Int) throws {
    let (name, collections, list, token) = Self.sidebars[index]
    let daemon = try TestDaemon.ofCards(4)
    try daemon.makeAlbum("album-1", title: "One", ["0.jpg", "1.jpg"])
    try daemon.makeAlbum("album-2", title: "Two", ["1.jpg", "2.jpg"])
    let assets = try (0..<4).map { try daemon.identifier("\($0).jpg") }
    let reader = [TestDaemon.bearer(try daemon.makeToken(token[0], Array(token.dropFirst())))]
    let writer = [TestDaemon.bearer(try daemon.makeToken("read,write"))]
    let target = "/v1/collections?limit=1000" + list.replacing("ASSET", with: assets[1])
    var sidebar = try Sidebar(daemon, collections.replacing("ASSET", with: assets[1]), reader)
    let stream = try EventStream(daemon, "?fetchResult=\(sidebar.handle)", reader)
    #expect(stream.status == 200)
    _ = stream.begin()
    var events = 0
    func follow() throws {
      let expected = try Sidebar.members(daemon, target, reader)
      while sidebar.list != expected {
        try sidebar.apply(try #require(stream.next(), "\(name): the stream has ended"))
        events += 1
      }
    }
    try follow()
    let made = try Self.perform(
      daemon, #"{"type": "createAlbum", "title": "Middle", "placeholder": "$a"}"#,
      #"{"type": "createFolder", "title": "Folder", "placeholder": "$f"}"#, fields: writer)
    try follow()
    let (album, folder) = (made["$a"] as? String ?? "", made["$f"] as? String ?? "")
    for entry in [
      #"{"type": "addAssets", "collection": "\#(album)", "assets": ["\#(assets[1])", "\#(assets[3])"]}"#,
      #"{"type": "updateCollection", "collection": "album-1", "title": "Zero"}"#,
      #"{"type": "updateAsset", "asset": "\#(assets[1])", "isHidden": true}"#,
      #"{"type": "updateAsset", "asset": "\#(assets[1])", "isHidden": false}"#,
      #"{"type": "updateAsset", "asset": "\#(assets[0])", "creationDate": "2019-01-01T00:00:00Z"}"#,
      #"{"type": "insertCollections", "parent": "\#(folder)", "collections": ["album-2"], "index": 0}"#,
      #"{"type": "moveCollections", "parent": null, "collections": ["album-1"], "index": 0}"#,
      #"{"type": "removeAssets", "collection": "album-1", "assets": ["\#(assets[1])"]}"#,
      #"{"type": "deleteCollection", "collection": "\#(folder)"}"#,
      #"{"type": "deleteCollection", "collection": "album-1"}"#,
    ] {
      _ = try Self.perform(daemon, entry, fields: writer)
      try follow()
    }
    #expect(events > 3, "\(name)")
  }

  @Test("a handle over collections keeps its members and their order, and is not one over assets")
  func handle() throws {
    let daemon = try TestDaemon.ofCards(2)
    for (number, title) in ["C", "A", "B"].enumerated() {
      try daemon.makeAlbum("album-\(number)", title: title, ["0.jpg"])
    }
    let body = #"{"collections": {"type": "album", "sortDescriptors": "title"}}"#
    let id = try #require(try daemon.post("/v1/fetchResults", body).json["id"] as? String)
    func read(_ query: String) throws -> Object { try daemon.get("/v1/fetchResults/\(id)/collections\(query)").json }
    #expect(try daemon.get("/v1/fetchResults/\(id)").json["count"] as? Int == 3)
    #expect(try read("?indexOf=album-2")["index"] as? Int == 1 && read("?indexOf=none")["index"] is NSNull)
    _ = try Self.perform(daemon, #"{"type": "deleteCollection", "collection": "album-2"}"#, fields: [])
    _ = try Self.perform(
      daemon, #"{"type": "updateCollection", "collection": "album-1", "title": "Z"}"#, fields: [])
    let members = try #require(try read("?range=0-9")["collections"] as? [Object])
    #expect(members.map { $0["localIdentifier"] as? String } == ["album-1", "album-2", "album-0"])
    #expect(members[0]["title"] as? String == "Z")
    #expect(members[1].count == 2 && members[1]["deleted"] as? Bool == true)
    #expect(try read("?range=1-1")["range"] as? [Int] == [1, 1])
    #expect(try (read("?range=7-9223372036854775807")["parameter"] as? String) == "range")
    let changes = try daemon.get("/v1/fetchResults/\(id)/changes").json
    #expect(changes["removedIndexes"] as? [Int] == [1] && changes["changedIndexes"] as? [Int] == [0])
    #expect((changes["moves"] as? [Object])?.count == 1)
    // Each kind of handle has its own members.
    let wrong = try daemon.get("/v1/fetchResults/\(id)/assets")
    #expect(wrong.status == 400 && wrong.json["type"] as? String == "/problems/fetch-result-of-collections")
    let assets = try #require(try daemon.post("/v1/fetchResults", "{}").json["id"] as? String)
    let other = try daemon.get("/v1/fetchResults/\(assets)/collections")
    #expect(other.status == 400 && other.json["type"] as? String == "/problems/fetch-result-of-assets")
    for (body, status, parameter) in [
      (#"{"collections": {}, "predicate": "isFavorite == YES"}"#, 400, "predicate"),
      (#"{"collections": {"type": "album"}, "search": "img"}"#, 400, "search"),
      (#"{"collections": {}, "includeHiddenAssets": true}"#, 400, "includeHiddenAssets"),
      (#"{"collections": []}"#, 400, "collections"), (#"{"collections": {"limit": 3}}"#, 400, "limit"),
      (#"{"collections": {"type": "photo"}}"#, 400, "type"),
      (#"{"collections": {"predicate": "isFavorite == YES"}}"#, 400, "predicate"),
      (#"{"collections": {"parent": "none"}}"#, 404, "parent"),
      (#"{"collections": {"containing": "none"}}"#, 404, "containing"),
    ] {
      let answer = try daemon.post("/v1/fetchResults", body)
      #expect(answer.status == status && answer.json["parameter"] as? String == parameter, "\(body): \(answer.json)")
    }
    #expect(try daemon.ask("DELETE", "/v1/fetchResults/\(id)").status == 204)
    #expect(try daemon.get("/v1/fetchResults/\(id)/collections").status == 404)
  }

  @Test("a transient list has collections in the given order, and transient objects can be listed and deleted")
  func transientLists() throws {
    let daemon = try TestDaemon.ofCards(2)
    for number in 0..<3 { try daemon.makeAlbum("album-\(number)", title: "\(number)", ["0.jpg"]) }
    let made = try daemon.post(
      "/v1/transientCollections", #"{"title": "T", "collections": ["album-2", "album-0", "album-2", "album-1"]}"#)
    let list = try #require(made.json["localIdentifier"] as? String, "\(made.json)")
    #expect(made.status == 201 && made.json["type"] as? String == "folder")
    #expect(made.json["estimatedCollectionCount"] as? Int == 3 && made.json["estimatedAssetCount"] as? Int == 0)
    func children(_ target: String) throws -> (names: [String?], next: String?) {
      let answer = try daemon.get(target).json
      return (
        try #require(answer["collections"] as? [Object], "\(answer)").map { $0["localIdentifier"] as? String },
        answer["next"] as? String
      )
    }
    let path = "/v1/collections/\(list)/collections"
    #expect(try children(path).names == ["album-2", "album-0", "album-1"])
    let first = try children(path + "?limit=2")
    #expect(first.names == ["album-2", "album-0"])
    #expect(try children(try #require(first.next)).names == ["album-1"])
    #expect(try children(path + "?sortDescriptors=title").names == ["album-0", "album-1", "album-2"])
    // The query names the same list.
    let named = "/v1/collections?parent=\(list)"
    #expect(try children(named).names == ["album-2", "album-0", "album-1"])
    let page = try children(named + "&limit=2")
    #expect(page.names == ["album-2", "album-0"])
    #expect(try children(try #require(page.next)).names == ["album-1"])
    for target in [path + "?", named + "&"] {
      let refused = try daemon.get(target + "containing=\(try daemon.identifier("0.jpg"))")
      #expect(refused.status == 400 && refused.json["parameter"] as? String == "containing", "\(target)")
    }
    #expect(try daemon.get("/v1/collections/\(list)").json["subtype"] as? String == "folderTransient")
    #expect(try daemon.get("/v1/collections/\(list)/assets").status == 404, "it lists no assets")
    func count() throws -> Int? { try daemon.get("/v1/collections/\(list)").json["estimatedCollectionCount"] as? Int }
    #expect(try count() == 3)
    _ = try Self.perform(daemon, #"{"type": "deleteCollection", "collection": "album-0"}"#, fields: [])
    #expect(try children(path).names == ["album-2", "album-1"])
    #expect(try count() == 2, "as many as it lists")
    let album = try #require(
      try daemon.post("/v1/transientCollections", #"{"assets": []}"#).json["localIdentifier"] as? String)
    #expect(try daemon.get("/v1/collections/\(album)/collections").status == 404, "it lists no collections")
    let wrong = try daemon.get("/v1/collections?parent=\(album)")
    #expect(wrong.status == 404 && wrong.json["parameter"] as? String == "parent")
    let listed = try children("/v1/transientCollections").names
    #expect(Set(listed) == [list, album])
    #expect(try daemon.ask("DELETE", "/v1/transientCollections/\(list)").status == 204)
    #expect(try daemon.ask("DELETE", "/v1/transientCollections/\(list)").status == 404)
    #expect(try children("/v1/transientCollections").names == [album])
    #expect(try daemon.get("/v1/collections/\(list)").status == 404)
    let missing = try daemon.post("/v1/transientCollections", #"{"collections": ["album-1", "none"]}"#)
    #expect(missing.status == 404 && missing.json["parameter"] as? String == "collections")
    let both = try daemon.post("/v1/transientCollections", #"{"collections": [], "assets": []}"#)
    #expect(both.status == 400)
  }

  @Test("a transient collection counts the assets that it lists, and has their dates and key assets")
  func transientCounts() throws {
    let daemon = try TestDaemon.ofCards(3)
    let names = try (0..<3).map { try daemon.identifier("\($0).jpg") }
    let list = names.map { "\"\($0)\"" }.joined(separator: ", ")
    let made = try daemon.post("/v1/transientCollections", "{\"assets\": [\(list)]}").json
    let id = try #require(made["localIdentifier"] as? String, "\(made)")
    #expect(made["estimatedAssetCount"] as? Int == 3)
    let hidden =
      #"{"type": "updateAsset", "asset": "\#(names[0])", "isHidden": true, "creationDate": "2001-02-03T04:05:06Z"}"#
    _ = try Self.perform(daemon, hidden, fields: [])
    _ = try Self.perform(daemon, #"{"type": "deleteAsset", "asset": "\#(names[1])"}"#, fields: [])
    for (query, count) in [("", 1), ("?includeHiddenAssets=true", 2)] {
      let found = try daemon.get("/v1/collections/\(id)\(query)").json
      #expect(found["estimatedAssetCount"] as? Int == count && found["type"] as? String == "album", "\(found)")
      let assets = try daemon.get("/v1/collections/\(id)/assets\(query)").json["assets"] as? [[String: Any]]
      #expect(assets?.count == count)
      let dates = (assets ?? []).compactMap { $0["creationDate"] as? String }.sorted()
      #expect(found["startDate"] as? String == dates.first && found["endDate"] as? String == dates.last, "\(found)")
      let keys = (assets ?? []).compactMap { $0["localIdentifier"] as? String }
      #expect(found["keyAssets"] as? [String] == keys, "\(found)")
    }
    let none = try daemon.post("/v1/transientCollections", #"{"assets": []}"#).json["localIdentifier"] as? String
    let empty = try daemon.get("/v1/collections/\(try #require(none))").json
    #expect(empty["startDate"] is NSNull && empty["endDate"] is NSNull && empty["keyAssets"] as? [String] == [])
  }
}
