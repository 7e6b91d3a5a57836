import Foundation
import PhotoFixtures
import Testing

/// AVIF and JPEG XL of high dynamic range over HTTP, by the real encoder programs. A second daemon, whose decoders are
/// other libraries than the encoders, reads the files back.
@Suite("Frames of high dynamic range, over real sockets", .blocking)
struct HDRFrameTests {
  private static let ramp = DeepPixels(width: 321, height: 240, channels: 3) { x, y, c in
    UInt16(min(52_000, x * 120 + y * 50 + c * 700))
  }

  private static func put(into files: TestDaemon.Files) throws {
    try files.put(UltraHDRFile.landscape(width: 1600, height: 1200).encoded, "map.jpg")
    try files.put(JPEGFile { _ in }.encoded(Scene(seed: 3).pixels(width: 600, height: 400)), "plain.jpg")
    // BT.2020, PQ and HLG.
    for (name, transfer) in [("pq.png", UInt8(16)), ("hlg.png", 18)] {
      try files.put(ramp.png(chunks: PNGChunks.chunk("cICP", [9, transfer, 0, 1])), name)
    }
    try files.put(ramp.png(), "deep.png")
  }

  private static func image(
    _ daemon: TestDaemon, _ name: String, _ query: String, _ fields: [String] = []
  ) throws -> TestDaemon.Response {
    try daemon.get("/v1/assets/\(try daemon.identifier(name))/image?\(query)", fields)
  }

  private static func contains(_ bytes: [UInt8], _ part: [UInt8]) -> Bool {
    bytes.indices.contains { bytes[$0] == part[0] && bytes[$0...].starts(with: part) }
  }

  /// Whether an AVIF says that it is in BT.2020 with PQ, of 10 bits and full range, and has its light.
  private static func saysHigh(_ avif: [UInt8]) -> Bool {
    contains(avif, Array("colrnclx".utf8) + [0, 9, 0, 16, 0, 9, 0x80])
      && contains(avif, Array("pixi".utf8) + [0, 0, 0, 0, 3, 10, 10, 10]) && contains(avif, Array("clli".utf8))
  }

