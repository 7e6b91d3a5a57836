import Foundation
import Testing

/// Fetch results, their changes, and transient collections over real sockets.
@Suite("Fetch results", .blocking)
struct FetchResultTests {
  @Test("a fetch result keeps its ranges and indexes while members change or are deleted")
  func handles() throws {
    let daemon = try FetchingTests.daemon()
    let made = try daemon.post("/v1/fetchResults", #"{"sortDescriptors": "creationDate", "predicate": null}"#)
    let id = try #require(made.json["id"] as? String)
    let path = "/v1/fetchResults/\(id)"
    #expect(made.status == 201 && made["Location"] == path && made.json["count"] as? Int == 22)
    #expect(made.json["leaseSeconds"] as? Int == 300 && made["Cache-Control"] == "no-store")
    let listed = FetchingTests.identifiers(try daemon.get("/v1/assets?sortDescriptors=creationDate&limit=1000"))
    func members(_ range: String) throws -> TestDaemon.Response { try daemon.get("\(path)/assets?range=\(range)") }
    #expect(FetchingTests.identifiers(try members("0-999")) == listed)
    #expect(FetchingTests.identifiers(try daemon.get("\(path)/assets")) == listed)
    #expect(try members("3-5").json["range"] as? [Int] == [3, 5])
    #expect(FetchingTests.identifiers(try members("3-5")) == Array(listed[3...5]))
    #expect(try members("20-30").json["range"] as? [Int] == [20, 21])
    #expect(try members("22-30").json["range"] as? [Int] == [] && members("99999999-99999999").status == 200)
    for (index, name) in listed.enumerated() {
      #expect(try daemon.get("\(path)/assets?indexOf=\(name)").json["index"] as? Int == index)
    }
    #expect(try daemon.get("\(path)/assets?indexOf=nobody").json["index"] is NSNull)
    try daemon.script(
      "catalogue.sqlite",
      """
      DELETE FROM asset WHERE localIdentifier = '\(listed[4])';
      UPDATE asset SET creationDate = 9, isFavorite = 1 WHERE localIdentifier = '\(listed[6])';
      """)
    let after = try #require(try members("0-999").json["assets"] as? [[String: Any]])
    #expect(after.compactMap { $0["localIdentifier"] as? String } == listed)
    #expect(after[4].count == 2 && after[4]["deleted"] as? Bool == true)
    #expect(after[6]["isFavorite"] as? Bool == true && after[6]["deleted"] == nil)
    #expect(try daemon.get("\(path)/assets?indexOf=\(listed[4])").json["index"] as? Int == 4)
    let narrow = try daemon.get("\(path)/assets?range=0-0&fields=duration").json["assets"] as? [[String: Any]]
    #expect(narrow?.first?.keys.sorted() == ["duration"])
    #expect(try daemon.get(path).json["count"] as? Int == 22)
    #expect(try daemon.get(path, method: "DELETE").status == 204)
    for target in [path, "\(path)/assets?range=0-1"] {
      let gone = try daemon.get(target)
      #expect(gone.status == 404 && gone.json["type"] as? String == "/problems/fetch-result-not-found")
    }
    #expect(try daemon.get(path, method: "DELETE").status == 404)
  }

  /// Changes the library in one commit, as a writer does.
  private static func change(_ daemon: TestDaemon, _ statements: String) throws {
    try daemon.script(
      "catalogue.sqlite",
      """
      UPDATE library SET revision = revision + 1 WHERE id = 0;
      \(statements)
      INSERT INTO change SELECT id, revision, 0, 1, 0 FROM library WHERE id = 0;
      """)
  }

  /// The list on a client's screen with changes applied; inserted assets are read from the new list.
  private static func applying(_ changes: TestDaemon.Response, to old: [String], new: [String]) throws -> [String] {
    let removed = try #require(changes.json["removedIndexes"] as? [Int])
    let inserted = try #require(changes.json["insertedIndexes"] as? [Int])
    let moves = try #require(changes.json["moves"] as? [[String: Int]])
    var list = old.enumerated().filter { !removed.contains($0.offset) }.map(\.element)
    for index in inserted { list.insert("came", at: index) }
    var rest = list.enumerated().filter { item in !moves.contains { $0["from"] == item.offset } }.map(\.element)[...]
    return new.enumerated().map { index, name in
      let from = moves.first { $0["to"] == index }?["from"]
      let one = from.map { list[$0] } ?? rest.popFirst()
      return one == "came" ? name : one ?? "none"
    }
  }

  @Test("the changes of a fetch result turn the client's list into the list of the new handle")
  func changes() throws {
    let daemon = try FetchingTests.daemon()
    let made = try daemon.post("/v1/fetchResults", #"{"sortDescriptors": "creationDate"}"#)
    let id = try #require(made.json["id"] as? String)
    let old = FetchingTests.identifiers(try daemon.get("/v1/fetchResults/\(id)/assets"))
    let same = try daemon.get("/v1/fetchResults/\(id)/changes")
    #expect(same.status == 200 && same.json["hasIncrementalChanges"] as? Bool == true)
    #expect((same.json["fetchResultAfterChanges"] as? [String: Any])?["id"] as? String == id)
    try Self.change(
      daemon,
      """
      DELETE FROM asset WHERE localIdentifier = '\(old[4])';
      UPDATE asset SET isFavorite = 1 - isFavorite WHERE localIdentifier = '\(old[6])';
      UPDATE asset SET creationDate = 4000000000000 WHERE localIdentifier = '\(old[2])';
      UPDATE asset SET isHidden = 0 WHERE isHidden = 1;
      """)
    let changes = try daemon.get("/v1/fetchResults/\(id)/changes")
    let after = try #require(changes.json["fetchResultAfterChanges"] as? [String: Any])
    let name = try #require(after["id"] as? String)
    #expect(name != id && after["count"] as? Int == 23 && after["leaseSeconds"] as? Int == 300)
    let new = FetchingTests.identifiers(try daemon.get("/v1/fetchResults/\(name)/assets"))
    #expect(new == FetchingTests.identifiers(try daemon.get("/v1/assets?sortDescriptors=creationDate&limit=1000")))
    #expect(try Self.applying(changes, to: old, new: new) == new)
    #expect(changes.json["removedIndexes"] as? [Int] == [4])
    #expect((changes.json["insertedIndexes"] as? [Int])?.count == 2)
    #expect((changes.json["changedIndexes"] as? [Int])?.count == 2, "one is a favourite, one has another date")
    #expect((changes.json["moves"] as? [[String: Int]])?.map { $0["to"] } == [22])
    // A repeated request gets the same handle; the old handle is unchanged.
    #expect(try daemon.get("/v1/fetchResults/\(id)/changes").body == changes.body)
    let tag = try #require(changes["ETag"])
    #expect(try daemon.get("/v1/fetchResults/\(id)/changes", ["If-None-Match: \(tag)"]).status == 304)
    let members = try daemon.get("/v1/fetchResults/\(id)/assets").json["assets"] as? [[String: Any]]
    #expect(members?.compactMap { $0["localIdentifier"] as? String } == old && members?[4]["deleted"] as? Bool == true)
    let none = try daemon.get("/v1/fetchResults/\(name)/changes").json
    #expect((none["fetchResultAfterChanges"] as? [String: Any])?["id"] as? String == name)
    #expect((none["changedIndexes"] as? [Int])?.isEmpty == true)
    #expect(try daemon.get("/v1/fetchResults/nobody/changes").status == 404)
  }

  @Test("a deleted album removes all members; a transient collection loses only deleted assets")
  func changesOfCollections() throws {
    let daemon = try FetchingTests.daemon()
    let album = FetchingTests.identifiers(try daemon.get("/v1/collections/album/assets"))
    func handle(_ collection: String) throws -> String {
      try #require(try daemon.post("/v1/fetchResults", "{\"collection\": \"\(collection)\"}").json["id"] as? String)
    }
    let transient = try daemon.post(
      "/v1/transientCollections", "{\"assets\": [\"\(album[3])\", \"\(album[0])\", \"\(album[5])\"]}")
    let some = try handle(try #require(transient.json["localIdentifier"] as? String))
    let all = try handle("album")
    try Self.change(daemon, "UPDATE member SET position = -1000 WHERE asset = 2;")
    let moved = try daemon.get("/v1/fetchResults/\(all)/changes").json
    #expect(
      (moved["moves"] as? [[String: Int]]) == [["from": 7, "to": 0]] && (moved["changedIndexes"] as? [Int]) == [])
    try Self.change(
      daemon, "DELETE FROM collection WHERE id = 100; DELETE FROM asset WHERE localIdentifier = '\(album[0])';")
    let gone = try daemon.get("/v1/fetchResults/\(all)/changes").json
    #expect(gone["removedIndexes"] as? [Int] == Array(0..<8))
    #expect((gone["fetchResultAfterChanges"] as? [String: Any])?["count"] as? Int == 0)
    #expect(try daemon.get("/v1/fetchResults/\(some)/changes").json["removedIndexes"] as? [Int] == [1])
  }

  @Test("without space for a handle, changes that need a new one are 429, and others are answered")
  func changesWithoutRoom() throws {
    let daemon = try FetchingTests.daemon(["--set", "fetchResults.handles=1"])
    let id = try #require(try daemon.post("/v1/fetchResults", "{}").json["id"] as? String)
    #expect(try daemon.get("/v1/fetchResults/\(id)/changes").status == 200)
    try Self.change(daemon, "UPDATE asset SET isFavorite = 1 - isFavorite;")
    let refused = try daemon.get("/v1/fetchResults/\(id)/changes")
    #expect(refused.status == 429 && refused.json["type"] as? String == "/problems/too-many-handles")
    #expect(try daemon.get("/v1/fetchResults/\(id)").status == 200, "the old handle remains")
  }

  @Test("fetch results of a collection, and transient collections of fetch results and of assets")
  func transients() throws {
    let daemon = try FetchingTests.daemon()
    let album = FetchingTests.identifiers(try daemon.get("/v1/collections/album/assets"))
    #expect(album.count == 8, "one is hidden")
    let made = try daemon.post("/v1/fetchResults", #"{"collection": "album"}"#)
    let id = try #require(made.json["id"] as? String)
    #expect(FetchingTests.identifiers(try daemon.get("/v1/fetchResults/\(id)/assets")) == album)
    let missing = try daemon.post("/v1/fetchResults", #"{"collection": "nobody"}"#)
    #expect(missing.status == 404 && missing.json["type"] as? String == "/problems/collection-not-found")

    let all = try daemon.post("/v1/fetchResults", "{}")
    let whole = try #require(all.json["id"] as? String)
    let transient = try daemon.post(
      "/v1/transientCollections", "{\"title\": \"T\", \"fetchResults\": [\"\(id)\", \"\(whole)\"]}")
    let name = try #require(transient.json["localIdentifier"] as? String)
    #expect(transient.status == 201 && transient["Location"] == "/v1/collections/\(name)")
    let assets = FetchingTests.identifiers(try daemon.get("/v1/collections/\(name)/assets?limit=1000"))
    #expect(assets.count == 22 && Set(assets).count == 22 && Array(assets.prefix(8)) == album)
    #expect(try daemon.get("/v1/collections/\(name)").json["title"] as? String == "T")
    let sorted = FetchingTests.identifiers(
      try daemon.get("/v1/collections/\(name)/assets?sortDescriptors=localIdentifier&predicate=isFavorite==YES"))
    #expect(sorted == sorted.sorted() && sorted.count == 6)
    let reversed = album.reversed().map { "\"\($0)\"" }.joined(separator: ",")
    let second = try daemon.post("/v1/transientCollections", "{\"assets\": [\(reversed)]}")
    let other = try #require(second.json["localIdentifier"] as? String)
    #expect(FetchingTests.identifiers(try daemon.get("/v1/collections/\(other)/assets")) == album.reversed())
    let nobody = try daemon.post("/v1/transientCollections", #"{"assets": ["nobody"]}"#)
    #expect(nobody.status == 404 && nobody.json["type"] as? String == "/problems/asset-not-found")
    for body in ["{}", #"{"assets": [], "fetchResults": []}"#] {
      #expect(try daemon.post("/v1/transientCollections", body).json["parameter"] as? String == "assets")
    }
  }

  @Test("a caller's handles do not exist for others, and location predicates need the location scope")
  func owners() throws {
    let daemon = try FetchingTests.daemon(["--allow-anonymous"])
    let stranger = ["X-Forwarded-For: 10.0.0.1"]
    let id = try #require(try daemon.post("/v1/fetchResults", "{}").json["id"] as? String)
    let name = try #require(
      try daemon.post("/v1/transientCollections", #"{"assets": []}"#).json["localIdentifier"] as? String)
    for path in [
      "/v1/fetchResults/\(id)", "/v1/fetchResults/\(id)/assets?range=0-1", "/v1/fetchResults/\(id)/changes",
      "/v1/collections/\(name)",
      "/v1/collections/\(name)/assets",
    ] {
      #expect(try daemon.get(path).status == 200 && daemon.get(path, stranger).status == 404, "\(path)")
    }
    #expect(try daemon.get("/v1/fetchResults/\(id)", stranger, method: "DELETE").status == 404)
    #expect(try daemon.get("/v1/fetchResults/\(id)").status == 200)
    for query in ["predicate=latitude%20%3E%201", "sortDescriptors=longitude"] {
      #expect(try daemon.get("/v1/assets?\(query)").status == 200)
      let refused = try daemon.get("/v1/assets?\(query)", stranger)
      #expect(refused.status == 400 && refused.json["parameter"] as? String == String(query.prefix { $0 != "=" }))
    }
  }

  @Test("fetch results and transient collections are limited in number and in bytes")
  func limits() throws {
    let daemon = try FetchingTests.daemon(["--set", "fetchResults.handles=2"])
    let ids = try (0..<2).map { _ in try #require(try daemon.post("/v1/fetchResults", "{}").json["id"] as? String) }
    let refused = try daemon.post("/v1/fetchResults", "{}")
    #expect(refused.status == 429 && refused["Retry-After"] != nil)
    #expect(refused.json["type"] as? String == "/problems/too-many-handles")
    for id in ids { #expect(try daemon.get("/v1/fetchResults/\(id)").status == 200) }
    #expect(try daemon.get("/v1/fetchResults/\(ids[0])", method: "DELETE").status == 204)
    #expect(try daemon.post("/v1/fetchResults", "{}").status == 201)
    for _ in 0..<2 { #expect(try daemon.post("/v1/transientCollections", #"{"assets": []}"#).status == 201) }
    #expect(try daemon.post("/v1/transientCollections", #"{"assets": []}"#).status == 429)

    // Of which a caller gets a half.
    let small = try FetchingTests.daemon(["--set", "fetchResults.memoryBytes=2000"])
    #expect(try small.post("/v1/fetchResults", #"{"fetchLimit": 5}"#).status == 201)
    let large = try small.post("/v1/fetchResults", "{}")
    #expect(large.status == 429 && large.json["type"] as? String == "/problems/too-many-handles")
  }
}
