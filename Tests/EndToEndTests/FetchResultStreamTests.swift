import Foundation
import PhotoFixtures
import Testing

/// A list on screen that a stream keeps up to date, over sockets.
@Suite("Streams of a fetch result", .blocking)
struct FetchResultStreamTests {
  private typealias Object = [String: Any]

  /// The caller: without credentials, or with a token.
  private struct Client {
    let daemon: TestDaemon
    var fields: [String] = []

    func perform(_ entries: [String]) throws -> Object {
      let body = "{\"changes\": [\(entries.joined(separator: ","))]}"
      let answer = try daemon.post("/v1/changes", body, fields)
      try #require(answer.status == 200, "\(answer.json) \(body)")
      return answer.json
    }

    func fetch(_ body: String = #"{"sortDescriptors": "originalFilename"}"#) throws -> String {
      let answer = try daemon.post("/v1/fetchResults", body, fields)
      return try #require(answer.json["id"] as? String, "\(answer.json)")
    }

    func listen(_ fetchResult: String, _ more: [String] = []) throws -> EventStream {
      try EventStream(daemon, "?fetchResult=\(fetchResult)", fields + more)
    }

    func members(_ fetchResult: String) throws -> [DisplayedList] {
      let answer = try daemon.get("/v1/fetchResults/\(fetchResult)/assets?range=0-999", fields)
      let assets = try #require(answer.json["assets"] as? [Object], "\(answer.json)")
      return assets.map {
        DisplayedList($0["localIdentifier"] as? String ?? "", $0["revision"] as? String ?? "deleted")
      }
    }

    func end(_ fetchResult: String) throws -> Int {
      try daemon.ask("DELETE", "/v1/fetchResults/\(fetchResult)", fields).status
    }
  }

  /// An asset as a client shows it.
  private struct DisplayedList: Equatable {
    var identifier: String
    var revision: String

    init(_ identifier: String, _ revision: String) { (self.identifier, self.revision) = (identifier, revision) }

    static let unknown = DisplayedList("", "")
  }

  /// A client that follows only the documented rules.
  private struct Screen {
    let client: Client
    var list: [DisplayedList]
    var handle: String

    init(_ client: Client, _ handle: String) throws {
      self.client = client
      self.handle = handle
      list = try client.members(handle)
    }

    mutating func apply(_ event: EventStream.Event) throws {
      try #require(event.name == "change", "\(event)")
      let json = event.json
      let after = try #require(json["fetchResultAfterChanges"] as? Object)
      handle = try #require(after["id"] as? String)
      let token = try #require(after["changeToken"] as? String)
      #expect(event.id == "\(token).\(handle)")
      let members = try client.members(handle)
      #expect(members.count == after["count"] as? Int)
      guard json["hasIncrementalChanges"] as? Bool == true else {
        list = members
        return
      }
      let removed = try #require(json["removedIndexes"] as? [Int])
      let inserted = try #require(json["insertedIndexes"] as? [Int])
      let changed = try #require(json["changedIndexes"] as? [Int])
      let moves = try #require(json["moves"] as? [[String: Int]])
      #expect(removed.count + inserted.count + changed.count + moves.count > 0, "an empty delta is not sent")
      list = list.enumerated().filter { !removed.contains($0.offset) }.map(\.element)
      for index in inserted { list.insert(.unknown, at: index) }
      for index in changed { list[index].revision = "" }
      var rest = list.enumerated().filter { item in !moves.contains { $0["from"] == item.offset } }.map(\.element)[...]
      list = try members.indices.map { index in
        let from = moves.first { $0["to"] == index }?["from"]
        let other = from == nil ? rest.popFirst() : nil
        return try #require(from.map { list[$0] } ?? other)
      }
      // Reads inserted and changed assets; the others are unchanged.
      for (index, one) in list.enumerated() {
        if one == .unknown { list[index] = members[index] }
        if one.revision.isEmpty { list[index].revision = members[index].revision }
      }
      #expect(list.map(\.identifier) == members.map(\.identifier))
    }
  }

  /// A client that makes random changes.
  private struct Changer {
    let client: Client
    let albums: [String]
    var assets: [String]
    var trash: [String] = []
    private var deleted: [String] = []
    private var restored: [String] = []
    var random: SplitMix

    init(_ client: Client, albums: [String], assets: [String], seed: UInt64) {
      (self.client, self.albums, self.assets) = (client, albums, assets)
      random = SplitMix(state: seed)
    }

