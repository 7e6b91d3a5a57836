import Foundation
import PhotoFixtures
import Testing

/// RAW files, which are shown by the JPEGs that cameras store in them, or developed by LibRaw where its program is built.
@Suite("RAW files over real sockets", .blocking)
struct RAWImageTests {
  /// An administrator's, to render from the original.
  private static let fresh = ["Cache-Control: no-cache"]

  /// The upright picture of a format's samples: with the aspect ratio of its developed picture, but smaller.
  private static func card(_ name: String) -> Pixels {
    ["orf", "rw2"].contains(name)
      ? Pixels.orientationCard(width: 480, height: 640) : Pixels.orientationCard(width: 400, height: 600)
  }

  /// A RAW file that is turned by a quarter. Fujifilm's files have their orientation in the JPEG only.
  private static func file(_ name: String) -> [UInt8] {
    let stored = card(name).stored(orientation: 6)
    let preview = JPEGFile { $0.exif = EXIFBlock { $0.orientation = name == "raf" ? 6 : 1 } }.encoded(stored)
    let thumbnail = JPEGFile { _ in }.encoded(stored.averaged(width: 60, height: stored.height * 60 / stored.width))
    return RAWSamples.file(name, .init { $0.orientation = 6 }, previews: [thumbnail, preview])
  }

  private func pixels(_ answer: TestDaemon.Response, isDegraded: Bool = false) throws -> Pixels {
    #expect(answer.status == 200 && answer.result("degraded") == (isDegraded ? "?1" : "?0"))
    #expect((answer["ETag"] == nil) == isDegraded && (answer["Cache-Control"] == "no-store") == isDegraded)
    return try #require(Pixels.decoded(answer.body)).pixels.channels(3)
  }

  private func difference(_ pixels: Pixels, from card: Pixels) throws -> Double {
    try #require(pixels.meanDifference(from: card.averaged(width: pixels.width, height: pixels.height)))
  }

