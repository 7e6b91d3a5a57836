import Foundation
import Testing

/// Invalid values of every parameter and of every member of a body.
@Suite("Invalid requests", .blocking)
struct InvalidRequestTests {
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

  @Test("a 404 names the parameter or the member whose identifier is unknown")
  func unknownIdentifiers() throws {
    let daemon = try FetchingTests.daemon()
    let asset = try #require(FetchingTests.identifiers(try daemon.get("/v1/assets?limit=1")).first)
    let (assets, manager) = ("/v1/assets/none", "/v1/cachingManagers/default")
    for (method, target, body, parameter) in [
      ("GET", assets, nil, "localIdentifier"), ("GET", "\(assets)/image", nil, "localIdentifier"),
      ("GET", "\(assets)/metadata", nil, "localIdentifier"), ("GET", "\(assets)/data", nil, "localIdentifier"),
      ("GET", "\(assets)/resources", nil, "localIdentifier"), ("GET", "/iiif/3/none/info.json", nil, "localIdentifier"),
      ("PUT", "\(assets)/adjustments", #"{"operations": []}"#, "localIdentifier"),
      ("PUT", "\(assets)/keepOriginal", #"{"keep": false}"#, "localIdentifier"),
      ("PUT", "/v1/collections/none/keepOriginal", #"{"keep": false}"#, "collection"),
      ("GET", "/v1/assets/\(asset)/resources/none/data", nil, "type"),
      ("GET", "/v1/assets/\(asset)/image?v=none", nil, "v"),
      ("GET", "/v1/collections/none", nil, "collection"), ("GET", "/v1/collections/none/assets", nil, "collection"),
      ("GET", "/v1/collections/none/collections", nil, "collection"),
      ("GET", "/v1/collections?parent=none", nil, "parent"),
      ("GET", "/v1/collections?containing=none", nil, "containing"),
      ("GET", "/iiif/presentation/3/none/manifest", nil, "collection"),
      ("GET", "/v1/fetchResults/none", nil, "fetchResult"), ("DELETE", "/v1/fetchResults/none", nil, "fetchResult"),
      ("GET", "/v1/changes/stream?fetchResult=none", nil, "fetchResult"),
      ("POST", "/v1/fetchResults", #"{"collection": "none"}"#, "collection"),
      ("POST", "/v1/fetchResults", #"{"collections": {"parent": "none"}}"#, "parent"),
      ("POST", "/v1/fetchResults", #"{"collections": {"containing": "none"}}"#, "containing"),
      ("POST", "/v1/transientCollections", #"{"assets": ["none"]}"#, "assets"),
      ("POST", "/v1/transientCollections", #"{"fetchResults": ["none"]}"#, "fetchResults"),
      ("POST", "/v1/transientCollections", #"{"collections": ["none"]}"#, "collections"),
      ("DELETE", "/v1/transientCollections/none", nil, "transientCollection"),
      ("POST", "/v1/signedURLs", #"{"path": "\#(assets)/image"}"#, "path"),
      ("POST", "/v1/signedURLs", #"{"path": "/v1/collections/none"}"#, "path"),
      ("GET", "/v1/cachingManagers/none", nil, "cachingManager"),
      (
        "PUT", "\(manager)/window", #"{"collection": "none", "visible": [0, 1], "targetSize": "9x9"}"#, "collection"
      ),
      (
        "PUT", "\(manager)/window", #"{"fetchResult": "none", "visible": [0, 1], "targetSize": "9x9"}"#, "fetchResult"
      ),
      ("GET", "/v1/requests/none", nil, "requestID"), ("DELETE", "/v1/requests/none", nil, "requestID"),
      ("GET", "/v1/uploads/none", nil, "upload"), ("POST", "/v1/assets", #"{"upload": "none"}"#, "upload"),
    ] as [(String, String, String?, String)] {
      let answer = try daemon.ask(method, target, body: body)
      #expect(answer.status == 404, "\(method) \(target)")
      #expect(answer.json["parameter"] as? String == parameter, "\(method) \(target) \(body ?? ""): \(answer.json)")
    }
  }

  @Test("an invalid value of any parameter of any route is a 400 that names the parameter")
  func parameters() throws {
    let daemon = try FetchingTests.daemon()
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
      ("layout=columns&limit=10001", "limit"), ("layout=columns&fields=fileSize", "fields"),
      ("layout=columns&fields=", "fields"),
      ("layout=columns&count=true", "count"),
      ("by=day", "by"), ("layout=buckets&cursor=x", "cursor"), ("layout=buckets&limit=5", "limit"),
    ] {
      let answer = try daemon.get("/v1/assets?\(query)")
      #expect(answer.status == 400 && answer.json["parameter"] as? String == name, "\(query)")
    }
    #expect(cases > 250)
    #expect(try daemon.get("/v1/assets").status == 200)
  }

  @Test("a body with a content coding is a 415 that names the coding to use, and nothing of it is read")
  func contentCodings() throws {
    let daemon = try TestDaemon()
    let type = "Content-Type: application/json"
    let part = ["Content-Type: application/partial-upload", "Upload-Offset: 0"]
    let picture = UploadTests.picture(1)
    let location = try #require(try daemon.stage([])["Location"])
    let cases: [(method: String, target: String, fields: [String], body: [UInt8], status: Int)] = [
      ("POST", "/v1/fetchResults", [type], Array("{}".utf8), 201),
      ("POST", "/v1/images", [type], Array("{".utf8), 400),
      ("PUT", "/v1/assets/none/adjustments", [type], Array(#"{"operations": []}"#.utf8), 404),
      ("POST", "/v1/uploads", [], [1], 201), ("PATCH", location, part, [1], 204),
      ("POST", "/v1/assets?filename=a.jpg", ["Content-Type: image/jpeg"], picture, 201),
    ]
    for (method, target, fields, body, status) in cases {
      for coding in ["gzip", "br", "GZIP", "identity, gzip", "gzip\r\nContent-Encoding: identity"] {
        let coded = fields + ["Content-Encoding: \(coding)"]
        let answer = try daemon.exchange(TestDaemon.head(method, target, coded, body.count), body)
        #expect(answer.status == 415 && answer["Accept-Encoding"] == "identity", "\(method) \(target) \(coding)")
        #expect(answer.json["type"] as? String == "/problems/content-coding-unsupported", "\(answer.json)")
      }
      let plain = fields + ["Content-Encoding: identity"]
      let answer = try daemon.exchange(TestDaemon.head(method, target, plain, body.count), body)
      #expect(answer.status == status, "\(method) \(target): \(answer.status) \(answer.json)")
    }
    let stored = TestDaemon.files(in: daemon.library).filter { !$0.hasPrefix(".photod") }
    #expect(stored == ["2021/07/a.jpg"], "no refused request has stored a picture")
    #expect(try daemon.get("/v1/assets", ["Content-Encoding: gzip"]).status == 200, "there is no body")
  }

  @Test("an invalid value of any member of any body is a 400 that names the member")
  func members() throws {
    let daemon = try FetchingTests.daemon()
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
          "fetchResults": lists, "collections": lists + names, "asset": ["\"x\""],
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
        "{\"predicate\": \(deep)", "{\"predicate\": \"TRUEPREDICATE\",}", "{\"title\": 1e999}",
        "{\"predicate\": \"TRUEPREDICATE\", \"predicate\": \"TRUEPREDICATE\"}",
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
    let album = #"{"type": "createAlbum", "title": "x"}"#
    let twice = try daemon.post("/v1/changes", "{\"changes\": [\(album)],\n \"changes\": []}")
    #expect(twice.status == 400 && twice.json["parameter"] as? String == "changes")
    #expect((twice.json["detail"] as? String)?.contains("Line 2, column 2:") == true)
    let collections = try daemon.get("/v1/collections?type=album&predicate=title%20%3D%3D%20%27x%27")
    #expect((collections.json["collections"] as? [Any])?.isEmpty == true, "nothing was done")
    #expect(try daemon.get("/v1/assets").status == 200)
  }
}
