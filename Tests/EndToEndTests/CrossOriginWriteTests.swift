import Foundation
import HTTPCore
import PhotoAPI
import PhotoFixtures
import Testing

#if canImport(Glibc)
  import Glibc
#endif

/// What pages of other origins may do, by the setting that lists them. A new unsafe endpoint needs a row in
/// `unsafe(_:)`, or the test fails.
@Suite("Pages of other origins", .blocking)
struct CrossOriginWriteTests {
  private static let reader = "Origin: https://reader.example"
  private static let writer = "Origin: https://writer.example"
  private static let stranger = "Origin: https://evil.example"

  private static func daemon(_ settings: [String] = []) throws -> TestDaemon {
    try TestDaemon(
      { files in
        for name in ["a", "b"] {
          let picture = Pixels.orientationCard(width: name == "a" ? 32 : 40, height: 24)
          try files.put(JPEGFile { _ in }.encoded(picture), "\(name).jpg")
        }
      },
      arguments: (["corsOrigins=https://reader.example", "corsWriteOrigins=https://writer.example"] + settings)
        .flatMap { ["--set", $0] })
  }

  private static let shared: TestDaemon = {
    do { return try daemon() } catch { fatalError("no daemon: \(error)") }
  }()

  private struct Row {
    let method: String
    let target: String
    /// The response to a page that may send the request.
    let status: Int
    /// Whether a page of an origin in `corsOrigins` may send it.
    let isReading: Bool
    var body: String? = "{}"
  }