    /// Assets that a list deletes are in the trash afterwards; later lists can name assets that a list restores.
    mutating func list() -> [String] {
      let list = (0..<Int.random(in: 1...6, using: &random)).map { _ in entry() }
      trash += deleted
      assets += restored
      (deleted, restored) = ([], [])
      return list
    }

    private mutating func some() -> String {
      let count = Int.random(in: 1...3, using: &random)
      return "[" + assets.shuffled(using: &random).prefix(count).map { "\"\($0)\"" }.joined(separator: ",") + "]"
    }

    private mutating func entry() -> String {
      let asset = assets.randomElement(using: &random) ?? ""
      let album = albums.randomElement(using: &random) ?? ""
      switch Int.random(in: 0..<12, using: &random) {
      case 0, 1: return #"{"type": "updateAsset", "asset": "\#(asset)", "isFavorite": \#(Bool.random(using: &random))}"#
      case 2: return #"{"type": "updateAsset", "asset": "\#(asset)", "isHidden": \#(Bool.random(using: &random))}"#
      case 3, 4:
        let day = Int.random(in: 10...28, using: &random)
        return #"{"type": "updateAsset", "asset": "\#(asset)", "creationDate": "2020-01-\#(day)T00:00:00Z"}"#
      case 5:
        let place = #"{"latitude": \#(Int.random(in: 0...9, using: &random)), "longitude": 1}"#
        return #"{"type": "updateAsset", "asset": "\#(asset)", "location": \#(place)}"#
      case 6 where assets.count > 6:
        assets.removeAll { $0 == asset }
        deleted.append(asset)
        return #"{"type": "deleteAsset", "asset": "\#(asset)"}"#
      case 6, 7:
        guard let back = trash.popLast() else { fallthrough }
        restored.append(back)
        return #"{"type": "restoreAsset", "asset": "\#(back)"}"#
      case 8: return #"{"type": "addAssets", "collection": "\#(album)", "assets": \#(some())}"#
      case 9, 10: return #"{"type": "insertAssets", "collection": "\#(album)", "assets": \#(some()), "index": 0}"#
      default: return #"{"type": "removeAssets", "collection": "\#(album)", "assets": \#(some())}"#
      }
    }
  }