  @Test(
    "AVIF and JPEG XL have the light of gain maps, PQ and HLG where it is asked for",
    .enabled(if: EncodedFormatTests.isBuilt))
  func answers() throws {
    let daemon = try TestDaemon { try Self.put(into: $0) }
    var files: [(name: String, bytes: [UInt8])] = []
    for name in ["map.jpg", "pq.png", "hlg.png", "plain.jpg", "deep.png"] {
      let hasMore = name != "plain.jpg" && name != "deep.png"
      for format in ["avif", "jxl"] {
        let query = "format=\(format)&targetSize=321x321&quality=95"
        let high = try Self.image(daemon, name, query + "&dynamicRange=high")
        #expect(high.status == 200 && high["Content-Type"] == "image/\(format)", "\(name) \(format)")
        #expect((high.result("dynamic-range") == "high") == hasMore, "\(name) \(format)")
        if format == "avif" { #expect(Self.saysHigh(high.body) == hasMore, "\(name)") }
        // Another frame than the one of standard range, which is what it was.
        let standard = try Self.image(daemon, name, query)
        #expect(standard.result("dynamic-range") == nil && !Self.saysHigh(standard.body), "\(name) \(format)")
        #expect((standard.body == high.body) == !hasMore, "\(name) \(format)")
        if hasMore || name == "plain.jpg" { #expect((standard["ETag"] == high["ETag"]) == !hasMore) }
        let same = try Self.image(daemon, name, query + "&dynamicRange=standard")
        #expect(same["ETag"] == standard["ETag"] && same.body == standard.body)
        if hasMore { files.append(("\(name).\(format)", high.body)) }
      }
    }
    let other = try TestDaemon { folder in
      for file in files { try folder.put(file.bytes, file.name) }
    }
    for (name, _) in files {
      let again = try Self.image(other, name, "format=avif&dynamicRange=high")
      #expect(again.result("dynamic-range") == "high", "\(name) is read as a picture of high dynamic range")
    }
    // Both formats show the same, and PQ what its original shows.
    func shown(_ daemon: TestDaemon, _ name: String) throws -> Pixels {
      let answer = try Self.image(daemon, name, "format=png&targetSize=321x321")
      return try #require(Pixels.decoded(answer.body)).pixels.channels(3)
    }
    for name in ["map.jpg", "pq.png", "hlg.png"] {
      let (avif, jxl) = (try shown(other, "\(name).avif"), try shown(other, "\(name).jxl"))
      #expect(try #require(avif.meanDifference(from: jxl)) < 4, "\(name)")
      if name == "pq.png" { #expect(try #require(avif.meanDifference(from: try shown(daemon, name))) < 3) }
    }
  }

  @Test(
    "the caches keep what a frame is, also after a restart", .enabled(if: EncodedFormatTests.isBuilt),
    arguments: ["avif", "jxl"])
  func caches(_ format: String) throws {
    let folders = try TestDaemon.Folders()
    try Self.put(into: TestDaemon.Files(root: folders.library))
    #expect(try TestDaemon.run(["scan", "--library", folders.library, "--data", folders.data]).status == 0)
    var tags: Set<String> = []
    for run in 0..<2 {
      let daemon = try TestDaemon(serving: folders)
      for attempt in 0..<2 {
        let answer = try Self.image(daemon, "map.jpg", "format=\(format)&targetSize=300x300&dynamicRange=high")
        #expect(answer.status == 200 && answer.result("dynamic-range") == "high", "\(run) \(attempt)")
        #expect(answer.result("source") == (attempt == 1 ? "memory" : run == 1 ? "disk" : "original"))
        #expect(answer["Vary"] == nil)
        tags.insert(try #require(answer["ETag"]))
      }
      let plain = try Self.image(daemon, "plain.jpg", "format=\(format)&targetSize=300x300&dynamicRange=high")
      #expect(plain.result("dynamic-range") == nil)
      #expect(daemon.terminate() == 0)
    }
    #expect(tags.count == 1)
  }

  @Test(
    "a whole JPEG with a gain map is rendered, not transcoded", .enabled(if: EncodedFormatTests.isBuilt))
  func transcoding() throws {
    let daemon = try TestDaemon { try Self.put(into: $0) }
    let whole = try Self.image(daemon, "map.jpg", "format=jxl&targetSize=max")
    #expect(whole.result("transcoded") == "?1")
    let high = try Self.image(daemon, "map.jpg", "format=jxl&targetSize=max&dynamicRange=high")
    #expect(high.result("transcoded") == nil && high.result("dynamic-range") == "high")
    #expect(high.result("width") == "1600")
  }

  @Test(
    "what can't be of high dynamic range is 400",
    arguments: [
      "dynamicRange=high", "dynamicRange=high&format=auto", "dynamicRange=high&format=jpeg",
      "dynamicRange=high&format=png&bitDepth=16", "dynamicRange=high&format=webp",
      "dynamicRange=high&format=avif&colorSpace=srgb", "dynamicRange=HIGH&format=avif",
    ])
  func refused(_ query: String) throws {
    let answer = try Self.image(Self.shared, "map.jpg", "targetSize=100x100&\(query)", ["Accept: image/avif"])
    #expect(answer.status == 400 && answer.json["parameter"] as? String == "dynamicRange", "\(query)")
    let asset = try Self.shared.identifier("map.jpg")
    let options = query.split(separator: "&").map { pair in
      let parts = pair.split(separator: "=")
      return parts[1] == "16" ? #""bitDepth": 16"# : #""\#(parts[0])": "\#(parts[1])""#
    }.joined(separator: ", ")
    let body = #"{"assets": ["\#(asset)"], "targetSize": "100x100", \#(options)}"#
    #expect(try Self.shared.post("/v1/images", body).status == 400, "\(query)")
  }

  private static let shared: TestDaemon = {
    do {
      return try TestDaemon { try put(into: $0) }
    } catch {
      fatalError("no daemon: \(error)")
    }
  }()

  @Test(
    "degraded frames have the standard range; the final one has the high one", .enabled(if: EncodedFormatTests.isBuilt))
  func degraded() throws {
    let daemon = try TestDaemon { try Self.put(into: $0) }
    // A derivative is there for the degraded frame.
    _ = try Self.image(daemon, "map.jpg", "targetSize=300x300")
    let answer = try Self.image(
      daemon, "map.jpg",
      "targetSize=1200x1200&format=avif&dynamicRange=high&deliveryMode=opportunistic&multipart=mixed")
    let parts = try Multipart(answer).parts
    #expect(parts.count >= 2)
    for (index, part) in parts.enumerated() {
      let isFinal = index == parts.count - 1
      #expect(part.fields["content-type"] == (isFinal ? "image/avif" : "image/jpeg"))
      #expect((part.fields["image-result"]?.contains("dynamic-range=high") == true) == isFinal)
      #expect(Self.saysHigh(part.body) == isFinal)
    }
  }

  @Test(
    "adjustments that move pixels keep the light; those that change them give the standard range",
    .enabled(if: EncodedFormatTests.isBuilt))
  func adjusted() throws {
    let daemon = try TestDaemon { try Self.put(into: $0) }
    let adjustments = "/v1/assets/\(try daemon.identifier("pq.png"))/adjustments"
    for (operation, isHigh) in [
      (#"{"type": "rotate", "quarterTurns": 1}"#, true), (#"{"type": "exposure", "ev": 0.5}"#, false),
    ] {
      #expect(try daemon.post(adjustments, #"{"operations": [\#(operation)]}"#, method: "PUT").status == 200)
      let answer = try Self.image(daemon, "pq.png", "format=avif&targetSize=200x200&dynamicRange=high")
      #expect((answer.result("dynamic-range") == "high") == isHigh && Self.saysHigh(answer.body) == isHigh)
      if isHigh { #expect(answer.result("height") == "200" && answer.result("width") == "150") }
    }
  }

  @Test(
    "the price of an encoder is enough for noise at the highest qualities", .enabled(if: EncodedFormatTests.isBuilt),
    arguments: [3, 4])
  func noise(_ channels: Int) throws {
    var state: UInt64 = 26
    let noise = DeepPixels(width: 701, height: 503, channels: channels) { _, _, _ in
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      return UInt16(truncatingIfNeeded: state >> 40)
    }
    let daemon = try TestDaemon {
      try $0.put(noise.png(chunks: PNGChunks.chunk("cICP", [9, 16, 0, 1])), "noise.png")
    }
    for format in ["avif", "jxl"] {
      for quality in [82, 90, 100] {
        let answer = try Self.image(daemon, "noise.png", "format=\(format)&quality=\(quality)&dynamicRange=high")
        #expect(answer.status == 200 && answer.result("dynamic-range") == "high", "\(format) \(quality)")
      }
    }
  }
}
