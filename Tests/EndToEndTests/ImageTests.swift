import Foundation
import PhotoFixtures
import Testing

/// Serialized, so that no test joins the render of another one on the shared daemon.
@Suite("Images over real sockets", .blocking, .serialized)
struct ImageTests {
  private static let scene = Scene(seed: 6, grain: 2).pixels(width: 1200, height: 800)

  /// One daemon for all tests that only read. Without memory for frames, each request is rendered.
  private static let shared: TestDaemon = {
    do { return try daemon(["--set", "cache.frameBytes=0"]) } catch { fatalError("no daemon: \(error)") }
  }()

  private static func daemon(_ arguments: [String] = []) throws -> TestDaemon {
    // Without derivatives, which would replace thumbnails once they are stored.
    let fill: (TestDaemon.Files) throws -> Void = { files in
      let thumbnail = DemoLibrary.thumbnail(of: scene)
      try files.put(JPEGFile { $0.exif = EXIFBlock { $0.thumbnail = thumbnail } }.encoded(scene), "with thumbnail.jpg")
      try files.put(JPEGFile { _ in }.encoded(scene), "plain.jpg")
      let turned = scene.stored(orientation: 6)
      let exif = EXIFBlock {
        $0.orientation = 6
        $0.thumbnail = DemoLibrary.thumbnail(of: turned)
      }
      try files.put(JPEGFile { $0.exif = exif }.encoded(turned), "turned.jpg")
      try files.put(PNGFile(.rgb(depth: 8)).encoded(scene), "opaque.png")
      var cutOut = Pixels(width: 100, height: 80, channels: 4)
      for i in 0..<8000 {
        cutOut.bytes.replaceSubrange(i * 4..<i * 4 + 4, with: [200, 100, 50, i % 100 < 50 ? 0 : 255])
      }
      try files.put(PNGFile(.rgba(depth: 8)).encoded(cutOut), "cut-out.png")
      try files.put(Array(JPEGFile { _ in }.encoded(scene).dropLast(20_000)), "truncated.jpg")
      var corrupt = JPEGFile { _ in }.encoded(scene)
      // A frame header that asks for 99 components.
      if let frame = corrupt.firstRange(of: [0xFF, 0xC0]) { corrupt[frame.lowerBound + 9] = 99 }
      try files.put(corrupt, "corrupt.jpg")
      var twelveBit = JPEGFile { _ in }.encoded(scene)
      if let frame = twelveBit.firstRange(of: [0xFF, 0xC0]) {
        twelveBit.replaceSubrange(frame.lowerBound + 1...frame.lowerBound + 4, with: [0xC1, 0, 17, 12])
      }
      try files.put(twelveBit, "twelve-bit.jpg")
      try files.put(
        JPEGFile {
          $0.profile = ICCFile.displayP3
          $0.exif = EXIFBlock { $0.thumbnail = thumbnail }
        }.encoded(scene), "wide.jpg")
      try files.put(Array(PNGFile(.rgb(depth: 8)).encoded(scene).prefix(4000)), "truncated.png")
      try files.put([], "empty.jpg")
      try files.put(PNGFile(.rgb(depth: 8)).encoded(Pixels.orientationCard(width: 64, height: 48)), "mislabelled.jpg")
    }
    return try TestDaemon(fill, arguments: ["--set", "cache.diskBytes=0"] + arguments)
  }

  private func reference(_ answer: [UInt8]) throws -> Double {
    let pixels = try #require(Pixels.decoded(answer)).pixels.channels(3)
    return try #require(pixels.meanDifference(from: Self.scene.averaged(width: pixels.width, height: pixels.height)))
  }

