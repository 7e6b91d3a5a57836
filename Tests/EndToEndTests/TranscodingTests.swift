import Foundation
import PhotoFixtures
import Testing

/// JPEG XL frames that have the coefficients of a finished JPEG, by the real encoder program.
@Suite("JPEG XL from finished JPEGs, over real sockets", .blocking, .enabled(if: EncodedFormatTests.isBuilt))
struct TranscodingTests {
  private static let scene = Scene(seed: 31, grain: 3).pixels(width: 900, height: 600)
  private static let djxl = "/usr/bin/djxl"
  private static let canReconstruct = FileManager.default.isExecutableFile(atPath: djxl)

  private func image(_ daemon: TestDaemon, _ name: String, _ query: String, _ fields: [String] = []) throws
    -> TestDaemon.Response
  {
    try daemon.get("/v1/assets/\(try daemon.identifier(name))/image?\(query)", fields)
  }

  /// The JPEG that libjxl's own tool makes of a JPEG XL again.
  private func reconstructed(_ jxl: [UInt8]) throws -> [UInt8] {
    let folder = FileManager.default.temporaryDirectory.appending(path: "photod-djxl-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let (from, to) = (folder.appending(path: "a.jxl"), folder.appending(path: "a.jpg"))
    try Data(jxl).write(to: from)
    _ = try runToEnd(Self.djxl, [from.path, to.path])
    return [UInt8](try Data(contentsOf: to))
  }

  /// A file's pixels, decoded by a daemon of their own.
  private func decoded(_ bytes: [UInt8], _ name: String) throws -> Pixels {
    let daemon = try TestDaemon { try $0.put(bytes, name) }
    let answer = try image(daemon, name, "format=png&colorSpace=srgb&targetSize=max")
    return try #require(Pixels.decoded(answer.body)).pixels.channels(3)
  }

  @Test("a cached JPEG becomes a smaller JPEG XL with the same pixels", .enabled(if: canReconstruct))
  func cached() throws {
    let daemon = try TestDaemon { files in
      try files.put(JPEGFile { _ in }.encoded(Self.scene), "color.jpg")
      try files.put(JPEGFile { $0.color = .gray }.encoded(Self.scene.channels(1)), "gray.jpg")
      try files.put(JPEGFile { $0.profile = ICCFile.displayP3 }.encoded(Self.scene), "wide.jpg")
    }
    for (name, query) in [
      ("color.jpg", "targetSize=800x800"), ("color.jpg", "targetSize=700x700&quality=95"),
      ("gray.jpg", "targetSize=840x840&quality=97"), ("wide.jpg", "targetSize=800x800"),
    ] {
      let jpeg = try image(daemon, name, "\(query)&format=jpeg")
      let jxl = try image(daemon, name, "\(query)&format=jxl")
      #expect(jxl.status == 200 && jxl["Content-Type"] == "image/jxl" && jxl.result("transcoded") == "?1", "\(name)")
      #expect(jxl.body.count < jpeg.body.count, "\(name): \(jxl.body.count) of \(jpeg.body.count)")
      let isEqual = try reconstructed(jxl.body) == jpeg.body
      #expect(isEqual, "\(name) \(query)")
      let difference = try decoded(jxl.body, "a.jxl").meanDifference(from: decoded(jpeg.body, "a.jpg"))
      #expect(try #require(difference) < 1, "\(name) \(query)")
    }
  }

  @Test("the price of a transcoding is enough for a photograph with much detail", arguments: [false, true])
  func price(isProgressive: Bool) throws {
    let scene = Scene(seed: 7, grain: 40).pixels(width: 2400, height: 1800)
    let daemon = try TestDaemon { files in
      try files.put(
        JPEGFile {
          $0.quality = 95
          $0.isProgressive = isProgressive
          $0.sampling = (horizontal: 2, vertical: 1)
        }.encoded(scene), "a.jpg")
    }
    let jxl = try image(daemon, "a.jpg", "targetSize=max&format=jxl")
    #expect(jxl.status == 200 && jxl.result("transcoded") == "?1")
  }

  @Test("the fact, the tag and the bytes are the same from the cache, for HEAD and after a restart")
  func stored() throws {
    let daemon = try TestDaemon { try $0.put(JPEGFile { _ in }.encoded(Self.scene), "a.jpg") }
    let query = "targetSize=600x600&format=jxl"
    let jpeg = try image(daemon, "a.jpg", "targetSize=600x600&format=jpeg")
    let target = "/v1/assets/\(try daemon.identifier("a.jpg"))/image?\(query)"
    let head = try daemon.get(target, method: "HEAD")
    let first = try daemon.get(target)
    #expect(head["ETag"] == first["ETag"] && head.result("transcoded") == "?1" && first["ETag"] != jpeg["ETag"])
    #expect(first["Server-Timing"]?.contains("encode;") == true && first["Server-Timing"]?.contains("decode;") == false)
    let again = try daemon.get(target)
    #expect(again["ETag"] == first["ETag"] && again.result("transcoded") == "?1" && again.body == first.body)
    let tag = try #require(first["ETag"])
    #expect(try daemon.get(target, ["If-None-Match: \(tag)"]).status == 304)
  }

  @Test("an original that is shown whole is transcoded without its metadata", .enabled(if: canReconstruct))
  func whole() throws {
    let plain = JPEGFile { $0.profile = ICCFile.displayP3 }.encoded(Self.scene)
    let place = EXIFBlock {
      $0.latitude = 47.5
      $0.longitude = 11.25
    }
    let described = JPEGFile {
      $0.profile = ICCFile.displayP3
      $0.exif = place
      $0.segments = [JPEGSegment(marker: 0xFE, content: Array("a comment".utf8))]
    }.encoded(Self.scene)
    let daemon = try TestDaemon { files in
      try files.put(plain, "plain.jpg")
      try files.put(described + Array("a video".utf8), "described.jpg")
      try files.put(JPEGFile { $0.isProgressive = true }.encoded(Self.scene), "progressive.jpg")
      try files.put(Array(JPEGFile { _ in }.encoded(Self.scene).dropLast(9000)), "truncated.jpg")
    }
    for name in ["plain.jpg", "described.jpg"] {
      let answer = try image(daemon, name, "format=jxl")
      #expect(answer.status == 200 && answer.result("transcoded") == "?1" && answer.result("width") == "900", "\(name)")
      #expect(answer.body.count < plain.count)
      let isEqual = try reconstructed(answer.body) == plain
      #expect(isEqual, "\(name)")
    }
    #expect(try image(daemon, "progressive.jpg", "format=jxl").result("transcoded") == "?1")
    let truncated = try image(daemon, "truncated.jpg", "format=jxl")
    #expect(truncated.status == 200 && truncated.result("transcoded") == nil && truncated.result("incomplete") == "?1")
    // A stated quality asks for an encoding.
    #expect(try image(daemon, "plain.jpg", "format=jxl&quality=70").result("transcoded") == nil)
  }

  @Test("a JPEG XL has the colours of its original, whatever profile that has")
  func colors() throws {
    let smooth = Scene(seed: 32, grain: 0).pixels(width: 600, height: 400)
    let profile = ICCFile.displayP3
    let parts = [
      JPEGSegment.profilePart(profile[200...], 2, of: 2), JPEGSegment.profilePart(profile[..<200], 1, of: 2),
    ]
    let files: [(name: String, bytes: [UInt8])] = [
      ("gray-profile.jpg", JPEGFile { $0.profile = ICCFile.gray(exponent: 2.2) }.encoded(smooth)),
      ("parts.jpg", JPEGFile { $0.segments = parts }.encoded(smooth)),
    ]
    let daemon = try TestDaemon { folder in
      for file in files { try folder.put(file.bytes, file.name) }
    }
    for file in files {
      let answer = try image(daemon, file.name, "format=jxl")
      #expect(answer.status == 200 && answer.result("transcoded") == nil, "\(file.name)")
      let difference = try decoded(answer.body, "a.jxl").meanDifference(from: decoded(file.bytes, "a.jpg"))
      #expect(try #require(difference) < 3, "\(file.name)")
    }
  }

  @Test("an original that is asked for again is replaced by a JPEG XL of the same pixels", .enabled(if: canReconstruct))
  func upgradedFile() throws {
    let plain = JPEGFile { $0.quality = 95 }.encoded(Self.scene)
    let daemon = try TestDaemon(
      { try $0.put(plain, "a.jpg") }, arguments: ["--set", "render.upgradePercent=100"])
    let target = "/v1/assets/\(try daemon.identifier("a.jpg"))/image"
    let accept = "Accept: image/jxl,image/*,*/*;q=0.8"
    let first = try daemon.get(target, [accept])
    #expect(first["Content-Type"] == "image/jpeg" && first.body == plain)
    // An encoding of the same size and of the default quality has other pixels.
    #expect(try daemon.get("\(target)?format=jxl&quality=82").result("transcoded") == nil)
    #expect(try daemon.get(target, [accept])["Content-Type"] == "image/jpeg")
    let other = try TestDaemon(
      { try $0.put(plain, "a.jpg") }, arguments: ["--set", "render.upgradePercent=100"])
    let again = "/v1/assets/\(try other.identifier("a.jpg"))/image"
    let file = try other.get(again, [accept])
    var latest = file
    try other.until("the original is replaced") {
      latest = try other.get(again, [accept])
      return latest["Content-Type"] == "image/jxl"
    }
    #expect(latest.result("upgraded") == "?1" && latest.result("transcoded") == "?1" && latest.body.count < plain.count)
    let isEqual = try reconstructed(latest.body) == plain
    #expect(isEqual)
    // A client without JPEG XL, and one that has the file, keep it.
    let tag = try #require(file["ETag"])
    #expect(try other.get(again, ["Accept: image/*"])["ETag"] == tag)
    #expect(try other.get(again, [accept, "If-None-Match: \(tag)"]).status == 304)
  }

  @Test("noise of the highest quality stays within the price of a transcoding")
  func prices() throws {
    var random = Sampling.generator("noise to transcode")
    let shapes = [(1, 1), (1, 700), (700, 1), (17, 33), (1500, 1000)]
    let daemon = try TestDaemon { files in
      for (width, height) in shapes {
        let noise = Pixels(
          width: width, height: height, channels: 3,
          bytes: (0..<width * height * 3).map { _ in UInt8.random(in: 0...255, using: &random) })
        for quality in [60, 100] {
          let file = JPEGFile {
            $0.quality = quality
            $0.sampling = (1, 1)
          }
          try files.put(file.encoded(noise), "\(width)x\(height)-\(quality).jpg")
        }
      }
    }
    for (width, height) in shapes {
      for quality in [60, 100] {
        let answer = try image(daemon, "\(width)x\(height)-\(quality).jpg", "format=jxl")
        let isTranscoded = answer.status == 200 && answer.result("transcoded") == "?1"
        #expect(isTranscoded, "\(width)x\(height) \(quality), \(Sampling.note)")
      }
    }
  }

  @Test("a frame that is asked for again is transcoded only at the highest qualities", arguments: [82, 98])
  func upgraded(_ quality: Int) throws {
    let daemon = try TestDaemon(
      { try $0.put(JPEGFile { $0.quality = 98 }.encoded(Self.scene), "a.jpg") },
      arguments: ["--set", "render.upgradePercent=100"])
    let target = "/v1/assets/\(try daemon.identifier("a.jpg"))/image?targetSize=500x500&quality=\(quality)"
    let accept = "Accept: image/jxl,image/*,*/*;q=0.8"
    let first = try daemon.get(target, [accept])
    var latest = first
    try daemon.until("the frame is replaced") {
      latest = try daemon.get(target, [accept])
      return latest["Content-Type"] == "image/jxl"
    }
    #expect(latest.result("upgraded") == "?1" && latest.body.count < first.body.count)
    #expect(latest.result("transcoded") == (quality == 98 ? "?1" : nil))
  }
}
