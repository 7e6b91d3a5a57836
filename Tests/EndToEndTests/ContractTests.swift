import Foundation
import ImageService
import LibraryCatalogue
import PhotoAPI
import PhotoFixtures
import PhotoModel
import Testing

/// Compares the daemon with the OpenAPI document that it serves, and the settings file with the daemon's settings.
@Suite("The documentation matches the daemon", .blocking)
struct ContractTests {
  private typealias Object = [String: Any]

  @Test("the daemon has every documented path, parameter and property, and no others")
  func openAPI() throws {
    let daemon = try TestDaemon { files in
      try files.put(JPEGFile { _ in }.encoded(Pixels.orientationCard(width: 64, height: 48)), "a.jpg")
    }
    let document = try daemon.get("/openapi.json").json
    let identifier = try daemon.identifier("a.jpg")
    let paths = try #require(document["paths"] as? [String: Object])
    // Over, and still known.
    #expect(try daemon.get("/v1/assets/\(identifier)/image?requestID=known").status == 200)
    let result = try #require(try daemon.post("/v1/fetchResults", "{}").json["id"] as? String)
    let sidebar = try #require(
      try daemon.post("/v1/fetchResults", #"{"collections": {}}"#).json["id"] as? String)
    let lists = try daemon.get("/v1/collections?type=folder&subtype=momentListYear").json["collections"] as? [Object]
    let year = try #require(lists?.first?["localIdentifier"] as? String)
    let token = try #require(try daemon.get("/v1/assets").json["changeToken"] as? String)
    let upload = try #require(try daemon.post("/v1/uploads", "x", type: "image/jpeg").json["upload"] as? String)
    for (path, item) in paths {
      // Without a response body, or with a file as the body.
      if ["/v1/transientCollections/{transientCollection}", "/v1/uploads"].contains(path) { continue }
      guard let operation = item["get"] as? Object else {
        let method = item["put"] == nil ? "POST" : "PUT"
        let changing = try #require((item["post"] ?? item["put"]) as? Object)
        let there = path.replacingOccurrences(of: "{cachingManager}", with: "default")
        try Self.checkBody(there, method, changing, in: document, daemon)
        continue
      }
      // Other tests request endless responses.
      if operation["x-streaming"] as? Bool == true { continue }
      if ["/v1/changes", "/v1/transientCollections", "/v1/archive"].contains(path) {
        try Self.checkBody(
          path, "POST", try #require(item["post"] as? Object), in: document, daemon, isAlsoRead: true)
      }
      let target = path.replacingOccurrences(of: "{localIdentifier}", with: identifier)
        .replacingOccurrences(of: "{requestID}", with: "known").replacingOccurrences(
          of: "{fetchResult}", with: path.hasSuffix("{fetchResult}/collections") ? sidebar : result
        )
        .replacingOccurrences(of: "{collection}", with: year)
        .replacingOccurrences(of: "{cachingManager}", with: "default")
        .replacingOccurrences(of: "{upload}", with: upload).replacingOccurrences(of: "{type}", with: "photo")
        .replacingOccurrences(of: "{file}", with: path.hasPrefix("/iiif") ? "default.jpg" : "app.js")
        .replacingOccurrences(of: "{region}/{size}/{rotation}", with: "full/max/0")
      func url(_ query: String) -> String {
        let needed =
          switch path {
          case "/v1/changes" where !query.hasPrefix("since="): "since=\(token)&"
          case "/v1/archive" where !query.contains(#/^(assets|collection|fetchResult)=/#): "assets=\(identifier)&"
          default: ""
          }
        return "\(target)?\(needed)\(query)"
      }
      // Without adjustments there is nothing to read.
      if path == "/v1/assets/{localIdentifier}/adjustments" {
        #expect(try daemon.post(target, #"{"operations": []}"#, method: "PUT").status == 200)
      }
      let plain = try daemon.get(url(""))
      let responses = try #require(operation["responses"] as? Object)
      // A staged upload is described by fields alone.
      let status = ["/v1/uploads/{upload}": 204, "/iiif/3/{localIdentifier}": 303][path] ?? 200
      #expect(plain.status == status && responses[String(status)] != nil, "\(path)")
      try Self.checkFields(plain, operation, in: document, path)
      let query = (operation["parameters"] as? [Object] ?? []).filter { $0["in"] as? String == "query" }
      for parameter in query {
        let name = try #require(parameter["name"] as? String)
        let with = (parameter["x-requires"] as? String).map { $0 + "&" } ?? ""
        for value in try Self.values(parameter, identifier: identifier, daemon) {
          // Only AVIF and JPEG XL carry it.
          let isHigh = name == "dynamicRange" && value == "high"
          if isHigh, !EncodedFormatTests.isBuilt { continue }
          let escaped = try #require(value.addingPercentEncoding(withAllowedCharacters: .alphanumerics))
          let answer = try daemon.get(url("\(isHigh ? "format=avif&" : with)\(name)=\(escaped)"))
          // The asset has one file of each type.
          let isBeyond = name == "index" && value != "0"
          #expect(answer.status == (isBeyond ? 404 : 200), "\(path) \(name)=\(value)")
        }
        let refused = try daemon.get(url("\(with)\(name)=%00"))
        #expect([400, 404].contains(refused.status) && responses[String(refused.status)] != nil, "\(path) \(name)")
        #expect(refused.json["parameter"] as? String == name)
        try Self.checkFields(refused, operation, in: document, "\(path) \(name)")
      }
      let stranger = try daemon.get(url("stranger=1"))
      #expect(stranger.status == 400 && responses["400"] != nil, "\(path)")
      #expect(stranger.json["parameter"] as? String == "stranger")
      let names = query.compactMap { $0["name"] as? String }
      let detail = try #require(stranger.json["detail"] as? String)
      #expect(names.allSatisfy { detail.contains($0) }, "the parameters it lists are those documented")
      #expect(detail.filter { $0 == "," }.count == max(0, names.count - 1), "\(detail)")
      if responses["412"] != nil {
        #expect(try daemon.get(url(""), ["If-Match: \"another\""]).status == 412, "\(path)")
      }
    }
    let schemas = try #require((document["components"] as? Object)?["schemas"] as? [String: Object])
    let asset = try daemon.get("/v1/assets/\(identifier)").json
    #expect(Set(asset.keys).isSubset(of: try #require(schemas["AssetFields"]?["properties"] as? Object).keys))
    #expect(Set(asset.keys) == Set(try #require(schemas["Asset"]?["required"] as? [String])))
    for (name, target) in [
      ("AssetPage", "/v1/assets?count=true"), ("AssetColumns", "/v1/assets?layout=columns"),
      ("DateBuckets", "/v1/assets?layout=buckets"), ("CollectionPage", "/v1/collections"),
      ("Collection", "/v1/collections/\(year)"), ("FetchResult", "/v1/fetchResults/\(result)"),
      ("TrashPage", "/v1/trash"), ("CachingManager", "/v1/cachingManagers/default"),
      ("FetchResultChanges", "/v1/fetchResults/\(result)/changes"),
      ("FetchResultCollectionRange", "/v1/fetchResults/\(sidebar)/collections"),
      ("TransientCollectionList", "/v1/transientCollections"),
    ] {
      let answer = try daemon.get(target).json
      #expect(Set(answer.keys) == Set(try #require(schemas[name]?["properties"] as? Object).keys), "\(name)")
    }
    let transient = try daemon.post("/v1/transientCollections", #"{"assets": []}"#)
    #expect(transient.status == 201)
    #expect(
      Set(transient.json.keys) == Set(try #require(schemas["TransientCollection"]?["properties"] as? Object).keys))
    let request = try daemon.get("/v1/requests/known").json
    #expect(Set(request.keys) == Set(try #require(schemas["Request"]?["required"] as? [String])))
    let problem = try daemon.get("/v1/assets/x?y=1").json
    #expect(Set(problem.keys) == Set(try #require(schemas["Problem"]?["properties"] as? Object).keys))
  }

  /// The daemon accepts every documented member of a body and no other; an error about a wrong type names the member.
  private static func checkBody(
    _ path: String, _ method: String, _ operation: Object, in document: Object, _ daemon: TestDaemon,
    isAlsoRead: Bool = false
  ) throws {
    let responses = try #require(operation["responses"] as? Object)
    let schema = try #require(bodySchema(operation, in: document))
    let properties = try #require(schema["properties"] as? [String: Object])
    for (name, property) in properties {
      let type = try #require((property["type"] as? [String])?.first)
      let wrong = type == "string" ? "[1]" : "\"x\""
      let answer = try daemon.post(path, "{\"\(name)\": \(wrong)}", method: method)
      #expect(answer.status == 400 && answer.json["parameter"] as? String == name, "\(path) \(name)")
    }
    let needsMembers = schema["required"] != nil || schema["oneOf"] != nil
    let empty = try daemon.post(path, "{}", method: method)
    #expect((400...422).contains(empty.status) == needsMembers, "\(path): \(empty.status)")
    let stranger = try daemon.post(path, #"{"stranger": 1}"#, method: method)
    #expect(stranger.status == 400 && stranger.json["parameter"] as? String == "stranger", "\(path)")
    let detail = try #require(stranger.json["detail"] as? String)
    #expect(properties.keys.allSatisfy { detail.contains($0) })
    #expect(detail.filter { $0 == "," }.count == max(0, properties.count - 1), "\(detail)")
    try checkFields(stranger, operation, in: document, path)
    if !isAlsoRead { #expect(try daemon.get(path).status == 405) }
    #expect(try daemon.post(path, "{}", type: "text/plain", method: method).status == 415 && responses["415"] != nil)
    #expect(responses["400"] != nil && ["200", "201", "202", "204"].contains { responses[$0] != nil })
  }

  /// The schema of an operation's JSON body.
  private static func bodySchema(_ operation: Object, in document: Object) -> Object? {
    guard let body = operation["requestBody"] as? Object else { return nil }
    let content = resolved(body, in: document)["content"] as? Object
    return (content?["application/json"] as? Object)?["schema"] as? Object
  }

  /// The object that a reference names; an object that is not a reference itself.
  private static func resolved(_ object: Object, in document: Object) -> Object {
    guard let reference = object["$ref"] as? String else { return object }
    let names = reference.split(separator: "/").dropFirst().map(String.init)
    return names.reduce(document) { $0[$1] as? Object ?? [:] }
  }

  /// The fields that clients act on.
  private static let clientFields = [
    "Accept-Patch", "Accept-Ranges", "Cache-Control", "Content-Encoding", "Content-Range", "Content-Security-Policy",
    "ETag", "Image-Result", "Last-Modified", "Link", "Location", "Referrer-Policy", "Retry-After", "Server-Timing",
    "Set-Cookie", "Upload-Complete", "Upload-Length", "Upload-Limit", "Upload-Offset", "Vary", "WWW-Authenticate",
  ]

  /// The status of a response, and every field of it that clients act on, must be documented.
  private static func checkFields(
    _ answer: TestDaemon.Response, _ operation: Object, in document: Object, _ label: String
  ) throws {
    let responses = try #require(operation["responses"] as? Object)
    let response = try #require(responses[String(answer.status)] as? Object, "\(label): \(answer.status)")
    let documented = resolved(response, in: document)["headers"] as? Object ?? [:]
    let missing = clientFields.filter { answer[$0] != nil && documented[$0] == nil }
    #expect(missing.isEmpty, "\(label): \(answer.status) \(missing)")
  }

  /// Values that a parameter's schema allows.
  private static func values(_ parameter: Object, identifier: String, _ daemon: TestDaemon) throws -> [String] {
    let schema = try #require(parameter["schema"] as? Object)
    if let words = schema["enum"] as? [String] { return words }
    if schema["type"] as? String == "boolean" { return ["true", "false"] }
    if let low = schema["minimum"] as? Int, let high = schema["maximum"] as? Int { return [String(low), String(high)] }
    if parameter["name"] as? String == "collection" {
      let albums = try daemon.get("/v1/collections?type=smartAlbum").json["collections"] as? [Object]
      return [try #require(albums?.first?["localIdentifier"] as? String)]
    }
    if ["asset", "assets", "containing"].contains(parameter["name"] as? String) { return [identifier] }
    if let example = parameter["example"] as? String { return [example] }
    if parameter["name"] as? String == "v" {
      return [try #require(try daemon.get("/v1/assets/\(identifier)").json["contentVersion"] as? String)]
    }
    return []
  }

  @Test("the fields and members of the problems of uploads and ranges are documented")
  func problems() throws {
    let daemon = Self.shared
    let document = try daemon.get("/openapi.json").json
    let paths = try #require(document["paths"] as? [String: Object])
    func check(
      _ answer: TestDaemon.Response, _ status: Int, has field: String?, _ method: String, _ path: String
    ) throws {
      let label = "\(method) \(path) \(status)"
      #expect(answer.status == status && field.map { answer[$0] != nil } ?? true, "\(label): \(answer.json)")
      try Self.checkFields(answer, try #require(paths[path]?[method] as? Object), in: document, label)
    }
    let made = try daemon.stage([1], "", ["Upload-Length: 9"])
    let upload = try #require(made["Location"])
    let uploads = "/v1/uploads/{upload}"
    try check(try daemon.append([1], to: upload, at: 5), 409, has: "Upload-Offset", "patch", uploads)
    let short = try daemon.append([1], to: upload, at: 1, ["Upload-Complete: ?1"])
    try check(short, 400, has: "Upload-Offset", "patch", uploads)
    try check(try daemon.post(upload, "x", method: "PATCH"), 415, has: "Accept-Patch", "patch", uploads)
    let incomplete = try daemon.post("/v1/assets", #"{"upload": "\#(made.json["upload"] as? String ?? "")"}"#)
    try check(incomplete, 409, has: "Upload-Offset", "post", "/v1/assets")
    let form = try daemon.upload(TestDaemon.form([("x.jpg", [1])]), type: "multipart/form-data; boundary=xyz")
    try check(form, 415, has: nil, "post", "/v1/assets")
    let schemas = try #require((document["components"] as? Object)?["schemas"] as? [String: Object])
    let members = try #require(schemas["UploadProblem"]?["properties"] as? Object)
    #expect(form.json["results"] != nil && Set(form.json.keys).isSubset(of: members.keys))
    let image = "/v1/assets/{localIdentifier}/image"
    let target = image.replacing("{localIdentifier}", with: try daemon.identifier("0.jpg"))
    for (method, request) in [("get", "GET"), ("head", "HEAD")] {
      let answer = try daemon.get(target, ["Range: bytes=99999999-"], method: request)
      // A range of HEAD is ignored (RFC 9110 §14.2).
      try check(answer, method == "get" ? 416 : 200, has: method == "get" ? "Content-Range" : nil, method, image)
    }
  }

  // MARK: Words

  /// The values of each enumeration that responses contain, by its place in the document's schemas.
  private static let sentWords: [String: [String]] = [
    "AssetFields/mediaType": MediaType.allCases.map(\.rawValue),
    "AssetColumns/columns/mediaType/items": MediaType.allCases.map(\.rawValue),
    "AssetFields/creationDateSource": DateSource.allCases.map(\.rawValue),
    "TrashPage/assets/items/mediaType": MediaType.allCases.map(\.rawValue),
    "Collection/type": CollectionType.allCases.map(\.rawValue),
    "PictureRegion/type": PictureRegion.Kind.allCases.map(\.rawValue),
    "TransientCollection/type": ["album", "folder"],
    "TransientCollection/subtype": ["albumTransient", "folderTransient"],
    "DateBuckets/by": DateBucket.Unit.allCases.map(\.rawValue),
    "Request/stage": RequestStage.allCases.map(\.rawValue),
    "Request/priority": ImagePriority.allCases.filter(\.isInteractive).map { "\($0)" },
    "Request/frames/items/source": ImageResult.Source.allCases.map(\.rawValue),
    "ResourceList/resources/items/type": AssetResourceType.allCases.map(\.rawValue),
    "Window/quality": PreheatWindow.Quality.allCases.map(\.rawValue),
    "Authorization/status": AuthorizationStatus.allCases.map(\.rawValue),
    "AdjustmentOperation/type": ToneOperation.allCases.map(\.rawValue)
      + ["crop", "straighten", "rotate", "flip", "perspective", "toneCurve", "vignette"],
    "Adjustments/source": ["user", "imported"],
    "AdjustmentOperation/axis": AdjustmentOperation.FlipAxis.allCases.map(\.rawValue),
    "AdjustmentOperation/channel": AdjustmentOperation.CurveChannel.allCases.map(\.rawValue),
    "Authorization/scopes/items": Scope.allCases.map(\.rawValue),
  ]

  /// Every enumeration of a schema, by its place.
  private static func enumerations(_ schema: Object, _ place: String) -> [String: [String]] {
    var found: [String: [String]] = [:]
    if let words = schema["enum"] as? [Any] { found[place] = words.compactMap { $0 as? String } }
    for (name, property) in schema["properties"] as? [String: Object] ?? [:] {
      found.merge(enumerations(property, "\(place)/\(name)")) { $1 }
    }
    if let items = schema["items"] as? Object { found.merge(enumerations(items, "\(place)/items")) { $1 } }
    return found
  }

  /// A daemon for both comparisons: neither depends on what the other one does to its one asset.
  private static let shared: TestDaemon = {
    do { return try TestDaemon.ofCards(1) } catch { fatalError("no daemon: \(error)") }
  }()

  @Test("the document lists exactly the enum values that responses may have")
  func answerWords() throws {
    let daemon = Self.shared
    let document = try daemon.get("/openapi.json").json
    let schemas = try #require((document["components"] as? Object)?["schemas"] as? [String: Object])
    var documented: [String: [String]] = [:]
    for (name, schema) in schemas { documented.merge(Self.enumerations(schema, name)) { $1 } }
    // Another test checks the enumerations of requests.
    documented["ChangeRequest/type"] = nil
    #expect(Set(documented.keys) == Set(Self.sentWords.keys), "each enumeration of the document is compared")
    for (place, words) in Self.sentWords { #expect(Set(documented[place] ?? []) == Set(words), "\(place)") }
    // A date that a user set, as it is sent.
    let asset = try daemon.identifier("0.jpg")
    let change = #"{"type": "updateAsset", "asset": "\#(asset)", "creationDate": "2001-02-03T04:05:06Z"}"#
    #expect(try daemon.post("/v1/changes", "{\"changes\": [\(change)]}").status == 200)
    let source = try #require(try daemon.get("/v1/assets/\(asset)").json["creationDateSource"] as? String)
    #expect(source == "user" && documented["AssetFields/creationDateSource"]?.contains(source) == true)
  }

  @Test("the document lists exactly the enum values that parameters may have")
  func requestWords() throws {
    let daemon = Self.shared
    let document = try daemon.get("/openapi.json").json
    var compared = 0
    func compare(_ documented: [Any], _ name: String, _ ask: (String) throws -> TestDaemon.Response) throws {
      let words = documented.compactMap { $0 as? String }
      // A batch accepts all but one of the delivery modes.
      let answer = try ask(words.contains("opportunistic") ? "no-such-word" : "opportunistic")
      let detail = try #require(answer.json["detail"] as? String)
      let start = "\(name) must be one of "
      try #require(answer.status == 400 && detail.hasPrefix(start), "\(name): \(detail)")
      let known = detail.dropFirst(start.count).dropLast().components(separatedBy: ", ")
      #expect(Set(known) == Set(words), "\(name)")
      compared += 1
    }
    func compareBody(_ schema: Object, _ ask: (String) throws -> TestDaemon.Response) throws {
      for (name, property) in schema["properties"] as? [String: Object] ?? [:] {
        if let words = property["enum"] as? [Any], words.contains(where: { $0 is String }) {
          try compare(words, name) { try ask("{\"\(name)\": \"\($0)\"}") }
        }
        try compareBody(property) { try ask("{\"\(name)\": \($0)}") }
      }
    }
    for (path, item) in try #require(document["paths"] as? [String: Object]) {
      let target = path.replacing("{cachingManager}", with: "default").replacing(#/\{\w+\}/#, with: "none")
      for parameter in (item["get"] as? Object)?["parameters"] as? [Object] ?? [] {
        guard let words = (parameter["schema"] as? Object)?["enum"] as? [Any], words.contains(where: { $0 is String })
        else { continue }
        let name = try #require(parameter["name"] as? String)
        let with = (parameter["x-requires"] as? String).map { $0 + "&" } ?? ""
        try compare(words, name) { try daemon.get("\(target)?\(with)\(name)=\($0)") }
      }
      for method in ["post", "put"] {
        guard let operation = item[method] as? Object, let schema = Self.bodySchema(operation, in: document) else {
          continue
        }
        try compareBody(schema) { try daemon.post(target, $0, method: method.uppercased()) }
      }
    }
    let schemas = try #require((document["components"] as? Object)?["schemas"] as? [String: Object])
    let change = try #require(schemas["ChangeRequest"])
    let types = try #require(((change["properties"] as? Object)?["type"] as? Object)?["enum"] as? [Any])
    try compare(types, "type") { try daemon.post("/v1/changes", "{\"changes\": [{\"type\": \"\($0)\"}]}") }
    #expect(compared > 30)
  }

  // MARK: Settings

  @Test("config/photod.json has every setting with its default and a description, and the daemon accepts it")
  func settings() throws {
    let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent()
    let path = root.appending(path: "config/photod.json").path
    let data = try #require(FileManager.default.contents(atPath: path))
    let file = try #require(try JSONSerialization.jsonObject(with: data) as? Object)
    var found: [String: String] = [:]
    func collect(_ object: Object, _ prefix: String) {
      for (key, value) in object where !key.hasPrefix("//") {
        if let inner = value as? Object, inner.isEmpty {
          // A table without entries.
          #expect((object["//" + key] as? String)?.isEmpty == false, "\(prefix + key) is not explained")
          found[prefix + key] = ""
        } else if let inner = value as? Object {
          collect(inner, prefix + key + ".")
        } else {
          #expect((object["//" + key] as? String)?.isEmpty == false, "\(prefix + key) is not explained")
          let isFlag = isBoolean(value)
          found[prefix + key] =
            (value as? [String])?.joined(separator: ",") ?? (isFlag ? "\(value as? Bool ?? false)" : "\(value)")
        }
      }
    }
    collect(file, "")
    let listed = try TestDaemon.run(["settings"])
    let entries = try #require(try JSONSerialization.jsonObject(with: Data(listed.output.utf8)) as? [[String: Any]])
    let known = Dictionary(
      uniqueKeysWithValues: try entries.map {
        (try #require($0["key"] as? String), try #require($0["default"] as? String))
      })
    #expect(found == known)
    let run = try TestDaemon.run(["scan", "--config", path])
    #expect(run.error.contains("no library"), "the file is accepted; only the library is missing")
  }

  /// JSON's true and false, which NSNumber can't tell from 1 and 0 otherwise.
  private func isBoolean(_ value: Any) -> Bool {
    (value as? NSNumber).map { String(cString: $0.objCType) == "c" } ?? (value is Bool)
  }
}