  @Test("images have the requested size, format and orientation")
  func single() throws {
    let daemon = Self.shared
    for name in ["plain.jpg", "turned.jpg", "opaque.png"] {
      let answer = try daemon.get("/v1/assets/\(try daemon.identifier(name))/image?targetSize=400x400")
      #expect(answer.status == 200 && answer["Content-Type"] == "image/jpeg" && answer["Vary"] == "Accept")
      #expect(answer.result("width") == "400" && answer.result("height") == "267" && answer.result("degraded") == "?0")
      #expect(try reference(answer.body) < 4, "\(name)")
    }
    let plain = "/v1/assets/\(try daemon.identifier("plain.jpg"))/image?targetSize=90x90&contentMode=aspectFill"
    let filled = try daemon.get(plain)
    #expect(filled.result("width") == "90" && filled.result("height") == "90")
    #expect(try daemon.get(plain, ["Accept: image/png"])["Content-Type"] == "image/png")
    #expect(try daemon.get(plain, ["Accept: image/png;q=0.5, image/jpeg;q=0.4"])["Content-Type"] == "image/png")
    #expect(try daemon.get(plain + "&format=jpeg", ["Accept: image/png"])["Content-Type"] == "image/jpeg")
    let refused = try daemon.get(plain, ["Accept: text/html"])
    #expect(refused.status == 406 && refused["Vary"] == "Accept")
    let cutOut = "/v1/assets/\(try daemon.identifier("cut-out.png"))/image?targetSize=50x50"
    #expect(try daemon.get(cutOut)["Content-Type"] == "image/png", "alpha is never lost silently")
    #expect(try daemon.get(cutOut, ["Accept: image/jpeg"]).status == 406)
    #expect(try daemon.get(cutOut + "&format=jpeg")["Content-Type"] == "image/jpeg", "but it may be asked for")
    let (coarse, fine) = (try daemon.get(plain + "&quality=30"), try daemon.get(plain + "&quality=95"))
    #expect(coarse.body.count < fine.body.count)
  }

