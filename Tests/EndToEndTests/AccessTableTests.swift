import Foundation
import HTTPCore
import PhotoAPI
import Testing

/// Every resource, requested by every kind of caller from every kind of page. A new endpoint needs rows in
/// `rows(of:in:)`, or the tests fail.
@Suite("Access of each kind of caller", .blocking)
struct AccessTableTests {
  @Test("every resource answers every kind of caller as the table says, and the table is complete")
  func table() throws {
    let worlds = try Self.worlds()
    for group in EndpointGroup.all {
      for who in CallerKind.allCases {
        let world = try #require(worlds[who.daemon])
        for row in Self.rows(of: group, in: world) {
          let path = try #require(row.target.split(separator: "?").first).split(separator: "/").map(String.init)
          let route = try #require(Route(path))
          #expect(route.group === group, "\(row.target) is another resource's")
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
      let world = try #require(worlds[.withTokens])
      let methods = Set(group.endpoints.map(\.method.name))
      #expect(
        methods == Set(Self.rows(of: group, in: world).map(\.method)),
        "\(group.path.text) has methods without a row")
    }
  }

  /// The smallest number of requests, callers and pages of the table. It grows with new endpoints.
  private static let leastSize = (rows: 72, callers: 20, origins: 6)

  @Test("every resource answers every kind of caller from every kind of page as the contract says")
  func origins() throws {
    struct Cell: Hashable {
      let method: String
      let path: String
      let who: CallerKind
      let origin: OriginKind
    }
    let arguments = ["corsOrigins=https://reader.example", "corsWriteOrigins=https://writer.example"]
      .flatMap { ["--set", $0] }
    // Invalid signatures are throttled, so a third of the pages ask each daemon. Of one of them, `--allow-anonymous` has
    // no effect, because tokens exist.
    let worlds = [
      try Self.worlds(arguments), try Self.worlds(arguments, ofTokens: ["--allow-anonymous"]),
      try Self.worlds(arguments),
    ]
    var count = 0
    var cells: Set<Cell> = []
    for group in EndpointGroup.all {
      for who in CallerKind.allCases {
        for (index, origin) in OriginKind.allCases.enumerated() {
          let world = try #require(worlds[index % worlds.count][who.daemon])
          for row in Self.rows(of: group, in: world) {
            let answer = try world.ask(row, as: who, from: origin)
            count += 1
            cells.insert(Cell(method: row.method, path: group.path.text, who: who, origin: origin))
            // Evaluated only if an expectation fails.
            func description() -> String {
              "\(row.method) \(row.target) by \(who.rawValue) from \(origin.rawValue): \(answer.json)"
            }
            let maySend = origin.maySend(row.method, group.path.text)
            #expect(answer.status == (maySend ? row.answers(who.seen(from: origin)) : 403), "\(description())")
            let isRefused = answer.status == 403 && answer.json["type"] as? String == "/problems/cross-site-request"
            #expect(isRefused == !maySend, "\(description())")
            let reads = [.reading, .writing].contains(origin)
            let isShared = group.allowsAllOrigins && who.daemon == .allowingAnonymous
            #expect((answer["Access-Control-Allow-Origin"] != nil) == (reads || isShared), "\(description())")
            if isShared { #expect(answer["Access-Control-Allow-Origin"] == "*", "\(description())") }
          }
        }
      }
    }
    let (callers, origins) = (CallerKind.allCases.count, OriginKind.allCases.count)
    let world = try #require(worlds[0][.withTokens])
    let rows = EndpointGroup.all.reduce(0) { $0 + Self.rows(of: $1, in: world).count }
    #expect(count == rows * callers * origins)
    #expect(cells.count == Endpoint.all.count * callers * origins, "a route, a caller or a page was left out")
    #expect(rows >= Self.leastSize.rows, "a request was removed from the table")
    #expect(callers >= Self.leastSize.callers && origins >= Self.leastSize.origins)
    print(
      "access table: \(Endpoint.all.count) routes x \(callers) callers x \(origins) origins = \(cells.count) cells, "
        + "\(count) requests")
  }

  /// A daemon of each kind.
  ///
  /// - Parameter ofTokens: further arguments of the daemon with tokens.
  private static func worlds(
    _ arguments: [String] = [], ofTokens: [String] = []
  ) throws -> [DaemonKind: AccessFixture] {
    var worlds: [DaemonKind: AccessFixture] = [:]
    for kind in DaemonKind.allCases {
      worlds[kind] = try AccessFixture(kind, arguments: arguments + (kind == .withTokens ? ofTokens : []))
    }
    return worlds
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
    case 403:
      // A limited administrator has the scope that metrics need, but does not see the whole library.
      let hasScope = who == .limitedAdmin && row.target == "/metrics"
      if case .scopes = who.standing, who.daemon == .withTokens, !hasScope {
        #expect(challenge?.contains("error=\"insufficient_scope\"") == true, "\(description)")
      }
      #expect(challenge?.contains("error=\"invalid_token\"") != true)
    default: #expect(challenge == nil, "\(description)")
    }
    if answer.status < 300, answer["Cache-Control"] != nil {
      #expect(answer["Cache-Control"]?.contains("public") == false)
    }
    let varies = String(decoding: answer.raw, as: UTF8.self).contains("Vary: Authorization, Cookie\r\n")
    #expect(varies == (who.daemon == .withTokens), "\(description)")
  }

  @Test("only an authenticated caller learns that a resource does not exist")
  func unknown() throws {
    let world = try AccessFixture(.withTokens)
    for (who, status) in [
      (CallerKind.anonymous, 401), (.revoked, 401), (.read, 404), (.session, 404), (.add, 404), (.signedImage, 403),
    ] {
      let row = Row(method: "GET", target: "/nothing", answers: { _ in status })
      #expect(try world.ask(row, as: who).status == status, "\(who)")
    }
    // A preflight has no credentials, and its response reveals no asset.
    #expect(try world.daemon.get("/v1/assets", method: "OPTIONS").status == 204)
  }
}
