import Foundation
import PhotoFixtures
import Testing

/// Titles, captions, keywords and ratings: of files, set by change lists, in predicates, in sidecars; and the stream of
/// one asset.
@Suite("Descriptions of assets", .blocking)
struct DescriptionTests {
  private typealias Object = [String: Any]

  private static func picture(_ elements: String, _ number: Int? = nil) -> [UInt8] {
    let packet = """
      <x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">
      <rdf:Description rdf:about="" xmlns:dc="http://purl.org/dc/elements/1.1/"
       xmlns:xmp="http://ns.adobe.com/xap/1.0/" xmlns:photoshop="http://ns.adobe.com/photoshop/1.0/"
       >\(elements)</rdf:Description></rdf:RDF></x:xmpmeta>
      """
    return JPEGFile {
      $0.segments = [.xmp(packet)]
      guard let number else { return }
      $0.exif = EXIFBlock {
        ($0.make, $0.model) = ("Maker", "C1")
        $0.dateTimeOriginal = "2024:05:06 12:00:00"
        $0.subSecTimeOriginal = "\(number)00"
      }
    }.encoded(Pixels.orientationCard(width: 32, height: 24))
  }

  private func perform(_ entries: String, _ daemon: TestDaemon) throws -> Object {
    let answer = try daemon.post("/v1/changes", "{\"changes\": [\(entries)]}")
    #expect(answer.status == 200, "\(answer.json)")
    return answer.json
  }

  /// The file names of the assets that match a predicate.
  private func names(_ daemon: TestDaemon, _ predicate: String, _ rest: String = "") throws -> [String] {
    let plain = CharacterSet(charactersIn: "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789")
    let predicate = try #require(predicate.addingPercentEncoding(withAllowedCharacters: plain))
    let answer = try daemon.get("/v1/assets?predicate=\(predicate)\(rest)")
    #expect(answer.status == 200, "\(answer.json)")
    return (answer.json["assets"] as? [Object] ?? []).compactMap { $0["originalFilename"] as? String }
  }

  private static func files(_ files: TestDaemon.Files) throws {
    try files.put(
      picture(
        """
        <dc:title>Sea</dc:title><dc:subject><rdf:Bag><rdf:li>water</rdf:li><rdf:li>blue</rdf:li></rdf:Bag></dc:subject>
        <xmp:Rating>3</xmp:Rating><photoshop:City>Quaxwellington</photoshop:City>
        """), "sea.jpg")
    try files.put(picture(""), "plain.jpg")
    for number in 1...3 { try files.put(picture("", number), "burst\(number).jpg") }
  }

  @Test("descriptions come from the file, change by change lists, are found by predicates, and never contain a place")
  func changes() throws {
    let daemon = try TestDaemon(Self.files)
    let (sea, plain) = (try daemon.identifier("sea.jpg"), try daemon.identifier("plain.jpg"))
    let file = try daemon.get("/v1/assets/\(sea)").json
    #expect(file["title"] as? String == "Sea" && file["keywords"] as? [String] == ["water", "blue"])
    #expect(file["rating"] as? Int == 3 && file["caption"] is NSNull && file["lensModel"] is NSNull)
    let before = try #require(file["revision"] as? String)

    _ = try perform(
      """
      {"type": "updateAsset", "asset": "\(sea)", "title": null, "caption": "Two\\nlines", "rating": 5,
        "keywords": ["\\"q\\" & <t>", "water", "water"], "ifMatch": "\(before)"},
      {"type": "updateAsset", "asset": "\(plain)", "title": "\u{C9}t\u{E9}", "keywords": ["water"]}
      """, daemon)
    let changed = try daemon.get("/v1/assets/\(sea)").json
    #expect(changed["title"] is NSNull && changed["caption"] as? String == "Two\nlines")
    #expect(changed["rating"] as? Int == 5 && changed["keywords"] as? [String] == ["\"q\" & <t>", "water"])
    #expect(changed["revision"] as? String != before)
    #expect(changed["contentVersion"] as? String == file["contentVersion"] as? String)

    for (predicate, expected) in [
      ("ANY keywords BEGINSWITH '\"q'", ["sea.jpg"]), ("rating >= 4", ["sea.jpg"]),
      ("title == '\u{C9}t\u{E9}' AND rating == nil", ["plain.jpg"]),
      ("cameraModel == 'C1' AND cameraMake BEGINSWITH[c] 'm'", ["burst1.jpg"]),
      ("NOT keywords CONTAINS 'water' AND isHidden == NO", ["burst1.jpg"]),
    ] {
      #expect(try names(daemon, predicate) == expected, "\(predicate)")
    }
    #expect(
      try names(daemon, "keywords CONTAINS 'water'", "&sortDescriptors=-rating,title") == ["sea.jpg", "plain.jpg"])
    let sorted = try daemon.get("/v1/assets?sortDescriptors=keywords")
    #expect(sorted.status == 400 && sorted.json["parameter"] as? String == "sortDescriptors")

