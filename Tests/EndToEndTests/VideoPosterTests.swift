import Foundation
import PhotoFixtures
import Testing

/// Frames of videos with the real decoder programs, where they are built.
@Suite("Videos over real sockets", .blocking)
struct VideoPosterTests {
  typealias File = CodedMovieFile

  private static let colors = CodedMovieSamples.colors

  private static let hevc = File(
    File.entry("hvc1", 40, 24, CodedHEIFFile.hvcC(sets: CodedSamples.parameterSets), colors),
    CodedSamples.tiles.map { File.Frame(Boxes.number($0.count, 4) + $0) })

  /// The sequence header is only in the description.
  private static let av1 = {
    let head = Array(CodedSamples.av1Tiles[0].prefix(11))
    var box = CodedHEIFFile.av1C() + head
    box.replaceSubrange(0..<4, with: Boxes.number(box.count, 4))
    return File(
      File.entry("av01", 40, 24, box, colors), CodedSamples.av1Tiles.map { File.Frame(Array($0.dropFirst(11))) })
  }()

  private func pixels(_ name: String, _ query: String, _ daemon: TestDaemon) throws -> Pixels {
    let answer = try daemon.get("/v1/assets/\(try daemon.identifier(name))/image?format=png\(query)")
    #expect(answer.status == 200 && answer.result("degraded") == "?0", "\(name): \(answer.status)")
    return try #require(Pixels.decoded(answer.body)).pixels.channels(3)
  }

  private func isClose(_ a: Pixels, _ b: Pixels) -> Bool {
    a.width == b.width && a.height == b.height
      && zip(a.bytes, b.bytes).allSatisfy { abs(Int($0) - Int($1)) <= 1 }
  }

