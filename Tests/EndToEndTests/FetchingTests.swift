import Foundation
import PhotoFixtures
import Testing

/// Fetches, fetch results and collections over real sockets.
@Suite("Fetching", .blocking)
struct FetchingTests {
  /// 24 pictures of three days and two shapes, two of a day each; some are favourites or hidden.
  private static func daemon(_ arguments: [String] = []) throws -> TestDaemon {
    let daemon = try TestDaemon(
      { files in
        for i in 0..<24 {
          let exif = EXIFBlock { $0.dateTimeOriginal = "2024:0\(i % 2 + 4):0\(i % 3 + 1) 0\(i % 4):00:00" }
          let size = i % 5 == 0 ? (16, 8) : (8, 8)
          let pixels = Pixels.orientationCard(width: size.0, height: size.1)
          try files.put(JPEGFile { $0.exif = exif }.encoded(pixels), "\(i).jpg")
        }
      }, arguments: ["--set", "scan.intervalSeconds=0"] + arguments)
    try daemon.sql(
      """
      UPDATE asset SET isFavorite = 1 WHERE id % 4 = 0; UPDATE asset SET isHidden = 1 WHERE id % 12 = 1;
      INSERT INTO collection (id, localIdentifier, type, subtype, title, revision) VALUES (100, 'album', 'album', 'albumRegular', 'A', 1);
      INSERT INTO member SELECT 100, 100 - id, id, creationDate, listing FROM asset WHERE id <= 9;
      """)
    return daemon
  }

  private static func identifiers(_ answer: TestDaemon.Response, _ key: String = "assets") -> [String] {
    (answer.json[key] as? [[String: Any]] ?? []).compactMap { $0["localIdentifier"] as? String }
  }

  // MARK: Pages

