import Foundation
import PhotoFixtures
import Testing

/// WebP, AVIF and JPEG XL as output, by the real encoder programs. The answers are decoded by another daemon, whose
/// decoders are other programs of other libraries.
@Suite("WebP, AVIF and JPEG XL as output, over real sockets", .blocking)
struct EncodedFormatTests {
  private static let scene = Scene(seed: 26, grain: 3).pixels(width: 640, height: 420)
  static let isBuilt =
    ["encoder-webp", "encoder-avif", "encoder-jxl", "decoder-webp", "decoder-av1", "decoder-jxl"].allSatisfy {
      let folder = URL(filePath: TestDaemon.binary).deletingLastPathComponent().path
      return FileManager.default.isExecutableFile(atPath: "\(folder)/photod-\($0)")
    }

  private static func noise(_ width: Int, _ height: Int, channels: Int) -> Pixels {
    var random = SplitMix(state: 26)
    return Pixels(
      width: width, height: height, channels: channels,
      bytes: (0..<width * height * channels).map { _ in UInt8(truncatingIfNeeded: random.next()) })
  }

  private static let cutOut: Pixels = {
    var pixels = Pixels(width: 120, height: 90, channels: 4)
    for y in 0..<90 {
      for x in 0..<120 {
        let i = (y * 120 + x) * 4
        pixels.bytes.replaceSubrange(i..<i + 4, with: [UInt8(2 * x), 160, UInt8(2 * y), x < 60 ? 255 : UInt8(y)])
      }
    }
    return pixels
  }()

  private static let formats = ["webp", "avif", "jxl"]

  private func image(_ daemon: TestDaemon, _ name: String, _ query: String, _ fields: [String] = []) throws
    -> TestDaemon.Response
  {
    try daemon.get("/v1/assets/\(try daemon.identifier(name))/image?\(query)", fields)
  }

  /// Pixels of files, decoded by a daemon of their own.
  private func decoded(_ files: [(name: String, bytes: [UInt8])]) throws -> [String: Pixels] {
    let daemon = try TestDaemon { folder in
      for file in files { try folder.put(file.bytes, file.name) }
    }
    var pixels: [String: Pixels] = [:]
    for file in files {
      let answer = try image(daemon, file.name, "format=png&colorSpace=srgb&targetSize=max")
      #expect(answer.status == 200, "\(file.name)")
      pixels[file.name] = Pixels.decoded(answer.body)?.pixels
    }
    return pixels
  }

  @Test("an IIIF service with the encoder lists WebP and makes it, also in gray and turned", .enabled(if: isBuilt))
  func imageService() throws {
    let daemon = try TestDaemon { try $0.put(JPEGFile { _ in }.encoded(Self.scene), "plain.jpg") }
    let base = "/iiif/3/\(try daemon.identifier("plain.jpg"))"
    #expect(try daemon.get("\(base)/info.json").json["extraFormats"] as? [String] == ["webp"])
    var files: [(name: String, bytes: [UInt8])] = []
    for (name, path) in [("color", "0/default"), ("gray", "0/gray"), ("turned", "90/color")] {
      let answer = try daemon.get("\(base)/full/320,210/\(path).webp")
      #expect(answer.status == 200 && answer["Content-Type"] == "image/webp", "\(name)")
      files.append(("\(name).webp", answer.body))
    }
    let pixels = try decoded(files)
    let small = Self.scene.averaged(width: 320, height: 210)
    let color = try #require(pixels["color.webp"]?.channels(3))
    #expect(try #require(color.meanDifference(from: small)) < 5)
    let gray = try #require(pixels["gray.webp"]?.channels(3))
    var luma = small
    for i in stride(from: 0, to: luma.bytes.count, by: 3) {
      let value =
        0.299 * Double(small.bytes[i]) + 0.587 * Double(small.bytes[i + 1]) + 0.114 * Double(small.bytes[i + 2])
      for c in 0..<3 { luma.bytes[i + c] = UInt8(value.rounded()) }
    }
    #expect(try #require(gray.meanDifference(from: luma)) < 5)
    let turned = try #require(pixels["turned.webp"])
    #expect(turned.width == 210 && turned.height == 320)
  }

