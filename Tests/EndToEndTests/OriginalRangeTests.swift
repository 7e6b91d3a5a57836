import CPhotodSystem
import Foundation
import PhotoFixtures
import Testing

#if canImport(Glibc)
  import Glibc
#endif

/// Ranges of a file that was asked for a moment ago, which are answered without a turn of another queue.
@Suite("Further ranges of an original", .blocking)
struct OriginalRangeTests {
  /// A picture with a place, and a comment of 65,533 bytes.
  private static let picture: [UInt8] = {
    let exif = EXIFBlock { ($0.latitude, $0.longitude) = (52.52, 13.405) }
    let picture = JPEGFile { $0.exif = exif }.encoded(Pixels.orientationCard(width: 64, height: 48))
    var bytes = Array(picture.prefix(2))
    bytes += [0xFF, 0xFE, 0xFF, 0xFF]
    bytes += (0..<65_533).map { UInt8(truncatingIfNeeded: $0) }
    return bytes + picture.dropFirst(2)
  }()

  private static func daemon(_ arguments: [String] = []) throws -> (TestDaemon, target: String) {
    let daemon = try TestDaemon({ try $0.put(picture, "a.jpg") }, arguments: arguments)
    return (daemon, "/v1/assets/\(try daemon.identifier("a.jpg"))/data")
  }