  @Test(
    "a video is shown by its first frame that is not black, or by one at a time",
    .enabled(if: CodedImageTests.isBuilt("avcodec")))
  func avc() throws {
    let daemon = try TestDaemon { files in
      try files.put(CodedMovieSamples.avc().bytes, "plain.mp4")
      try files.put(
        CodedMovieSamples.avc { ($0.framesPerFragment, $0.matrix) = (1, (0, 1, -1, 0)) }.bytes, "turned.mov")
      try files.put(CodedMovieSamples.avc { $0.width = 80 }.bytes, "wide.mp4")
    }
    let (left, right) = (CodedMovieSamples.pixels(tile: 0), CodedMovieSamples.pixels(tile: 1))
    #expect(isClose(try pixels("plain.mp4", "", daemon), left))
    #expect(isClose(try pixels("plain.mp4", "&posterTime=2.9", daemon), right))
    #expect(isClose(try pixels("plain.mp4", "&posterTime=1", daemon), left))
    let black = try pixels("plain.mp4", "&posterTime=0", daemon)
    #expect(black.bytes.allSatisfy { $0 == 16 })
    #expect(isClose(try pixels("turned.mov", "", daemon).stored(orientation: 6), left))
    // Its pixels are not square: the picture has the size of the display.
    for (size, width, height) in [("max", 80, 24), ("60x60", 60, 18), ("40x40", 40, 12)] {
      let wide = try pixels("wide.mp4", "&targetSize=\(size)", daemon)
      #expect(wide.width == width && wide.height == height, "\(size): \(wide.width)x\(wide.height)")
    }

    let path = "/v1/assets/\(try daemon.identifier("plain.mp4"))"
    let asset = try daemon.get(path).json
    #expect(asset["isRenderable"] as? Bool == true && asset["mediaType"] as? String == "video")
    let tags = try ["", "?posterTime=1", "?posterTime=2"].map { try daemon.get("\(path)/image\($0)")["ETag"] }
    #expect(Set(tags).count == 3)
    #expect(try daemon.get("\(path)/image?posterTime=1", ["If-None-Match: \(try #require(tags[1]))"]).status == 304)
    for text in ["-1", "x", "1e3", "86401", ""] {
      #expect(try daemon.get("\(path)/image?posterTime=\(text)").status == 400, "\(text)")
    }
    // Microseconds count, and one time has one tag. A batch states a time in the form that a request has.
    let similar = try ["1.5", "1.50", "1.500001"].map { try daemon.get("\(path)/image?posterTime=\($0)")["ETag"] }
    #expect(similar[0] == similar[1] && similar[1] != similar[2])
    let assets = CachingTests.list([try daemon.identifier("plain.mp4")])
    let batch = try daemon.post("/v1/images", #"{"assets": \#(assets), "posterTime": 0.00001}"#)
    let place = try #require(try Multipart(batch).parts.first?.fields["content-location"])
    let answer = try daemon.get(place)
    #expect(place.contains("posterTime=0.000010") && answer.status == 200, "\(place): \(answer.status)")
  }

  @Test("frames of HEVC and AV1 are shown", .enabled(if: CodedImageTests.isBuilt("hevc")))
  func others() throws {
    let daemon = try TestDaemon { files in
      try files.put(Self.hevc.bytes, "hevc.mov")
      try files.put(Self.av1.bytes, "av1.mp4")
    }
    let names = ["hevc.mov"] + (CodedImageTests.isBuilt("av1") ? ["av1.mp4"] : [])
    for name in names {
      #expect(isClose(try pixels(name, "", daemon), CodedMovieSamples.pixels(tile: 0)), "\(name)")
      #expect(isClose(try pixels(name, "&posterTime=1", daemon), CodedMovieSamples.pixels(tile: 1)), "\(name)")
    }
  }

  @Test("ProRes in 4:4:4 is shown, also under a name of 4:2:2", .enabled(if: CodedImageTests.isBuilt("avcodec")))
  func proRes() throws {
    let movie = File(File.entry("apcs", 40, 24), [File.Frame(CodedMovieSamples.proRes)])
    let daemon = try TestDaemon { try $0.put(movie.bytes, "a.mov") }
    let shown = try pixels("a.mov", "", daemon)
    #expect(shown.width == 40 && shown.height == 24)
    let color = [0x30, 0x60, 0xC8]
    #expect(shown.bytes.indices.allSatisfy { abs(Int(shown.bytes[$0]) - color[$0 % 3]) <= 4 })
  }

  @Test("a frame of Motion JPEG needs no decoder program; other codecs name the package that is missing")
  func missing() throws {
    let jpeg = JPEGFile { $0.quality = 100 }.encoded(CodedMovieSamples.pixels(tile: 0))
    let daemon = try TestDaemon(
      { files in
        try files.put(File(File.entry("jpeg", 40, 24), [File.Frame(jpeg)]).bytes, "jpeg.mov")
        try files.put(CodedMovieSamples.avc().bytes, "avc.mp4")
        try files.put(File(File.entry("VP6F", 40, 24), [File.Frame([1])]).bytes, "other.mp4")
      }, arguments: ["--set", "decoders.folder=/nonexistent"])
    #expect(try pixels("jpeg.mov", "", daemon).width == 40)
    let avc = try daemon.get("/v1/assets/\(try daemon.identifier("avc.mp4"))/image")
    #expect(avc.status == 415 && String(decoding: avc.body, as: UTF8.self).contains("libavcodec59"))
    let other = try daemon.get("/v1/assets/\(try daemon.identifier("other.mp4"))/image")
    #expect(other.status == 415 && String(decoding: other.body, as: UTF8.self).contains("VP6F"))
    #expect(try daemon.get("/v1/assets/\(try daemon.identifier("other.mp4"))").json["isRenderable"] as? Bool == false)
  }

  @Test("a time has no effect on a picture")
  func picture() throws {
    let jpeg = JPEGFile().encoded(CodedMovieSamples.pixels(tile: 0))
    let daemon = try TestDaemon { try $0.put(jpeg, "a.jpg") }
    let path = "/v1/assets/\(try daemon.identifier("a.jpg"))/image"
    #expect(try daemon.get(path)["ETag"] == daemon.get("\(path)?posterTime=5")["ETag"])
  }
}