  @Test(
    "a frame is the picture at its size, upright, with its own type, length and entity tag", .enabled(if: isBuilt))
  func frames() throws {
    let daemon = try TestDaemon { files in
      try files.put(JPEGFile { _ in }.encoded(Self.scene), "plain.jpg")
      let turned = Self.scene.stored(orientation: 6)
      try files.put(JPEGFile { $0.exif = EXIFBlock { $0.orientation = 6 } }.encoded(turned), "turned.jpg")
      try files.put(JPEGFile { $0.color = .gray }.encoded(Self.scene.channels(1)), "gray.jpg")
      try files.put(JPEGFile { $0.profile = ICCFile.displayP3 }.encoded(Self.scene), "wide.jpg")
      try files.put(PNGFile(.rgba(depth: 8)).encoded(Self.cutOut), "cut-out.png")
    }
    var files: [(name: String, bytes: [UInt8])] = []
    var tags: Set<String> = []
    for format in Self.formats {
      for name in ["plain", "turned", "gray", "wide"] {
        let answer = try image(daemon, "\(name).jpg", "format=\(format)&targetSize=321x321&quality=90")
        #expect(answer.status == 200 && answer["Content-Type"] == "image/\(format)", "\(name) \(format)")
        #expect(answer.result("width") == "321" && answer.result("height") == "211" && answer["Vary"] == nil)
        let tag = try #require(answer["ETag"])
        tags.insert(tag)
        let again = try image(
          daemon, "\(name).jpg", "format=\(format)&targetSize=321x321&quality=90", ["If-None-Match: \(tag)"])
        #expect(again.status == 304)
        files.append(("\(name).\(format)", answer.body))
      }
      let cutOut = try image(daemon, "cut-out.png", "format=\(format)&targetSize=max&quality=90")
      #expect(cutOut.status == 200 && cutOut["Content-Type"] == "image/\(format)")
      files.append(("cut-out.\(format)", cutOut.body))
      let head = try daemon.get(
        "/v1/assets/\(try daemon.identifier("plain.jpg"))/image?format=\(format)&targetSize=321x321&quality=90",
        method: "HEAD")
      #expect(head["Content-Type"] == "image/\(format)" && head.result("source") == "memory")
    }
    #expect(tags.count == 12)
    let pixels = try decoded(files)
    let reference = Self.scene.averaged(width: 321, height: 211)
    for format in Self.formats {
      for name in ["plain", "turned"] {
        let found = try #require(pixels["\(name).\(format)"]?.channels(3))
        #expect(try #require(found.meanDifference(from: reference)) < 4, "\(name).\(format)")
      }
      // The same numbers under another profile: converted to sRGB, the colours are stronger than without one.
      let wide = try #require(pixels["wide.\(format)"]?.channels(3))
      let expected = try #require(
        Pixels.decoded(try image(daemon, "wide.jpg", "format=png&colorSpace=srgb&targetSize=321x321").body)
      ).pixels.channels(3)
      #expect(try #require(wide.meanDifference(from: expected)) < 4, "wide.\(format)")
      let gray = try #require(pixels["gray.\(format)"])
      #expect(
        gray.bytes.indices.allSatisfy { $0 % 4 == 3 || abs(Int(gray.bytes[$0]) - Int(gray.bytes[$0 / 4 * 4])) <= 2 })
      let cutOut = try #require(pixels["cut-out.\(format)"])
      let alpha = stride(from: 3, to: cutOut.bytes.count, by: 4).map { Int(cutOut.bytes[$0]) }
      let wanted = stride(from: 3, to: cutOut.bytes.count, by: 4).map { Int(Self.cutOut.bytes[$0]) }
      #expect(zip(alpha, wanted).allSatisfy { abs($0 - $1) <= 24 }, "cut-out.\(format)")
      #expect(zip(alpha, wanted).reduce(0) { $0 + abs($1.0 - $1.1) } < alpha.count * 2, "cut-out.\(format)")
      #expect(
        try #require(
          cutOut.channels(3).cropped(x: 0, y: 0, width: 60, height: 90).meanDifference(
            from: Self.cutOut.channels(3).cropped(x: 0, y: 0, width: 60, height: 90))) < 5, "cut-out.\(format)")
    }
  }

  @Test("noise, extreme qualities and odd sizes stay within the price of an encode", .enabled(if: isBuilt))
  func prices() throws {
    let shapes = [(1, 1), (1, 700), (700, 1), (17, 33), (900, 700)]
    let daemon = try TestDaemon { files in
      for (width, height) in shapes {
        try files.put(PNGFile(.rgb(depth: 8)).encoded(Self.noise(width, height, channels: 3)), "\(width)x\(height).png")
        try files.put(
          PNGFile(.rgba(depth: 8)).encoded(Self.noise(width, height, channels: 4)), "alpha\(width)x\(height).png")
      }
    }
    for format in Self.formats {
      for (width, height) in shapes {
        for quality in [1, 82, 91, 100] {
          for name in ["\(width)x\(height).png", "alpha\(width)x\(height).png"] {
            let answer = try image(daemon, name, "format=\(format)&quality=\(quality)&targetSize=max")
            #expect(answer.status == 200, "\(name) \(format) \(quality)")
          }
        }
      }
    }
    let failures = String(decoding: try daemon.get("/metrics").body, as: UTF8.self).split(separator: "\n").filter {
      $0.hasPrefix("photod_decoder_failures_total") && !$0.hasSuffix(" 0")
    }
    #expect(failures.isEmpty, "\(failures)")
  }

  @Test("a WebP of more than 4 megapixels needs little memory, and stays within its price", .enabled(if: isBuilt))
  func lowMemory() throws {
    // At most 24 MiB of it are set aside for small pictures.
    let daemon = try TestDaemon(
      { files in
        try files.put(JPEGFile { _ in }.encoded(Scene(seed: 4, grain: 20).pixels(width: 2500, height: 1700)), "a.jpg")
      }, arguments: ["--set", "memoryBudgetBytes=100663296"])
    for quality in [82, 100] {
      let answer = try image(daemon, "a.jpg", "format=webp&quality=\(quality)&targetSize=max")
      #expect(answer.status == 200 && answer.result("width") == "2500", "\(quality): \(answer.json)")
    }
    // 2,500 x 1,700 pixels of AVIF do not fit, and the problem says why.
    let refused = try image(daemon, "a.jpg", "format=avif&targetSize=max")
    #expect(refused.status == 422 && (refused.json["detail"] as? String)?.contains("memoryBudgetBytes") == true)
  }

  @Test("a lower quality gives fewer bytes in every format", .enabled(if: isBuilt))
  func quality() throws {
    let daemon = try TestDaemon { try $0.put(JPEGFile { _ in }.encoded(Self.scene), "a.jpg") }
    for format in Self.formats {
      let sizes = try [20, 50, 82, 95].map {
        try image(daemon, "a.jpg", "format=\(format)&quality=\($0)&targetSize=400x400").body.count
      }
      #expect(sizes == sizes.sorted() && sizes[0] < sizes[3] / 2, "\(format): \(sizes)")
      // The default is 82: the same frame, and the same tag.
      let frames = try ["", "&quality=82"].map {
        try image(daemon, "a.jpg", "format=\(format)&targetSize=400x400\($0)")
      }
      #expect(frames[0]["ETag"] == frames[1]["ETag"] && frames[0].body.count == sizes[2])
    }
  }

  @Test("above quality 90, WebP comes closer to fine details in strong colours", .enabled(if: isBuilt))
  func fineColors() throws {
    var checks = Pixels(width: 160, height: 120, channels: 3)
    for y in 0..<120 {
      for x in 0..<160 {
        let i = (y * 160 + x) * 3
        let color: [UInt8] = (x / 3 + y / 3) % 2 == 0 ? [255, 0, 0] : [0, 0, 160]
        checks.bytes.replaceSubrange(i..<i + 3, with: color)
      }
    }
    let daemon = try TestDaemon { try $0.put(PNGFile(.rgb(depth: 8)).encoded(checks), "a.png") }
    let files = try [90, 91].map { quality in
      (name: "\(quality).webp", bytes: try image(daemon, "a.png", "format=webp&quality=\(quality)&targetSize=max").body)
    }
    let pixels = try decoded(files)
    let differences = try files.map { file in
      let shown = try #require(pixels[file.name])
      return try #require(shown.channels(3).meanDifference(from: checks))
    }
    // 56 and 42 with libwebp 1.2.4.
    #expect(differences[1] < differences[0] * 0.85, "\(differences)")
  }

  @Test(
    "opportunistic delivery sends a degraded JPEG first, and batches have parts of the format", .enabled(if: isBuilt))
  func deliveries() throws {
    let daemon = try TestDaemon(
      { files in
        let large = Scene(seed: 3, grain: 2).pixels(width: 1600, height: 1200)
        try files.put(
          JPEGFile { $0.exif = EXIFBlock { $0.thumbnail = DemoLibrary.thumbnail(of: large) } }.encoded(large), "a.jpg")
      }, arguments: ["--set", "cache.diskBytes=0"])
    let answer = try image(
      daemon, "a.jpg", "format=avif&targetSize=900x900&deliveryMode=opportunistic&multipart=mixed")
    let text = String(decoding: answer.body, as: Unicode.ASCII.self)
    #expect(text.contains("Content-Type: image/jpeg") && text.contains("Content-Type: image/avif"))
    let asset = try daemon.identifier("a.jpg")
    let batch = try daemon.post(
      "/v1/images", #"{"assets": ["\#(asset)"], "targetSize": "200x200", "format": "webp"}"#)
    #expect(String(decoding: batch.body, as: Unicode.ASCII.self).contains("Content-Type: image/webp"))
  }

  @Test("without its encoder a format is 415 with the package to install; other formats work")
  func missing() throws {
    let daemon = try TestDaemon(
      { try $0.put(JPEGFile { _ in }.encoded(Self.scene), "a.jpg") },
      arguments: ["--set", "decoders.folder=/nonexistent"])
    for (format, package) in [("webp", "libwebp7"), ("avif", "libaom3"), ("jxl", "libjxl0.7")] {
      let answer = try image(daemon, "a.jpg", "format=\(format)&targetSize=90x90")
      #expect(answer.status == 415 && answer.json["type"] as? String == "/problems/encoder-unavailable")
      #expect((answer.json["detail"] as? String)?.contains(package) == true)
      #expect(answer.json["parameter"] as? String == "format")
    }
    #expect(try image(daemon, "a.jpg", "targetSize=90x90").status == 200)
  }

  @Test("a picture with more pixels a side than WebP has is 422 with the limit", .enabled(if: isBuilt))
  func tooLarge() throws {
    let daemon = try TestDaemon {
      try $0.put(PNGFile(.gray(depth: 8)).encoded(Pixels(width: 16_384, height: 2, channels: 3)), "a.png")
    }
    let answer = try image(daemon, "a.png", "format=webp")
    #expect(answer.status == 422 && (answer.json["detail"] as? String)?.contains("16383") == true)
    #expect(try image(daemon, "a.png", "format=webp&targetSize=8000x8000").status == 200)
  }
}