    // A scan with changed files keeps what the user set.
    try Data(Self.picture("<dc:title>Later</dc:title><dc:description>x</dc:description>"))
      .write(to: URL(filePath: daemon.library + "/sea.jpg"))
    try TestDaemon.succeed(["scan", "--library", daemon.library, "--data", daemon.data])
    let scanned = try daemon.get("/v1/assets/\(sea)").json
    #expect(scanned["title"] is NSNull && scanned["caption"] as? String == "Two\nlines")
    #expect(scanned["contentVersion"] as? String != file["contentVersion"] as? String)

    let everything = try daemon.get("/v1/assets?limit=1000")
    #expect(!String(decoding: everything.body, as: UTF8.self).contains("Quaxwellington"))
  }

  @Test("an invalid value is refused with its member, and changes nothing")
  func refused() throws {
    let daemon = try TestDaemon.ofCards(1)
    let asset = try daemon.identifier("0.jpg")
    let before = try daemon.get("/v1/assets").json["changeToken"] as? String
    func text(_ count: Int) -> String { String(repeating: "x", count: count) }
    let many = (0..<201).map { "\"\($0)\"" }.joined(separator: ", ")
    let cases: [(members: String, parameter: String)] = [
      ("\"rating\": 6", "rating"), ("\"rating\": -2", "rating"), ("\"rating\": 1.5", "rating"),
      ("\"rating\": \"5\"", "rating"), ("\"title\": \"a\\nb\"", "title"), ("\"title\": 1", "title"),
      ("\"title\": \"\(text(513))\"", "title"), ("\"caption\": \"\(text(4097))\"", "caption"),
      ("\"caption\": \"\\u0000\"", "caption"), ("\"keywords\": \"sea\"", "keywords"),
      ("\"keywords\": null", "keywords"), ("\"keywords\": [\"\"]", "keywords"),
      ("\"keywords\": [\"Geo:lat=52.5\"]", "keywords"), ("\"keywords\": [\"\(text(257))\"]", "keywords"),
      ("\"keywords\": [\(many)]", "keywords"), ("\"burstSelectionTypes\": [\"autoPick\"]", "burstSelectionTypes"),
      ("\"burstSelectionTypes\": null", "burstSelectionTypes"),
    ]
    for (members, parameter) in cases {
      let body = "{\"changes\": [{\"type\": \"updateAsset\", \"asset\": \"\(asset)\", \(members)}]}"
      let answer = try daemon.post("/v1/changes", body)
      #expect(answer.status == 400 && answer.json["parameter"] as? String == parameter, "\(members.prefix(60))")
    }
    let pick = try daemon.post(
      "/v1/changes",
      "{\"changes\": [{\"type\": \"updateAsset\", \"asset\": \"\(asset)\", \"burstSelectionTypes\": [\"userPick\"]}]}")
    #expect(pick.status == 409 && pick.json["type"] as? String == "/problems/not-of-a-burst")
    #expect(try daemon.get("/v1/assets").json["changeToken"] as? String == before)
    // As many as are allowed, and duplicates, which are dropped.
    let most = (0..<200).map(String.init)
    let list = (most + most).map { "\"\($0)\"" }.joined(separator: ", ")
    _ = try perform("{\"type\": \"updateAsset\", \"asset\": \"\(asset)\", \"keywords\": [\(list)]}", daemon)
    let keywords = try #require(try daemon.get("/v1/assets/\(asset)").json["keywords"] as? [String])
    #expect(keywords.count == 200 && Set(keywords) == Set(most))
  }

  @Test("a picked picture of a burst is listed beside its representative, and restored from the trash as such")
  func pick() throws {
    let daemon = try TestDaemon(Self.files)
    let all = try #require(
      try daemon.get("/v1/assets?includeAllBurstAssets=true").json["assets"] as? [Object])
    func identifier(_ name: String) throws -> String {
      try #require(all.first { $0["originalFilename"] as? String == name }?["localIdentifier"] as? String)
    }
    let third = try identifier("burst3.jpg")
    let burst = try names(daemon, "cameraModel == 'C1'")
    #expect(burst == ["burst1.jpg"])
    _ = try perform(
      "{\"type\": \"updateAsset\", \"asset\": \"\(third)\", \"burstSelectionTypes\": [\"userPick\"]}", daemon)
    func listed() throws -> Set<String> { Set(try names(daemon, "cameraModel == 'C1'")) }
    #expect(try listed() == ["burst1.jpg", "burst3.jpg"])
    #expect(try daemon.get("/v1/assets/\(third)").json["burstSelectionTypes"] as? [String] == ["userPick"])
    _ = try perform("{\"type\": \"deleteAsset\", \"asset\": \"\(third)\"}", daemon)
    #expect(try listed() == ["burst1.jpg"])
    _ = try perform("{\"type\": \"restoreAsset\", \"asset\": \"\(third)\"}", daemon)
    #expect(try daemon.get("/v1/assets/\(third)").json["burstSelectionTypes"] as? [String] == ["userPick"])
    _ = try perform("{\"type\": \"updateAsset\", \"asset\": \"\(third)\", \"burstSelectionTypes\": []}", daemon)
    #expect(try !listed().contains("burst3.jpg"))
  }

  @Test("a stream of one asset has its changes only, and names a parameter that does not go with it")
  func stream() throws {
    let daemon = try TestDaemon.ofCards()
    let (a, b) = (try daemon.identifier("0.jpg"), try daemon.identifier("1.jpg"))
    let stream = try EventStream(daemon, "?asset=\(a)")
    let start = try #require(stream.begin())
    _ = try perform("{\"type\": \"updateAsset\", \"asset\": \"\(b)\", \"title\": \"B\"}", daemon)
    let album = try perform("{\"type\": \"createAlbum\", \"title\": \"A\", \"placeholder\": \"$a\"}", daemon)
    let done = try perform("{\"type\": \"updateAsset\", \"asset\": \"\(a)\", \"title\": \"A\"}", daemon)
    let event = try #require(stream.next())
    #expect(event.identifiers("assets", "updated") == [a] && event.id == done["changeToken"] as? String)
    #expect(event.identifiers("collections", "inserted").isEmpty)
    let history = try daemon.get("/v1/changes?since=\(start)&asset=\(a)")
    #expect(NSDictionary(dictionary: history.json) == NSDictionary(dictionary: event.json))
    _ = try perform("{\"type\": \"deleteAsset\", \"asset\": \"\(a)\"}", daemon)
    let deleted = try #require(stream.next())
    #expect(deleted.identifiers("assets", "deleted") == [a])
    // A client that lost its connection can resume although the asset is gone.
    let resumed = try EventStream(daemon, "?asset=\(a)", ["Last-Event-ID: \(try #require(event.id))"])
    #expect(resumed.next()?.identifiers("assets", "deleted") == [a])

    let collection = try #require((album["created"] as? [String: String])?["$a"])
    for (query, status) in [("asset=nothing", 404), ("asset=\(b)&collection=\(collection)", 400), ("asset=", 400)] {
      for path in ["/v1/changes/stream?", "/v1/changes?since=\(start)&"] {
        let answer = try daemon.get(path + query)
        #expect(answer.status == status && answer.json["parameter"] as? String == "asset", "\(path)\(query)")
      }
    }
    let handle = try #require(try daemon.post("/v1/fetchResults", "{}").json["id"] as? String)
    let both = try daemon.get("/v1/changes/stream?fetchResult=\(handle)&asset=\(b)")
    #expect(both.status == 400 && both.json["parameter"] as? String == "asset")
  }

  /// A sidecar, parsed by Python's XML parser as an independent one: texts by the path of their elements.
  private static func parsed(_ path: String) throws -> [String: [String]] {
    let script = """
      import sys, json, xml.etree.ElementTree as ET
      def local(tag): return tag.split("}")[-1]
      found = {}
      def walk(node, path):
        for child in node:
          name = path if local(child.tag) in ("Alt", "Bag", "li") else local(child.tag)
          if len(child) == 0: found.setdefault(name, []).append(child.text or "")
          walk(child, name)
      walk(ET.parse(sys.argv[1]).getroot(), "")
      print(json.dumps(found))
      """
    let run = try runToEnd("/usr/bin/env", ["python3", "-c", script, path])
    return try JSONDecoder().decode([String: [String]].self, from: Data(run.output))
  }

  @Test("photod export-metadata writes well-formed sidecars while the daemon runs, with places only on request")
  func export() throws {
    let daemon = try TestDaemon(Self.files)
    let plain = try daemon.identifier("plain.jpg")
    _ = try perform(
      """
      {"type": "updateAsset", "asset": "\(plain)", "title": "<a> & \\"b\\" ]]> \u{1F600}\u{FFFE}", "caption": "Two\\n\\tlines",
        "keywords": ["x < y", "&amp;"], "rating": -1, "isFavorite": true,
        "location": {"latitude": -0.5, "longitude": 174.778142}}
      """, daemon)
    let target = daemon.data + "/sidecars/new"
    func run(_ options: String...) throws -> (status: Int32, output: String, error: String) {
      try TestDaemon.run(
        ["export-metadata", target, "--library", daemon.library, "--data", daemon.data] + options)
    }
    let first = try run()
    #expect(first.status == 0 && first.output == "sidecars: 2 written, 0 unchanged\n", "\(first)")
    let sidecar = try Self.parsed(target + "/plain.jpg.xmp")
    #expect(sidecar["title"] == ["<a> & \"b\" ]]> \u{1F600}\u{FFFD}"] && sidecar["description"] == ["Two\n\tlines"])
    #expect(
      sidecar["subject"] == ["x < y", "&amp;"] && sidecar["Rating"] == ["-1"] && sidecar["Label"] == ["Favorite"])
    #expect(sidecar["GPSLatitude"] == nil)
    #expect(try Self.parsed(target + "/sea.jpg.xmp")["City"] == nil)
    let second = try run("--include-locations", "--only-edited")
    #expect(second.output == "sidecars: 1 written, 0 unchanged\n", "\(second)")
    let located = try Self.parsed(target + "/plain.jpg.xmp")
    #expect(located["GPSLatitude"] == ["0,30.000000S"] && located["GPSLongitude"] == ["174,46.688520E"])
    #expect(try run("--include-locations").output == "sidecars: 1 written, 1 unchanged\n")
    #expect(try Self.parsed(target + "/sea.jpg.xmp")["City"] == ["Quaxwellington"])
    // Another program's sidecar.
    try Data("<x:xmpmeta xmlns:x=\"adobe:ns:meta/\"/>".utf8).write(to: URL(filePath: target + "/sea.jpg.xmp"))
    let kept = try run()
    #expect(kept.status == 0 && kept.output.contains("sea.jpg.xmp: another program wrote this file"), "\(kept)")
    #expect(try run("--overwrite").output == "sidecars: 1 written, 1 unchanged\n")
    let missing = try TestDaemon.run([
      "export-metadata", "/proc/none", "--data", daemon.data, "--library", daemon.library,
    ])
    #expect(missing.status != 0 && missing.error.contains("/proc/none"))
  }
}
