import Foundation
import PhotoFixtures
import Testing

/// The video of a motion photo, as a part of the picture's file.
@Suite("Motion photos", .blocking)
struct MotionPhotoTests {
  private static let place = "+47.5000+011.2500/"
  private static let movie = MovieFile { $0.userData = [("©xyz", place)] }.bytes
  private static let picture = livePicture(videoDistance: movie.count)

  /// - Parameter videoDistance: what XMP states as the number of bytes from the video to the end of the file.
  private static func livePicture(videoDistance: Int) -> [UInt8] {
    let packet = """
      <x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">\
      <rdf:Description rdf:about="" xmlns:GCamera="http://ns.google.com/photos/1.0/camera/" GCamera:MicroVideo="1" \
      GCamera:MicroVideoOffset="\(videoDistance)"/></rdf:RDF></x:xmpmeta>
      """
    return JPEGFile { $0.segments = [.xmp(packet)] }.encoded(Pixels.orientationCard(width: 64, height: 48))
  }

  private static let shared: TestDaemon = {
    do {
      return try TestDaemon {
        try $0.put(picture + movie, "MVIMG_1.jpg")
        // Saved by an editor that keeps XMP.
        try $0.put(picture, "edited.jpg")
        try $0.put(JPEGFile { _ in }.encoded(Pixels.orientationCard(width: 80, height: 48)), "still.jpg")
      }
    } catch {
      fatalError("no daemon: \(error)")
    }
  }()

  private static func asset(_ name: String = "MVIMG_1.jpg") throws -> String {
    "/v1/assets/\(try shared.identifier(name))"
  }

  private static func contains(_ text: String, _ bytes: [UInt8]) -> Bool {
    bytes.firstRange(of: Array(text.utf8)) != nil
  }

  @Test("the video is a resource of its own, after the picture, and the asset is live")
  func listed() throws {
    let asset = try Self.shared.get(Self.asset()).json
    #expect((asset["mediaSubtypes"] as? [String])?.contains("photoLive") == true)
    let list = try #require(try Self.shared.get(Self.asset() + "/resources").json["resources"] as? [[String: Any]])
    #expect(list.map { $0["type"] as? String } == ["photo", "pairedVideo"])
    #expect(list.map { $0["filename"] as? String } == ["MVIMG_1.jpg", "MVIMG_1.mp4"])
    #expect(list.map { $0["size"] as? Int } == [Self.picture.count + Self.movie.count, Self.movie.count])
    #expect(list[1]["uti"] as? String == "public.mpeg-4")
    let still = try #require(try Self.shared.get(Self.asset("still.jpg") + "/resources").json["resources"] as? [Any])
    #expect(still.count == 1)
    #expect(try Self.shared.get(Self.asset("still.jpg") + "/resources/pairedVideo/data").status == 404)
  }

  @Test("a picture whose metadata name a video that is not there is not live")
  func withoutItsVideo() throws {
    let asset = try Self.asset("edited.jpg")
    let subtypes = try #require(try Self.shared.get(asset).json["mediaSubtypes"] as? [String])
    #expect(!subtypes.contains("photoLive"))
    let list = try #require(try Self.shared.get(asset + "/resources").json["resources"] as? [Any])
    #expect(list.count == 1)
  }

