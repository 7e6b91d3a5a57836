import Foundation
import HTTPCore
import PhotoAPI
import PhotoFixtures
import Testing

/// Every resource, requested by every kind of caller. A new endpoint needs rows in `rows(of:in:)`, or the test fails.
@Suite("Access of each kind of caller", .blocking)
struct AccessTableTests {
  /// The kinds of callers.
  enum CallerKind: String, CaseIterable {
    /// Without tokens: the local administrator, and a caller behind a proxy.
    case local, forwarded
    /// With tokens: a caller without credentials, also on this machine, and callers with each of these tokens.
    case anonymous, read, limited, location, add, readWrite, admin
    /// An old token with the scope `write` alone, which has no rights.
    case writeAlone
    /// A signed URL of the first image, and one of its album.
    case signedImage, signedAlbum
    case expired, revoked

    var needsNoTokens: Bool { self == .local || self == .forwarded }
  }

  /// The pages that send a request.
  enum OriginKind: String, CaseIterable {
    /// No page, and a page of the daemon's own.
    case none, own
    /// Pages of origins in `corsOrigins` and `corsWriteOrigins`, and of one in neither.
    case reading, writing, foreign
    /// A page of another site, whose browser sends no `Origin`.
    case crossSite

    var fields: [String] {
      switch self {
      case .none: []
      case .own: ["Origin: http://localhost", "Sec-Fetch-Site: same-origin"]
      case .reading: ["Origin: https://reader.example", "Sec-Fetch-Site: cross-site"]
      case .writing: ["Origin: https://writer.example", "Sec-Fetch-Site: cross-site"]
      case .foreign: ["Origin: https://evil.example", "Sec-Fetch-Site: cross-site"]
      case .crossSite: ["Sec-Fetch-Site: cross-site"]
      }
    }

    /// Whether the contract lets these pages send a request. Reading pages may not change the library, upload, sign
    /// URLs or sign in; pages of other origins may send safe requests, whose responses their browsers keep from them.
    func maySend(_ method: String, _ path: String) -> Bool {
      let needsWritingOrigin =
        [
          "/v1/uploads", "/v1/uploads/{upload}", "/v1/changes", "/v1/signedURLs", "/v1/session", "/v1/assets",
          "/v1/scan",
        ].contains(path)
      return switch self {
      case .none, .own, .writing: true
      case .reading: method == "GET" || !needsWritingOrigin
      case .foreign, .crossSite: method == "GET"
      }
    }
  }

  struct Row {
    let method: String
    let target: String
    var body: String?
    let answers: (CallerKind) -> Int
  }

  /// A daemon and the objects that the requests name: `inside` is in the album, `outside` in another one.
  struct AccessFixture {
    let daemon: TestDaemon
    let inside: String
    let outside: String
    var credentials: [CallerKind: String] = [:]
    var signatures: [CallerKind: String] = [:]

    static let album = "album"
    static let other = "other"

    var image: String { "/v1/assets/\(inside)/image?targetSize=20x20" }

    init(requiresCredential: Bool, arguments: [String] = []) throws {
      daemon = try TestDaemon(
        { files in
          for name in ["in", "out"] {
            let exif = EXIFBlock { $0.dateTimeOriginal = "2024:05:06 07:08:09" }
            try files.put(
              JPEGFile { $0.exif = exif }.encoded(Pixels.orientationCard(width: 64, height: name == "in" ? 48 : 32)),
              "\(name).jpg")
          }
        }, arguments: arguments)
      inside = try daemon.identifier("in.jpg")
      outside = try daemon.identifier("out.jpg")
      try daemon.makeAlbum(Self.album, title: "Holiday", ["in.jpg"])
      try daemon.makeAlbum(Self.other, title: "Work", ["out.jpg"])
      guard requiresCredential else { return }
      credentials[.expired] = try daemon.token(["create", "--name", "over", "--expires", "1y"])
      credentials[.revoked] = try daemon.token(["create", "--name", "gone"])
      try daemon.script("access.sqlite", "UPDATE token SET expires = 1 WHERE name = 'over';")
      _ = try daemon.token(["revoke", "gone"])
      credentials[.add] = try daemon.token(["create", "--scope", "add"])
      credentials[.writeAlone] = try daemon.token(["create", "--name", "old", "--scope", "read,write"])
      try daemon.script("access.sqlite", "UPDATE token SET scopes = 'write' WHERE name = 'old';")
      credentials[.readWrite] = try daemon.token(["create", "--scope", "read,write"])
      credentials[.admin] = try daemon.token(["create", "--scope", "admin"])
      credentials[.location] = try daemon.token(["create", "--scope", "read,location"])
      credentials[.limited] = try daemon.token(["create", "--limit-to", "Holiday"])
      // The last one known, all are.
      let read = try daemon.makeToken()
      credentials[.read] = read
      for (who, path) in [(CallerKind.signedImage, image), (.signedAlbum, "/v1/collections/\(Self.album)")] {
        let answer = try daemon.ask(
          "POST", "/v1/signedURLs", [TestDaemon.bearer(read)], body: #"{"path": "\#(path)"}"#)
        let url = try #require(answer.json["url"] as? String, "\(answer.json)")
        signatures[who] = String(url.dropFirst(path.count + 1))
      }
    }

    func ask(_ row: Row, as who: CallerKind, from origin: OriginKind = .none) throws -> TestDaemon.Response {
      var (target, fields) = (row.target, origin.fields)
      if who == .forwarded { fields.append("X-Forwarded-For: 203.0.113.9") }
      if let secret = credentials[who] { fields.append(TestDaemon.bearer(secret)) }
      if let signature = signatures[who] { target += (target.contains("?") ? "&" : "?") + signature }
      return try daemon.ask(row.method, target, fields, body: row.body)
    }
  }