  private static func preparedCount(_ daemon: TestDaemon) throws -> Int {
    Int(try #require(try CachingTests.metric("photod_http_prepared_responses_total", daemon)))
  }

  /// Whether the file system says what is in the page cache (preadv2(2), RWF_NOWAIT); tmpfs does not.
  private static func isSupported(_ daemon: TestDaemon) throws -> Bool {
    let descriptor = open(daemon.library + "/a.jpg", O_RDONLY)
    try #require(descriptor >= 0)
    defer { close(descriptor) }
    var byte: UInt8 = 0
    return withUnsafeMutableBytes(of: &byte) {
      photod_read_cached(descriptor, $0.baseAddress, 1, 0) == 1
    }
  }

  @Test("equal the first range in every field, and have no place")
  func same() throws {
    let (daemon, target) = try Self.daemon()
    let whole = try daemon.get(target).body
    #expect(whole.count == Self.picture.count && whole != Self.picture)
    let tag = try #require(try daemon.get(target, method: "HEAD")["ETag"])
    let first = try daemon.get(target, ["Range: bytes=0-9"])
    let before = try Self.preparedCount(daemon)
    var count = 0
    for step in [1000, 7919, 66_000, 200_000] {
      for start in stride(from: 0, to: whole.count, by: step) {
        let range = start..<min(start + step, whole.count)
        for conditions in [[], ["If-Range: \(tag)"]] {
          let answer = try daemon.get(target, ["Range: bytes=\(start)-\(start + step - 1)"] + conditions)
          let isPart = answer.body == Array(whole[range])
          #expect(answer.status == 206 && isPart, "\(range)")
          #expect(answer["Content-Range"] == "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(whole.count)")
          #expect(answer["Content-Length"] == "\(range.count)")
          #expect(Set(answer.fields.keys) == Set(first.fields.keys))
          for (name, value) in first.fields where !["content-range", "content-length", "date"].contains(name) {
            #expect(answer[name] == value, "\(name)")
          }
          count += 1
        }
      }
    }
    #expect(try Self.preparedCount(daemon) - before == (Self.isSupported(daemon) ? count : 0))
  }

  @Test("long ranges and whole files are the same when they are sent again, until the file is replaced")
  func long() throws {
    let comment = [0xFF, 0xFE, 0xFF, 0xFF] + (0..<65_533).map { UInt8(truncatingIfNeeded: $0 / 7) }
    let file = Array(Self.picture.prefix(2)) + Array(repeating: comment, count: 90).joined() + Self.picture.dropFirst(2)
    let daemon = try TestDaemon { try $0.put(file, "a.jpg") }
    let target = "/v1/assets/\(try daemon.identifier("a.jpg"))/data"
    let whole = try daemon.get(target).body
    #expect(whole.count == file.count && whole != file)
    for (fields, range) in [
      ([], 0..<file.count), (["Range: bytes=0-"], 0..<file.count), (["Range: bytes=0-1048575"], 0..<1_048_576),
      (["Range: bytes=1000-3000000"], 1000..<3_000_001),
      (["Range: bytes=-2000000"], file.count - 2_000_000..<file.count),
    ] {
      for round in 0..<3 {
        let answer = try daemon.get(target, fields)
        let isSame = answer.body == Array(whole[range])
        #expect(isSame && answer.status == (fields.isEmpty ? 200 : 206), "\(fields), round \(round)")
        #expect(answer["Content-Length"] == "\(range.count)" && answer["ETag"] != nil)
      }
    }
    let other = Array(file.prefix(2)) + Array(repeating: comment, count: 40).joined() + Self.picture.dropFirst(2)
    try Data(other).write(to: URL(filePath: daemon.library + "/a.jpg"), options: .atomic)
    try daemon.requestScan()
    try daemon.until("the other file is sent") {
      let answer = try daemon.get(target)
      #expect(answer.status != 200 || [file.count, other.count].contains(answer.body.count))
      return answer.body.count == other.count
    }
  }

  @Test("with conditions, several ranges, suffixes and other methods get the same answer as the first range")
  func others() throws {
    let (daemon, target) = try Self.daemon()
    let tag = try #require(try daemon.get(target, method: "HEAD")["ETag"])
    let cases: [(fields: [String], status: Int)] = [
      (["Range: bytes=0-9", "If-Range: \"other\""], 200), (["Range: bytes=0-9", "If-Range: W/\(tag)"], 200),
      (["Range: bytes=0-9", "If-None-Match: \(tag)"], 304), (["Range: bytes=0-9", "If-Match: \"other\""], 412),
      (["Range: bytes=0-9", "If-Match: \(tag)"], 206), (["Range: bytes=0-9,20-29"], 206), (["Range: bytes=-9"], 206),
      (["Range: bytes=9999999-"], 416), (["Range: bytes=9-0"], 200), (["Range: lines=0-9"], 200),
      (["Range: bytes=0-9", "Origin: http://other.example"], 206),
      (["Range: bytes=0-9", "Sec-Fetch-Site: cross-site"], 206),
      (["Range: bytes=0-9", "Authorization: Bearer unknown"], 401),
    ]
    for (fields, status) in cases {
      let first = try daemon.get(target, fields)
      _ = try daemon.get(target, ["Range: bytes=0-9"])
      let second = try daemon.get(target, fields)
      #expect(first.status == status && second.status == status, "\(fields): \(first.status), \(second.status)")
      if !fields[0].contains(",") && status != 401 { #expect(first.body == second.body, "\(fields)") }
    }
    #expect(try daemon.get(target, ["Range: bytes=0-9"], method: "HEAD").status == 200)
    let raw = try daemon.send(
      "GET \(target) HTTP/1.1\r\nHost: evil.example\r\nRange: bytes=0-9\r\nConnection: close\r\n\r\n")
    #expect(try TestDaemon.parsed(raw).status == 421)
  }

  @Test("are refused once the asset is deleted, or the caller's token is revoked")
  func changed() throws {
    let (daemon, target) = try Self.daemon()
    let token = TestDaemon.bearer(try daemon.makeToken("read", ["--name", "reader"]))
    let admin = TestDaemon.bearer(try daemon.makeToken("read,write,location,admin"))
    func range(_ fields: String...) throws -> Int {
      try daemon.get(target, ["Range: bytes=0-9"] + fields).status
    }
    for _ in 0..<2 { #expect(try range(token) == 206 && range(admin) == 206) }
    #expect(try range() == 401)
    // The places stay hidden from a caller whose class of callers may see the same assets.
    let withPlaces = target + "?includeLocation=true"
    for _ in 0..<2 { #expect(try daemon.get(withPlaces, [admin, "Range: bytes=0-9"]).status == 206) }
    #expect(try daemon.get(withPlaces, [token, "Range: bytes=0-9"]).status == 403)
    _ = try daemon.token(["revoke", "reader"])
    try daemon.until("the token is revoked") { try range(token) == 401 }
    #expect(try range(admin) == 206)
    let identifier = target.split(separator: "/")[2]
    let list = "{\"changes\": [{\"type\": \"deleteAsset\", \"asset\": \"\(identifier)\"}]}"
    #expect(try daemon.post("/v1/changes", list, [admin]).status == 200)
    #expect(try range(admin) == 404)
  }

  @Test("parts that become zeros are as long as they were, in the whole file and in ranges")
  func zeros() throws {
    let plain = PNGFile(.rgb(depth: 8)).encoded(Pixels.orientationCard(width: 64, height: 48))
    let content = [UInt8](repeating: 87, count: 3 << 20)
    let file = Array(plain.prefix(33)) + PNGChunks.chunk("prVt", content) + plain[33...]
    let removed = PNGChunks.chunk("plZz", [UInt8](repeating: 0, count: content.count))
    let expected = Array(plain.prefix(33)) + removed + plain[33...]
    let daemon = try TestDaemon { try $0.put(file, "a.png") }
    let target = "/v1/assets/\(try daemon.identifier("a.png"))/data"
    let whole = try daemon.get(target)
    let isRemoved = whole.body == expected
    #expect(whole.status == 200 && isRemoved)
    for range in [0..<50, 30..<200_000, 1_000_000..<3_000_000, (3 << 20)..<expected.count] {
      let answer = try daemon.get(target, ["Range: bytes=\(range.lowerBound)-\(range.upperBound - 1)"])
      let isPart = answer.body == Array(expected[range])
      #expect(answer.status == 206 && isPart, "\(range)")
    }
  }

  @Test("with http.maximumRanges=0, ranges are ignored and not announced: of images, originals and archives")
  func ignored() throws {
    let (daemon, data) = try Self.daemon(["--set", "http.maximumRanges=0"])
    let identifier = try daemon.identifier("a.jpg")
    for target in [data, "/v1/assets/\(identifier)/image?targetSize=20x20", "/v1/archive?assets=\(identifier)"] {
      // The first response may prepare the others.
      for _ in 0..<3 {
        let answer = try daemon.get(target, ["Range: bytes=0-9"])
        #expect(answer.status == 200 && answer.body.count > 10, "\(target)")
        #expect(answer["Accept-Ranges"] == nil && answer["Content-Range"] == nil, "\(target)")
      }
      #expect(try daemon.get(target, method: "HEAD")["Accept-Ranges"] == nil, "\(target)")
    }
  }
}
