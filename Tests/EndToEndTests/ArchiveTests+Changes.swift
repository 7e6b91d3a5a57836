import Foundation
import Testing

#if canImport(Glibc)
  import Glibc
#endif

/// Files that change before, between and during the transfers of archives.
extension ArchiveTests {
  @Test("a file that is missing or has changed is listed in the last entry, and the entity tag is another one")
  func errors() throws {
    let daemon = try TestDaemon(unwatched: Self.put)
    let target = try Self.target(daemon)
    try FileManager.default.removeItem(atPath: daemon.library + "/a/IMG_1.jpg")
    try Data(Self.picture(100)).write(to: URL(filePath: daemon.library + "/b/img_1.JPG"))
    let answer = try daemon.get(target)
    let entries = try Self.entries(answer.body)
    #expect(entries.map(\.name) == ["été_ 1.jpg", "photod-errors.txt"])
    let text = String(decoding: try #require(entries.last).bytes, as: UTF8.self)
    #expect(text.contains("IMG_1.jpg: the file is missing") && text.contains("img_1.JPG: the file has changed"))
  }

  @Test("a file that changes during the transfer ends it early, and the next archive has another entity tag")
  func changed() throws {
    let daemon = try TestDaemon(unwatched: {
      try $0.put(Self.large(24 << 20), "a.jpg")
      try $0.put(Self.picture(80), "b.jpg")
    })
    let target = try Self.target(["a.jpg", "b.jpg"], daemon)
    let before = try daemon.get(target, method: "HEAD")
    let length = try #require(before["Content-Length"].flatMap { Int($0) })
    let received = try Self.received(target, daemon) {
      #expect(truncate(daemon.library + "/a.jpg", 1 << 20) == 0)
    }
    #expect(received.count < length)
    let after = try daemon.get(target)
    #expect(after["ETag"] != before["ETag"])
    #expect(try Self.entries(after.body).map(\.name) == ["b.jpg", "photod-errors.txt"])
  }

  /// The response to a GET, with a step after the first 100,000 bytes.
  private static func received(
    _ target: String, _ daemon: TestDaemon, during step: () throws -> Void
  ) throws -> [UInt8] {
    let socket = try daemon.connection()
    defer { close(socket) }
    let request = Array("GET \(target) HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".utf8)
    try #require(send(socket, request, request.count, Int32(MSG_NOSIGNAL)) == request.count)
    var received: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 65_536)
    func read() -> Bool {
      let count = recv(socket, &chunk, chunk.count, 0)
      received += chunk[..<max(0, count)]
      return count > 0
    }
    while received.count < 100_000 { try #require(read()) }
    try step()
    while read() {}
    return received
  }

  @Test("a file whose mode or links change during the transfer is sent to its end, as is one that was not begun")
  func touched() throws {
    let daemon = try TestDaemon(unwatched: {
      try $0.put(Self.large(24 << 20), "a.jpg")
      try $0.put(Self.picture(80), "b.jpg")
    })
    let target = try Self.target(["a.jpg", "b.jpg"], daemon) + "&includeLocation=true"
    let before = try daemon.get(target, method: "HEAD")
    let received = try Self.received(target, daemon) {
      #expect(chmod(daemon.library + "/a.jpg", 0o640) == 0)
      #expect(link(daemon.library + "/b.jpg", daemon.library + "/.b.jpg") == 0)
    }
    let answer = try TestDaemon.parsed(received)
    let after = try daemon.get(target)
    let isSame = answer.body == after.body
    #expect(answer["ETag"] == before["ETag"] && after["ETag"] != before["ETag"] && isSame)
  }

  @Test("a file that was written in place before the place that is sent ends the transfer, with its old time too")
  func writtenDuringTransfer() throws {
    let daemon = try TestDaemon(unwatched: { try $0.put(Self.large(24 << 20), "a.jpg") })
    let target = try Self.target(["a.jpg"], daemon) + "&includeLocation=true"
    let before = try daemon.get(target, method: "HEAD")
    let length = try #require(before["Content-Length"].flatMap { Int($0) })
    let received = try Self.received(target, daemon) { try daemon.rewrite("a.jpg", [9, 9, 9], at: 50_000) }
    #expect(received.count < length)
    #expect(try daemon.get(target, method: "HEAD")["ETag"] != before["ETag"])
  }

  @Test("a file that was written in place and got its old time back gives another archive, with its own checksum")
  func writtenInPlace() throws {
    let picture = Self.large(1 << 20)
    let daemon = try TestDaemon(unwatched: {
      try $0.put(picture, "a.jpg")
      try $0.put(Self.picture(80), "b.jpg")
    })
    let target = try Self.target(["a.jpg", "b.jpg"], daemon) + "&includeLocation=true"
    let before = try daemon.get(target)
    try daemon.rewrite("a.jpg", [9, 9, 9], at: 500_000)
    let rest = "Range: bytes=\(before.body.count - 400)-\r\nIf-Range: \(before["ETag"] ?? "")\r\n"
    _ = try daemon.send("GET \(target) HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
    let after = try daemon.send("GET \(target) HTTP/1.1\r\nHost: localhost\r\n\(rest)Connection: close\r\n\r\n")
    let answer = try TestDaemon.parsed(after)
    #expect(answer.status == 200 && answer["ETag"] != before["ETag"])
    let entry = try #require(try Self.entries(answer.body).first)
    let isRewritten = entry.bytes[500_000..<500_003].elementsEqual([9, 9, 9])
    #expect(entry.name == "a.jpg" && isRewritten)
  }

  @Test("the next archive has a file with another mode, and one that was deleted and restored, and another entity tag")
  func touchedBetweenRequests() throws {
    let daemon = try TestDaemon(unwatched: Self.put)
    let target = try Self.target(daemon)
    let asset = try daemon.identifier("a/IMG_1.jpg")
    var tags = [try daemon.get(target)["ETag"]]
    func expectWholeArchive(_ what: String) throws {
      let answer = try daemon.get(target)
      #expect(answer.status == 200, "\(what)")
      let entries = try Self.entries(answer.body)
      let isEqual = entries.map(\.bytes) == Self.files.map(\.bytes)
      #expect(isEqual && !tags.contains(answer["ETag"]), "\(what)")
      #expect(try daemon.get(target)["ETag"] == answer["ETag"], "\(what)")
      tags.append(answer["ETag"])
    }
    #expect(chmod(daemon.library + "/b/img_1.JPG", 0o640) == 0)
    try expectWholeArchive("another mode")
    for type in ["deleteAsset", "restoreAsset"] {
      let change = #"{"changes": [{"type": "\#(type)", "asset": "\#(asset)"}]}"#
      #expect(try daemon.post("/v1/changes", change).status == 200, "\(type)")
    }
    try expectWholeArchive("deleted and restored")
  }

  @Test("the rest of an archive whose next file has changed is the whole new archive")
  func changedBeforeTheRest() throws {
    let daemon = try TestDaemon(unwatched: { try $0.put(Self.large(1 << 20), "a.jpg") })
    let target = try Self.target(["a.jpg"], daemon) + "&includeLocation=true"
    let before = try daemon.get(target)
    try daemon.rewrite("a.jpg", [9, 9, 9], at: 500_000)
    let after = try daemon.get(target, ["Range: bytes=400000-", "If-Range: \(before["ETag"] ?? "")"])
    #expect(after.status == 200 && after["ETag"] != before["ETag"])
    let entry = try #require(try Self.entries(after.body).first)
    let isRewritten = entry.bytes[500_000..<500_003].elementsEqual([9, 9, 9])
    #expect(isRewritten)
  }
}
