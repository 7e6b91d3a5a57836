import Foundation
import HTTPCore
import PhotoAPI
import Testing

/// The endpoint table, and the documents that must agree with it.
@Suite("The endpoint table", .blocking)
struct EndpointTableTests {
  private typealias Object = [String: Any]

  private static func segments(_ path: some StringProtocol) -> [String] {
    path.split(separator: Character("/")).map { String($0) }
  }

  @Test("no two endpoints have the same method and path, or the same operationId")
  func unique() {
    let operations = Endpoint.all.map { "\($0.method.name) \($0.path.text)" }
    #expect(Set(operations).count == Endpoint.all.count)
    #expect(Set(Endpoint.all.map(\.operationID)).count == Endpoint.all.count)
    #expect(!Endpoint.all.contains { $0.method == .head || $0.method == .options }, "HEAD and OPTIONS are derived")
  }

  @Test("every path of the table leads to its own resource, with the values of its parameters")
  func routing() throws {
    for group in EndpointGroup.all {
      let path = group.path.text.replacing(#/\{(\w+)\}/#) { "value-\($0.output.1)" }
      let route = try #require(Route(Self.segments(path)), "\(path)")
      #expect(route.group === group, "\(path)")
      for name in group.path.parameters { #expect(route[name] == "value-\(name)", "\(path)") }
    }
  }

  @Test(
    "a path that is not in the table leads to no resource",
    arguments: [
      "/gallery", "/gallery/x/y", "/v1", "/v2/assets", "/v1/nothing", "/healthz/x", "/v1/assets/x/nothing",
      "/v1/assets/x/image/y",
      "/v1/cachingManagers/x/y", "/v1/changes/x", "/V1/assets",
    ])
  func unknown(path: String) {
    #expect(Route(Self.segments(path)) == nil)
  }

  @Test("HEAD is answered by GET, and OPTIONS by every resource")
  func methods() throws {
    for group in EndpointGroup.all {
      #expect(group.endpoint(for: .head) === group.endpoint(for: .get))
      #expect(group.endpoint(for: .options) == nil)
      #expect(group.methods.last == .options)
      #expect(group.methods.contains(.head) == group.methods.contains(.get))
    }
    let assets = try #require(Route(["v1", "assets"])).group
    #expect(assets.methods == [.get, .head, .post, .options])
    #expect(assets.isReading(.get) && assets.isReading(.head) && assets.isReading(.options))
    #expect(!assets.isReading(.post) && !assets.isReading(.delete))
  }

  private static let shared: TestDaemon = {
    do { return try TestDaemon.ofCards(1) } catch { fatalError("no daemon: \(error)") }
  }()

  @Test("every endpoint refuses a parameter that it does not have")
  func unknownParameters() throws {
    let world = try AccessTableTests.AccessFixture(.withoutTokens)
    var asked: Set<String> = []
    for group in EndpointGroup.all {
      for row in AccessTableTests.rows(of: group, in: world) {
        let target = row.target + (row.target.contains("?") ? "&" : "?") + "misspelt=1"
        let answer = try world.daemon.ask(row.method, target, body: row.body)
        #expect(answer.status == 400, "\(row.method) \(target): \(answer.json)")
        #expect(answer.json["type"] as? String == "/problems/unknown-parameter", "\(row.method) \(target)")
        #expect(answer.json["parameter"] as? String == "misspelt", "\(row.method) \(target)")
        asked.insert("\(row.method) \(group.path.text)")
      }
    }
    #expect(asked == Set(Endpoint.all.map { "\($0.method.name) \($0.path.text)" }))
  }

  @Test("the OpenAPI document has the operations of the table and no others, and is the same in every run")
  func document() throws {
    let answer = try Self.shared.get("/openapi.json")
    var documented: [String: String] = [:]
    for (path, item) in try #require(answer.json["paths"] as? [String: Object]) {
      for (method, operation) in item {
        documented["\(method.uppercased()) \(path)"] = (operation as? Object)?["operationId"] as? String
      }
    }
    var table = Endpoint.all.map { ("\($0.method.name) \($0.path.text)", $0.operationID) }
    for endpoint in Endpoint.all where endpoint.method == .get {
      table.append(("HEAD \(endpoint.path.text)", endpoint.operationID + "Head"))
    }
    #expect(documented == Dictionary(uniqueKeysWithValues: table))
    #expect(try TestDaemon.ofCards(1).get("/openapi.json").body == answer.body)
  }

  @Test("every reference of the OpenAPI document names a component, and every component is referenced")
  func references() throws {
    let document = try Self.shared.get("/openapi.json").json
    var references: Set<String> = []
    func collect(_ value: Any) {
      if let object = value as? Object {
        if let reference = object["$ref"] as? String { references.insert(reference) }
        for member in object.values { collect(member) }
      } else if let list = value as? [Any] {
        for item in list { collect(item) }
      }
    }
    collect(document)
    var components: Set<String> = []
    for (section, entries) in try #require(document["components"] as? [String: Object])
    where section != "securitySchemes" {
      for name in entries.keys { components.insert("#/components/\(section)/\(name)") }
    }
    #expect(references == components)
    #expect(components.count > 50)
  }

  @Test("every link of the OpenAPI document leads to an operation that has the link's parameter")
  func links() throws {
    let document = try Self.shared.get("/openapi.json").json
    let operations = try #require(document["paths"] as? [String: [String: Object]])
    var parameters: [String: Set<String>] = [:]
    for operation in operations.values.flatMap(\.values) {
      let list = operation["parameters"] as? [Object] ?? []
      parameters[operation["operationId"] as? String ?? ""] = Set(list.compactMap { $0["name"] as? String })
    }
    var linked: Set<String> = []
    for operation in operations.values.flatMap(\.values) {
      for response in (operation["responses"] as? [String: Object] ?? [:]).values {
        for link in (response["links"] as? [String: Object] ?? [:]).values {
          let target = try #require(link["operationId"] as? String)
          let names = try #require(link["parameters"] as? [String: String])
          #expect(Set(names.keys).isSubset(of: parameters[target] ?? []), "\(target)")
          for (name, value) in names {
            #expect(value.hasPrefix("$response.body#/"), "\(target)")
            linked.insert(name)
          }
        }
      }
    }
    // Every identifier in a path can be taken from a response. A resource's type is a word, a file's name is in the page,
    // and a viewer chooses the parameters of an IIIF image.
    let chosen = ["type", "file", "region", "size", "rotation"]
    #expect(linked == Set(EndpointGroup.all.flatMap(\.path.parameters)).subtracting(chosen).union(["since"]))
  }

  private static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent()
  private static let folder = root.appending(path: "Sources/photod/photod.docc")

  @Test("the OpenAPI document and Access.md list the resources that need no credentials, and no others")
  func openResources() throws {
    let groups = EndpointGroup.all.filter { group in group.endpoints.contains { $0.requirement == .open } }
    let paths = groups.map(\.path.text).sorted()
    let info = try #require(try Self.shared.get("/openapi.json").json["info"] as? Object)
    let description = try #require(info["description"] as? String)
    let list = try #require(description.firstMatch(of: #/need no credentials: ([^.]+)\./#)).output.1
    #expect(list.components(separatedBy: ", ").sorted() == paths)
    let guide = try String(contentsOf: Self.folder.appending(path: "Access.md"), encoding: .utf8)
    let exceptions = try #require(guide.firstMatch(of: #/Exceptions are ([^.]+)\./#)).output.1
    #expect(exceptions.matches(of: #/`(\/[^`]*)`/#).map { String($0.output.1) }.sorted() == paths)
  }

  @Test("HTTP.md lists the endpoints that need a writing origin, those that a reading one may send, and no others")
  func otherOrigins() throws {
    let text = try String(contentsOf: Self.folder.appending(path: "HTTP.md"), encoding: .utf8)
    let section = try #require(text.components(separatedBy: "### Pages of other origins\n").last)
    let rows = section.split(separator: "\n")
    func documented(_ row: Substring?) throws -> [String] {
      try #require(row).matches(of: #/`([A-Z]+ [^`]+)`/#).map { String($0.output.1) }.sorted()
    }
    func names(_ endpoints: [Endpoint]) -> [String] {
      endpoints.map { "\($0.method.name) \($0.path.text)" }.sorted()
    }
    let writing = Endpoint.all.filter { !$0.isReading }
    #expect(try documented(rows.first(where: { $0.hasSuffix("| 403 | yes |") })) == names(writing))
    // Another row describes DELETE, whose response depends on the object's creator.
    let reading = Endpoint.all.filter { $0.isReading && [.post, .put, .patch].contains($0.method) }
    #expect(try documented(rows.first(where: { $0.hasPrefix("| POST, PUT and PATCH ") })) == names(reading))
  }

  @Test("every endpoint that the guides and the README name exists")
  func guides() throws {
    let guides = try FileManager.default.contentsOfDirectory(at: Self.folder, includingPropertiesForKeys: nil)
      .filter { $0.pathExtension == "md" }
    var count = 0
    for file in guides + [Self.root.appending(path: "README.md")] {
      let text = try String(contentsOf: file, encoding: .utf8)
      for match in text.matches(of: #/(?:\b(GET|HEAD|POST|PUT|DELETE|PATCH) )?(/v1/[A-Za-z0-9\/{}_-]+)/#) {
        // A path whose next segment is a variable of a shell.
        if match.output.2.hasSuffix("/") { continue }
        let name = "\(file.lastPathComponent): \(match.output.0)"
        let route = try #require(Route(Self.segments(match.output.2)), "\(name)")
        if let method = match.output.1 {
          #expect(route.group.endpoint(for: HTTPMethod(String(method))) != nil, "\(name)")
        }
        count += 1
      }
    }
    #expect(count > 50)
  }
}
