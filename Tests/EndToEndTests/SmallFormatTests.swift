import Foundation
import PhotoFixtures
import Testing

/// GIF, BMP and TIFF, which the daemon decodes itself: no decoder program is there.
@Suite("GIF, BMP and TIFF over real sockets", .blocking)
struct SmallFormatTests {
  private static let colors: [[UInt8]] = (0..<16).map { [UInt8($0 * 16), UInt8($0 * 5), 200] }

  private static let gif = CodedGIFFile(width: 40, height: 30, indexes: (0..<1200).map { UInt8($0 / 7 & 15) }) {
    ($0.indexBits, $0.globalColors, $0.canvas, $0.origin) = (4, colors, (60, 50), (10, 5))
    $0.isInterlaced = true
  }

  private static let bmp = {
    var file = BMPFile(width: 36, height: 20, bitsPerPixel: 24)
    file.store { UInt32($0 * 7 + $1 * 0x0500) }
    return file
  }()

  private func picture(_ identifier: String, _ daemon: TestDaemon) throws -> Pixels {
    let asset = try daemon.get("/v1/assets/\(identifier)").json
    #expect(asset["isRenderable"] as? Bool == true)
    let answer = try daemon.get("/v1/assets/\(identifier)/image?format=png&targetSize=max")
    #expect(answer.status == 200)
    return try #require(Pixels.decoded(answer.body)).pixels
  }

  @Test("a GIF's first picture is rendered at its place on a transparent screen")
  func gif() throws {
    let daemon = try TestDaemon(
      { try $0.put(Self.gif.bytes, "a.gif") }, arguments: ["--set", "decoders.folder=/nonexistent"])
    let pixels = try picture(try daemon.identifier("a.gif"), daemon)
    #expect(pixels.width == 60 && pixels.height == 50 && pixels[0, 0].last == 0)
    let first = Self.colors[0] + [255]
    let last = Self.colors[Int(Self.gif.indexes[1199])] + [255]
    #expect(Array(pixels[10, 5]) == first && Array(pixels[49, 34]) == last && pixels[50, 34].last == 0)
  }

  @Test("a BMP is indexed under its own type and rendered")
  func bmp() throws {
    let daemon = try TestDaemon(
      { try $0.put(Self.bmp.bytes, "a.bmp") }, arguments: ["--set", "decoders.folder=/nonexistent"])
    let identifier = try daemon.identifier("a.bmp")
    let asset = try daemon.get("/v1/assets/\(identifier)").json
    #expect(asset["uniformTypeIdentifier"] as? String == "com.microsoft.bmp" && asset["pixelWidth"] as? Int == 36)
    #expect(try daemon.get("/v1/assets/\(identifier)/data")["Content-Type"] == "image/bmp")
    let pixels = try picture(identifier, daemon)
    #expect(pixels.width == 36 && pixels.height == 20)
    #expect(Array(pixels[35, 0]) == [0, 0, 245, 255] && Array(pixels[0, 19]) == [0, 95, 0, 255])
  }

  private static func tiff(_ change: (inout CodedTIFFFile) -> Void) -> [UInt8] {
    CodedTIFFFile(width: 36, height: 20, samplesPerPixel: 3, samples: (0..<36 * 20 * 3).map { $0 % 251 }, change).bytes
  }

  @Test("a TIFF is rendered, and one with another compression is refused by its name")
  func tiff() throws {
    let daemon = try TestDaemon(
      {
        try $0.put(Self.tiff { ($0.compression, $0.tile, $0.isBigTIFF) = (.lzw, (16, 16), true) }, "a.tif")
        try $0.put(Self.tiff { $0.entries = [.init(259, type: 3, [4])] }, "b.tif")
      }, arguments: ["--set", "decoders.folder=/nonexistent"])
    let pixels = try picture(try daemon.identifier("a.tif"), daemon)
    #expect(pixels.width == 36 && pixels.height == 20)
    #expect(Array(pixels[35, 0]) == [105, 106, 107, 255])
    let other = try daemon.identifier("b.tif")
    let answer = try daemon.get("/v1/assets/\(other)/image?format=png&targetSize=max")
    #expect(answer.status == 415)
    #expect((answer.json["detail"] as? String)?.contains("CCITT") == true, "\(answer.json)")
  }

  @Test("uploads of GIF and BMP are accepted")
  func uploads() throws {
    let daemon = try TestDaemon()
    let body = TestDaemon.form([("a.gif", Self.gif.bytes), ("b.bmp", Self.bmp.bytes)])
    let answer = try daemon.upload(body, type: "multipart/form-data; boundary=xyz")
    let results = try #require(answer.json["results"] as? [[String: Any]])
    #expect(results.compactMap { $0["status"] as? Int } == [201, 201])
  }
}