  /// Open to every caller. A signed URL is still valid only for its own resource.
  private static func open(_ status: Int) -> (CallerKind) -> Int {
    { who in
      switch who {
      case .signedImage, .signedAlbum: 403
      case .local, .forwarded, .anonymous, .read, .limited, .location, .add, .writeAlone, .readWrite, .admin, .expired,
        .revoked:
        status
      }
    }
  }

  /// Needs the scope `read`; callers who have it get this response.
  private static func reading(
    _ status: Int, forwarded: Int? = nil, limited: Int? = nil, admin: Int = 403, image: Int = 403, album: Int = 403
  ) -> (CallerKind) -> Int {
    { who in
      switch who {
      case .local, .read, .location, .readWrite: status
      case .forwarded: forwarded ?? status
      case .limited: limited ?? status
      case .add, .writeAlone: 403
      case .admin: admin
      case .signedImage: image
      case .signedAlbum: album
      case .anonymous, .expired, .revoked: 401
      }
    }
  }

  /// Needs the scope `write`; callers who have it get this response.
  ///
  /// - Parameters:
  ///   - add: the response to callers who have only `add`.
  ///   - admin: the response to callers who have only `admin`.
  private static func writing(_ status: Int, add: Int = 403, admin: Int = 403) -> (CallerKind) -> Int {
    { who in
      switch who {
      case .local, .readWrite: status
      case .add: add
      case .admin: admin
      case .forwarded, .read, .limited, .location, .writeAlone, .signedImage, .signedAlbum: 403
      case .anonymous, .expired, .revoked: 401
      }
    }
  }

  /// Needs the scope `admin`; callers who have it get this response.
  private static func administering(_ status: Int) -> (CallerKind) -> Int {
    { who in
      switch who {
      case .local, .admin: status
      case .forwarded, .read, .limited, .location, .add, .writeAlone, .readWrite, .signedImage, .signedAlbum: 403
      case .anonymous, .expired, .revoked: 401
      }
    }
  }

