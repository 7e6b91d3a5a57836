import Foundation
import PhotoFixtures
import Testing

/// HEIC, AVIF, WebP and JPEG XL with the real decoder programs, where they are built.
@Suite("HEIC, AVIF, WebP and JPEG XL over real sockets", .blocking)
struct CodedImageTests {
  private static let programs = URL(filePath: TestDaemon.binary).deletingLastPathComponent().path

  static func isBuilt(_ codec: String) -> Bool {
    FileManager.default.isExecutableFile(atPath: "\(programs)/photod-decoder-\(codec)")
  }

  private func pixels(_ name: String, _ query: String, _ daemon: TestDaemon) throws -> Pixels {
    let answer = try daemon.get("/v1/assets/\(try daemon.identifier(name))/image?format=png&\(query)")
    #expect(answer.status == 200 && answer.result("degraded") == "?0", "\(name): \(answer.status)")
    #expect(answer["Server-Timing"]?.contains("worker;dur=") == true)
    return try #require(Pixels.decoded(answer.body)).pixels
  }

  private func largestDifference(_ a: Pixels, _ b: Pixels) -> Int {
    guard a.width == b.width, a.height == b.height, a.channels == b.channels else { return .max }
    return zip(a.bytes, b.bytes).reduce(0) { max($0, abs(Int($1.0) - Int($1.1))) }
  }

  @Test("a HEIC grid is rendered whole, cropped, turned and small", .enabled(if: isBuilt("hevc")))
  func heic() throws {
    let daemon = try TestDaemon { files in
      try files.put(CodedSamples.heic(), "plain.heic")
      try files.put(CodedSamples.heic([CodedHEIFFile.irot(3)]), "turned.heic")
      try files.put(CodedSamples.heic([CodedHEIFFile.clap([31, 1, 12, 1, 2, 1, 1, 1])]), "cut.heic")
    }
    let whole = CodedSamples.heicPixels
    #expect(largestDifference(try pixels("plain.heic", "targetSize=max", daemon).channels(3), whole) <= 1)
    // Three quarter turns anticlockwise are EXIF's orientation 6.
    let turned = try pixels("turned.heic", "targetSize=max", daemon).channels(3)
    #expect(turned.width == 22 && largestDifference(turned.stored(orientation: 6), whole) <= 1)
    let cut = try pixels("cut.heic", "targetSize=max", daemon).channels(3)
    #expect(largestDifference(cut, whole.cropped(x: 24, y: 6, width: 31, height: 12)) <= 1)
    let right = try pixels(
      "plain.heic", "targetSize=max&resizeMode=exact&normalizedCropRect=0.6,0,0.4,1", daemon)
    #expect(largestDifference(right.channels(3), whole.cropped(x: 45, y: 0, width: 30, height: 22)) <= 1)
    let small = try pixels("plain.heic", "targetSize=15x15", daemon).channels(3)
    let mean = whole.averaged(width: small.width, height: small.height)
    #expect(try #require(small.meanDifference(from: mean)) < 12)
    let asset = try daemon.get("/v1/assets/\(try daemon.identifier("turned.heic"))").json
    #expect(asset["isRenderable"] as? Bool == true && asset["pixelWidth"] as? Int == 22)
  }

  @Test("a sequence of HEVC pictures is shown by its first one", .enabled(if: isBuilt("hevc")))
  func sequence() throws {
    let entry = CodedMovieFile.entry(
      "hvc1", 40, 24, CodedHEIFFile.hvcC(sets: CodedSamples.parameterSets), CodedMovieSamples.colors)
    let frames = CodedSamples.tiles.map { CodedMovieFile.Frame(Boxes.number($0.count, 4) + $0) }
    let daemon = try TestDaemon { files in
      let file = CodedMovieFile(entry, frames) {
        ($0.brand, $0.otherBrands, $0.handler) = ("msf1", ["msf1", "hevc"], "pict")
      }
      try files.put(file.bytes, "burst.heic")
    }
    let shown = try pixels("burst.heic", "targetSize=max", daemon).channels(3)
    #expect(largestDifference(shown, CodedMovieSamples.pixels(tile: 0)) <= 1)
    let asset = try daemon.get("/v1/assets/\(try daemon.identifier("burst.heic"))").json
    #expect(asset["mediaType"] as? String == "image" && asset["isRenderable"] as? Bool == true)
  }

  /// The values of the setting whose decoder is built.
  private static let decodersOfHEVC = ["automatic", "libavcodec", "libde265"].filter {
    isBuilt($0 == "libavcodec" ? "avcodec" : "hevc")
  }

