import Foundation
import PhotoFixtures
import Testing

/// Fetches and collections over real sockets.
@Suite("Fetching", .blocking)
struct FetchingTests {
  /// 24 pictures of three days and two shapes, two of a day each; some are favourites or hidden. Those with an offset
  /// were taken on the day before in UTC.
  static func daemon(_ arguments: [String] = []) throws -> TestDaemon {
    let daemon = try TestDaemon(
      { files in
        for i in 0..<24 {
          let exif = EXIFBlock {
            $0.dateTimeOriginal = "2024:0\(i % 2 + 4):0\(i % 3 + 1) 0\(i % 4):00:00"
            if i % 4 == 2 { $0.offsetTimeOriginal = "+05:30" }
          }
          let size = i % 5 == 0 ? (16, 8) : (8, 8)
          let pixels = Pixels.orientationCard(width: size.0, height: size.1)
          try files.put(JPEGFile { $0.exif = exif }.encoded(pixels), "\(i).jpg")
        }
      }, arguments: ["--set", "scan.intervalSeconds=0"] + arguments)
    try daemon.script(
      "catalogue.sqlite",
      """
      UPDATE asset SET isFavorite = 1 WHERE id % 4 = 0; UPDATE asset SET isHidden = 1 WHERE id % 12 = 1;
      INSERT INTO collection (id, localIdentifier, type, subtype, title, revision) VALUES (100, 'album', 'album', 'albumRegular', 'A', 1);
      INSERT INTO member SELECT 100, 100 - id, id, creationDate, listing FROM asset WHERE id <= 9;
      """)
    return daemon
  }

  static func identifiers(_ answer: TestDaemon.Response, _ key: String = "assets") -> [String] {
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
    // `//v1` would name a host.
    let next = try daemon.get("//v1//assets?\(query)&limit=1").json["next"] as? String
    #expect(next?.hasPrefix("/v1/assets?") == true)
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

  @Test("the link to the next page repeats the query as it was sent, so that it is not too long to be followed")
  func longQuery() throws {
    let daemon = try Self.daemon(["--set", "http.requestLineBytes=600"])
    let query = "predicate=isFavorite\(String(repeating: "+", count: 200))==+NO&limit=10"
    let first = try daemon.get("/v1/assets?\(query)")
    let next = try #require(first.json["next"] as? String)
    #expect(next.hasPrefix("/v1/assets?\(query)&cursor="))
    let second = try daemon.get(next)
    #expect(second.status == 200 && Self.identifiers(first).count + Self.identifiers(second).count == 16)
    // It would end the URL in Link.
    let compared = try daemon.get("/v1/assets?predicate=pixelWidth>1&limit=1")
    #expect(compared["Link"]?.hasPrefix("</v1/assets?predicate=pixelWidth%3E1&limit=1&cursor=") == true)
    #expect(try daemon.get(try #require(compared.json["next"] as? String)).status == 200)
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
      for key in ["localIdentifier", "creationDate", "placeholder", "contentVersion", "mediaType"] {
        #expect(columns[key]?.map { $0 as? String } == objects.map { $0[key] as? String }, "\(path) \(key)")
      }
      #expect(columns["mediaSubtypes"] as? [[String]] == objects.map { $0["mediaSubtypes"] as? [String] ?? ["?"] })
      #expect(columns["duration"] as? [Double] == objects.map { $0["duration"] as? Double ?? -1 })
      #expect(columns["utcOffset"]?.count == objects.count)
      let two = try daemon.get("\(path)?layout=columns&fields=mediaType,localIdentifier").json["columns"]
      let named = try #require(two as? [String: [String]])
      #expect(Set(named.keys) == ["mediaType", "localIdentifier"])
      #expect(named["localIdentifier"] == columns["localIdentifier"] as? [String])
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
          counts[String(try Self.localDate(of: object).prefix(length)), default: 0] += 1
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

  /// The date of an asset's JSON at its own offset from UTC; the daemon's time zone is UTC.
  private static func localDate(of asset: [String: Any]) throws -> String {
    let formatter = ISO8601DateFormatter()
    let date = try #require(formatter.date(from: asset["creationDate"] as? String ?? ""))
    return formatter.string(from: date.addingTimeInterval(Double(asset["utcOffset"] as? Int ?? 0) * 60))
  }

  static func smartAlbum(_ subtype: String, _ daemon: TestDaemon) throws -> String? {
    identifiers(try daemon.get("/v1/collections?type=smartAlbum&subtype=\(subtype)"), "collections").first
  }

  // MARK: Collections

  @Test("collections are selected by type, subtype, predicate and order, in folders and by date")
  func collections() throws {
    let daemon = try Self.daemon()
    let all = try #require(try daemon.get("/v1/collections").json["collections"] as? [[String: Any]])
    #expect(all.count == 21 && all.filter { $0["type"] as? String == "smartAlbum" }.count == 20)
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
    #expect(paged == (try titles("sortDescriptors=title")) && paged.count == 21)
    // A year without assets does not exist.
    let year = "momentListYear.1850"
    for path in [
      "nobody", "nobody/assets", "nobody/collections", "album/collections", year, "\(year)/assets",
      "\(year)/collections",
    ] {
      let answer = try daemon.get("/v1/collections/\(path)")
      #expect(answer.status == 404 && answer.json["type"] as? String == "/problems/collection-not-found", "\(path)")
    }
  }

  // MARK: Limits

  @Test("a fetch that exceeds its deadline is 503, and does not delay others")
  func tooExpensive() throws {
    let daemon = try Self.daemon(["--set", "fetch.deadlineMilliseconds=2000"])
    try daemon.script(
      "catalogue.sqlite",
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