  private static func rows(of resource: Resource, in world: AccessFixture) -> [Row] {
    func get(_ target: String, _ answers: @escaping (CallerKind) -> Int) -> Row {
      Row(method: "GET", target: target, answers: answers)
    }
    let (inside, outside) = ("/v1/assets/\(world.inside)", "/v1/assets/\(world.outside)")
    let (album, other) = ("/v1/collections/\(AccessFixture.album)", "/v1/collections/\(AccessFixture.other)")
    switch resource.path.text {
    case "/healthz": return [get("/healthz", open(200))]
    case "/readyz": return [get("/readyz", open(200))]
    case "/v1/authorization": return [get("/v1/authorization", open(200))]
    case "/v1/session":
      return [
        Row(method: "POST", target: "/v1/session", body: "{}", answers: open(400)),
        Row(method: "DELETE", target: "/v1/session", answers: open(204)),
      ]
    case "/openapi.json":
      return [
        get("/openapi.json") { who in
          switch who {
          case .local, .forwarded, .read, .limited, .location, .add, .writeAlone, .readWrite, .admin: 200
          case .anonymous, .expired, .revoked: 401
          case .signedImage, .signedAlbum: 403
          }
        }
      ]
    case "/v1/scan": return [Row(method: "POST", target: "/v1/scan", answers: administering(202))]
    case "/metrics": return [get("/metrics", administering(200))]
    case "/v1/signedURLs":
      return [
        Row(
          method: "POST", target: "/v1/signedURLs", body: #"{"path": "\#(inside)/image"}"#,
          answers: reading(201, forwarded: 403)),
        Row(
          method: "POST", target: "/v1/signedURLs", body: #"{"path": "\#(outside)/image"}"#,
          answers: reading(201, forwarded: 403, limited: 404)),
        Row(
          method: "POST", target: "/v1/signedURLs", body: #"{"path": "\#(other)"}"#,
          answers: reading(201, forwarded: 403, limited: 404)),
      ]
    case "/v1/assets":
      return [
        get("/v1/assets", reading(200)),
        Row(method: "POST", target: "/v1/assets", body: "no picture", answers: writing(415, add: 415)),
      ]
    // A malformed request, because a staged upload would remain.
    case "/v1/uploads":
      return [Row(method: "POST", target: "/v1/uploads?x=1", answers: writing(400, add: 400))]
    case "/v1/uploads/{upload}":
      let ended = writing(404, add: 404, admin: 404)
      return [
        get("/v1/uploads/none", ended),
        Row(method: "PATCH", target: "/v1/uploads/none", body: "x", answers: writing(415, add: 415)),
        Row(method: "DELETE", target: "/v1/uploads/none", answers: ended),
      ]
    case "/v1/trash": return [get("/v1/trash", writing(200))]
    case "/v1/assets/{localIdentifier}":
      return [get(inside, reading(200, album: 200)), get(outside, reading(200, limited: 404, album: 404))]
    case "/v1/assets/{localIdentifier}/data", "/v1/assets/{localIdentifier}/resources",
      "/v1/assets/{localIdentifier}/resources/{type}/data":
      let path = resource.path.text.replacing("/v1/assets/{localIdentifier}", with: "").replacing(
        "{type}", with: "photo")
      var rows = [
        get(inside + path, reading(200, album: 200)), get(outside + path, reading(200, limited: 404, album: 404)),
      ]
      if path != "/resources" {
        rows.append(
          get(inside + path + "?includeLocation=true") { who in
            switch who {
            case .local, .location: 200
            case .anonymous, .expired, .revoked: 401
            case .forwarded, .read, .limited, .add, .writeAlone, .readWrite, .admin, .signedImage, .signedAlbum: 403
            }
          })
      }
      return rows
    case "/v1/archive":
      let (inAlbum, inOther) = (
        album.replacing("/v1/collections/", with: ""), other.replacing("/v1/collections/", with: "")
      )
      return [
        get("/v1/archive?assets=\(world.inside)", reading(200)),
        get("/v1/archive?assets=\(world.outside)", reading(200, limited: 404)),
        get("/v1/archive?collection=\(inAlbum)", reading(200)),
        get("/v1/archive?collection=\(inOther)", reading(200, limited: 404)),
        get("/v1/archive?fetchResult=none", reading(404)),
        get("/v1/archive?assets=\(world.inside)&includeLocation=true") { who in
          switch who {
          case .local, .location: 200
          case .anonymous, .expired, .revoked: 401
          case .forwarded, .read, .limited, .add, .writeAlone, .readWrite, .admin, .signedImage, .signedAlbum: 403
          }
        },
      ]
    case "/v1/assets/{localIdentifier}/metadata":
      return [
        get(inside + "/metadata", reading(200, album: 200)),
        get(outside + "/metadata", reading(200, limited: 404, album: 404)),
      ]
    case "/v1/assets/{localIdentifier}/image":
      return [
        get(world.image, reading(200, image: 200, album: 200)),
        get(inside + "/image?targetSize=20x21", reading(200, album: 200)),
        get(outside + "/image?targetSize=20x20", reading(200, limited: 404, album: 404)),
      ]
    case "/v1/collections": return [get("/v1/collections", reading(200))]
    case "/v1/collections/{collection}":
      return [get(album, reading(200, album: 200)), get(other, reading(200, limited: 404))]
    case "/v1/collections/{collection}/assets":
      return [get(album + "/assets", reading(200, album: 200)), get(other + "/assets", reading(200, limited: 404))]
    case "/v1/collections/{collection}/collections": return [get("/v1/collections/none/collections", reading(404))]
    case "/v1/transientCollections":
      return [
        get("/v1/transientCollections", reading(200, admin: 200)),
        Row(
          method: "POST", target: "/v1/transientCollections", body: #"{"assets": ["\#(world.inside)"]}"#,
          answers: reading(201)),
      ]
    case "/v1/transientCollections/{transientCollection}":
      return [Row(method: "DELETE", target: "/v1/transientCollections/none", answers: reading(404, admin: 404))]
    case "/v1/fetchResults":
      return [
        get("/v1/fetchResults", reading(200, admin: 200)),
        Row(method: "POST", target: "/v1/fetchResults", body: "{}", answers: reading(201)),
      ]
    case "/v1/fetchResults/{fetchResult}":
      return [
        get("/v1/fetchResults/none", reading(404, admin: 404)),
        Row(method: "DELETE", target: "/v1/fetchResults/none", answers: reading(404, admin: 404)),
      ]
    case "/v1/fetchResults/{fetchResult}/assets": return [get("/v1/fetchResults/none/assets", reading(404))]
    case "/v1/fetchResults/{fetchResult}/collections":
      return [get("/v1/fetchResults/none/collections", reading(404))]
    case "/v1/fetchResults/{fetchResult}/changes": return [get("/v1/fetchResults/none/changes", reading(404))]
    // A malformed request, because a stream would not end. Access is checked before the parameters.
    case "/v1/changes":
      return [
        get("/v1/changes?since=none", reading(400)),
        Row(method: "POST", target: "/v1/changes", body: "{}", answers: writing(400)),
      ]
    case "/v1/changes/stream":
      return [
        get("/v1/changes/stream?since=none", reading(400)), get("/v1/changes/stream?fetchResult=none", reading(404)),
      ]
    case "/v1/requests": return [get("/v1/requests", reading(200, admin: 200))]
    case "/v1/requests/{requestID}":
      return [
        get("/v1/requests/none", reading(404, admin: 404)),
        Row(method: "DELETE", target: "/v1/requests/none", answers: reading(404, admin: 404)),
      ]
    // Each refused asset is a part or a member of the response.
    case "/v1/images":
      return [
        Row(
          method: "POST", target: "/v1/images", body: #"{"assets": ["\#(world.inside)", "\#(world.outside)"]}"#,
          answers: reading(200))
      ]
    case "/v1/cachingManagers":
      return [
        get("/v1/cachingManagers", reading(200, admin: 200)),
        Row(method: "POST", target: "/v1/cachingManagers", body: "{}", answers: reading(201)),
      ]
    case "/v1/cachingManagers/{cachingManager}":
      return [
        get("/v1/cachingManagers/none", reading(404, admin: 404)),
        Row(method: "PATCH", target: "/v1/cachingManagers/none", body: "{}", answers: reading(404)),
        Row(method: "DELETE", target: "/v1/cachingManagers/none", answers: reading(404, admin: 404)),
      ]
    case "/v1/cachingManagers/{cachingManager}/startCaching", "/v1/cachingManagers/{cachingManager}/stopCaching":
      return [
        Row(
          method: "POST", target: resource.path.text.replacing("{cachingManager}", with: "default"),
          body: #"{"assets": ["\#(world.outside)"], "targetSize": "20x20"}"#, answers: reading(200))
      ]
    case "/v1/cachingManagers/{cachingManager}/stopCachingAllImages":
      return [
        Row(
          method: "POST", target: "/v1/cachingManagers/default/stopCachingAllImages", body: "{}",
          answers: reading(200))
      ]
    case "/v1/cachingManagers/{cachingManager}/window":
      return [
        Row(
          method: "PUT", target: "/v1/cachingManagers/default/window",
          body: #"{"assets": ["\#(world.outside)"], "visible": [0, 0], "targetSize": "20x20"}"#, answers: reading(200))
      ]
    default: return []
    }
  }

  @Test("every resource answers every kind of caller as the table says, and the table is complete")
  func table() throws {
    let worlds = [
      false: try AccessFixture(requiresCredential: false), true: try AccessFixture(requiresCredential: true),
    ]
    for resource in Resource.all {
      for who in CallerKind.allCases {
        let world = try #require(worlds[!who.needsNoTokens])
        for row in Self.rows(of: resource, in: world) {
          let path = try #require(row.target.split(separator: "?").first).split(separator: "/").map(String.init)
          let route = try #require(Route(path))
          #expect(route.resource === resource, "\(row.target) is another resource's")
          let answer = try world.ask(row, as: who)
          let expected = row.answers(who)
          #expect(answer.status == expected, "\(row.method) \(row.target) by \(who.rawValue): \(answer.json)")
          check(answer, who, row)
          if row.method == "GET", expected != 401 {
            let head = try world.ask(Row(method: "HEAD", target: row.target, answers: row.answers), as: who)
            #expect(head.status == expected, "HEAD \(row.target) by \(who.rawValue)")
          }
        }
      }
      let world = try #require(worlds[true])
      let methods = Set(resource.endpoints.map(\.method.name))
      #expect(
        methods == Set(Self.rows(of: resource, in: world).map(\.method)),
        "\(resource.path.text) has methods without a row")
    }
  }

  @Test("every resource answers every kind of caller from every kind of page as the contract says")
  func origins() throws {
    let arguments = ["corsOrigins=https://reader.example", "corsWriteOrigins=https://writer.example"]
      .flatMap { ["--set", $0] }
    // Invalid signatures are throttled, so half of the pages ask another daemon.
    func world(_ requiresCredential: Bool) throws -> AccessFixture {
      try AccessFixture(requiresCredential: requiresCredential, arguments: arguments)
    }
    let worlds = [false: [try world(false)], true: [try world(true), try world(true)]]
    var cells = 0
    for resource in Resource.all {
      for who in CallerKind.allCases {
        for (index, origin) in OriginKind.allCases.enumerated() {
          let choice = try #require(worlds[!who.needsNoTokens])
          let world = choice[index % choice.count]
          for row in Self.rows(of: resource, in: world) {
            let answer = try world.ask(row, as: who, from: origin)
            cells += 1
            let description = "\(row.method) \(row.target) by \(who.rawValue) from \(origin.rawValue): \(answer.json)"
            let maySend = origin.maySend(row.method, resource.path.text)
            #expect(answer.status == (maySend ? row.answers(who) : 403), "\(description)")
            #expect((answer.json["type"] as? String == "/problems/cross-site-request") == !maySend, "\(description)")
            let reads = ["reading", "writing"].contains(origin.rawValue)
            #expect((answer["Access-Control-Allow-Origin"] != nil) == reads, "\(description)")
          }
        }
      }
    }
    print("access table: \(cells) combinations of route, caller and origin")
  }

  /// Checks the fields and the body that every refusal has.
  private func check(_ answer: TestDaemon.Response, _ who: CallerKind, _ row: Row) {
    let challenge = answer["WWW-Authenticate"]
    let description = "\(row.method) \(row.target) by \(who.rawValue)"
    switch answer.status {
    case 401:
      #expect(challenge?.hasPrefix("Bearer realm=\"photod\"") == true, "\(description)")
      #expect(challenge?.contains("error=\"invalid_token\"") == (who != .anonymous), "\(description)")
      #expect(answer["Cache-Control"] == "no-store")
    case 403 where [.read, .limited, .location, .add, .writeAlone, .readWrite, .admin].contains(who):
      #expect(challenge?.contains("error=\"insufficient_scope\"") == true, "\(description)")
    case 403: #expect(challenge?.contains("error=\"invalid_token\"") != true)
    default: #expect(challenge == nil, "\(description)")
    }
    if answer.status < 300, answer["Cache-Control"] != nil {
      #expect(answer["Cache-Control"]?.contains("public") == false)
    }
    let varies = String(decoding: answer.raw, as: UTF8.self).contains("Vary: Authorization, Cookie\r\n")
    #expect(varies == !who.needsNoTokens, "\(description)")
  }

  @Test("only an authenticated caller learns that a resource does not exist")
  func unknown() throws {
    let world = try AccessFixture(requiresCredential: true)
    for (who, status) in [
      (CallerKind.anonymous, 401), (.revoked, 401), (.read, 404), (.add, 404), (.signedImage, 403),
    ] {
      let row = Row(method: "GET", target: "/nothing", answers: { _ in status })
      #expect(try world.ask(row, as: who).status == status, "\(who)")
    }
    // A preflight has no credentials, and its response reveals no asset.
    #expect(try world.daemon.get("/v1/assets", method: "OPTIONS").status == 204)
  }
}