  @Test(
    "each decoder of HEVC decodes the same picture, alone or as the setting says", arguments: decodersOfHEVC)
  func decoders(_ setting: String) throws {
    let daemon = try TestDaemon(
      { files in try files.put(CodedSamples.heic(), "plain.heic") },
      arguments: ["--set", "decoders.hevc=\(setting)"])
    let shown = try pixels("plain.heic", "targetSize=max", daemon).channels(3)
    #expect(largestDifference(shown, CodedSamples.heicPixels) <= 1)
    let isAVCodec = setting == "libavcodec" || setting == "automatic" && Self.isBuilt("avcodec")
    let metrics = String(decoding: try daemon.get("/metrics").body, as: UTF8.self)
    let used = Set(
      ["hevc", "avcodec"].filter { codec in
        !metrics.contains("photod_decoder_peak_bytes{codec=\"\(codec)\"} 0\n")
      })
    #expect(used == [isAVCodec ? "avcodec" : "hevc"])
  }

  @Test(
    "pictures and videos that are coded in RGB are rendered exactly",
    .enabled(if: isBuilt("avcodec") && isBuilt("hevc")), arguments: ["automatic", "libde265"])
  func rgb(_ setting: String) throws {
    let daemon = try TestDaemon(
      { files in
        try files.put(RGBSamples.heic, "rgb.heic")
        try files.put(RGBSamples.movie, "rgb.mp4")
      }, arguments: ["--set", "decoders.hevc=\(setting)"])
    for name in ["rgb.heic", "rgb.mp4"] {
      let shown = try pixels(name, "targetSize=max", daemon).channels(3)
      #expect(largestDifference(shown, RGBSamples.pixels) == 0, "\(name)")
    }
  }

  @Test("an AVIF grid is rendered whole, with alpha, cropped and turned", .enabled(if: isBuilt("av1")))
  func avif() throws {
    let daemon = try TestDaemon { files in
      try files.put(CodedSamples.avif(), "plain.avif")
      try files.put(CodedSamples.avif(hasAlpha: true), "alpha.avif")
      try files.put(CodedSamples.avif([CodedHEIFFile.irot(3)]), "turned.avif")
      try files.put(CodedSamples.avif([CodedHEIFFile.clap([31, 1, 12, 1, 2, 1, 1, 1])]), "cut.avif")
      try files.put(CodedSamples.avif(damaged: true), "damaged.avif")
    }
    let whole = CodedSamples.heicPixels
    #expect(largestDifference(try pixels("plain.avif", "targetSize=max", daemon).channels(3), whole) <= 1)
    let alpha = try pixels("alpha.avif", "targetSize=max", daemon)
    #expect(alpha.channels == 4 && largestDifference(alpha.channels(3), whole) <= 1)
    let isSame = stride(from: 3, to: alpha.bytes.count, by: 4).map { alpha.bytes[$0] } == CodedSamples.avifAlpha
    #expect(isSame)
    let turned = try pixels("turned.avif", "targetSize=max", daemon).channels(3)
    #expect(turned.width == 22 && largestDifference(turned.stored(orientation: 6), whole) <= 1)
    let cut = try pixels("cut.avif", "targetSize=max", daemon).channels(3)
    #expect(largestDifference(cut, whole.cropped(x: 24, y: 6, width: 31, height: 12)) <= 1)
    let small = try pixels("plain.avif", "targetSize=15x15", daemon).channels(3)
    #expect(try #require(small.meanDifference(from: whole.averaged(width: small.width, height: small.height))) < 12)
    let asset = try daemon.get("/v1/assets/\(try daemon.identifier("turned.avif"))").json
    #expect(asset["isRenderable"] as? Bool == true && asset["pixelWidth"] as? Int == 22)
    let damaged = try daemon.get("/v1/assets/\(try daemon.identifier("damaged.avif"))/image?format=png")
    #expect(damaged.status == 422)
  }