  @Test("pages of a sorted predicate, followed by their links, equal the whole list")
  func pages() throws {
    let daemon = try Self.daemon()
    let query = "predicate=isFavorite%20==%20NO&sortDescriptors=creationDate,-originalFilename"
    let whole = try daemon.get("/v1/assets?\(query)&limit=1000&count=true")
    let all = whole.json["assets"] as? [[String: Any]] ?? []
    #expect(whole.status == 200 && all.count == 16 && whole.json["count"] as? Int == 16)
    #expect(whole.json["next"] is NSNull && whole["Link"] == nil)
    let dates = all.compactMap { $0["creationDate"] as? String }
    #expect(dates == dates.sorted() && all.allSatisfy { $0["isFavorite"] as? Bool == false })
    for path in ["/v1/assets", "/v1/collections/album/assets"] {
      let whole = Self.identifiers(try daemon.get("\(path)?\(query)&limit=1000"))
      for limit in [1, 3, 100] {
        var found: [String] = []
        var next: String? = "\(path)?\(query)&limit=\(limit)"
        while let target = next {
          let page = try daemon.get(target)
          #expect(page.status == 200)
          found += Self.identifiers(page)
          try #require(found.count <= 24)
          next = page.json["next"] as? String
          #expect(page["Link"] == next.map { "<\($0)>; rel=\"next\"" })
        }
        #expect(found == whole && !found.isEmpty)
      }
      let limited = try daemon.get("\(path)?\(query)&limit=2&fetchLimit=3&count=true")
      let rest = try daemon.get(try #require(limited.json["next"] as? String))
      #expect(Self.identifiers(limited) + Self.identifiers(rest) == Array(whole.prefix(3)))
      #expect(rest.json["next"] is NSNull && limited.json["count"] as? Int == 3)
    }
  }

  @Test("an entity tag is valid until something changes, and fields select members of a response")
  func tags() throws {
    let daemon = try Self.daemon()
    _ = try daemon.assetsWithPlaceholders()
    for target in [
      "/v1/assets?fields=localIdentifier", "/v1/assets?layout=columns", "/v1/collections", "/v1/collections/album",
    ] {
      let first = try daemon.get(target)
      let tag = try #require(first["ETag"])
      #expect(try daemon.get(target, ["If-None-Match: \(tag)"]).status == 304, "\(target)")
      #expect(try daemon.get(target, method: "HEAD")["ETag"] == tag)
    }
    let assets = try daemon.get("/v1/assets?fields=localIdentifier,isFavorite").json["assets"] as? [[String: Any]]
    #expect(assets?.allSatisfy { Set($0.keys) == ["localIdentifier", "isFavorite"] } ?? false)
  }

  @Test("columns equal the objects, and buckets count them, for the library and for collections")
  func layouts() throws {
    let daemon = try Self.daemon()
    _ = try daemon.assetsWithPlaceholders()
    let smart = try #require(try Self.smartAlbum("smartAlbumFavorites", daemon))
    for path in [
      "/v1/assets", "/v1/collections/album/assets", "/v1/collections/\(smart)/assets",
      "/v1/collections/momentListCluster.2024-04/assets",
    ] {
      let objects = try daemon.get("\(path)?limit=1000").json["assets"] as? [[String: Any]] ?? []
      #expect(!objects.isEmpty, "\(path)")
      let answer = try daemon.get("\(path)?layout=columns")
      let columns = try #require(answer.json["columns"] as? [String: [Any]])
      #expect(answer.json["count"] as? Int == objects.count && answer.json["next"] is NSNull)
      for key in ["localIdentifier", "creationDate", "placeholder"] {
        #expect(columns[key]?.map { $0 as? String } == objects.map { $0[key] as? String }, "\(path) \(key)")
      }
      #expect(columns["isFavorite"] as? [Bool] == objects.map { $0["isFavorite"] as? Bool ?? false })
      let ratios = objects.map { Double($0["pixelWidth"] as? Int ?? 0) / Double($0["pixelHeight"] as? Int ?? 1) }
      #expect(columns["aspectRatio"]?.map { ($0 as? NSNumber)?.doubleValue } == ratios)
      let pages = try daemon.get("\(path)?layout=columns&limit=2")
      let second = try daemon.get(try #require(pages.json["next"] as? String))
      let split = [pages, second].flatMap {
        ($0.json["columns"] as? [String: [Any]])?["localIdentifier"] as? [String] ?? []
      }
      #expect(split == Array((columns["localIdentifier"] as? [String] ?? []).prefix(4)))
      for (unit, length) in [("day", 10), ("month", 7), ("year", 4)] {
        let buckets = try daemon.get("\(path)?layout=buckets&by=\(unit)").json
        var counts: [String: Int] = [:]
        for object in objects {
          counts[String((object["creationDate"] as? String ?? "").prefix(length)), default: 0] += 1
        }
        let found = (buckets["buckets"] as? [[String: Any]] ?? []).map { "\($0["date"] ?? "") \($0["count"] ?? "")" }
        #expect(found == counts.sorted { $0.key > $1.key }.map { "\($0.key) \($0.value)" }, "\(path) \(unit)")
        #expect(buckets["count"] as? Int == objects.count)
      }
      let zipped = try daemon.get("\(path)?layout=columns", ["Accept-Encoding: gzip"])
      if answer.body.count >= 1024 {
        #expect(
          zipped["Content-Encoding"] == "gzip" && zipped["ETag"] != answer["ETag"]
            && zipped.body.count < answer.body.count)
      }
    }
  }

  private static func smartAlbum(_ subtype: String, _ daemon: TestDaemon) throws -> String? {
    identifiers(try daemon.get("/v1/collections?type=smartAlbum&subtype=\(subtype)"), "collections").first
  }

  // MARK: Handles

  @Test("a fetch result keeps its ranges and indexes while members change or are deleted")
  func handles() throws {
    let daemon = try Self.daemon()
    let made = try daemon.post("/v1/fetchResults", #"{"sortDescriptors": "creationDate", "predicate": null}"#)
    let id = try #require(made.json["id"] as? String)
    let path = "/v1/fetchResults/\(id)"
    #expect(made.status == 201 && made["Location"] == path && made.json["count"] as? Int == 22)
    #expect(made.json["leaseSeconds"] as? Int == 300 && made["Cache-Control"] == "no-store")
    let listed = Self.identifiers(try daemon.get("/v1/assets?sortDescriptors=creationDate&limit=1000"))
    func members(_ range: String) throws -> TestDaemon.Response { try daemon.get("\(path)/assets?range=\(range)") }
    #expect(Self.identifiers(try members("0-999")) == listed)
    #expect(Self.identifiers(try daemon.get("\(path)/assets")) == listed)
    #expect(try members("3-5").json["range"] as? [Int] == [3, 5])
    #expect(Self.identifiers(try members("3-5")) == Array(listed[3...5]))
    #expect(try members("20-30").json["range"] as? [Int] == [20, 21])
    #expect(try members("22-30").json["range"] as? [Int] == [] && members("99999999-99999999").status == 200)
    for (index, name) in listed.enumerated() {
      #expect(try daemon.get("\(path)/assets?indexOf=\(name)").json["index"] as? Int == index)
    }
    #expect(try daemon.get("\(path)/assets?indexOf=nobody").json["index"] is NSNull)
    try daemon.sql(
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
    try daemon.sql(
      """
      BEGIN; UPDATE library SET revision = revision + 1 WHERE id = 0;
      \(statements)
      INSERT INTO change SELECT id, revision, 0, 1, 0 FROM library WHERE id = 0;
      COMMIT;
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
    let daemon = try Self.daemon()
    let made = try daemon.post("/v1/fetchResults", #"{"sortDescriptors": "creationDate"}"#)
    let id = try #require(made.json["id"] as? String)
    let old = Self.identifiers(try daemon.get("/v1/fetchResults/\(id)/assets"))
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
    let new = Self.identifiers(try daemon.get("/v1/fetchResults/\(name)/assets"))
    #expect(new == Self.identifiers(try daemon.get("/v1/assets?sortDescriptors=creationDate&limit=1000")))
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
    let daemon = try Self.daemon()
    let album = Self.identifiers(try daemon.get("/v1/collections/album/assets"))
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
    let daemon = try Self.daemon(["--set", "fetchResults.handles=1"])
    let id = try #require(try daemon.post("/v1/fetchResults", "{}").json["id"] as? String)
    #expect(try daemon.get("/v1/fetchResults/\(id)/changes").status == 200)
    try Self.change(daemon, "UPDATE asset SET isFavorite = 1 - isFavorite;")
    let refused = try daemon.get("/v1/fetchResults/\(id)/changes")
    #expect(refused.status == 429 && refused.json["type"] as? String == "/problems/too-many-handles")
    #expect(try daemon.get("/v1/fetchResults/\(id)").status == 200, "the old handle remains")
  }

  @Test("fetch results of a collection, and transient collections of fetch results and of assets")
  func transients() throws {
    let daemon = try Self.daemon()
    let album = Self.identifiers(try daemon.get("/v1/collections/album/assets"))
    #expect(album.count == 8, "one is hidden")
    let made = try daemon.post("/v1/fetchResults", #"{"collection": "album"}"#)
    let id = try #require(made.json["id"] as? String)
    #expect(Self.identifiers(try daemon.get("/v1/fetchResults/\(id)/assets")) == album)
    let missing = try daemon.post("/v1/fetchResults", #"{"collection": "nobody"}"#)
    #expect(missing.status == 404 && missing.json["type"] as? String == "/problems/collection-not-found")

    let all = try daemon.post("/v1/fetchResults", "{}")
    let whole = try #require(all.json["id"] as? String)
    let transient = try daemon.post(
      "/v1/transientCollections", "{\"title\": \"T\", \"fetchResults\": [\"\(id)\", \"\(whole)\"]}")
    let name = try #require(transient.json["localIdentifier"] as? String)
    #expect(transient.status == 201 && transient["Location"] == "/v1/collections/\(name)")
    let assets = Self.identifiers(try daemon.get("/v1/collections/\(name)/assets?limit=1000"))
    #expect(assets.count == 22 && Set(assets).count == 22 && Array(assets.prefix(8)) == album)
    #expect(try daemon.get("/v1/collections/\(name)").json["title"] as? String == "T")
    let sorted = Self.identifiers(
      try daemon.get("/v1/collections/\(name)/assets?sortDescriptors=localIdentifier&predicate=isFavorite==YES"))
    #expect(sorted == sorted.sorted() && sorted.count == 6)
    let reversed = album.reversed().map { "\"\($0)\"" }.joined(separator: ",")
    let second = try daemon.post("/v1/transientCollections", "{\"assets\": [\(reversed)]}")
    let other = try #require(second.json["localIdentifier"] as? String)
    #expect(Self.identifiers(try daemon.get("/v1/collections/\(other)/assets")) == album.reversed())
    let nobody = try daemon.post("/v1/transientCollections", #"{"assets": ["nobody"]}"#)
    #expect(nobody.status == 404 && nobody.json["type"] as? String == "/problems/asset-not-found")
    for body in ["{}", #"{"assets": [], "fetchResults": []}"#] {
      #expect(try daemon.post("/v1/transientCollections", body).json["parameter"] as? String == "assets")
    }
  }

  @Test("a caller's handles do not exist for others, and location predicates need the location scope")
  func owners() throws {
    let daemon = try Self.daemon(["--allow-anonymous"])
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
    let daemon = try Self.daemon(["--set", "fetchResults.handles=2"])
    let ids = try (0..<2).map { _ in try #require(try daemon.post("/v1/fetchResults", "{}").json["id"] as? String) }
    let refused = try daemon.post("/v1/fetchResults", "{}")
    #expect(refused.status == 429 && refused["Retry-After"] != nil)
    #expect(refused.json["type"] as? String == "/problems/too-many-handles")
    for id in ids { #expect(try daemon.get("/v1/fetchResults/\(id)").status == 200) }
    #expect(try daemon.get("/v1/fetchResults/\(ids[0])", method: "DELETE").status == 204)
    #expect(try daemon.post("/v1/fetchResults", "{}").status == 201)
    for _ in 0..<2 { #expect(try daemon.post("/v1/transientCollections", #"{"assets": []}"#).status == 201) }
    #expect(try daemon.post("/v1/transientCollections", #"{"assets": []}"#).status == 429)

    let small = try Self.daemon(["--set", "fetchResults.memoryBytes=1000"])
    #expect(try small.post("/v1/fetchResults", #"{"fetchLimit": 5}"#).status == 201)
    let large = try small.post("/v1/fetchResults", "{}")
    #expect(large.status == 429 && large.json["type"] as? String == "/problems/too-many-handles")
  }

  // MARK: Collections

  @Test("collections are selected by type, subtype, predicate and order, in folders and by date")
  func collections() throws {
    let daemon = try Self.daemon()
    let all = try #require(try daemon.get("/v1/collections").json["collections"] as? [[String: Any]])
    #expect(all.count == 13 && all.filter { $0["type"] as? String == "smartAlbum" }.count == 12)
    func titles(_ query: String) throws -> [String] {
      let answer = try daemon.get("/v1/collections?\(query)")
      #expect(answer.status == 200, "\(query)")
      return (answer.json["collections"] as? [[String: Any]] ?? []).compactMap { $0["title"] as? String }
    }
    #expect(try titles("type=album") == ["A"])
    #expect(try titles("type=smartAlbum&subtype=smartAlbumFavorites") == ["Favorites"])
    #expect(
      try titles("predicate=estimatedAssetCount%20%3E%200&sortDescriptors=title") == [
        "A", "Favorites", "Hidden", "Library", "Recently Added",
      ])
    #expect(try titles("predicate=title%20BEGINSWITH%5Bc%5D%20'h'&sortDescriptors=-title") == ["Hidden", "HDR"])
    #expect(try titles("type=folder&subtype=momentListYear") == ["2024"])
    #expect(try titles("type=folder&subtype=momentListCluster") == ["2024-05", "2024-04"])
    let months = try daemon.get("/v1/collections/momentListYear.2024/collections")
    #expect(Self.identifiers(months, "collections") == ["momentListCluster.2024-05", "momentListCluster.2024-04"])
    let moments = try #require(
      try daemon.get("/v1/collections/momentListCluster.2024-05/collections").json["collections"] as? [[String: Any]])
    #expect(!moments.isEmpty && moments.allSatisfy { $0["type"] as? String == "moment" })
    var next: String? = "/v1/collections?sortDescriptors=title&limit=2"
    var paged: [String] = []
    while let target = next {
      let page = try daemon.get(target)
      paged += (page.json["collections"] as? [[String: Any]] ?? []).compactMap { $0["title"] as? String }
      next = page.json["next"] as? String
    }
    #expect(paged == (try titles("sortDescriptors=title")) && paged.count == 13)
    for path in ["nobody", "nobody/assets", "nobody/collections", "album/collections"] {
      let answer = try daemon.get("/v1/collections/\(path)")
      #expect(answer.status == 404 && answer.json["type"] as? String == "/problems/collection-not-found", "\(path)")
    }
  }

  // MARK: Invalid requests

  private static let nonsense: [String: [String]] = {
    let flag = ["", "1", "TRUE", "yes", "\0", "true "]
    let count = ["", "0", "-1", "1.5", "x", "99999999999999999999", "1e3", "+1", "\0", "\u{661}"]
    return [
      "predicate": [
        "", "(", "isFavorite", "isFavorite ==", "x == 1", "isFavorite == 'x'", "fileSize IN {", "fileSize == 1e999",
        "\0",
        "isFavorite == YES; DROP TABLE asset", "1 == 1 OR", "title ==", "\u{202E}", "%@ == 1",
        "SUBQUERY(x, $x, $x == 1)",
        String(repeating: "(", count: 500),
      ],
      "sortDescriptors": [
        "", "-", "--creationDate", "x", "startDate,creationDate,", "type,type", ",", "\0", "title asc", "1",
      ],
      "fetchLimit": count, "limit": count + ["100000"], "includeHiddenAssets": flag, "includeAllBurstAssets": flag,
      "count": flag,
      "layout": ["", "OBJECTS", "x", "\0"], "by": ["", "week", "\0"], "type": ["", "albums", "Album", "\0"],
      "subtype": ["", "x", "\0"],
      "cursor": ["", "x", "AAAA", "W10", "\0", "W251bGxd", String(repeating: "W", count: 999)],
      "fields": ["", "x", "localIdentifier,", "localIdentifier creationDate", "\0"],
      "range": [
        "", "-", "1", "1-", "-1", "2-1", "0-1000", "a-b", "0-99999999999999999999", "0-1-2", "\u{661}-\u{662}", "\0",
      ],
      "indexOf": ["", "\0", "a/b", "\u{E9}", String(repeating: "a", count: 65)],
    ]
  }()

  @Test("an invalid value of any parameter of any route is a 400 that names the parameter")
  func parameters() throws {
    let daemon = try Self.daemon()
    let id = try #require(try daemon.post("/v1/fetchResults", "{}").json["id"] as? String)
    let listing = [
      "layout", "by", "predicate", "sortDescriptors", "fetchLimit", "includeHiddenAssets", "includeAllBurstAssets",
      "limit",
      "cursor", "count", "fields",
    ]
    let collections = [
      "type", "subtype", "limit", "cursor", "includeHiddenAssets", "includeAllBurstAssets", "predicate",
      "sortDescriptors",
    ]
    var cases = 0
    for (path, names) in [
      ("/v1/assets", listing), ("/v1/collections/album/assets", listing), ("/v1/collections", collections),
      ("/v1/collections/momentListYear.2024/collections", collections),
      ("/v1/collections/album", ["includeHiddenAssets", "includeAllBurstAssets"]),
      ("/v1/fetchResults/\(id)/assets", ["range", "indexOf", "fields"]), ("/v1/fetchResults/\(id)", []),
      ("/v1/fetchResults/\(id)/changes", []),
    ] {
      for name in names {
        for value in try #require(Self.nonsense[name]) {
          let escaped = try #require(value.addingPercentEncoding(withAllowedCharacters: .alphanumerics))
          let answer = try daemon.get("\(path)?\(name)=\(escaped)")
          #expect(
            answer.status == 400 && answer["Content-Type"] == "application/problem+json", "\(path) \(name)=\(value)")
          #expect(answer.json["parameter"] as? String == name, "\(path) \(name)=\(value): \(answer.json)")
          #expect((answer.json["detail"] as? String)?.isEmpty == false)
          cases += 1
        }
        let twice = try daemon.get("\(path)?\(name)=true&\(name)=true")
        #expect(twice.status == 400 && twice.json["parameter"] as? String == name)
      }
      let stranger = try daemon.get("\(path)?Predicate=x")
      #expect(stranger.status == 400 && stranger.json["parameter"] as? String == "Predicate", "\(path)")
      #expect(try daemon.get(path, method: "PUT").status == 405)
    }
    for (query, name) in [
      ("layout=columns&limit=10001", "limit"), ("layout=columns&fields=duration", "fields"),
      ("layout=columns&count=true", "count"),
      ("by=day", "by"), ("layout=buckets&cursor=x", "cursor"), ("layout=buckets&limit=5", "limit"),
    ] {
      let answer = try daemon.get("/v1/assets?\(query)")
      #expect(answer.status == 400 && answer.json["parameter"] as? String == name, "\(query)")
    }
    #expect(cases > 250)
    #expect(try daemon.get("/v1/assets").status == 200)
  }

  @Test("an invalid value of any member of any body is a 400 that names the member")
  func members() throws {
    let daemon = try Self.daemon()
    let texts = ["1", "true", "[]", "{}", "1.5"]
    let flags = ["1", "0", "\"true\"", "[]", "{}", "1.5"]
    let lists = ["1", "\"x\"", "{}", "[1]", "[null]", "[[\"x\"]]", "[\"x\", 2]"]
    let names = ["[\"\"]", "[\"a b\"]", "[\"\\u0000\"]"]
    for (path, members) in [
      (
        "/v1/fetchResults",
        [
          "predicate": texts + ["\"\"", "\"x == 1\"", "\"\\u0000\""], "sortDescriptors": texts + ["\"\"", "\"x\""],
          "fetchLimit": ["\"1\"", "0", "-1", "1.5", "true", "[]", "99999999999999999999"],
          "includeHiddenAssets": flags, "includeAllBurstAssets": flags,
          "collection": texts + ["\"\"", "\"a b\"", "\"\\u0000\""],
          "Collection": ["\"album\""],
        ]
      ),
      (
        "/v1/transientCollections",
        [
          "title": texts + ["\"\(String(repeating: "x", count: 1025))\""], "assets": lists + names,
          "fetchResults": lists, "asset": ["\"x\""],
        ]
      ),
    ] as [(String, [String: [String]])] {
      for (name, values) in members {
        for value in values {
          let rest = path.hasPrefix("/v1/t") && name == "title" ? #", "assets": []"# : ""
          let answer = try daemon.post(path, "{\"\(name)\": \(value)\(rest)}")
          #expect(
            answer.status == 400 && answer.json["parameter"] as? String == name,
            "\(path) \(name) \(value): \(answer.json)")
        }
      }
      let deep = String(repeating: "[", count: 5000)
      for body in [
        "", "[]", "null", "1", "\"x\"", "{", "{\"predicate\"}", "{\"predicate\": }", "{} {}", deep,
        "{\"predicate\": \(deep)",
      ] {
        let answer = try daemon.post(path, body)
        #expect(
          answer.status == 400 && answer.json["type"] as? String == "/problems/malformed-request", "\(body.prefix(20))")
      }
      for type in ["text/plain", "application/x-www-form-urlencoded", "application/jsonx"] {
        #expect(try daemon.post(path, "{}", type: type).status == 415)
      }
      #expect(try daemon.post(path + "?x=1", "{}").json["parameter"] as? String == "x")
      #expect(try daemon.post(path, "{}", ["Origin: http://evil.example"]).status == 403)
      #expect(try daemon.post(path, "{}", ["Sec-Fetch-Site: cross-site"]).status == 403)
    }
    #expect(try daemon.get("/v1/assets").status == 200)
  }

  // MARK: Limits

  @Test("a fetch that exceeds its deadline is 503, and does not delay others")
  func tooExpensive() throws {
    let daemon = try Self.daemon(["--set", "fetch.deadlineMilliseconds=2000"])
    try daemon.sql(
      """
      WITH RECURSIVE number (n) AS (SELECT 1000 UNION ALL SELECT n + 1 FROM number LIMIT 40000)
      INSERT INTO asset (id, localIdentifier, contentVersion, revision, mediaType, uniformTypeIdentifier, originalFilename, fileSize,
        pixelWidth, pixelHeight, orientation, hasAlpha, creationDate, creationDateSource, modificationDate, addedDate)
      SELECT n, 'many' || n, 'v', 1, 1, 'public.jpeg', 'a name of some length ' || n, 1, 4, 3, 1, 0, n, 'file', n, n FROM number
      """)
    let term = "originalFilename LIKE[c] '*?*?*?*x'"
    let predicate = Array(repeating: term, count: 60).joined(separator: " OR ")
    let escaped = try #require(predicate.addingPercentEncoding(withAllowedCharacters: .alphanumerics))
    let order = Order()
    let group = DispatchGroup()
    for target in [
      "/v1/assets?predicate=\(escaped)", "/v1/collections/momentListYear.1970/assets?predicate=\(escaped)",
    ] {
      group.enter()
      Thread {
        let answer = try? daemon.get(target)
        order.note(answer.map { "\($0.status) \($0.json["type"] ?? "")" } ?? "none")
        group.leave()
      }.start()
    }
    for _ in 0..<3 {
      let cheap = try daemon.get("/v1/assets?limit=5")
      #expect(cheap.status == 200)
    }
    order.note("cheap")
    group.wait()
    let expensive = "503 /problems/query-too-expensive"
    #expect(order.notes == ["cheap", expensive, expensive], "\(order.notes)")
    let made = try daemon.post("/v1/fetchResults", "{\"predicate\": \"\(predicate)\"}")
    #expect(made.status == 503 && made["Retry-After"] != nil)
    #expect(
      try daemon.get("/v1/assets?predicate=fileSize%20%3E%205&limit=5").status == 200,
      "the connection is as good as before")
  }

  private final class Order: @unchecked Sendable {
    // Because of the lock.
    private let lock = NSLock()
    private var all: [String] = []
    func note(_ note: String) { lock.withLock { all.append(note) } }
    var notes: [String] { lock.withLock { all } }
  }
}

extension TestDaemon {
  /// Changes the catalogue as another process would.
  fileprivate func sql(_ statements: String) throws {
    let process = Process()
    process.executableURL = URL(filePath: "/usr/bin/env")
    process.arguments = [
      "python3", "-c",
      "import sqlite3, sys; db = sqlite3.connect(sys.argv[1], timeout=20); db.execute('PRAGMA foreign_keys = ON'); db.executescript(sys.argv[2])",
      data + "/catalogue.sqlite", statements,
    ]
    try process.run()
    process.waitUntilExit()
    try #require(process.terminationStatus == 0)
  }
}
