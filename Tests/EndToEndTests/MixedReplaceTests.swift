import PhotoFixtures
import Testing

/// `multipart/x-mixed-replace`, whose parts have a head before their frame is known.
@Suite("Frames that replace each other", .blocking)
struct MixedReplaceTests {
  @Test(
    "each part of x-mixed-replace has the type of its body, so a second degraded frame of another type is left out",
    .enabled(if: EncodedFormatTests.isBuilt), arguments: [("jpeg", 3), ("png", 3), ("webp", 2)])
  func replaceTypes(_ format: String, _ count: Int) throws {
    let scene = Scene(seed: 6, grain: 2).pixels(width: 2400, height: 1800)
    let thumbnail = DemoLibrary.thumbnail(of: scene)
    let daemon = try TestDaemon(
      { files in
        try files.put(JPEGFile { $0.exif = EXIFBlock { $0.thumbnail = thumbnail } }.encoded(scene), "a.jpg")
      }, arguments: ["--set", "cache.diskBytes=0", "--set", "cache.frameBytes=0"])
    let identifier = try daemon.identifier("a.jpg")
    let target =
      "/v1/assets/\(identifier)/image?targetSize=1200x1200&format=\(format)"
      + "&deliveryMode=opportunistic&allowSecondaryDegradedImage=true"
    #expect(try Multipart(try daemon.get(target + "&multipart=mixed")).parts.count == 3)
    let parts = try Multipart(try daemon.get(target + "&multipart=replace")).parts
    #expect(parts.count == count)
    let starts: [String: [UInt8]] = [
      "image/jpeg": [0xFF, 0xD8], "image/png": [0x89, 0x50], "image/webp": Array("RIFF".utf8),
    ]
    for part in parts {
      let type = try #require(part.fields["content-type"])
      let start = try #require(starts[type])
      let isOfType = part.body.starts(with: start)
      #expect(isOfType, "\(type)")
    }
  }
}
