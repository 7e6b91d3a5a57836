import Foundation
import PhotoFixtures
import Testing

/// Crops of white pictures with a black middle, over HTTP: nothing that was cut off shows at their edges.
@Suite("Edges of crops", .blocking)
struct CropEdgeTests {
  private static func daemon() throws -> TestDaemon {
    var pixels = Pixels(width: 400, height: 320, channels: 3, bytes: [UInt8](repeating: 255, count: 384_000))
    for y in 128..<192 {
      for x in 160..<240 {
        for c in 0..<3 { pixels.bytes[(y * 400 + x) * 3 + c] = 0 }
      }
    }
    let turned = JPEGFile {
      $0.quality = 95
      $0.exif = EXIFBlock { $0.orientation = 6 }
    }.encoded(pixels.stored(orientation: 6))
    let plain = PNGFile(.rgb(depth: 8)).encoded(pixels)
    return try TestDaemon { files in
      try files.put(plain, "plain.png")
      try files.put(turned, "turned.jpg")
    }
  }

  private static func brightest(_ answer: TestDaemon.Response, _ width: Int, _ height: Int) throws -> UInt8 {
    let pixels = try #require(Pixels.decoded(answer.body), "\(answer.status)").pixels
    #expect(pixels.width == width && pixels.height == height)
    return try #require(pixels.channels(3).bytes.max())
  }

  @Test(
    "the crop of a request and that of an adjustment show nothing from outside",
    arguments: ["plain.png", "turned.jpg"])
  func croppedEdges(_ name: String) throws {
    let daemon = try Self.daemon()
    let identifier = try daemon.identifier(name)
    let asset = "/v1/assets/\(identifier)"
    let crop = try daemon.get(asset + "/image?normalizedCropRect=0.4,0.4,0.2,0.2&targetSize=40x40&format=png")
    #expect(try Self.brightest(crop, 40, 32) <= 1)
    // Tiles join without seams, so a region of IIIF is another picture.
    let region = try daemon.get("/iiif/3/\(identifier)/160,128,80,64/40,32/0/default.png")
    #expect(try Self.brightest(region, 40, 32) > 1)
    #expect(region["ETag"] != nil && region["ETag"] != crop["ETag"])

    let body = #"{"operations": [{"type": "crop", "rect": [0.4, 0.4, 0.2, 0.2]}]}"#
    #expect(try daemon.post(asset + "/adjustments", body, method: "PUT").status == 200)
    #expect(try Self.brightest(daemon.get(asset + "/image?targetSize=40x40&format=png"), 40, 32) <= 1)
    let whole = try daemon.get("/iiif/3/\(identifier)/full/40,32/0/default.png")
    #expect(try Self.brightest(whole, 40, 32) <= 1, "a region ends at the edges of the adjusted picture")
  }
}