  @Test("the data of the video is that part of the file, with ranges and an entity tag of its own")
  func data() throws {
    let target = try Self.asset() + "/resources/pairedVideo/data"
    let whole = try Self.shared.get(target + "?includeLocation=true")
    let isMovie = whole.body == Self.movie
    #expect(whole.status == 200 && isMovie && whole["Content-Type"] == "video/mp4")
    #expect(whole["Content-Disposition"]?.contains("MVIMG_1.mp4") == true)
    #expect(whole["ETag"] != nil)
    #expect(try Self.shared.get(Self.asset() + "/data?includeLocation=true")["ETag"] != whole["ETag"])
    let count = Self.movie.count
    for (field, range) in [
      ("bytes=0-9", 0..<10), ("bytes=-5", count - 5..<count), ("bytes=8-", 8..<count), ("bytes=0-99999999", 0..<count),
    ] {
      let part = try Self.shared.get(target + "?includeLocation=true", ["Range: \(field)"])
      let isPart = part.body == Array(Self.movie[range])
      #expect(part.status == 206 && isPart, "\(field)")
      #expect(part["Content-Range"] == "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(count)", "\(field)")
    }
    let beyond = try Self.shared.get(target, ["Range: bytes=\(count)-"])
    #expect(beyond.status == 416 && beyond["Content-Range"] == "bytes */\(count)")
    #expect(try Self.shared.get(target, method: "HEAD")["Content-Length"] == "\(count)")
  }

  @Test("the places of the video are removed, and nothing else")
  func places() throws {
    let target = try Self.asset() + "/resources/pairedVideo/data"
    let removed = try Self.shared.get(target)
    #expect(removed.body.count == Self.movie.count && !Self.contains(Self.place, removed.body))
    #expect(Self.contains(Self.place, Self.movie))
    let data = try Self.shared.get(Self.asset() + "/data").body
    let isPart = removed.body == Array(data.suffix(Self.movie.count))
    #expect(isPart)
    #expect(try Self.shared.get(target + "?includeLocation=true")["ETag"] != removed["ETag"])
  }

  @Test("a video in Samsung's trailer ends before the trailer does, although XMP counts up to the end of the file")
  func samsung() throws {
    func little(_ value: Int) -> [UInt8] { Boxes.number(value, 4).reversed() }
    let kind: [UInt8] = [0, 0, 0x30, 0x0A]
    let block = kind + little(16) + Array("MotionPhoto_Data".utf8) + Self.movie
    var directory = Array("SEFH".utf8) + little(106) + little(1)
    directory += kind + little(block.count) + little(block.count)
    let trailer = block + directory + little(directory.count) + Array("SEFT".utf8)
    let picture = Self.livePicture(videoDistance: Self.movie.count + directory.count + 8)
    let daemon = try TestDaemon { try $0.put(picture + trailer, "a.jpg") }
    let asset = "/v1/assets/\(try daemon.identifier("a.jpg"))"
    let video = try daemon.get(asset + "/resources/pairedVideo/data")
    #expect(video.status == 200 && video.body.count == Self.movie.count)
    let data = try daemon.get(asset + "/data")
    #expect(data.status == 200 && data.body.count == picture.count + trailer.count)
    #expect(!Self.contains(Self.place, video.body) && !Self.contains(Self.place, data.body))
  }

  @Test("an archive of all resources has the video as an entry of its own")
  func archived() throws {
    let identifier = try Self.shared.identifier("MVIMG_1.jpg")
    let video = try Self.shared.get(Self.asset() + "/resources/pairedVideo/data").body
    let data = try Self.shared.get(Self.asset() + "/data").body
    let entries = try ArchiveTests.entries(Self.shared.get("/v1/archive?assets=\(identifier)&resources=all").body)
    let isEqual = entries.map(\.bytes) == [data, video]
    #expect(entries.map(\.name) == ["MVIMG_1.jpg", "MVIMG_1.mp4"] && isEqual)
    let primary = try ArchiveTests.entries(Self.shared.get("/v1/archive?assets=\(identifier)").body)
    #expect(primary.map(\.name) == ["MVIMG_1.jpg"])
    // From its last bytes, so that both checksums are of files that this daemon has not sent.
    let daemon = try TestDaemon { try $0.put(Self.picture + Self.movie, "a.jpg") }
    let target = "/v1/archive?assets=\(try daemon.identifier("a.jpg"))&resources=all"
    let rest = try daemon.get(target, ["Range: bytes=-300"])
    let isSuffix = rest.body == Array(try daemon.get(target).body.suffix(300))
    #expect(rest.status == 206 && isSuffix)
  }
}
