import Foundation
import PhotoFixtures
import Testing

@Suite("Placeholders", .blocking)
struct PlaceholderTests {
  private static func hash(_ asset: [String: Any]) throws -> [UInt8] {
    let text = try #require(asset["placeholder"] as? String)
    return [UInt8](try #require(Data(base64Encoded: text)))
  }

  /// Photographs of several shapes, turned in several ways, with and without a thumbnail, and a cut-out.
  private static func fill(_ files: TestDaemon.Files) throws {
    for (seed, orientation) in [1, 2, 3, 5, 6, 8, 1, 7].enumerated() {
      let (width, height) = [(480, 320), (320, 240), (300, 400), (640, 160)][seed % 4]
      let stored = Scene(seed: seed + 11).pixels(width: width, height: height).stored(orientation: orientation)
      let file = JPEGFile {
        $0.isProgressive = seed == 3
        $0.exif = EXIFBlock {
          $0.orientation = orientation
          $0.thumbnail = seed % 3 == 2 ? nil : DemoLibrary.thumbnail(of: stored)
        }
      }
      try files.put(file.encoded(stored), "\(seed)/a.jpg")
    }
    let scene = Scene(seed: 3).pixels(width: 200, height: 200)
    var cutOut = Pixels(width: 200, height: 200, channels: 4)
    for i in 0..<200 * 200 {
      for c in 0..<3 { cutOut.bytes[i * 4 + c] = scene.bytes[i * 3 + c] }
      let (x, y) = (i % 200 - 100, i / 200 - 100)
      cutOut.bytes[i * 4 + 3] = x * x + y * y < 8100 ? 255 : 0
    }
    try files.put(PNGFile(.rgba(depth: 8)).encoded(cutOut), "cut-out.png")
  }

  @Test("an uploaded picture gets its placeholder without a scan")
  func uploaded() throws {
    let daemon = try TestDaemon(unwatched: { try $0.put(UploadTests.picture(1), "a.jpg") })
    _ = try daemon.assetsWithPlaceholders()
    #expect(try daemon.upload(UploadTests.picture(2), "?filename=b.jpg").status == 201)
    #expect(try daemon.assetsWithPlaceholders().count == 2)
  }

  @Test("a picture that another process has scanned gets its placeholder without a scan of the daemon")
  func scannedBeside() throws {
    let daemon = try TestDaemon(unwatched: { try $0.put(UploadTests.picture(1), "a.jpg") })
    _ = try daemon.assetsWithPlaceholders()
    try TestDaemon.Files(root: daemon.library).put(UploadTests.picture(2), "b.jpg")
    try daemon.until("the scan has found the picture") {
      try TestDaemon.succeed(["scan", "--library", daemon.library, "--data", daemon.data])
      let assets = try daemon.get("/v1/assets?limit=1000").json["assets"] as? [Any]
      return assets?.count == 2
    }
    #expect(try daemon.assetsWithPlaceholders().count == 2)
  }

  @Test("every asset gets an upright placeholder with its shape and colours")
  func library() throws {
    let daemon = try TestDaemon { try Self.fill($0) }
    let assets = try daemon.assetsWithPlaceholders()
    #expect(assets.count == 9)
    for asset in assets {
      let identifier = try #require(asset["localIdentifier"] as? String)
      let path = try #require(asset["relativePath"] as? String)
      let placeholder = try #require(DecodedThumbHash(try Self.hash(asset)))
      let width = try #require(asset["pixelWidth"] as? Int)
      let height = try #require(asset["pixelHeight"] as? Int)
      // A side of the shape is one of seven, or five.
      #expect(abs(placeholder.aspectRatio / (Double(width) / Double(height)) - 1) < 0.2, "\(path)")
      #expect(placeholder.hasAlpha == path.hasSuffix("png"))
      // Other tests compare the daemon's pictures with the files.
      let frame = try daemon.get("/v1/assets/\(identifier)/image?targetSize=64x64&format=png&colorSpace=srgb")
      let picture = try #require(Pixels.decoded(frame.body)).pixels
      let isClose = zip(placeholder.average, picture.average).allSatisfy { abs(Double($0) - $1) < 14 }
      #expect(isClose, "\(path): \(placeholder.average), \(picture.average)")
      let (w, h) = (picture.width / 4, picture.height / 4)
      guard !placeholder.hasAlpha else { continue }
      let psnr = placeholder.pixels(width: w, height: h).psnr(against: picture.averaged(width: w, height: h))
      #expect(try #require(psnr) > 17, "\(path)")
      let one = try daemon.get("/v1/assets/\(identifier)").json
      #expect(one["placeholder"] as? String == asset["placeholder"] as? String)
    }
  }

  @Test("a placeholder changes the entity tag but not the revision, and is removed when the content changes")
  func tags() throws {
    func picture(_ color: [UInt8]) -> [UInt8] {
      JPEGFile { _ in }.encoded(
        Pixels(width: 64, height: 48, channels: 3, bytes: (0..<64 * 48).flatMap { _ in color }))
    }
    let daemon = try TestDaemon(
      { try $0.put(picture([200, 30, 30]), "a.jpg") }, arguments: ["--set", "scan.intervalSeconds=0"])
    let target = "/v1/assets/\(try daemon.identifier("a.jpg"))"
    // The first responses may come before the placeholder; all responses with one tag must be equal.
    var bodies: [String: [UInt8]] = [:]
    var answer = try daemon.get(target)
    func note() throws {
      let tag = try #require(answer["ETag"])
      #expect(bodies[tag] == nil || bodies[tag] == answer.body)
      bodies[tag] = answer.body
    }
    try note()
    try daemon.until("the asset has a placeholder") {
      answer = try daemon.get(target)
      try note()
      return !(answer.json["placeholder"] is NSNull)
    }
    let tag = try #require(answer["ETag"])
    #expect(try daemon.get(target, ["If-None-Match: \(tag)"]).status == 304)
    let revisions = bodies.values.map {
      ((try? JSONSerialization.jsonObject(with: Data($0))) as? [String: Any])?["revision"] as? String
    }
    #expect(Set(revisions).count == 1)

    let version = try #require(answer.json["contentVersion"] as? String)
    let before = try Self.hash(answer.json)
    try TestDaemon.Files(root: daemon.library).put(picture([30, 30, 200]), "a.jpg")
    try daemon.requestScan()
    try daemon.until("the changed asset has a placeholder") {
      answer = try daemon.get(target)
      return answer.json["contentVersion"] as? String != version && !(answer.json["placeholder"] is NSNull)
    }
    let after = try Self.hash(answer.json)
    #expect(after != before && answer["ETag"] != tag)
    let average = try #require(DecodedThumbHash(after)).average
    #expect(average[2] > 180 && average[0] < 50)
  }

  @Test("a picture whose edit is reverted at once gets its placeholder again, and its album its key asset")
  func revertedAtOnce() throws {
    let daemon = try TestDaemon.ofCards(1)
    let before = try #require(try daemon.assetsWithPlaceholders().first)
    let asset = try daemon.identifier("0.jpg")
    let changes = """
      {"changes": [
        {"type": "createAlbum", "title": "A", "placeholder": "$a"},
        {"type": "addAssets", "collection": "$a", "assets": ["\(asset)"]},
        {"type": "setAdjustments", "asset": "\(asset)", "adjustments": {"operations": [{"type": "exposure", "ev": 1}]}},
        {"type": "revertAdjustments", "asset": "\(asset)"}
      ]}
      """
    let done = try daemon.post("/v1/changes", changes)
    #expect(done.status == 200)
    let created = try #require(done.json["created"] as? [String: String])
    let album = try #require(created["$a"])
    #expect(try daemon.get("/v1/assets/\(asset)").json["isRenderable"] as? Bool == true)
    #expect(try daemon.get("/v1/collections/\(album)").json["keyAssets"] as? [String] == [asset])
    let after = try #require(try daemon.assetsWithPlaceholders().first)
    #expect(after["placeholder"] as? String == before["placeholder"] as? String)
    #expect(after["contentVersion"] as? String == before["contentVersion"] as? String)
  }

  @Test("an undecodable picture has no placeholder, and the others have theirs")
  func broken() throws {
    let whole = JPEGFile { _ in }.encoded(Scene(seed: 1).pixels(width: 320, height: 240))
    // Its header is sound, and no decoder accepts its first Huffman table.
    var broken = whole
    let table = try #require(whole.firstRange(of: [0xFF, 0xC4])).upperBound
    for i in table + 3..<table + 19 { broken[i] = 0xFF }
    let daemon = try TestDaemon { files in
      try files.put(broken, "broken.jpg")
      try files.put(whole, "whole.jpg")
    }
    let target = "/v1/assets/\(try daemon.identifier("whole.jpg"))"
    try daemon.until("the whole picture has a placeholder") {
      try daemon.get(target).json["placeholder"] is String
    }
    #expect(try daemon.get("/v1/assets/\(try daemon.identifier("broken.jpg"))").json["placeholder"] is NSNull)
  }
}