  /// The unsafe methods of a resource.
  private static func unsafe(_ group: EndpointGroup) -> [Row] {
    func manager(_ name: String, _ method: String = "POST", _ status: Int = 400) -> Row {
      Row(method: method, target: "/v1/cachingManagers/default/\(name)", status: status, isReading: true)
    }
    switch group.path.text {
    case "/v1/assets":
      return [Row(method: "POST", target: "/v1/assets", status: 415, isReading: false, body: "no picture")]
    case "/v1/uploads": return [Row(method: "POST", target: "/v1/uploads", status: 201, isReading: false)]
    case "/v1/uploads/{upload}":
      return [
        Row(method: "PATCH", target: "/v1/uploads/none", status: 415, isReading: false),
        Row(method: "DELETE", target: "/v1/uploads/none", status: 404, isReading: false, body: nil),
      ]
    case "/v1/assets/{localIdentifier}/adjustments":
      return [
        Row(method: "PUT", target: "/v1/assets/none/adjustments", status: 422, isReading: false),
        Row(method: "DELETE", target: "/v1/assets/none/adjustments", status: 404, isReading: false, body: nil),
      ]
    case "/v1/assets/{localIdentifier}/keepOriginal":
      return [Row(method: "PUT", target: "/v1/assets/none/keepOriginal", status: 400, isReading: false)]
    case "/v1/collections/{collection}/keepOriginal":
      return [Row(method: "PUT", target: "/v1/collections/none/keepOriginal", status: 400, isReading: false)]
    case "/v1/assets/{localIdentifier}/preview":
      return [Row(method: "POST", target: "/v1/assets/none/preview", status: 422, isReading: true)]
    case "/v1/scan": return [Row(method: "POST", target: "/v1/scan", status: 202, isReading: false)]
    case "/v1/changes": return [Row(method: "POST", target: "/v1/changes", status: 400, isReading: false)]
    case "/v1/signedURLs": return [Row(method: "POST", target: "/v1/signedURLs", status: 400, isReading: false)]
    case "/v1/session":
      return [
        Row(method: "POST", target: "/v1/session", status: 400, isReading: false),
        Row(method: "DELETE", target: "/v1/session", status: 204, isReading: false, body: nil),
      ]
    case "/v1/fetchResults": return [Row(method: "POST", target: "/v1/fetchResults", status: 201, isReading: true)]
    case "/v1/fetchResults/{fetchResult}":
      return [Row(method: "DELETE", target: "/v1/fetchResults/none", status: 404, isReading: true, body: nil)]
    case "/v1/transientCollections":
      return [
        Row(
          method: "POST", target: "/v1/transientCollections", status: 201, isReading: true, body: #"{"assets": []}"#)
      ]
    case "/v1/transientCollections/{transientCollection}":
      return [Row(method: "DELETE", target: "/v1/transientCollections/none", status: 404, isReading: true, body: nil)]
    case "/v1/archive": return [Row(method: "POST", target: "/v1/archive", status: 400, isReading: true)]
    case "/v1/images": return [Row(method: "POST", target: "/v1/images", status: 400, isReading: true)]
    case "/v1/cachingManagers":
      return [Row(method: "POST", target: "/v1/cachingManagers", status: 201, isReading: true)]
    case "/v1/cachingManagers/{cachingManager}":
      return [
        Row(method: "PATCH", target: "/v1/cachingManagers/none", status: 404, isReading: true),
        Row(method: "DELETE", target: "/v1/cachingManagers/none", status: 404, isReading: true, body: nil),
      ]
    case "/v1/cachingManagers/{cachingManager}/startCaching": return [manager("startCaching")]
    case "/v1/cachingManagers/{cachingManager}/stopCaching": return [manager("stopCaching")]
    case "/v1/cachingManagers/{cachingManager}/stopCachingAllImages":
      return [manager("stopCachingAllImages", "POST", 200)]
    case "/v1/cachingManagers/{cachingManager}/window": return [manager("window", "PUT")]
    case "/v1/requests/{requestID}":
      return [Row(method: "DELETE", target: "/v1/requests/none", status: 404, isReading: true, body: nil)]
    default: return []
    }
  }

  /// A path of a resource, with parameters that name no existing object.
  private static func path(_ group: EndpointGroup) -> String {
    group.path.text.replacing("{cachingManager}", with: "default").replacing(#/\{\w+\}/#, with: "none")
  }

  private static func route(_ target: String) throws -> Route {
    try #require(Route(target.split(separator: "/").map(String.init)))
  }

  private func isRefused(_ answer: TestDaemon.Response) -> Bool {
    answer.status == 403 && answer.json["type"] as? String == "/problems/cross-site-request"
  }

  @Test("each unsafe method of each resource is open only to the origins that the settings list for it")
  func table() throws {
    let daemon = Self.shared
    for group in EndpointGroup.all {
      let rows = Self.unsafe(group)
      let methods = group.methods.map(\.name)
      #expect(Set(rows.map(\.method)) == Set(methods).subtracting(["GET", "HEAD", "OPTIONS"]), "\(group.path.text)")
      for row in rows {
        #expect(try Self.route(row.target).group === group)
        func ask(_ fields: [String]) throws -> TestDaemon.Response {
          try daemon.ask(row.method, row.target, fields, body: row.body)
        }
        let description = "\(row.method) \(row.target)"
        for fields in [[], ["Origin: http://localhost"], [Self.writer], [Self.writer, "Sec-Fetch-Site: cross-site"]] {
          #expect(try ask(fields).status == row.status, "\(description) \(fields)")
        }
        for fields in [[Self.reader], [Self.reader, "Sec-Fetch-Site: cross-site"]] {
          let answer = try ask(fields)
          #expect(row.isReading ? answer.status == row.status : isRefused(answer), "\(description) \(fields)")
          // The page may read the reason.
          #expect(answer["Access-Control-Allow-Origin"] == "https://reader.example", "\(description)")
        }
        for fields in [[Self.stranger], ["Origin: null"], ["Sec-Fetch-Site: cross-site"]] {
          let answer = try ask(fields)
          #expect(isRefused(answer), "\(description) \(fields)")
          #expect(answer["Access-Control-Allow-Origin"] == nil)
        }
      }
    }
  }

  @Test("a preflight allows what the request would be allowed, and nothing else")
  func preflights() throws {
    for group in EndpointGroup.all {
      let path = Self.path(group)
      let all = group.methods.map(\.name)
      let reading = Set(Self.unsafe(group).filter(\.isReading).map(\.method) + ["GET", "HEAD", "OPTIONS"])
      let allowed = [
        Self.reader: all.filter(reading.contains), Self.writer: all, Self.stranger: [], "Origin: null": [],
      ]
      for (origin, methods) in allowed {
        for method in ["GET", "HEAD", "POST", "PUT", "DELETE", "PATCH"] {
          let answer = try Self.shared.get(
            path,
            [
              origin, "Access-Control-Request-Method: \(method)", "Access-Control-Request-Headers: content-type",
              "Access-Control-Request-Private-Network: true",
            ], method: "OPTIONS")
          let description = "\(path) \(method) \(origin)"
          #expect(answer.status == 204 && answer["Allow"] == all.joined(separator: ", "), "\(description)")
          let permissions = answer.fields.keys.filter { $0.hasPrefix("access-control-") }
          if methods.contains(method) {
            #expect(answer["Access-Control-Allow-Methods"] == methods.joined(separator: ", "), "\(description)")
            #expect(answer["Access-Control-Allow-Headers"]?.contains("Content-Type") == true, "\(description)")
            #expect("Origin: \(answer["Access-Control-Allow-Origin"] ?? "")" == origin, "\(description)")
            #expect(answer["Access-Control-Allow-Private-Network"] == "true", "\(description)")
          } else {
            #expect(permissions.isEmpty, "\(description) \(permissions)")
          }
        }
      }
    }
  }

  @Test("a refused cross-site request is answered before its body is read or requested")
  func beforeTheBody() throws {
    for (target, origin) in [
      ("/v1/changes", Self.reader), ("/v1/changes", Self.stranger), ("/v1/fetchResults", Self.stranger),
      ("/v1/signedURLs", Self.reader), ("/v1/session", Self.reader), ("/v1/assets", Self.reader),
      ("/nothing", Self.stranger), ("/v1/changes", "Sec-Fetch-Site: cross-site"),
    ] {
      for length in ["Content-Length: 100000", "Transfer-Encoding: chunked"] {
        for expectation in ["", "Expect: 100-continue\r\n"] {
          let head = "POST \(target) HTTP/1.1\r\nHost: localhost\r\n\(origin)\r\nContent-Type: application/json\r\n"
          // The body is never sent.
          let answer = try Self.shared.exchange(head + length + "\r\n" + expectation + "\r\n", [])
          #expect(isRefused(answer), "\(target) \(origin) \(length) \(expectation)")
          #expect(answer["Connection"] == "close")
        }
      }
    }
  }

  @Test("a page may read every response field that the OpenAPI document describes")
  func exposedFields() throws {
    let answer = try Self.shared.get("/openapi.json", [Self.reader])
    let components = try #require(answer.json["components"] as? [String: Any])
    let documented = Set(try #require(components["headers"] as? [String: Any]).keys)
    let exposed = Set(try #require(answer["Access-Control-Expose-Headers"]).components(separatedBy: ", "))
    // Pages may always read the first two, and never a cookie (Fetch §2.2.2). The last two instruct the browser that
    // shows the response as a page of its own; a page that fetches it has no use for them.
    let unexposed = ["Cache-Control", "Last-Modified", "Set-Cookie", "Content-Security-Policy", "Referrer-Policy"]
    #expect(documented.subtracting(unexposed).isSubset(of: exposed))
    // `Allow` is described in the document's text, `Content-Location` is in the parts of batches.
    #expect(exposed.isSubset(of: documented.union(["Allow", "Content-Location"])))
  }

  @Test("a page of a read-only origin can't change anything; a page of a writing origin can")
  func library() throws {
    let daemon = try Self.daemon()
    let asset = try daemon.identifier("a.jpg")
    let list = #"{"changes": [{"type": "deleteAsset", "asset": "\#(asset)"}]}"#
    #expect(try isRefused(daemon.post("/v1/changes", list, [Self.reader])))
    #expect(try isRefused(daemon.post("/v1/changes", list, type: "text/plain", [Self.reader])))
    #expect(try isRefused(daemon.upload(UploadTests.picture(1), "", [Self.reader])))
    #expect(try daemon.get("/v1/assets?count=true", [Self.reader]).json["count"] as? Int == 2)
    let uploaded = try daemon.upload(UploadTests.picture(1), "", [Self.writer])
    #expect(uploaded.status == 201)
    #expect(uploaded["Access-Control-Expose-Headers"]?.contains("Location") == true)
    #expect(try daemon.post("/v1/changes", list, [Self.writer]).status == 200)
    #expect(try daemon.get("/v1/assets/\(asset)", [Self.writer]).status == 404)
  }

  @Test("the daemon's own origin may write, even if it is listed as a read-only origin")
  func ownOrigin() throws {
    let daemon = try Self.daemon(["allowedHosts=reader.example"])
    let host = "Host: reader.example"
    #expect(try daemon.ask("POST", "/v1/changes", [host, Self.reader], body: "{}").status == 400)
    let foreign = try daemon.ask("POST", "/v1/changes", [host, Self.reader, "Sec-Fetch-Site: cross-site"], body: "{}")
    #expect(isRefused(foreign), "another site with the same host name")
  }

  @Test("a page of a read-only origin can delete its caller's handles only, even for an administrator")
  func ownership() throws {
    let daemon = try Self.daemon()
    let admin = TestDaemon.bearer(try daemon.token(["create", "--scope", "read,admin"]))
    let other = TestDaemon.bearer(try daemon.makeToken())
    for path in ["/v1/cachingManagers", "/v1/fetchResults"] {
      func make(_ caller: String) throws -> String {
        let made = try daemon.ask("POST", path, [caller, Self.reader], body: "{}")
        return "\(path)/\(try #require(made.json["id"] as? String))"
      }
      let (own, others) = (try make(admin), try make(other))
      #expect(try daemon.ask("DELETE", others, [admin, Self.reader]).status == 404, "\(path)")
      #expect(try daemon.get(others, [other]).status == 200, "\(path)")
      #expect(try daemon.ask("DELETE", own, [admin, Self.reader]).status == 204, "\(path)")
    }
  }

  @Test("a page of another origin can't use a session's cookie, even if the origin is listed")
  func cookies() throws {
    let daemon = try Self.daemon()
    let secret = try daemon.makeToken("read,write")
    let signedIn = try daemon.ask("POST", "/v1/session", body: #"{"token": "\#(secret)"}"#)
    let cookie = "Cookie: \(try #require(signedIn["Set-Cookie"]?.split(separator: ";").first))"
    for origin in [Self.reader, Self.writer] {
      #expect(try daemon.get("/v1/assets", [cookie, origin]).status == 401)
    }
    #expect(try daemon.ask("POST", "/v1/changes", [cookie, Self.writer], body: "{}").status == 401)
    #expect(try daemon.ask("POST", "/v1/changes", [TestDaemon.bearer(secret), Self.writer], body: "{}").status == 400)
  }
}