  /// The fetch and its caller: all of the library with places, all without places, or only the albums.
  static let fetches: [(name: String, body: String, token: [String])] = [
    ("the newest first", "{}", ["read,location"]),
    (
      "by name, what is no favourite", #"{"sortDescriptors": "originalFilename", "predicate": "isFavorite == NO"}"#,
      ["read"]
    ),
    (
      "hidden ones too, by two keys", #"{"sortDescriptors": "-isFavorite,creationDate", "includeHiddenAssets": true}"#,
      ["read"]
    ),
    ("an album in its order", #"{"collection": "album-1"}"#, ["read,location"]),
    (
      "an album by date, limited to it", #"{"collection": "album-1", "sortDescriptors": "creationDate"}"#,
      ["read,location", "--limit-to", "album-1"]
    ),
    (
      "a part of the library", #"{"sortDescriptors": "pixelWidth"}"#,
      ["read", "--limit-to", "album-1", "--limit-to", "album-2"]
    ),
    (
      "the first five, read again",
      #"{"sortDescriptors": "-fileSize", "predicate": "pixelHeight > 1", "fetchLimit": 5}"#, ["read"]
    ),
    ("places", #"{"sortDescriptors": "originalFilename", "predicate": "latitude > 4"}"#, ["read,location"]),
  ]

  @Test(
    "each event, applied to the client's list, gives the list of the new handle", arguments: fetches.indices)
  func property(_ index: Int) throws {
    let (name, body, token) = Self.fetches[index]
    // The client's handle, two of the stream, and one to compare with: a stream never holds more, however long it runs.
    let daemon = try TestDaemon.ofCards(12, settings: "PHOTOD_FETCH_RESULTS_HANDLES=4")
    let all = (0..<12).map { "\($0).jpg" }
    try daemon.makeAlbum("album-1", title: "One", Array(all[..<6]))
    try daemon.makeAlbum("album-2", title: "Two", Array(all[4..<9]))
    let assets = try all.map(daemon.identifier)
    let reader = Client(
      daemon: daemon, fields: [TestDaemon.bearer(try daemon.makeToken(token[0], Array(token.dropFirst())))])
    let writer = Client(daemon: daemon, fields: [TestDaemon.bearer(try daemon.makeToken("read,write,location"))])
    var changer = Changer(writer, albums: ["album-1", "album-2"], assets: assets, seed: UInt64(index))
    let opened = try reader.fetch(body)
    let first = try reader.members(opened)
    var screen = try Screen(reader, opened)
    let stream = try reader.listen(opened)
    #expect(stream.status == 200 && stream.begin()?.hasSuffix(".\(opened)") == true)
    var events = 0
    for _ in 0..<30 {
      for _ in 0..<Int.random(in: 1...2, using: &changer.random) { _ = try writer.perform(changer.list()) }
      let now = try reader.fetch(body)
      let expected = try reader.members(now)
      #expect(try reader.end(now) == 204)
      while screen.list != expected {
        try screen.apply(try #require(stream.next(), "\(name): the stream has ended"))
        events += 1
      }
    }
    #expect(events > 5, "\(name)")
    #expect(try reader.members(opened).map(\.identifier) == first.map(\.identifier), "the first handle is unchanged")
  }

  @Test(
    "changes outside the list cause no event; a stream keeps its last two handles and the client's own"
  )
  func handles() throws {
    let daemon = try TestDaemon.ofCards()
    let client = Client(daemon: daemon)
    let names = try (0..<4).map { try daemon.identifier("\($0).jpg") }
    let made = try client.perform([
      #"{"type": "createAlbum", "title": "A", "placeholder": "$a"}"#,
      #"{"type": "addAssets", "collection": "$a", "assets": ["\#(names[0])", "\#(names[1])"]}"#,
    ])
    let album = try #require((made["created"] as? Object)?["$a"] as? String)
    let opened = try client.fetch("{\"collection\": \"\(album)\"}")
    var screen = try Screen(client, opened)
    let stream = try client.listen(opened)
    _ = stream.begin()
    var told: [String] = []
    for number in 0..<4 {
      _ = try client.perform([#"{"type": "updateAsset", "asset": "\#(names[3])", "isFavorite": \#(number % 2 == 0)}"#])
      _ = try client.perform([#"{"type": "createAlbum", "title": "\#(number)"}"#])
      _ = try client.perform([
        #"{"type": "moveAssets", "collection": "\#(album)", "assets": ["\#(names[number % 2])"], "index": 1}"#
      ])
      try screen.apply(try #require(stream.next()))
      #expect(screen.list.map(\.identifier) == [names[1 - number % 2], names[number % 2]])
      told.append(screen.handle)
    }
    #expect(try told.map { try daemon.get("/v1/fetchResults/\($0)").status } == [404, 404, 200, 200])
    #expect(try client.members(opened).map(\.identifier) == [names[0], names[1]])
    // The client ends its handle, and the stream continues.
    #expect(try client.end(opened) == 204)
    #expect(try client.end(told[3]) == 204)
    _ = try client.perform([#"{"type": "removeAssets", "collection": "\#(album)", "assets": ["\#(names[0])"]}"#])
    try screen.apply(try #require(stream.next()))
    #expect(screen.list.map(\.identifier) == [names[1]])
    // The album is deleted.
    _ = try client.perform([#"{"type": "deleteCollection", "collection": "\#(album)"}"#])
    try screen.apply(try #require(stream.next()))
    #expect(screen.list.isEmpty)
  }

  @Test("a reconnected browser continues after its last event, or reloads if that handle has expired")
  func resuming() throws {
    let daemon = try TestDaemon.ofCards()
    let client = Client(daemon: daemon)
    let names = try (0..<4).map { try daemon.identifier("\($0).jpg") }
    func hide(_ number: Int, _ isHidden: Bool = true) throws {
      _ = try client.perform([#"{"type": "updateAsset", "asset": "\#(names[number])", "isHidden": \#(isHidden)}"#])
    }
    let opened = try client.fetch()
    var screen = try Screen(client, opened)
    var stream = try client.listen(opened)
    let begin = try #require(stream.begin())
    try hide(0)
    let first = try #require(stream.next())
    try screen.apply(first)
    let before = screen
    try hide(1)
    let second = try #require(stream.next())
    try screen.apply(second)
    stream.leave()
    try hide(2)
    // The client received everything.
    stream = try client.listen(opened, ["Last-Event-ID: \(second.id ?? "")"])
    #expect(stream.begin() == second.id)
    try screen.apply(try #require(stream.next()))
    #expect(screen.list.map(\.identifier) == [names[3]])
    stream.leave()
    // The last event was lost on its way.
    screen = before
    stream = try client.listen(opened, ["Last-Event-ID: \(first.id ?? "")"])
    let missed = try #require(stream.next())
    try screen.apply(missed)
    #expect(missed.json["removedIndexes"] as? [Int] == [0, 1] && screen.list.map(\.identifier) == [names[3]])
    stream.leave()
    // The client received only the first event.
    screen = try Screen(client, opened)
    stream = try client.listen(opened, ["Last-Event-ID: \(begin)"])
    try screen.apply(try #require(stream.next()))
    #expect(screen.list.map(\.identifier) == [names[3]])
    stream.leave()
    // Its handle has ended, so it reads the list at the handle that the event names.
    for lost in ["gone.gone", "gone", "."] {
      screen.list = []
      stream = try client.listen(opened, ["Last-Event-ID: \(lost)"])
      #expect(stream.begin() == nil, "the first event names the list to show")
      let anew = try #require(stream.next())
      #expect(anew.json["hasIncrementalChanges"] as? Bool == false)
      try screen.apply(anew)
      #expect(screen.list.map(\.identifier) == [names[3]])
      stream.leave()
    }
    try hide(0, false)
    stream = try client.listen(screen.handle, ["Last-Event-ID: gone.gone"])
    try screen.apply(try #require(stream.next()))
    try hide(1, false)
    try screen.apply(try #require(stream.next()))
    #expect(screen.list.map(\.identifier) == [names[0], names[1], names[3]])
    // The handle that it shows exists; the one that it began with does not.
    #expect(try client.end(opened) == 204)
    let last = "x.\(screen.handle)"
    stream = try client.listen(opened, ["Last-Event-ID: \(last)"])
    try hide(2, false)
    try screen.apply(try #require(stream.next()))
    #expect(screen.list.map(\.identifier) == names)
    #expect(try client.listen(opened).status == 404)
    #expect(try client.listen(opened, ["Last-Event-ID: gone.gone"]).status == 404)
  }

  @Test("without space for another handle the client gets one event, and the changes once there is space")
  func noRoom() throws {
    let daemon = try TestDaemon.ofCards(settings: "PHOTOD_FETCH_RESULTS_HANDLES=4")
    let client = Client(daemon: daemon)
    let names = try (0..<4).map { try daemon.identifier("\($0).jpg") }
    func hide(_ number: Int) throws {
      _ = try client.perform([#"{"type": "updateAsset", "asset": "\#(names[number])", "isHidden": true}"#])
    }
    let opened = try client.fetch()
    // They leave no room. When they end, there is enough, whether the next two changes come in one event or in two.
    let others = try (0..<3).map { _ in try client.fetch() }
    var screen = try Screen(client, opened)
    let stream = try client.listen(opened)
    let begin = stream.begin()
    try hide(0)
    let reload = try #require(stream.next())
    #expect(reload.name == "reload" && reload.id == begin && reload.json["changeToken"] is String)
    try hide(1)
    for other in others { #expect(try client.end(other) == 204) }
    try hide(2)
    // In both cases, the next event continues from the last reported list.
    while screen.list.count > 1 { try screen.apply(try #require(stream.next())) }
    #expect(screen.list.map(\.identifier) == [names[3]])
  }

  @Test("the last handle of a stream does not expire while the stream is open")
  func lease() throws {
    let daemon = try TestDaemon.ofCards(
      settings: "PHOTOD_FETCH_RESULTS_LEASE_SECONDS=2 PHOTOD_CHANGES_STREAM_HEARTBEAT_SECONDS=1")
    let client = Client(daemon: daemon)
    let (streamed, unused) = (try client.fetch(), try client.fetch())
    let stream = try client.listen(streamed)
    _ = stream.begin()
    // Longer than the lease.
    for _ in 0..<4 { #expect(stream.beats()); _ = stream.next(untilEmpty: true) }
    #expect(try daemon.get("/v1/fetchResults/\(unused)").status == 404)
    #expect(try daemon.get("/v1/fetchResults/\(streamed)").status == 200)
  }

  @Test("a caller that loses the location scope loses the fetch results that used locations, and keeps the others")
  func lostScope() throws {
    let daemon = try TestDaemon.ofCards(settings: "PHOTOD_CHANGES_STREAM_HEARTBEAT_SECONDS=1")
    let client = Client(
      daemon: daemon, fields: [TestDaemon.bearer(try daemon.makeToken("read,location", ["--name", "a"]))])
    let placed = [
      try client.fetch(#"{"predicate": "isFavorite == NO AND NOT (latitude > 1 OR pixelWidth == 1)"}"#),
      try client.fetch(#"{"predicate": "latitude == longitude"}"#),
      try client.fetch(#"{"sortDescriptors": "creationDate,-longitude"}"#),
    ]
    let other = try client.fetch()
    let stream = try client.listen(placed[0])
    let last = try #require(stream.begin())
    func statuses(_ handle: String) throws -> [Int] {
      let members = #"{"fetchResults": ["\#(handle)"]}"#
      let window = #"{"fetchResult": "\#(handle)", "visible": [0, 1], "targetSize": "9x9"}"#
      return [
        try daemon.get("/v1/fetchResults/\(handle)", client.fields).status,
        try daemon.get("/v1/fetchResults/\(handle)/assets", client.fields).status,
        try daemon.get("/v1/fetchResults/\(handle)/changes", client.fields).status,
        try daemon.ask("POST", "/v1/transientCollections", client.fields, body: members).status,
        try daemon.ask("PUT", "/v1/cachingManagers/default/window", client.fields, body: window).status,
        try client.listen(handle).status,
      ]
    }
    for handle in placed + [other] { #expect(try statuses(handle) == [200, 200, 200, 201, 200, 200]) }
    try daemon.script("access.sqlite", "UPDATE token SET scopes = 'read' WHERE name = 'a'")
    try daemon.until("it is known") {
      try daemon.get("/v1/authorization", client.fields).json["scopes"] as? [String] == ["read"]
    }
    for handle in placed { #expect(try statuses(handle) == Array(repeating: 404, count: 6)) }
    #expect(try client.listen(placed[0], ["Last-Event-ID: \(last)"]).status == 404)
    #expect(try statuses(other) == [200, 200, 200, 201, 200, 200])
    // The stream ends at its next event.
    while stream.beats() { _ = stream.next(untilEmpty: true) }
    #expect(stream.next() == nil)
  }

  @Test("parameters that exclude each other are refused by name; another caller's handle does not exist")
  func refused() throws {
    let daemon = try TestDaemon.ofCards(1)
    let mine = Client(
      daemon: daemon, fields: [TestDaemon.bearer(try daemon.makeToken("read,location", ["--name", "a"]))])
    let others = Client(
      daemon: daemon, fields: [TestDaemon.bearer(try daemon.makeToken("read,location", ["--name", "b"]))])
    let handle = try mine.fetch()
    let token = try #require(try daemon.get("/v1/assets", mine.fields).json["changeToken"] as? String)
    for (parameter, value) in [("since", token), ("types", "asset"), ("collection", "album"), ("stranger", "1")] {
      let answer = try daemon.get("/v1/changes/stream?fetchResult=\(handle)&\(parameter)=\(value)", mine.fields)
      #expect(answer.status == 400 && answer.json["parameter"] as? String == parameter, "\(answer.json)")
    }
    for (client, name) in [(others, handle), (mine, "none"), (mine, "")] {
      let answer = try daemon.get("/v1/changes/stream?fetchResult=\(name)", client.fields)
      #expect(answer.status == 404 && answer.json["type"] as? String == "/problems/fetch-result-not-found")
    }
    #expect(try others.listen(handle, ["Last-Event-ID: x.\(handle)"]).status == 404)
    let history = try daemon.get("/v1/changes?since=\(token)&fetchResult=\(handle)", mine.fields)
    #expect(history.status == 400 && history.json["parameter"] as? String == "fetchResult")
    #expect(try daemon.get("/v1/changes/stream?fetchResult=\(handle)", mine.fields, method: "HEAD").status == 200)
    // A stream ends with its token, as others do.
    let stream = try mine.listen(handle)
    _ = stream.begin()
    _ = try daemon.token(["revoke", "a"])
    try daemon.until("it is revoked") { try daemon.get("/v1/assets", mine.fields).status == 401 }
    _ = try Client(daemon: daemon, fields: [TestDaemon.bearer(try daemon.makeToken("read,write"))]).perform([
      #"{"type": "createAlbum", "title": "A"}"#
    ])
    #expect(stream.next() == nil)
  }
}