  @Test("an image has a strong entity tag, answers 304, and is served by version")
  func caching() throws {
    let daemon = try Self.daemon()
    let identifier = try daemon.identifier("plain.jpg")
    let target = "/v1/assets/\(identifier)/image?targetSize=100x100"
    let first = try daemon.get(target)
    let tag = try #require(first["ETag"])
    #expect(first["Cache-Control"] == "private, max-age=0, must-revalidate" && first["Last-Modified"] != nil)
    #expect(tag.hasPrefix("\""))
    #expect(try daemon.get(target + "&quality=50")["ETag"] != tag)
    #expect(
      try daemon.get("/v1/assets/\(identifier)/image?targetSize=100x900")["ETag"] == tag,
      "the same picture, the same tag")
    let again = try daemon.get(target, ["If-None-Match: \(tag)"])
    #expect(again.status == 304 && again.body.isEmpty && again["ETag"] == tag && again["Vary"] == "Accept")
    #expect(try daemon.get(target, ["If-Match: \"other\""]).status == 412)
    let version = try #require(try daemon.get("/v1/assets/\(identifier)").json["contentVersion"] as? String)
    let immutable = try daemon.get(target + "&v=\(version)")
    #expect(immutable["Cache-Control"] == "private, max-age=31536000, immutable" && immutable["ETag"] == tag)
    let gone = try daemon.get(target + "&v=old")
    #expect(gone.status == 404 && gone.json["type"] as? String == "/problems/version-gone")
    let head = try daemon.get(target, method: "HEAD")
    #expect(head.status == 200 && head["ETag"] == tag && head.body.isEmpty && head.result("width") == "100")
  }

  @Test(
    "opportunistic delivery to a program: two parts, the first from the embedded thumbnail",
    arguments: ["with thumbnail.jpg", "turned.jpg"])
  func mixed(_ name: String) throws {
    let daemon = Self.shared
    let answer = try daemon.get(
      "/v1/assets/\(try daemon.identifier(name))/image?targetSize=400x400&deliveryMode=opportunistic")
    #expect(answer["Transfer-Encoding"] == "chunked" && answer["Cache-Control"] == "no-store" && answer["ETag"] == nil)
    let multipart = try Multipart(answer)
    #expect(multipart.type == "multipart/mixed" && multipart.parts.count == 2)
    let requestID = try #require(answer["Image-Result"])
    #expect(requestID.hasPrefix("request-id=\"") && !requestID.contains("degraded"))
    #expect(multipart.parts.allSatisfy { $0.fields["image-result"]?.hasPrefix(requestID) == true })
    let (degraded, final) = (multipart.parts[0], multipart.parts[1])
    #expect(degraded.fields["image-result"]?.contains("degraded=?1") == true)
    #expect(degraded.fields["image-result"]?.contains("source=embedded") == true)
    #expect(degraded.fields["etag"] == nil && final.fields["etag"] != nil)
    #expect(final.fields["image-result"]?.contains("degraded=?0") == true)
    for part in multipart.parts {
      #expect(part.fields["content-type"] == "image/jpeg" && part.fields["content-length"] == String(part.body.count))
    }
    #expect(try reference(degraded.body) < 8)
    #expect(try reference(final.body) < 4)
    let small = try #require(Pixels.decoded(degraded.body)).pixels
    let whole = try #require(Pixels.decoded(final.body)).pixels
    #expect(small.width < whole.width)
    #expect(abs(Double(small.width) / Double(small.height) - Double(whole.width) / Double(whole.height)) < 0.02)
  }

  @Test("opportunistic delivery without a thumbnail: the first frame from the DC coefficients")
  func mixedFromCoefficients() throws {
    let daemon = Self.shared
    let multipart = try Multipart(
      try daemon.get(
        "/v1/assets/\(try daemon.identifier("plain.jpg"))/image?targetSize=600x600&deliveryMode=opportunistic"))
    #expect(multipart.parts.count == 2)
    #expect(multipart.parts[0].fields["image-result"]?.contains("degraded=?1") == true)
    #expect(multipart.parts[0].fields["image-result"]?.contains("source=original") == true)
    #expect(multipart.parts[0].fields["image-result"]?.contains("width=150, height=100") == true)
    #expect(try reference(multipart.parts[0].body) < 8)
  }

  @Test(
    "opportunistic delivery without a faster preview: one final part",
    arguments: ["opaque.png?targetSize=400x400", "plain.jpg?targetSize=90x90", "plain.jpg?targetSize=190x190"])
  func mixedWithOnePart(_ text: String) throws {
    let daemon = Self.shared
    let parts = text.split(separator: "?")
    let multipart = try Multipart(
      try daemon.get(
        "/v1/assets/\(try daemon.identifier(String(parts[0])))/image?\(parts[1])&deliveryMode=opportunistic"))
    #expect(multipart.parts.count == 1)
    #expect(multipart.parts[0].fields["image-result"]?.contains("degraded=?0") == true)
  }

  @Test("opportunistic delivery to an <img>: the head of the second part is sent with the first part")
  func replace() throws {
    let daemon = Self.shared
    let target =
      "/v1/assets/\(try daemon.identifier("with thumbnail.jpg"))/image?targetSize=400x400&deliveryMode=opportunistic"
    let answer = try daemon.get(target, ["Accept: image/avif,image/webp,image/*,*/*;q=0.8"])
    let multipart = try Multipart(answer)
    #expect(multipart.type == "multipart/x-mixed-replace" && multipart.parts.count == 2)
    #expect(multipart.parts[1].fields == ["content-type": "image/jpeg"])
    #expect(try reference(multipart.parts[1].body) < 4)
    // The first chunk on the wire ends with that head.
    let body = try #require(answer.raw.firstRange(of: Array("\r\n\r\n".utf8)))
    let rest = answer.raw[body.upperBound...]
    let line = try #require(rest.firstRange(of: [13, 10]))
    let size = try #require(Int(String(decoding: rest[..<line.lowerBound], as: UTF8.self), radix: 16))
    #expect(Array(rest[line.upperBound...].prefix(size)).suffix(28) == Array("Content-Type: image/jpeg\r\n\r\n".utf8))
    #expect(try Multipart(try daemon.get(target + "&multipart=mixed", ["Accept: image/*"])).type == "multipart/mixed")
    #expect(try Multipart(try daemon.get(target + "&multipart=replace")).type == "multipart/x-mixed-replace")
  }

  @Test("opportunistic delivery over HTTP/1.0: the same parts, ended by closing the connection")
  func oldClient() throws {
    let daemon = Self.shared
    let answer = try daemon.get(
      "/v1/assets/\(try daemon.identifier("with thumbnail.jpg"))/image?targetSize=400x400&deliveryMode=opportunistic",
      version: "1.0")
    #expect(answer["Transfer-Encoding"] == nil && answer["Connection"] == "close")
    #expect(try Multipart(answer).parts.count == 2)
  }

  @Test("fastFormat delivers one frame, which may be degraded, and is not cached")
  func fast() throws {
    let daemon = Self.shared
    let answer = try daemon.get(
      "/v1/assets/\(try daemon.identifier("turned.jpg"))/image?targetSize=400x400&deliveryMode=fastFormat")
    #expect(answer.result("degraded") == "?1" && answer.result("source") == "embedded")
    #expect(answer["Cache-Control"] == "no-store" && answer["ETag"] == nil)
    #expect(try reference(answer.body) < 8)
  }

  @Test("damaged files get a problem response, and the daemon continues to serve")
  func damaged() throws {
    let daemon = Self.shared
    let truncated = try daemon.get("/v1/assets/\(try daemon.identifier("truncated.jpg"))/image?targetSize=400x400")
    #expect(truncated.status == 200 && truncated.result("incomplete") == "?1")
    #expect(truncated["ETag"] == nil && truncated["Cache-Control"] == "no-store", "an incomplete frame is not stored")
    for size in ["400x400", "401x401"] {
      let target = "/v1/assets/\(try daemon.identifier("truncated.jpg"))/image?targetSize=\(size)"
      let head = try daemon.get(target, method: "HEAD")
      #expect(head.status == 200 && head["ETag"] == nil && head["Cache-Control"] == "no-store", "as GET")
    }
    for (name, type) in [
      ("corrupt.jpg", "image-unreadable"), ("truncated.png", "image-unreadable"),
      ("twelve-bit.jpg", "image-unreadable"),
    ] {
      let answer = try daemon.get("/v1/assets/\(try daemon.identifier(name))/image?targetSize=400x400")
      #expect(answer.status == 422 && answer["Content-Type"] == "application/problem+json")
      #expect(answer.json["type"] as? String == "/problems/\(type)" && answer.json["status"] as? Int == 422)
      let multipart = try daemon.get(
        "/v1/assets/\(try daemon.identifier(name))/image?targetSize=400x400&deliveryMode=opportunistic")
      #expect(multipart.status == 422, "a failure before the first frame is a plain response")
    }
    // An empty file is no asset; a PNG by another name is one.
    let paths = (try daemon.get("/v1/assets").json["assets"] as? [[String: Any]])?.compactMap {
      $0["relativePath"] as? String
    }
    #expect(paths?.contains("empty.jpg") == false)
    let mislabelled = try daemon.get(
      "/v1/assets/\(try daemon.identifier("mislabelled.jpg"))/image?targetSize=32x32&format=png")
    #expect(mislabelled.status == 200)
    #expect(try daemon.get("/v1/assets/\(try daemon.identifier("plain.jpg"))/image?targetSize=50x50").status == 200)
  }

  @Test("a condition that every frame meets does not make an incomplete frame current")
  func incompleteConditions() throws {
    let daemon = Self.shared
    let identifier = try daemon.identifier("truncated.jpg")
    let version = try #require(try daemon.get("/v1/assets/\(identifier)").json["contentVersion"] as? String)
    let target = "/v1/assets/\(identifier)/image?targetSize=402x402&v=\(version)"
    for field in ["If-None-Match: *", "If-None-Match: \"x\", *", "If-Modified-Since: Fri, 01 Jan 2100 00:00:00 GMT"] {
      for method in ["HEAD", "GET"] {
        let answer = try daemon.get(target, [field], method: method)
        #expect(answer.status == 200 && answer["ETag"] == nil && answer["Cache-Control"] == "no-store", "\(field)")
      }
    }
    let entry = #"{"asset": "\#(identifier)", "v": "\#(version)", "ifNoneMatch": "*"}"#
    let batch = try daemon.post("/v1/images", #"{"assets": [\#(entry)], "targetSize": "402x402"}"#)
    let part = try #require(try Multipart(batch).parts.first)
    #expect(part.fields["image-result"]?.hasPrefix("status=200") == true && part.fields["etag"] == nil)
    #expect(part.fields["cache-control"] == nil && !part.body.isEmpty)
  }

  @Test("a failure after the degraded frame is a last part that names the request and the status")
  func failedAfterThumbnail() throws {
    let thumbnail = DemoLibrary.thumbnail(of: Self.scene)
    var corrupt = JPEGFile { $0.exif = EXIFBlock { $0.thumbnail = thumbnail } }.encoded(Self.scene)
    // The frame header of the thumbnail comes first; only the last one is damaged.
    let frame = try #require(corrupt.ranges(of: [0xFF, 0xC0]).last)
    corrupt[frame.lowerBound + 9] = 99
    let daemon = try TestDaemon { try $0.put(corrupt, "corrupt.jpg") }
    let answer = try daemon.get(
      "/v1/assets/\(try daemon.identifier("corrupt.jpg"))/image?targetSize=400x400&deliveryMode=opportunistic")
    let parts = try Multipart(answer).parts
    #expect(parts.count == 2 && parts[0].fields["image-result"]?.contains("degraded=?1") == true)
    let failure = try #require(parts.last)
    #expect(failure.fields["content-type"] == "application/problem+json")
    let request = try #require(answer["Image-Result"])
    #expect(failure.fields["image-result"] == "\(request), status=422, cancelled=?0")
    #expect(failure.fields["content-length"] == String(failure.body.count))
  }

  @Test("colorSpace: every frame keeps its profile, or is converted to sRGB")
  func colorSpace() throws {
    let daemon = Self.shared
    let url = "/v1/assets/\(try daemon.identifier("wide.jpg"))/image?targetSize=300x300"
    let plain = try daemon.get(url)
    let preserved = try daemon.get(url + "&colorSpace=preserve")
    let converted = try daemon.get(url + "&colorSpace=srgb")
    #expect(ICCFile.embedded(in: plain.body) == ICCFile.displayP3 && plain.body == preserved.body)
    #expect(converted.status == 200 && ICCFile.embedded(in: converted.body) == nil)
    #expect(plain["ETag"] == preserved["ETag"] && plain["ETag"] != converted["ETag"])
    #expect(
      try daemon.get(url + "&colorSpace=srgb", ["If-None-Match: \(try #require(plain["ETag"]))"]).status == 200)
    // Another size, because fastFormat would return a final frame that is already cached.
    let other = url.replacingOccurrences(of: "300x300", with: "290x290")
    for (word, profile) in [("preserve", ICCFile.displayP3), ("srgb", nil)] {
      let degraded = try daemon.get(other + "&deliveryMode=fastFormat&colorSpace=\(word)")
      #expect(degraded.result("source") == "embedded" && ICCFile.embedded(in: degraded.body) == profile)
    }
  }

  @Test("a frame of a fast size is another frame than that of the same exact size")
  func fastSize() throws {
    // Made from the same derivative, both frames would have the same bytes.
    let daemon = try TestDaemon(
      { files in
        try files.put(JPEGFile { _ in }.encoded(Scene(seed: 4, grain: 6).pixels(width: 800, height: 600)), "a.jpg")
      }, arguments: ["--set", "cache.backgroundDerivatives=false"])
    let url = "/v1/assets/\(try daemon.identifier("a.jpg"))/image?"
    // Both have a quarter of the original's sides.
    let exact = try daemon.get(url + "targetSize=200x150")
    let fast = try daemon.get(url + "targetSize=180x180&resizeMode=fast")
    for frame in [exact, fast] { #expect(frame.result("width") == "200" && frame.result("height") == "150") }
    #expect(exact.body != fast.body && exact["ETag"] != fast["ETag"])
    for (query, first) in [("targetSize=200x150", exact), ("targetSize=200x150&resizeMode=fast", fast)] {
      let again = try daemon.get(url + query)
      #expect(again["ETag"] == first["ETag"] && again.body == first.body && again.result("source") == "memory")
    }
    // The full size is the same in every mode.
    let whole = try ["exact", "fast", "none"].map { try daemon.get(url + "targetSize=max&resizeMode=\($0)")["ETag"] }
    #expect(Set(whole).count == 1)
  }

  @Test("a file beyond a limit is an asset, and its image is refused with the name of the limit")
  func limits() throws {
    let card = Pixels.orientationCard(width: 64, height: 48)
    let daemon = try TestDaemon { files in
      try files.put(PNGFile(.gray(depth: 1)).encoded(Pixels(width: 66_000, height: 2, channels: 3)), "long.png")
      var huge = PNGFile(.gray(depth: 1)).encoded(card)
      // 60,000 a side: within the longest side, beyond the pixels.
      huge.replaceSubrange(16..<24, with: [0, 0, 0xEA, 0x60, 0, 0, 0xEA, 0x60])
      try files.put(PNGChunks.withRightChecksums(huge), "huge.png")
      let plain = PNGFile(.rgb(depth: 8)).encoded(card)
      let profile = Array("Name".utf8) + [0, 0] + PNGChunks.deflated(zeros: 20 << 20)
      try files.put(Array(plain[..<33] + PNGChunks.chunk("iCCP", profile) + plain[33...]), "profile.png")
      let progressive = JPEGFile { $0.isProgressive = true }.encoded(card)
      let last = try #require(progressive.indices.dropLast().last { progressive[$0...].starts(with: [0xFF, 0xDA]) })
      let scan = progressive[last..<progressive.count - 2]
      try files.put(progressive.dropLast(2) + (0..<400).flatMap { _ in scan } + [0xFF, 0xD9], "scans.jpg")
    }
    for (name, limit) in [
      ("long.png", "the longer side is 66000; the limit is 65500. Raise limits.sourceSide"),
      ("huge.png", "the number of pixels is 3600000000; the limit is 250000000. Raise limits.sourcePixels"),
      ("profile.png", "the size of the colour profile is 8388609; the limit is 8388608. Raise limits.profileBytes"),
      ("scans.jpg", "the number of scans is 101; the limit is 100. Raise limits.jpegScans"),
    ] {
      let target = "/v1/assets/\(try daemon.identifier(name))/image?targetSize=40x40"
      for mode in ["highQualityFormat", "opportunistic", "fastFormat"] {
        let answer = try daemon.get(target + "&deliveryMode=\(mode)")
        if name == "scans.jpg" && mode != "highQualityFormat" { continue }
        #expect(answer.status == 422 && answer.json["type"] as? String == "/problems/image-too-large", "\(name)")
        #expect((answer.json["detail"] as? String)?.contains(limit) == true, "\(answer.json)")
      }
    }
  }

  @Test("no C library prints messages, whatever the file")
  func silence() throws {
    let scene = Scene(seed: 9).pixels(width: 200, height: 160)
    var broken = JPEGFile { _ in }.encoded(scene)
    for i in stride(from: broken.count / 2, to: broken.count - 4, by: 101) {
      broken.replaceSubrange(i..<i + 2, with: [0xFF, 0xD3])
    }
    let plain = PNGFile(.rgb(depth: 8)).encoded(scene)
    let profile = PNGChunks.chunk("iCCP", Array("icc".utf8) + [0, 0] + PNGChunks.stored([1, 2, 3]))
    var odd = JPEGFile { $0.exif = EXIFBlock { $0.make = "Maker and more" } }.encoded(scene)
    let place = try #require(odd.firstRange(of: Array("Exif".utf8) + [0, 0]))
    odd.replaceSubrange(place.upperBound..<place.upperBound + 2, with: Array("XX".utf8))
    let folder = FileManager.default.temporaryDirectory.appending(path: "photod-e2e-\(UUID().uuidString)").path
    defer { try? FileManager.default.removeItem(atPath: folder) }
    for (name, bytes) in [
      ("broken.jpg", broken), ("profile.png", plain[..<33] + profile + plain[33...]), ("odd.jpg", odd),
    ] {
      try TestDaemon.Files(root: folder).put(Array(bytes), name)
      let input = folder + "/" + name
      let result = try TestDaemon.run(["render", input, "--target-size", "50x50", "-o", folder + "/\(name).out.jpg"])
      #expect(result.status == 0 && result.error.isEmpty && result.output.isEmpty, "\(name): \(result.error)")
    }
  }

  @Test("a file that was removed or changed since the scan is never served under its old version")
  func changedBehindItsBack() throws {
    let scene = Self.scene
    let daemon = try TestDaemon(unwatched: {
      try $0.put(JPEGFile { _ in }.encoded(scene), "plain.jpg")
      try $0.put(PNGFile(.rgb(depth: 8)).encoded(scene), "opaque.png")
    })
    let (gone, changed) = (try daemon.identifier("plain.jpg"), try daemon.identifier("opaque.png"))
    try FileManager.default.removeItem(atPath: daemon.library + "/plain.jpg")
    try TestDaemon.Files(root: daemon.library).put(Array("no picture".utf8), "opaque.png")
    let first = try daemon.get("/v1/assets/\(gone)/image?targetSize=50x50")
    #expect(first.status == 404 && first.json["type"] as? String == "/problems/original-missing", "\(first.json)")
    let second = try daemon.get("/v1/assets/\(changed)/image?targetSize=50x50")
    #expect(second.status == 503 && second["Retry-After"] != nil)
  }
}
