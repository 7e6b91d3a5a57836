import Foundation
import PhotoFixtures
import Testing

/// A sidebar of moments, and the list of one moment's pictures, that streams keep up to date.
@Suite("Streams of moments", .blocking)
struct MomentStreamTests {
  private typealias Object = [String: Any]

  private static func picture(_ time: String) -> [UInt8] {
    let exif = EXIFBlock { $0.dateTimeOriginal = time }
    return JPEGFile { $0.exif = exif }.encoded(Pixels.orientationCard(width: 32, height: 24))
  }

  /// Reads events until the list has this many members. A list that lags behind never gets there.
  private func follow(_ stream: EventStream, to count: Int) throws {
    var now: Int?
    repeat {
      let event = try #require(stream.next(), "the stream has ended before there were \(count)")
      now = (event.json["fetchResultAfterChanges"] as? Object)?["count"] as? Int
    } while now != count
  }

  @Test("show uploads, scans and change lists, of few days and of many, without a further change")
  func changes() throws {
    let daemon = try TestDaemon(unwatched: { files in
      try files.put(Self.picture("2020:01:01 10:00:00"), "morning.jpg")
      try files.put(Self.picture("2020:01:01 14:00:00"), "afternoon.jpg")
    })
    let client = FetchResultClient(daemon: daemon)
    let found = try daemon.get("/v1/collections?type=moment").json["collections"] as? [Object] ?? []
    try #require(found.count == 2)
    let morning = try #require(found[1]["localIdentifier"] as? String)
    let moments = try client.listen(try client.fetch(#"{"collections": {"type": "moment"}}"#))
    let handle = try client.fetch("{\"collection\": \"\(morning)\"}")
    let pictures = try client.listen(handle)
    _ = (moments.begin(), pictures.begin())
    var screen = try FetchResultScreen(client, handle)

    // One between the two moments makes them one.
    #expect(try daemon.upload(Self.picture("2020:01:01 12:00:00"), "?filename=noon.jpg").status == 201)
    try follow(moments, to: 1)
    while screen.list.count != 3 { try screen.apply(try #require(pictures.next())) }

    let files = TestDaemon.Files(root: daemon.library)
    try files.put(Self.picture("2021:01:01 10:00:00"), "new-year.jpg")
    try daemon.requestScan()
    try follow(moments, to: 2)

    // More days than a change recomputes in its own transaction.
    let months = ["01", "03", "05"]
    for month in months {
      for day in 1...30 {
        let name = "\(month)-\(day < 10 ? "0" : "")\(day)"
        try files.put(Self.picture("2022:\(name.replacing("-", with: ":")) 10:00:00"), "\(name).jpg")
      }
    }
    try daemon.requestScan()
    try follow(moments, to: 92)
    let assets = try daemon.get("/v1/assets?limit=1000").json["assets"] as? [Object] ?? []
    let identifiers = assets.compactMap { $0["localIdentifier"] as? String }
    try #require(identifiers.count == 94)
    _ = try client.perform(identifiers.map { #"{"type": "updateAsset", "asset": "\#($0)", "isHidden": true}"# })
    try follow(moments, to: 0)
    while !screen.list.isEmpty { try screen.apply(try #require(pictures.next())) }
  }
}
