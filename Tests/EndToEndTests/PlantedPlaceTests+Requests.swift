import Foundation
import PhotoAPI
import Testing

extension PlantedPlaceTests {
  /// A daemon over the planted files, of which an album holds all but one.
  struct LocationFixture {
    static let album = "album"

    let daemon: TestDaemon
    var assets: [String] = []
    var secrets: [CallerKind: String] = [:]
    var signatures: [CallerKind: String] = [:]

    init(requiresCredential: Bool) throws {
      let files = try PlantedLocations.files()
      daemon = try TestDaemon(
        { folder in for file in files { try folder.put(file.bytes, file.name) } },
        arguments: requiresCredential ? [] : ["--allow-anonymous"])
      assets = try files.map { try daemon.identifier($0.name) }
      try daemon.makeAlbum(Self.album, title: "Journey", files.dropLast().map(\.name))
      guard requiresCredential else { return }
      secrets[.write] = try daemon.token(["create", "--scope", "read,write"])
      secrets[.admin] = try daemon.token(["create", "--scope", "admin"])
      secrets[.readAdmin] = try daemon.token(["create", "--scope", "read,admin"])
      secrets[.location] = try daemon.token(["create", "--scope", "read,location"])
      secrets[.limited] = try daemon.token(["create", "--limit-to", "Journey"])
      secrets[.limitedLocation] = try daemon.token(["create", "--scope", "read,location", "--limit-to", "Journey"])
      let read = try daemon.makeToken()
      secrets[.read] = read
      for (who, path) in [
        (CallerKind.signedImage, "/v1/assets/\(assets[0])/image"), (.signedAlbum, "/v1/collections/\(Self.album)"),
      ] {
        // The issuer may see places; its signed URLs show none.
        let issuer = try #require(secrets[.location])
        let answer = try daemon.ask(
          "POST", "/v1/signedURLs", [TestDaemon.bearer(issuer)], body: #"{"path": "\#(path)"}"#)
        signatures[who] = String(try #require(answer.json["url"] as? String).dropFirst(path.count + 1))
      }
      let session = try daemon.ask("POST", "/v1/session", body: #"{"token": "\#(read)"}"#)
      secrets[.session] = session["Set-Cookie"]?.split(separator: ";").first.map(String.init)
    }

    func ask(
      _ method: String, _ target: String, as who: CallerKind, _ fields: [String] = [], body: String? = nil
    ) throws -> TestDaemon.Response {
      var (target, fields) = (target, fields)
      if who == .forwarded { fields.append("X-Forwarded-For: 203.0.113.9") }
      if let secret = secrets[who] { fields.append(who == .session ? "Cookie: \(secret)" : TestDaemon.bearer(secret)) }
      if let signature = signatures[who] { target += (target.contains("?") ? "&" : "?") + signature }
      return try daemon.ask(method, target, fields, body: body)
    }
  }

  typealias LabelledResponse = (label: String, answer: TestDaemon.Response)

  /// Requests a resource in every form.
  static func ask(_ group: EndpointGroup, of world: LocationFixture, as who: CallerKind) throws
    -> [LabelledResponse]
  {
    var found: [LabelledResponse] = []
    @discardableResult
    func ask(
      _ method: String, _ target: String, _ fields: [String] = [], body: String? = nil
    ) throws -> TestDaemon.Response {
      let answer = try world.ask(method, target, as: who, fields, body: body)
      found.append(("\(method) \(target) \(fields.joined(separator: " ")) \(body ?? "")", answer))
      return answer
    }
    /// With GET, with HEAD, and again with its entity tag; JSON also compressed.
    func get(_ target: String) throws {
      let answer = try ask("GET", target)
      if !group.path.text.hasSuffix("/image") { try ask("GET", target, ["Accept-Encoding: gzip"]) }
      guard found.count % 4 == 0 else { return }
      try ask("HEAD", target)
      if let tag = answer["ETag"] { try ask("GET", target, ["If-None-Match: \(tag)"]) }
    }
    func create(_ target: String, _ body: String, _ name: String) throws -> String {
      try ask("POST", target, body: body).json[name] as? String ?? "none"
    }
    let keys = [
      "localIdentifier", "creationDate", "originalFilename", "latitude", "longitude", "altitude", "location",
      "fileSize",
    ]
    let all = "[" + world.assets.map { "\"\($0)\"" }.joined(separator: ", ") + "]"
    let path = group.path.text
    switch path {
    case "/healthz": try get("/healthz")
    case "/": try get("/")
    case "/gallery/{file}": try get("/gallery/app.js")
    case "/readyz": try get("/readyz")
    case "/openapi.json": try get("/openapi.json")
    case "/metrics": try get("/metrics")
    case "/v1/scan": try ask("POST", "/v1/scan")
    case "/v1/authorization": try get("/v1/authorization")
    case "/v1/session":
      try ask("POST", "/v1/session", body: #"{"token": "\#(world.secrets[.read] ?? "none")"}"#)
      try ask("POST", "/v1/session", body: #"{"token": "none"}"#)
    case "/v1/signedURLs":
      for asset in world.assets {
        try ask("POST", "/v1/signedURLs", body: #"{"path": "/v1/assets/\#(asset)/image?targetSize=20x20"}"#)
      }
    case "/v1/assets":
      try list("/v1/assets", get, keys)
    case "/v1/collections/{collection}/assets":
      try list("/v1/collections/\(LocationFixture.album)/assets", get, keys)
      for moment in try names(world, who, "/v1/collections?type=moment&limit=1000") {
        try get("/v1/collections/\(moment)/assets")
      }
    case "/v1/assets/{localIdentifier}": for asset in world.assets + ["none"] { try get("/v1/assets/\(asset)") }
    case "/v1/assets/{localIdentifier}/data":
      for asset in world.assets + ["none"] {
        try get("/v1/assets/\(asset)/data")
        try get("/v1/assets/\(asset)/data?version=original&download=true")
        try get("/v1/assets/\(asset)/data?includeLocation=true")
      }
    case "/v1/archive":
      for asset in world.assets + ["none"] {
        try get("/v1/archive?assets=\(asset)")
        try get("/v1/archive?assets=\(asset)&includeLocation=true")
        try ask("POST", "/v1/archive", body: #"{"assets": ["\#(asset)"]}"#)
      }
      try get("/v1/archive?assets=\(world.assets.joined(separator: ","))&resources=all")
      try get("/v1/archive?collection=\(LocationFixture.album)&resources=all")
      try get("/v1/archive?fetchResult=none")
    case "/v1/assets/{localIdentifier}/resources":
      for asset in world.assets + ["none"] { try get("/v1/assets/\(asset)/resources") }
    case "/v1/assets/{localIdentifier}/resources/{type}/data":
      for asset in world.assets + ["none"] {
        for type in ["photo", "video", "pairedVideo", "sidecar", "adjustmentData", "none"] {
          try get("/v1/assets/\(asset)/resources/\(type)/data")
        }
      }
    case "/v1/assets/{localIdentifier}/adjustments":
      for asset in world.assets + ["none"] {
        try get("/v1/assets/\(asset)/adjustments")
        try ask("PUT", "/v1/assets/\(asset)/adjustments", body: "{}")
      }
      try ask("DELETE", "/v1/assets/none/adjustments")
    case "/v1/assets/{localIdentifier}/keepOriginal":
      for asset in world.assets + ["none"] {
        try ask("PUT", "/v1/assets/\(asset)/keepOriginal", body: #"{"keep": false}"#)
      }
    case "/v1/collections/{collection}/keepOriginal":
      try ask("PUT", "/v1/collections/\(LocationFixture.album)/keepOriginal", body: #"{"keep": false}"#)
    case "/v1/assets/{localIdentifier}/preview":
      for asset in world.assets + ["none"] {
        try ask("POST", "/v1/assets/\(asset)/preview", body: #"{"operations": [], "targetSize": "32x32"}"#)
      }
    case "/v1/assets/{localIdentifier}/metadata":
      for asset in world.assets + ["none"] { try get("/v1/assets/\(asset)/metadata") }
    case "/v1/assets/{localIdentifier}/image":
      for asset in world.assets + ["none"] {
        let image = "/v1/assets/\(asset)/image"
        for query in [
          "", "?targetSize=32x32", "?targetSize=160x120", "?targetSize=160x120&deliveryMode=fastFormat",
          "?deliveryMode=fastFormat", "?targetSize=8x8&resizeMode=fast", "?format=png&targetSize=40x40",
          "?format=jpeg&quality=100", "?resizeMode=none", "?version=original", "?version=unadjusted&targetSize=24x24",
          "?colorSpace=srgb&targetSize=24x24", "?contentMode=aspectFill&targetSize=30x20",
          "?normalizedCropRect=0,0,0.5,0.5", "?deliveryMode=opportunistic&multipart=mixed",
          "?deliveryMode=opportunistic&multipart=replace&targetSize=20x20", "?v=none", "?location=true",
        ] { try get(image + query) }
        try ask("GET", image, ["Range: bytes=0-99"])
      }
    case "/iiif/3/{localIdentifier}", "/iiif/3/{localIdentifier}/info.json":
      for asset in world.assets + ["none"] { try get(path.replacing("{localIdentifier}", with: asset)) }
    case "/iiif/3/{localIdentifier}/{region}/{size}/{rotation}/{file}":
      for asset in world.assets + ["none"] {
        for request in [
          "full/max/0/default.jpg", "full/max/0/default.png", "full/max/90/gray.jpg", "square/10,/!0/bitonal.png",
        ] { try get("/iiif/3/\(asset)/\(request)") }
      }
    case "/iiif/presentation/3/{collection}/manifest":
      let moments = try names(world, who, "/v1/collections?type=moment&limit=1000")
      for name in [LocationFixture.album, "none"] + moments { try get("/iiif/presentation/3/\(name)/manifest") }
    case "/iiif/presentation/3/collection/{collection}":
      let years = try names(world, who, "/v1/collections?type=folder&subtype=momentListYear")
      for name in ["top", "none"] + years { try get("/iiif/presentation/3/collection/\(name)") }
    case "/v1/collections":
      for query in [
        "", "?type=album", "?type=smartAlbum", "?type=folder&subtype=momentListYear",
        "?type=folder&subtype=momentListCluster",
        "?type=moment&limit=1000", "?type=moment&limit=1", "?predicate=title%20!%3D%20nil", "?sortDescriptors=-title",
        "?predicate=localizedLocationNames%20!%3D%20nil", "?sortDescriptors=location",
      ] { try get("/v1/collections" + query) }
    case "/v1/collections/{collection}":
      for name in try names(world, who, "/v1/collections") + names(world, who, "/v1/collections?type=moment&limit=1000")
        + ["none"]
      {
        try get("/v1/collections/\(name)")
      }
    case "/v1/collections/{collection}/collections":
      for list in try names(world, who, "/v1/collections?type=folder&subtype=momentListYear")
        + names(world, who, "/v1/collections?type=folder&subtype=momentListCluster") + ["none"]
      { try get("/v1/collections/\(list)/collections") }
    case "/v1/transientCollections":
      let name = try create(
        "/v1/transientCollections", #"{"assets": ["\#(world.assets[0])"], "title": "mine"}"#, "localIdentifier")
      try get("/v1/collections/\(name)")
      try get("/v1/collections/\(name)/assets")
      try ask("POST", "/v1/transientCollections", body: #"{"assets": ["none"]}"#)
      let list = try create("/v1/transientCollections", #"{"collections": ["album"]}"#, "localIdentifier")
      try get("/v1/collections/\(list)/collections")
      try get("/v1/transientCollections")
    case "/v1/transientCollections/{transientCollection}":
      let name = try create("/v1/transientCollections", #"{"assets": []}"#, "localIdentifier")
      try ask("DELETE", "/v1/transientCollections/\(name)")
    case "/v1/fetchResults":
      for body in [
        "{}", #"{"collection": "album"}"#, #"{"sortDescriptors": "latitude"}"#, #"{"predicate": "longitude < 0"}"#,
        #"{"predicate": "location == nil"}"#,
      ] { try ask("POST", "/v1/fetchResults", body: body) }
    case "/v1/fetchResults/{fetchResult}":
      let id = try create("/v1/fetchResults", "{}", "id")
      try get("/v1/fetchResults/\(id)")
      try ask("DELETE", "/v1/fetchResults/\(id)")
      try get("/v1/fetchResults/\(id)")
    case "/v1/fetchResults/{fetchResult}/assets":
      let id = try create("/v1/fetchResults", #"{"collection": "album", "sortDescriptors": "creationDate"}"#, "id")
      for query in [
        "?range=0-99", "?range=0-0&fields=location", "?range=0-9&fields=location,revision",
        "?indexOf=\(world.assets[0])",
      ] {
        try get("/v1/fetchResults/\(id)/assets\(query)")
      }
    case "/v1/fetchResults/{fetchResult}/collections":
      for body in [#"{"collections": {"type": "moment"}}"#, #"{"collections": {}}"#] {
        let id = try create("/v1/fetchResults", body, "id")
        try get("/v1/fetchResults/\(id)/collections?range=0-999")
        try get("/v1/fetchResults/\(id)/changes")
      }
    case "/v1/fetchResults/{fetchResult}/changes":
      let id = try create("/v1/fetchResults", #"{"collection": "album"}"#, "id")
      try get("/v1/fetchResults/\(id)/changes")
    case "/v1/changes":
      let token = try world.ask("GET", "/v1/assets?limit=1", as: who).json["changeToken"] as? String ?? "none"
      try ask(
        "POST", "/v1/changes",
        body: #"{"changes": [{"type": "updateAsset", "asset": "\#(world.assets[0])", "isFavorite": true}]}"#)
      try ask(
        "POST", "/v1/changes",
        body: #"{"changes": [{"type": "updateAsset", "asset": "\#(world.assets[0])", "ifMatch": "none"}]}"#)
      for since in [token, "none"] { try get("/v1/changes?since=\(since)") }
    // A malformed request, because a stream would not end.
    case "/v1/changes/stream": try get("/v1/changes/stream?since=none")
    case "/v1/trash": try get("/v1/trash")
    case "/v1/requests": try get("/v1/requests")
    case "/v1/requests/{requestID}":
      for asset in world.assets {
        try ask("GET", "/v1/assets/\(asset)/image?targetSize=21x21&requestID=\(who.rawValue)")
        try get("/v1/requests/\(who.rawValue)")
      }
      try ask("DELETE", "/v1/requests/\(who.rawValue)")
    case "/v1/images":
      for options in [
        #""targetSize": "24x24""#, #""deliveryMode": "fastFormat""#, #""format": "png", "targetSize": "30x30""#,
      ] {
        try ask("POST", "/v1/images", body: "{\"assets\": \(all), \(options)}")
      }
    case "/v1/uploads": try ask("POST", path + "?filename=a.jpg", body: "not a picture")
    case "/v1/uploads/{upload}":
      let id = try create("/v1/uploads?filename=a.jpg", "not a picture", "upload")
      try get("/v1/uploads/\(id)")
      try ask("PATCH", "/v1/uploads/\(id)", ["Upload-Offset: 3"], body: "x")
      try ask("DELETE", "/v1/uploads/\(id)")
    case "/v1/cachingManagers": try get("/v1/cachingManagers")
    case "/v1/cachingManagers/{cachingManager}":
      let id = try create("/v1/cachingManagers", "{}", "id")
      try get("/v1/cachingManagers/\(id)")
      try ask("PATCH", "/v1/cachingManagers/\(id)", body: "{}")
      try ask("DELETE", "/v1/cachingManagers/\(id)")
      try get("/v1/cachingManagers/default")
    case "/v1/cachingManagers/{cachingManager}/startCaching", "/v1/cachingManagers/{cachingManager}/stopCaching",
      "/v1/cachingManagers/{cachingManager}/stopCachingAllImages":
      try ask(
        "POST", path.replacing("{cachingManager}", with: "default"),
        body: path.hasSuffix("/stopCachingAllImages") ? "{}" : "{\"assets\": \(all), \"targetSize\": \"25x25\"}")
    case "/v1/cachingManagers/{cachingManager}/window":
      try ask(
        "PUT", "/v1/cachingManagers/default/window",
        body: "{\"assets\": \(all), \"visible\": [0, 3], \"targetSize\": \"26x26\"}")
    default: Issue.record("\(path) is not requested")
    }
    return found
  }

  static func list(
    _ path: String, _ get: (String) throws -> Void, _ keys: [String]
  ) throws {
    for query in [
      "?limit=1000", "?limit=1", "?limit=1000&count=true", "?layout=columns", "?layout=buckets",
      "?layout=buckets&by=month",
      "?includeHiddenAssets=true&includeAllBurstAssets=true", "?predicate=latitude%20%3C%200",
      "?predicate=longitude%20%3D%3D%20nil",
      "?predicate=location%20!%3D%20nil", "?predicate=altitude%20%3E%200%20AND%20isFavorite%20%3D%3D%20NO",
      "?cursor=none",
      "?fields=none",
    ] { try get(path + query) }
    for key in keys {
      try get(path + "?limit=1000&fields=\(key)")
      try get(path + "?limit=1000&sortDescriptors=\(key)")
      try get(path + "?limit=1&sortDescriptors=-\(key),localIdentifier")
      try get(path + "?layout=columns&sortDescriptors=\(key)")
    }
  }

  static func names(_ world: LocationFixture, _ who: CallerKind, _ target: String) throws -> [String] {
    let answer = try world.ask("GET", target, as: who)
    return (answer.json["collections"] as? [[String: Any]])?.compactMap { $0["localIdentifier"] as? String } ?? []
  }

  /// The output of scripts/search-places.
  struct Search {
    let answers: Int
    let bytes: Int
    let spellings: Int
    let found: [String: [String]]
    let strangers: [String]

    init(_ entries: [(label: String, bytes: [UInt8])]) throws {
      let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()
      let input = FileManager.default.temporaryDirectory.appending(path: "photod-places-\(UUID().uuidString)")
      defer { try? FileManager.default.removeItem(at: input) }
      var lines = Data()
      for entry in entries {
        lines += try JSONEncoder().encode(["label": entry.label, "bytes": Data(entry.bytes).base64EncodedString()])
        lines.append(UInt8(ascii: "\n"))
      }
      try lines.write(to: input)
      let process = Process()
      process.executableURL = root.appending(path: "scripts/search-places")
      let output = Pipe()
      process.standardInput = try FileHandle(forReadingFrom: input)
      process.standardOutput = output
      try process.run()
      let data = output.fileHandleForReading.readDataToEndOfFile()
      process.waitUntilExit()
      try #require(process.terminationStatus == 0)
      let result = try #require(try JSONSerialization.jsonObject(with: data) as? [String: Any])
      answers = try #require(result["answers"] as? Int)
      bytes = try #require(result["bytes"] as? Int)
      spellings = try #require(result["spellings"] as? Int)
      found = try #require(result["found"] as? [String: [String]])
      strangers = try #require(result["strangers"] as? [String])
    }
  }
}