  @Test(
    "WebP is rendered with its alpha, EXIF orientation and the first frame of animations", .enabled(if: isBuilt("webp"))
  )
  func webP() throws {
    let picture = CodedSamples.LosslessPicture(width: 60, height: 40, hasAlpha: true)
    let opaque = CodedSamples.LosslessPicture(width: 60, height: 40)
    let exif = Array(EXIFBlock { $0.orientation = 6 }.bytes.dropFirst(6))
    let daemon = try TestDaemon { files in
      try files.put(picture.file, "alpha.webp")
      try files.put(opaque.file, "opaque.webp")
      try files.put(
        WebPChunks.file([
          ("VP8X", WebPChunks.extended(0x08, 60, 40)), ("VP8L", opaque.data), ("EXIF", exif),
        ]), "turned.webp")
      try files.put(
        WebPChunks.file([
          ("VP8X", WebPChunks.extended(0x12, 100, 80)), ("ANIM", [0, 0, 0, 0, 0, 0]),
          ("ANMF", WebPChunks.frame(x: 20, y: 10, width: 60, height: 40, [("VP8L", picture.data)])),
          ("ANMF", WebPChunks.frame(x: 0, y: 0, width: 60, height: 40, [("VP8L", opaque.data)])),
        ]), "animated.webp")
    }
    #expect(largestDifference(try pixels("alpha.webp", "targetSize=max", daemon), picture.pixels) == 0)
    #expect(
      largestDifference(try pixels("opaque.webp", "targetSize=max", daemon).channels(3), opaque.pixels.channels(3)) == 0
    )
    let turned = try pixels("turned.webp", "targetSize=max", daemon).channels(3)
    #expect(turned.width == 40 && largestDifference(turned.stored(orientation: 6), opaque.pixels.channels(3)) == 0)
    let canvas = try pixels("animated.webp", "targetSize=max", daemon)
    #expect(canvas.width == 100 && canvas.height == 80)
    #expect(largestDifference(canvas.cropped(x: 20, y: 10, width: 60, height: 40), picture.pixels) == 0)
    #expect(canvas[0, 0].last == 0 && canvas[99, 79].last == 0)
    let small = try pixels("opaque.webp", "targetSize=12x12", daemon).channels(3)
    #expect(try #require(small.meanDifference(from: opaque.pixels.channels(3).averaged(width: 12, height: 8))) < 12)
  }

  @Test("JPEG XL is rendered whole, cropped, turned and small, with alpha and profiles", .enabled(if: isBuilt("jxl")))
  func jxl() throws {
    let exif = EXIFBlock {
      $0.make = "Maker"
      $0.orientation = 8
    }
    let daemon = try TestDaemon { files in
      try files.put(JXLSamples.rgb, "plain.jxl")
      try files.put(
        JXLSamples.file(
          JXLSamples.exif(Array(exif.bytes.dropFirst(6))), JXLSamples.parts(JXLSamples.turned, of: 50)), "turned.jxl")
      try files.put(JXLSamples.rgba, "alpha.jxl")
      try files.put(JXLSamples.animation, "animated.jxl")
      try files.put(JXLSamples.gray, "gray.jxl")
      try files.put(JXLSamples.profile, "profile.jxl")
      try files.put(JXLSamples.displayP3, "wide.jxl")
      try files.put(Array(JXLSamples.rgb.prefix(200)), "damaged.jxl")
    }
    let whole = JXLSamples.pixels(width: 300, height: 280)
    #expect(largestDifference(try pixels("plain.jxl", "targetSize=max", daemon).channels(3), whole) == 0)
    let right = try pixels("plain.jxl", "targetSize=max&resizeMode=exact&normalizedCropRect=0.6,0.5,0.4,0.5", daemon)
    #expect(largestDifference(right.channels(3), whole.cropped(x: 180, y: 140, width: 120, height: 140)) == 0)
    let small = try pixels("plain.jxl", "targetSize=30x30", daemon).channels(3)
    #expect(try #require(small.meanDifference(from: whole.averaged(width: small.width, height: small.height))) < 12)
    let turned = try pixels("turned.jxl", "targetSize=max", daemon).channels(3)
    #expect(turned.width == 48)
    #expect(try #require(turned.stored(orientation: 6).meanDifference(from: JXLSamples.ramps)) < 2)
    let asset = try daemon.get("/v1/assets/\(try daemon.identifier("turned.jxl"))").json
    #expect(asset["isRenderable"] as? Bool == true && asset["pixelWidth"] as? Int == 48)
    let colors = JXLSamples.pixels(width: 60, height: 40)
    let alpha = try pixels("alpha.jxl", "targetSize=max", daemon)
    #expect(alpha.channels == 4 && largestDifference(alpha.channels(3), colors) == 0)
    #expect((0..<60).allSatisfy { alpha[$0, 7].last == UInt8(255 - 4 * $0) })
    #expect(largestDifference(try pixels("animated.jxl", "targetSize=max", daemon).channels(3), colors) == 0)
    let gray = try pixels("gray.jxl", "targetSize=max", daemon)
    #expect(gray.width == 40 && abs(Int(gray[39, 29].first ?? 0) - (39_000 + 20_300) / 257) <= 1)
    // The profile stays with its pixels, unless they are converted.
    let kept = try daemon.get(
      "/v1/assets/\(try daemon.identifier("profile.jxl"))/image?format=png&targetSize=max&colorSpace=preserve")
    #expect(String(decoding: kept.body.prefix(100), as: UTF8.self).contains("iCCP"))
    #expect(largestDifference(try #require(Pixels.decoded(kept.body)).pixels.channels(3), colors) == 0)
    let converted = try pixels("profile.jxl", "targetSize=max&colorSpace=srgb", daemon).channels(3)
    #expect(converted.width == 60 && largestDifference(converted, colors) > 0)
    let wide = try pixels("wide.jxl", "targetSize=max&colorSpace=srgb", daemon).channels(3)
    #expect(try #require(wide.meanDifference(from: JXLSamples.ramps)) > 3)
    let damaged = try daemon.get("/v1/assets/\(try daemon.identifier("damaged.jxl"))/image?format=png")
    #expect(damaged.status == 422)
  }

  @Test("a picture that its decoder refuses is 422, and the next one is rendered", .enabled(if: isBuilt("hevc")))
  func damaged() throws {
    let daemon = try TestDaemon { files in
      try files.put(CodedSamples.heic(damaged: true), "damaged.heic")
      try files.put(CodedSamples.heic(), "sound.heic")
    }
    let damaged = "/v1/assets/\(try daemon.identifier("damaged.heic"))/image?format=png"
    for _ in 0..<2 {
      let answer = try daemon.get(damaged)
      #expect(answer.status == 422 && answer.json["type"] as? String == "/problems/image-unreadable")
    }
    #expect(
      largestDifference(
        try pixels("sound.heic", "targetSize=max", daemon).channels(3), CodedSamples.heicPixels) <= 1)
  }

  @Test("without its decoder a picture is 415 with the package to install, and is listed as not renderable")
  func missing() throws {
    let fill: (TestDaemon.Files) throws -> Void = { files in
      try files.put(CodedSamples.heic(), "a.heic")
      try files.put(CodedSamples.LosslessPicture(width: 20, height: 20).file, "b.webp")
      try files.put(CodedSamples.avif(), "c.avif")
      try files.put(JXLSamples.lossy, "d.jxl")
    }
    let daemon = try TestDaemon(fill, arguments: ["--set", "decoders.folder=/nonexistent"])
    for (name, package) in [
      ("a.heic", "libde265-0"), ("b.webp", "libwebp7"), ("c.avif", "libdav1d6"), ("d.jxl", "libjxl0.7"),
    ] {
      let path = "/v1/assets/\(try daemon.identifier(name))"
      let answer = try daemon.get("\(path)/image")
      #expect(answer.status == 415 && answer.json["type"] as? String == "/problems/decoder-unavailable")
      #expect((answer.json["detail"] as? String)?.contains(package) == true)
      #expect(try daemon.get(path).json["isRenderable"] as? Bool == false)
    }
  }

  @Test(
    "without a decoder of HEVC a picture is 415 with the package of the decoder that the setting names",
    arguments: [("libavcodec", "libavcodec59"), ("libde265", "libde265-0")])
  func missing(_ setting: String, _ package: String) throws {
    let daemon = try TestDaemon(
      { files in try files.put(CodedSamples.heic(), "a.heic") },
      arguments: ["--set", "decoders.folder=/nonexistent", "--set", "decoders.hevc=\(setting)"])
    let answer = try daemon.get("/v1/assets/\(try daemon.identifier("a.heic"))/image")
    #expect(answer.status == 415 && answer.json["type"] as? String == "/problems/decoder-unavailable")
    #expect((answer.json["detail"] as? String)?.contains("the package \(package) on") == true)
  }

  @Test("uploads of HEIC, AVIF, WebP and JPEG XL are accepted")
  func uploads() throws {
    let daemon = try TestDaemon()
    let picture = CodedSamples.LosslessPicture(width: 20, height: 20)
    let body = TestDaemon.form([
      ("a.heic", CodedSamples.heic()), ("b.webp", picture.file), ("c.avif", CodedSamples.avif()),
      ("d.jxl", JXLSamples.lossy),
    ])
    let answer = try daemon.upload(body, type: "multipart/form-data; boundary=xyz")
    let results = try #require(answer.json["results"] as? [[String: Any]])
    #expect(results.compactMap { $0["status"] as? Int } == [201, 201, 201, 201])
  }
}
