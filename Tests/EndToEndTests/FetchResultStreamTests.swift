import Foundation
import Testing

/// A list on screen that a stream keeps up to date, over sockets.
@Suite("Streams of a fetch result", .blocking)
struct FetchResultStreamTests {
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
    let reader = FetchResultClient(
      daemon: daemon, fields: [TestDaemon.bearer(try daemon.makeToken(token[0], Array(token.dropFirst())))])
    let writer = FetchResultClient(
      daemon: daemon, fields: [TestDaemon.bearer(try daemon.makeToken("read,write,location"))])
    var changes = RandomChanges(albums: ["album-1", "album-2"], assets: assets, seed: UInt64(index))
    let opened = try reader.fetch(body)
    let first = try reader.members(opened)
    var screen = try FetchResultScreen(reader, opened)
    let stream = try reader.listen(opened)
    #expect(stream.status == 200 && stream.begin()?.hasSuffix(".\(opened)") == true)
    var events = 0
    for _ in 0..<30 {
      for _ in 0..<Int.random(in: 1...2, using: &changes.random) { _ = try writer.perform(changes.list()) }
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

  @Test("a reconnected browser continues after its last event, or reloads if that handle has expired")
  func resuming() throws {
    let daemon = try TestDaemon.ofCards()
    let client = FetchResultClient(daemon: daemon)
    let names = try (0..<4).map { try daemon.identifier("\($0).jpg") }
    func hide(_ number: Int, _ isHidden: Bool = true) throws {
      _ = try client.perform([#"{"type": "updateAsset", "asset": "\#(names[number])", "isHidden": \#(isHidden)}"#])
    }
    let opened = try client.fetch()
    var screen = try FetchResultScreen(client, opened)
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
    // Until then it may make a handle of the next change, which would end that of the first event.
    try daemon.until("the daemon has noticed") {
      String(decoding: try daemon.get("/metrics").body, as: UTF8.self).contains("\nphotod_http_connections 1\n")
    }
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
    screen = try FetchResultScreen(client, opened)
    stream = try client.listen(opened, ["Last-Event-ID: \(begin)"])
    try screen.apply(try #require(stream.next()))
    #expect(screen.list.map(\.identifier) == [names[3]])
    stream.leave()
    // Its handle has ended, so it reads the list at the handle that the event names.
    for lost in ["gone.gone", "gone", "."] {
      screen.list = []
      stream = try client.listen(opened, ["Last-Event-ID: \(lost)"])
      #expect(stream.begin() == nil, "the first event names the list to show")
      let reload = try #require(stream.next())
      #expect(reload.json["hasIncrementalChanges"] as? Bool == false)
      try screen.apply(reload)
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
    let client = FetchResultClient(daemon: daemon)
    let names = try (0..<4).map { try daemon.identifier("\($0).jpg") }
    func hide(_ number: Int) throws {
      _ = try client.perform([#"{"type": "updateAsset", "asset": "\#(names[number])", "isHidden": true}"#])
    }
    let opened = try client.fetch()
    // They leave no room. When they end, there is enough, whether the next two changes come in one event or in two.
    let others = try (0..<3).map { _ in try client.fetch() }
    var screen = try FetchResultScreen(client, opened)
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
}
