import Foundation
import Testing

/// Objects that one caller created, used by others: each is visible to its owner and to administrators who see the
/// whole library. For all other callers it does not exist.
@Suite("Objects of other callers", .blocking)
struct OwnerTests {
  /// The callers, each with a token.
  private struct Callers {
    let owner: [String]
    /// With `read` and `admin`, and with `admin` only.
    let administrator: [String]
    let onlyAdmin: [String]
    /// Each may read, but is no administrator of the whole library.
    let others: [(name: String, fields: [String])]

    init(_ daemon: TestDaemon) throws {
      func fields(_ scopes: String, _ arguments: [String] = []) throws -> [String] {
        [TestDaemon.bearer(try daemon.makeToken(scopes, arguments))]
      }
      owner = try fields("read")
      administrator = try fields("read,admin")
      onlyAdmin = try fields("admin")
      others = [
        ("reader", try fields("read")), ("writer", try fields("read,write,location")),
        ("limited administrator", try fields("read,admin", ["--limit-to", "album"])),
      ]
    }
  }

  private static func names(_ answer: TestDaemon.Response, _ key: String, _ member: String) -> [String] {
    (answer.json[key] as? [[String: Any]] ?? []).compactMap { $0[member] as? String }
  }

  @Test("a fetch result is listed, read and ended by administrators, and does not exist for other callers")
  func fetchResults() throws {
    let (daemon, _, _) = try CredentialTests.daemon()
    let callers = try Callers(daemon)
    func list(_ fields: [String]) throws -> [String] {
      Self.names(try daemon.get("/v1/fetchResults", fields), "fetchResults", "id")
    }
    let made = try daemon.ask("POST", "/v1/fetchResults", callers.owner, body: "{}")
    let id = try #require(made.json["id"] as? String)
    let path = "/v1/fetchResults/\(id)"
    // Each use by another caller has the response to an identifier that never existed.
    let requests: [(method: String, target: String, body: String?)] = [
      ("GET", "/v1/fetchResults/ID", nil), ("GET", "/v1/fetchResults/ID/assets", nil),
      ("GET", "/v1/fetchResults/ID/assets?range=0-1", nil), ("GET", "/v1/fetchResults/ID/changes", nil),
      ("GET", "/v1/changes/stream?fetchResult=ID", nil), ("GET", "/v1/archive?fetchResult=ID", nil),
      ("POST", "/v1/transientCollections", #"{"fetchResults": ["ID"]}"#),
      (
        "PUT", "/v1/cachingManagers/default/window",
        #"{"fetchResult": "ID", "visible": [0, 1], "targetSize": "20x20"}"#
      ),
      ("DELETE", "/v1/fetchResults/ID", nil),
    ]
    for (name, fields) in callers.others {
      #expect(try list(fields).isEmpty, "\(name)")
      for (method, target, body) in requests {
        func ask(_ id: String) throws -> TestDaemon.Response {
          try daemon.ask(
            method, target.replacing("ID", with: id), fields, body: body?.replacing("ID", with: id))
        }
        let (answer, unknown) = (try ask(id), try ask(String(id.reversed())))
        #expect(answer.status == 404 && unknown.status == 404, "\(method) \(target) by \(name): \(answer.json)")
        #expect(answer.body == unknown.body, "\(method) \(target) by \(name)")
      }
    }
    #expect(try list(callers.owner) == [id])
    for fields in [callers.administrator, callers.onlyAdmin] {
      #expect(try list(fields) == [id])
      #expect(try daemon.get(path, fields).body == (try daemon.get(path, callers.owner).body))
    }
    // `admin` does not include `read`: only the administrator who may read gets the members.
    #expect(try daemon.get(path + "/assets", callers.onlyAdmin).status == 403)
    let members = try daemon.get(path + "/assets", callers.administrator)
    #expect(members.status == 200 && Self.names(members, "assets", "localIdentifier").count == 3)
    #expect(try daemon.ask("DELETE", path, callers.administrator).status == 204)
    for fields in [callers.owner, callers.administrator, callers.onlyAdmin] {
      #expect(try daemon.get(path, fields).status == 404)
      #expect(try list(fields).isEmpty)
    }
  }

  @Test("a copy of a list that depends on places is hidden from administrators who may not read places")
  func copiesOfLists() throws {
    let (daemon, _, _) = try CredentialTests.daemon()
    func fields(_ scopes: String) throws -> [String] { [TestDaemon.bearer(try daemon.makeToken(scopes))] }
    let owner = try fields("read,location")
    func make(_ path: String, _ body: String) throws -> String {
      let answer = try daemon.ask("POST", path, owner, body: body)
      return try #require((answer.json["id"] ?? answer.json["localIdentifier"]) as? String, "\(answer.json)")
    }
    let result = try make("/v1/fetchResults", #"{"sortDescriptors": "latitude"}"#)
    let collection = try make("/v1/transientCollections", #"{"fetchResults": ["\#(result)"]}"#)
    // A copy of the copy.
    let resultOfCopy = try make("/v1/fetchResults", #"{"collection": "\#(collection)"}"#)
    let second = try make("/v1/transientCollections", #"{"fetchResults": ["\#(resultOfCopy)"]}"#)
    let paths = [
      "/v1/fetchResults/\(result)", "/v1/fetchResults/\(resultOfCopy)", "/v1/collections/\(collection)",
      "/v1/collections/\(collection)/assets", "/v1/collections/\(second)/assets",
      "/v1/archive?collection=\(collection)",
    ]
    for (scopes, status) in [("read,admin,location", 200), ("read,admin", 404)] {
      let administrator = try fields(scopes)
      for path in paths { #expect(try daemon.get(path, administrator).status == status, "\(path): \(scopes)") }
      let window = try daemon.ask(
        "PUT", "/v1/cachingManagers/default/window", administrator,
        body: #"{"collection": "\#(collection)", "visible": [0, 1], "targetSize": "20x20"}"#)
      #expect(window.status == status, "\(scopes): \(window.json)")
      let list = try daemon.get("/v1/transientCollections", administrator)
      let expected: Set<String> = status == 200 ? [collection, second] : []
      #expect(Set(Self.names(list, "collections", "localIdentifier")) == expected, "\(scopes)")
    }
  }

  @Test("a window moves over lists of other callers only for administrators, and ends with the list")
  func windows() throws {
    let (daemon, inside, outside) = try CredentialTests.daemon()
    let callers = try Callers(daemon)
    let transient = try daemon.ask(
      "POST", "/v1/transientCollections", callers.owner, body: #"{"assets": ["\#(inside)", "\#(outside)"]}"#)
    let result = try daemon.ask("POST", "/v1/fetchResults", callers.owner, body: "{}")
    let lists = [
      (key: "collection", id: try #require(transient.json["localIdentifier"] as? String), count: 2),
      (key: "fetchResult", id: try #require(result.json["id"] as? String), count: 3),
    ]
    for (key, id, count) in lists {
      func move(_ fields: [String]) throws -> TestDaemon.Response {
        try daemon.ask(
          "PUT", "/v1/cachingManagers/default/window?client=\(key)", fields,
          body: #"{"\#(key)": "\#(id)", "visible": [0, \#(count - 1)], "targetSize": "20x20"}"#)
      }
      for (name, fields) in callers.others { #expect(try move(fields).status == 404, "\(key) of \(name)") }
      for fields in [callers.owner, callers.administrator, callers.administrator] {
        let answer = try move(fields)
        #expect(answer.status == 200 && answer.json["end"] as? Int == count - 1, "\(key): \(answer.json)")
      }
      let path = key == "collection" ? "/v1/transientCollections/\(id)" : "/v1/fetchResults/\(id)"
      #expect(try daemon.ask("DELETE", path, callers.administrator).status == 204)
      for fields in [callers.owner, callers.administrator] { #expect(try move(fields).status == 404, "\(key)") }
    }
  }

  @Test("another caller's default manager is listed, read and ended by administrators under an identifier of its own")
  func defaultManagers() throws {
    let (daemon, inside, _) = try CredentialTests.daemon()
    let callers = try Callers(daemon)
    let started = try daemon.ask(
      "POST", "/v1/cachingManagers/default/startCaching?client=tab", callers.owner,
      body: #"{"assets": ["\#(inside)"], "targetSize": "20x20"}"#)
    #expect(started.status == 200 && started.json["pinned"] as? Int == 1)
    func ofTab(_ fields: [String]) throws -> String? {
      let all = try daemon.get("/v1/cachingManagers", fields).json["cachingManagers"] as? [[String: Any]] ?? []
      return all.first { $0["client"] as? String == "tab" }?["id"] as? String
    }
    #expect(try ofTab(callers.owner) == "default")
    let id = try #require(try ofTab(callers.administrator))
    let path = "/v1/cachingManagers/\(id)"
    #expect(id != "default")
    for fields in [callers.administrator, callers.onlyAdmin] {
      #expect(try ofTab(fields) == id)
      let shown = try daemon.get(path, fields)
      #expect(shown.json["id"] as? String == id && shown.json["pinned"] as? Int == 1)
    }
    for (name, fields) in callers.others {
      #expect(try ofTab(fields) == nil, "\(name)")
      for method in ["GET", "DELETE"] { #expect(try daemon.ask(method, path, fields).status == 404, "\(name)") }
    }
    #expect(try daemon.ask("DELETE", path, callers.onlyAdmin).status == 204)
    #expect(try ofTab(callers.owner) == nil && daemon.get(path, callers.administrator).status == 404)
  }

  @Test("what a token keeps in the daemon ends when it is revoked or expires, and that of other tokens stays")
  func endedTokens() throws {
    let (daemon, inside, _) = try CredentialTests.daemon()
    let administrator = [TestDaemon.bearer(try daemon.makeToken("read,admin"))]
    let lists: [(path: String, key: String, member: String)] = [
      ("/v1/cachingManagers", "cachingManagers", "id"),
      ("/v1/fetchResults", "fetchResults", "id"), ("/v1/transientCollections", "collections", "localIdentifier"),
    ]
    func kept() throws -> [Set<String>] {
      try lists.map { Set(Self.names(try daemon.get($0.path, administrator), $0.key, $0.member)) }
    }
    /// What a new token adds: its `default` manager, another one, both for a day, and one of each other list.
    func make(_ name: String) throws -> [Set<String>] {
      let before = try kept()
      let fields = [TestDaemon.bearer(try daemon.makeToken("read", ["--name", name]))]
      let day = #"{"leaseSeconds": 86400}"#
      for (method, path, body) in [
        ("PATCH", "/v1/cachingManagers/default", day), ("POST", "/v1/cachingManagers", day),
        ("POST", "/v1/fetchResults", "{}"), ("POST", "/v1/transientCollections", #"{"assets": ["\#(inside)"]}"#),
      ] {
        let answer = try daemon.ask(method, path, fields, body: body)
        #expect(answer.status == (method == "PATCH" ? 200 : 201), "\(path): \(answer.json)")
      }
      let made = zip(try kept(), before).map { $0.subtracting($1) }
      #expect(made.map(\.count) == [2, 1, 1])
      return made
    }
    let before = try kept()
    let (revoked, expired, stays) = (try make("revoked"), try make("expired"), try make("stays"))
    #expect(revoked != expired)
    _ = try daemon.token(["revoke", "revoked"])
    try daemon.script(
      "access.sqlite", "UPDATE token SET expires = CAST(strftime('%s', 'now') AS INTEGER) + 1 WHERE name = 'expired'")
    let remaining = zip(before, stays).map { $0.union($1) }
    try daemon.until("what the two tokens kept has ended") { try kept() == remaining }
  }
}