  @Test("a RAW file of every format has a placeholder and is rendered by its preview, upright and never enlarged")
  func formats() throws {
    let daemon = try TestDaemon { files in
      for name in RAWSamples.names { try files.put(Self.file(name), "a.\(name)") }
    }
    #expect(try daemon.assetsWithPlaceholders().count == RAWSamples.names.count)
    for name in RAWSamples.names {
      let (card, developed) = (Self.card(name), RAWSamples.developedSize(name))
      let path = "/v1/assets/\(try daemon.identifier("a.\(name)"))"
      let asset = try daemon.get(path).json
      #expect(asset["isRAW"] as? Bool == true && asset["isRenderable"] as? Bool == true, "\(name)")
      #expect(asset["pixelWidth"] as? Int == developed.height && asset["pixelHeight"] as? Int == developed.width)
      for side in [200, 1600] {
        let answer = try daemon.get("\(path)/image?format=png&targetSize=\(side)x\(side)", Self.fresh)
        // The preview is too small for the larger size.
        let pixels = try pixels(answer, isDegraded: side == 1600)
        #expect(answer.result("source") == "preview", "\(name)")
        // The preview is cut to the aspect ratio of the developed picture, in whole pixels.
        let longer = min(side, card.height)
        #expect(
          (longer - 1...longer).contains(pixels.height) && abs(pixels.width - longer * card.width / card.height) <= 1,
          "\(name): \(pixels.width) x \(pixels.height)")
        #expect(answer.result("width") == String(pixels.width))
        #expect(try difference(pixels, from: card) < 6, "\(name)")
      }
      let square = try daemon.get("\(path)/image?format=png&targetSize=100x100&contentMode=aspectFill", Self.fresh)
      #expect(try pixels(square).width == 100 && pixels(square).height == 100, "\(name)")
    }
  }

  @Test("uploaded RAW files have cached frames, and are key assets of their smart album")
  func uploads() throws {
    let daemon = try TestDaemon()
    for name in RAWSamples.names {
      let answer = try daemon.upload(Self.file(name), "?filename=\(name).\(name)", type: "application/octet-stream")
      #expect(answer.status == 201, "\(name)")
      let path = "/v1/assets/\(try #require(answer.json["localIdentifier"] as? String))/image?targetSize=150x150"
      let first = try daemon.get(path)
      #expect(first.status == 200)
      let tag = try #require(first["ETag"])
      #expect(try daemon.get(path).result("source") == "memory", "\(name)")
      #expect(try daemon.get(path, ["If-None-Match: \(tag)"]).status == 304, "\(name)")
    }
    let albums = try daemon.get("/v1/collections?type=smartAlbum&subtype=smartAlbumRAW").json["collections"]
    let album = try #require((albums as? [[String: Any]])?.first)
    #expect(album["estimatedAssetCount"] as? Int == RAWSamples.names.count)
    #expect((album["keyAssets"] as? [String])?.isEmpty == false)
  }

  @Test(
    "without LibRaw, a RAW file without a preview, or whose offsets lie, is 415 with the package and not renderable")
  func withoutPreview() throws {
    let preview = JPEGFile { _ in }.encoded(Pixels.orientationCard(width: 96, height: 64))
    let fill: (TestDaemon.Files) throws -> Void = { files in
      for name in RAWSamples.names { try files.put(RAWSamples.file(name, .init(), previews: []), "a.\(name)") }
      try files.put(RAFFile { ($0.jpeg, $0.error) = (preview, (1 << 30, 0)) }.bytes, "far.raf")
      try files.put(RAFFile { ($0.jpeg, $0.error) = (preview, (0, 1 << 30)) }.bytes, "long.raf")
      try files.put(RAFFile { ($0.jpeg, $0.error) = (preview, (-40, 0)) }.bytes, "before.raf")
    }
    let daemon = try TestDaemon(fill, arguments: Self.withoutDecoders)
    for name in RAWSamples.names.map({ "a.\($0)" }) + ["far.raf", "long.raf", "before.raf"] {
      let path = "/v1/assets/\(try daemon.identifier(name))"
      let answer = try daemon.get("\(path)/image?targetSize=200x200")
      #expect(answer.status == 415 && answer.json["type"] as? String == "/problems/decoder-unavailable", "\(name)")
      #expect(try #require(answer.json["detail"] as? String).contains("libraw20"), "\(name)")
      #expect(try daemon.get(path).json["isRenderable"] as? Bool == false, "\(name)")
    }
  }

  @Test("a condition that every frame meets does not make a preview that is too small current")
  func conditions() throws {
    let daemon = try TestDaemon({ try $0.put(Self.file("nef"), "a.nef") }, arguments: Self.withoutDecoders)
    let target = "/v1/assets/\(try daemon.identifier("a.nef"))/image?targetSize=1600x1600"
    // The first time, the frame is in no cache; then it is in memory.
    for _ in 0..<2 {
      for field in ["If-None-Match: *", "If-Modified-Since: Fri, 01 Jan 2100 00:00:00 GMT"] {
        for method in ["HEAD", "GET"] {
          let answer = try daemon.get(target, [field], method: method)
          #expect(answer.status == 200 && answer["ETag"] == nil, "\(field)")
          #expect(answer["Cache-Control"] == "no-store", "\(field)")
        }
      }
    }
  }

  @Test("of a RAW file and its JPEG, the JPEG is shown, and the RAW file's preview as the original version")
  func pair() throws {
    let (developed, stored) = (Scene(seed: 4).pixels(width: 300, height: 200), Self.card("nef").stored(orientation: 6))
    let exif = EXIFBlock { ($0.dateTimeOriginal, $0.offsetTimeOriginal) = ("2024:05:06 07:08:09", "-03:30") }
    let raw = RAWSamples.file("nef", .init { $0.orientation = 6 }, previews: [JPEGFile { _ in }.encoded(stored)])
    let daemon = try TestDaemon { files in
      try files.put(JPEGFile { $0.exif = exif }.encoded(developed), "IMG.JPG")
      try files.put(raw, "IMG.NEF")
    }
    let identifier = try daemon.identifier("IMG.JPG")
    let path = "/v1/assets/\(identifier)/image?format=png&targetSize=150x150"
    let current = try daemon.get(path)
    #expect(try difference(pixels(current), from: developed) < 6)
    let original = try daemon.get("\(path)&version=original")
    #expect(try pixels(original).height == 150 && difference(pixels(original), from: Self.card("nef")) < 6)
    #expect(original["ETag"] != current["ETag"])
    // Neither is answered with the other's frame from a cache.
    for (version, frame) in [("unadjusted", current), ("original", original)] {
      let again = try daemon.get("\(path)&version=\(version)")
      let isSame = again.body == frame.body
      #expect(isSame && again["ETag"] == frame["ETag"], "\(version)")
    }
    let version = try #require(try daemon.get("/v1/assets/\(identifier)").json["contentVersion"] as? String)
    #expect(try daemon.get("\(path)&version=original&v=\(version)").status == 200)
    let batch = try Multipart(
      try daemon.post(
        "/v1/images",
        #"{"assets": ["\#(identifier)"], "targetSize": "150x150", "format": "png", "version": "original"}"#))
    #expect(batch.parts.count == 1)
    let isSame = batch.parts[0].body == original.body
    #expect(isSame)
  }

  @Test("of a pair with regions, which are part of the content version, neither file is taken for the other")
  func pairWithRegions() throws {
    let size = RAWSamples.developedSize("rw2")
    let exif = EXIFBlock { ($0.dateTimeOriginal, $0.offsetTimeOriginal) = ("2024:05:06 07:08:09", "-03:30") }
    let card = Pixels.orientationCard(width: size.width / 10, height: size.height / 10)
    let raw = RAWSamples.file("rw2", .init { $0.orientation = 1 }, previews: [JPEGFile { _ in }.encoded(card)])
    // Of the same size, so that only the content version tells them apart.
    let gray = Pixels(
      width: size.width, height: size.height, channels: 3,
      bytes: [UInt8](repeating: 128, count: size.width * size.height * 3))
    let daemon = try TestDaemon { files in
      try files.put(JPEGFile { $0.exif = exif }.encoded(gray), "IMG.JPG")
      try files.put(raw, "IMG.RW2")
    }
    let identifier = try daemon.identifier("IMG.JPG")
    let path = "/v1/assets/\(identifier)/image?format=png&targetSize=150x150"
    let (current, original) = (try daemon.get(path), try daemon.get("\(path)&version=original"))
    #expect(current.result("width") == original.result("width") && current.body != original.body)
    let regions =
      #"{"changes": [{"type": "updateAsset", "asset": "\#(identifier)", "regions": [{"type": "face", "rect": [0.1, 0.1, 0.2, 0.2]}]}]}"#
    let change = try daemon.post("/v1/changes", regions)
    #expect(change.status == 200, "\(change.json)")
    for (version, frame) in [("current", current), ("original", original), ("current", current)] {
      let again = try daemon.get("\(path)&version=\(version)")
      let isSame = again.body == frame.body
      #expect(isSame, "of \(version)")
    }
  }

  @Test("a pair whose RAW file has no preview still shows its JPEG")
  func pairWithoutPreview() throws {
    let exif = EXIFBlock { ($0.dateTimeOriginal, $0.offsetTimeOriginal) = ("2024:05:06 07:08:09", "-03:30") }
    let fill: (TestDaemon.Files) throws -> Void = { files in
      try files.put(JPEGFile { $0.exif = exif }.encoded(Pixels(width: 30, height: 20, channels: 3)), "IMG.JPG")
      try files.put(RAWSamples.file("nef", .init(), previews: []), "IMG.NEF")
    }
    let daemon = try TestDaemon(fill, arguments: Self.withoutDecoders)
    let path = "/v1/assets/\(try daemon.identifier("IMG.JPG"))"
    #expect(try daemon.get("\(path)/image").status == 200)
    #expect(try daemon.get("\(path)/image?version=original").status == 415)
    #expect(try daemon.get(path).json["isRenderable"] as? Bool == true)
  }

  // MARK: Development

  private static let withoutDecoders = ["--set", "decoders.folder=/nonexistent"]
  private static let patches = MosaicFile.patches(width: 480, height: 320)

  @Test(
    "a DNG without a preview is developed upright, whole, cropped and small, and has a placeholder",
    .enabled(if: CodedImageTests.isBuilt("raw")))
  func mosaic() throws {
    let daemon = try TestDaemon { files in
      try files.put(MosaicFile(Self.patches).bytes, "plain.dng")
      // Of other days, because pictures of one second are a burst.
      let turned = MosaicFile(Self.patches) {
        ($0.details.orientation, $0.details.dateTimeOriginal, $0.border) = (6, "2024:05:07 07:08:09", 10)
      }
      try files.put(turned.bytes, "turned.dng")
      let linear = MosaicFile(Self.patches) {
        ($0.details.dateTimeOriginal, $0.isLinear) = ("2024:05:08 07:08:09", true)
      }
      try files.put(linear.bytes, "linear.dng")
    }
    #expect(try daemon.assetsWithPlaceholders().count == 3)
    for name in ["plain.dng", "turned.dng", "linear.dng"] {
      let isTurned = name == "turned.dng"
      let upright = isTurned ? Self.patches.stored(orientation: 8) : Self.patches
      let path = "/v1/assets/\(try daemon.identifier(name))"
      let asset = try daemon.get(path).json
      #expect(asset["isRAW"] as? Bool == true && asset["isRenderable"] as? Bool == true, "\(name)")
      #expect(asset["pixelWidth"] as? Int == upright.width && asset["pixelHeight"] as? Int == upright.height, "\(name)")
      for query in ["targetSize=max", "targetSize=200x200", "targetSize=60x60"] {
        let answer = try daemon.get("\(path)/image?format=png&\(query)", Self.fresh)
        #expect(answer.result("source") == "original" && answer["Server-Timing"]?.contains("worker;dur=") == true)
        let pixels = try pixels(answer)
        let expected = query == "targetSize=max" ? upright.width : isTurned ? pixels.width : Int(query.suffix(2)) ?? 0
        #expect(query.hasSuffix("200") || pixels.width == expected, "\(name) \(query): \(pixels.width)")
        #expect(try difference(pixels, from: upright) < 5, "\(name) \(query)")
      }
      let right = try daemon.get(
        "\(path)/image?format=png&targetSize=max&resizeMode=exact&normalizedCropRect=0.5,0,0.5,1", Self.fresh)
      let half = upright.cropped(x: upright.width / 2, y: 0, width: upright.width / 2, height: upright.height)
      #expect(try difference(pixels(right), from: half) < 5, "\(name)")
    }
  }

  @Test(
    "a size that the preview does not have is developed, others are not, and without LibRaw the preview is degraded",
    .enabled(if: CodedImageTests.isBuilt("raw")))
  func developed() throws {
    // The preview has other colours, so the frames tell where they come from.
    let shown = Pixels.orientationCard(width: 150, height: 100)
    let preview = JPEGFile { _ in }.encoded(shown)
    let fill: (TestDaemon.Files) throws -> Void = { files in
      try files.put(MosaicFile(Self.patches) { $0.preview = preview }.bytes, "a.dng")
    }
    for arguments in [[], Self.withoutDecoders] {
      let daemon = try TestDaemon(fill, arguments: arguments)
      let path = "/v1/assets/\(try daemon.identifier("a.dng"))/image?format=png"
      let small = try daemon.get("\(path)&targetSize=150x150", Self.fresh)
      #expect(small.result("source") == "preview")
      #expect(try difference(pixels(small), from: shown) < 6)
      let large = try daemon.get("\(path)&targetSize=300x300", Self.fresh)
      let frame = try pixels(large, isDegraded: !arguments.isEmpty)
      if arguments.isEmpty {
        #expect(large.result("source") == "original" && large.result("width") == "300")
        #expect(try difference(frame, from: Self.patches) < 5)
      } else {
        #expect(large.result("source") == "preview" && large.result("width") == "150")
        #expect(try difference(frame, from: shown) < 6)
      }
      // Frames of later requests are those of the first.
      let again = try daemon.get("\(path)&targetSize=300x300")
      let third = try daemon.get("\(path)&targetSize=300x300")
      #expect(third.result("source") == "memory" && third["ETag"] == again["ETag"])
      #expect(try pixels(third, isDegraded: !arguments.isEmpty) == frame)
    }
  }

  @Test(
    "developing a large frame makes the derivative from which small ones are made",
    .enabled(if: CodedImageTests.isBuilt("raw")))
  func derivative() throws {
    let patches = MosaicFile.patches(width: 768, height: 512)
    let preview = JPEGFile { _ in }.encoded(Pixels.orientationCard(width: 150, height: 100))
    let daemon = try TestDaemon { files in
      try files.put(MosaicFile(patches) { $0.preview = preview }.bytes, "a.dng")
    }
    let path = "/v1/assets/\(try daemon.identifier("a.dng"))/image?format=jpeg&quality=80"
    #expect(try daemon.get("\(path)&targetSize=700x700").result("source") == "original")
    // The derivative is stored after the response. A frame that was made before is not made again.
    var side = 241
    try daemon.until("the derivative is stored") {
      side -= 1
      return try daemon.get("\(path)&targetSize=\(side)x\(side)").result("source") == "derivative"
    }
    let small = try daemon.get("\(path)&targetSize=\(side)x\(side)")
    #expect(try difference(pixels(small), from: patches) < 6)
    // The preview still serves what it can.
    #expect(try daemon.get("\(path)&targetSize=150x150", Self.fresh).result("source") == "preview")
  }

  @Test(
    "sensor data that can't be developed is refused by name, and harms nothing else",
    .enabled(if: CodedImageTests.isBuilt("raw")))
  func refused() throws {
    // Of different days, because pictures of one second are a burst.
    let sound = MosaicFile(Self.patches) { $0.details.dateTimeOriginal = "2024:05:07 07:08:09" }.bytes
    let lying = MosaicFile(Self.patches) {
      ($0.details.dateTimeOriginal, $0.error) = ("2024:05:08 07:08:09", (20_000, 20_000))
    }.bytes
    let cut = MosaicFile(Self.patches) { $0.details.dateTimeOriginal = "2024:05:09 07:08:09" }.bytes
    let daemon = try TestDaemon { files in
      try files.put(MosaicFile(Self.patches) { $0.compression = 65_000 }.bytes, "camera.dng")
      try files.put(Array(cut.prefix(cut.count / 2)), "short.dng")
      try files.put(lying, "lying.dng")
      try files.put(sound, "sound.dng")
    }
    func answer(_ name: String, _ query: String) throws -> TestDaemon.Response {
      try daemon.get("/v1/assets/\(try daemon.identifier(name))/image?\(query)", Self.fresh)
    }
    let camera = try answer("camera.dng", "targetSize=100x100")
    #expect(camera.status == 415 && camera.json["type"] as? String == "/problems/format-unsupported")
    #expect((camera.json["detail"] as? String)?.contains("LibRaw") == true)
    let short = try answer("short.dng", "targetSize=100x100")
    #expect(short.status == 422 && short.json["type"] as? String == "/problems/image-unreadable")
    #expect((short.json["detail"] as? String)?.contains("ends at byte") == true)
    // More than the budget of renders, and more pixels than the limit.
    let large = try answer("lying.dng", "targetSize=100x100")
    #expect(large.status == 422 && large.json["type"] as? String == "/problems/image-too-large")
    #expect(try answer("sound.dng", "targetSize=100x100").status == 200)
    let metrics = String(decoding: try daemon.get("/metrics").body, as: UTF8.self)
    #expect(metrics.contains(#"photod_decoder_failures_total{codec="raw",reason="unsupported"}"#))
    #expect(metrics.contains(#"photod_decoder_failures_total{codec="raw",reason="crashed"} 0"#))
  }

  @Test(
    "of a pair, the RAW file is developed as the original version if it has no preview",
    .enabled(if: CodedImageTests.isBuilt("raw")))
  func developedPair() throws {
    let exif = EXIFBlock { ($0.dateTimeOriginal, $0.offsetTimeOriginal) = ("2024:05:06 07:08:09", "-03:30") }
    let shown = Pixels.orientationCard(width: 150, height: 100)
    let daemon = try TestDaemon { files in
      try files.put(JPEGFile { $0.exif = exif }.encoded(shown), "IMG.JPG")
      try files.put(MosaicFile(Self.patches).bytes, "IMG.DNG")
    }
    let path = "/v1/assets/\(try daemon.identifier("IMG.JPG"))/image?format=png&targetSize=150x150"
    #expect(try difference(pixels(daemon.get(path)), from: shown) < 6)
    let original = try daemon.get("\(path)&version=original", Self.fresh)
    #expect(original.result("source") == "original")
    #expect(try difference(pixels(original), from: Self.patches) < 5)
  }
}
