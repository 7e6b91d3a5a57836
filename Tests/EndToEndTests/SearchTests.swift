import Foundation
import PhotoFixtures
import Testing

/// Searches over real sockets.
@Suite("Searching", .blocking)
struct SearchTests {
  @Test("lists, columns, pages, counts and fetch results of a search follow changes of album titles and names")
  func search() throws {
    let daemon = try TestDaemon(
      { files in
        for (number, path) in ["beach/IMG_1.jpg", "beach/IMG_2.jpg", "hill/IMG_3.jpg"].enumerated() {
          let exif = EXIFBlock {
            $0.dateTimeOriginal = "2024:05:0\(number + 1) 00:00:00"
            ($0.make, $0.model) = ("Canon", "EOS R5")
          }
          try files.put(JPEGFile { $0.exif = exif }.encoded(Pixels.orientationCard(width: 8, height: 8)), path)
        }
      }, arguments: ["--set", "scan.intervalSeconds=0"])
    _ = try daemon.assetsWithPlaceholders()
    let names = try ["beach/IMG_1.jpg", "beach/IMG_2.jpg", "hill/IMG_3.jpg"].map { try daemon.identifier($0) }
    func found(_ query: String) throws -> [String] {
      FetchingTests.identifiers(try daemon.get("/v1/assets?\(query)"))
    }
    #expect(try found("search=BEACH%20img") == [names[1], names[0]])
    #expect(try found("search=%22canon%20eos%22&sortDescriptors=creationDate") == names)
    #expect(try found("search=img_3.jp") == [names[2]] && found("search=each").isEmpty)
    #expect(try found("search=beach&predicate=originalFilename%20==%20'IMG_1.jpg'") == [names[0]])
    #expect(try found("predicate=relativePath%20CONTAINS[c]%20'HILL/i'") == [names[2]])
    #expect(try found("search=hill&sortDescriptors=relevance") == [names[2]])
    let page = try daemon.get("/v1/assets?search=img&limit=2&count=true")
    #expect(page.json["count"] as? Int == 3)
    let rest = try daemon.get(try #require(page.json["next"] as? String))
    #expect(FetchingTests.identifiers(page) + FetchingTests.identifiers(rest) == names.reversed())
    let columns = try daemon.get("/v1/assets?search=beach&layout=columns").json["columns"] as? [String: Any]
    #expect(columns?["localIdentifier"] as? [String] == [names[1], names[0]])

    let made = try daemon.post("/v1/fetchResults", #"{"search": "holiday"}"#)
    let id = try #require(made.json["id"] as? String)
    #expect(made.status == 201 && made.json["count"] as? Int == 0)
    let list = """
      {"changes": [{"type": "createAlbum", "title": "Our Holiday", "placeholder": "$a"},
        {"type": "addAssets", "collection": "$a", "assets": ["\(names[0])", "\(names[2])"]}]}
      """
    #expect(try daemon.post("/v1/changes", list).status == 200)
    let changes = try daemon.get("/v1/fetchResults/\(id)/changes").json
    #expect(changes["insertedIndexes"] as? [Int] == [0, 1])
    #expect(try found("search=holiday") == [names[2], names[0]])
  }

  // MARK: Fields and access

  /// A picture with these elements of XMP.
  private static func picture(_ elements: String, make: String) -> [UInt8] {
    let packet = """
      <x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">
      <rdf:Description rdf:about="" xmlns:dc="http://purl.org/dc/elements/1.1/"
       xmlns:aux="http://ns.adobe.com/exif/1.0/aux/" xmlns:Iptc4xmpExt="http://iptc.org/std/Iptc4xmpExt/2008-02-29/"
       xmlns:photoshop="http://ns.adobe.com/photoshop/1.0/">\(elements)</rdf:Description></rdf:RDF></x:xmpmeta>
      """
    return JPEGFile {
      $0.segments = [.xmp(packet)]
      $0.exif = EXIFBlock {
        ($0.make, $0.model) = (make, "Model")
        $0.dateTimeOriginal = "2024:05:06 12:00:00"
      }
    }.encoded(Pixels.orientationCard(width: 32, height: 24))
  }

  /// Two pictures, in albums: `Holiday` with the first one, and `Secret` with both.
  private static func describedPictures() throws -> TestDaemon {
    let daemon = try TestDaemon(
      { files in
        try files.put(
          picture(
            """
            <dc:title>Cr\u{E8}me Br\u{FB}l\u{E9}e</dc:title><dc:description>Two boats in the harbour</dc:description>
            <dc:subject><rdf:Bag><rdf:li>Water lilies</rdf:li><rdf:li>blue</rdf:li></rdf:Bag></dc:subject>
            <Iptc4xmpExt:PersonInImage><rdf:Bag><rdf:li>Ada Lovelace</rdf:li></rdf:Bag></Iptc4xmpExt:PersonInImage>
            <aux:Lens>RF50mm F1.8</aux:Lens><photoshop:City>Quaxwellington</photoshop:City>
            """, make: "Canon"), "sea.jpg")
        try files.put(picture("", make: "Nikon"), "winter/plain.jpg")
      }, arguments: ["--set", "scan.intervalSeconds=0"])
    let (sea, plain) = (try daemon.identifier("sea.jpg"), try daemon.identifier("winter/plain.jpg"))
    let list = """
      {"changes": [{"type": "createAlbum", "title": "Holiday", "placeholder": "$h"},
        {"type": "addAssets", "collection": "$h", "assets": ["\(sea)"]},
        {"type": "createAlbum", "title": "Secret", "placeholder": "$s"},
        {"type": "addAssets", "collection": "$s", "assets": ["\(sea)", "\(plain)"]}]}
      """
    #expect(try daemon.post("/v1/changes", list).status == 200)
    return daemon
  }

  private static func encoded(_ text: String) throws -> String {
    try #require(text.addingPercentEncoding(withAllowedCharacters: .alphanumerics))
  }

  /// The names of the files that a search finds, in the order of their names.
  private static func names(
    _ text: String, _ daemon: TestDaemon, _ fields: [String] = [], in path: String = "/v1/assets", _ rest: String = ""
  ) throws -> [String] {
    let answer = try daemon.get("\(path)?search=\(try encoded(text))\(rest)", fields)
    #expect(answer.status == 200, "\(text): \(answer.json)")
    let found = answer.json["assets"] as? [[String: Any]] ?? []
    return found.compactMap { $0["originalFilename"] as? String }.sorted()
  }

  @Test("words are found in every field without case and accents; a phrase is found within one field")
  func fields() throws {
    let daemon = try Self.describedPictures()
    let (sea, plain) = (["sea.jpg"], ["plain.jpg"])
    for (text, expected) in [
      ("creme", sea), ("BR\u{DB}L\u{C9}E creme", sea), ("creme brul", sea), ("brul creme", []),
      ("\"boats in the\"", sea), ("\"boats harbour\"", []), ("boats lovelace", sea), ("ada lace", []),
      ("\"water lilies\"", sea), ("\"lilies blue\"", []), ("lilies blue", sea), ("rf50mm", sea), ("winter", plain),
      ("nikon model", plain), ("model", ["plain.jpg", "sea.jpg"]), ("sea holiday", sea), ("plain holiday", []),
      ("secret plain", plain), ("quaxwelling", sea),
    ] as [(String, [String])] {
      #expect(try Self.names(text, daemon) == expected, "\(text)")
    }
  }

  @Test("a search finds places with the scope location only, and for a limited caller only what it sees")
  func access() throws {
    let daemon = try Self.describedPictures()
    let all = ["plain.jpg", "sea.jpg"]
    let limited = [TestDaemon.bearer(try daemon.token(["create", "--limit-to", "Holiday"]))]
    let places = [TestDaemon.bearer(try daemon.token(["create", "--scope", "read,location"]))]
    let reader = [TestDaemon.bearer(try daemon.makeToken("read"))]
    for (text, ofPlaces, ofReader, ofLimited) in [
      ("quaxwellington", ["sea.jpg"], [], []), ("\"quaxwellington\" boats", ["sea.jpg"], [], []),
      ("secret", all, all, []), ("holiday", ["sea.jpg"], ["sea.jpg"], ["sea.jpg"]),
      ("model", all, all, ["sea.jpg"]), ("plain", ["plain.jpg"], ["plain.jpg"], []),
    ] as [(String, [String], [String], [String])] {
      for (name, fields, expected) in [
        ("location", places, ofPlaces), ("reader", reader, ofReader), ("limited", limited, ofLimited),
      ] {
        let comment = "\(text) by \(name)"
        #expect(try Self.names(text, daemon, fields) == expected, "\(comment)")
        #expect(try Self.names(text, daemon, fields, "&sortDescriptors=relevance") == expected, "\(comment)")
        let search = try Self.encoded(text)
        let counted = try daemon.get("/v1/assets?search=\(search)&count=true", fields)
        #expect(counted.json["count"] as? Int == expected.count, "\(comment)")
        let columns = try daemon.get("/v1/assets?search=\(search)&layout=columns", fields).json
        #expect(columns["count"] as? Int == expected.count, "\(comment)")
        let body = try JSONSerialization.data(withJSONObject: ["search": text])
        let result = try daemon.ask("POST", "/v1/fetchResults", fields, body: String(decoding: body, as: UTF8.self))
        #expect(result.status == 201 && result.json["count"] as? Int == expected.count, "\(comment)")
      }
    }
    // Moments have titles from places.
    for (fields, title) in [(places, "Quaxwellington"), (reader, nil), (limited, nil)] as [([String], String?)] {
      let moments = try daemon.get("/v1/collections?type=moment", fields).json["collections"] as? [[String: Any]] ?? []
      #expect(moments.count == 1 && moments.first?["title"] as? String == title)
    }
  }

  @Test(
    "an unusable search is refused by name",
    arguments: [
      ("search=", "search"), ("search=%22%22", "search"), ("search=" + String(repeating: "a", count: 1025), "search"),
      ("sortDescriptors=relevance", "sortDescriptors"), ("search=a&sortDescriptors=relevance,title", "sortDescriptors"),
    ])
  func refused(_ query: String, _ parameter: String) throws {
    let answer = try Self.empty.get("/v1/assets?\(query)")
    #expect(answer.status == 400 && answer.json["parameter"] as? String == parameter, "\(query)")
  }

  private static let empty: TestDaemon = {
    do { return try TestDaemon({ _ in }) } catch { fatalError("\(error)") }
  }()
}
