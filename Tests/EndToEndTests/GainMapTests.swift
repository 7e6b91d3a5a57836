import Foundation
import PhotoFixtures
import Testing

/// Pictures of high dynamic range over HTTP: which answers have a gain map, and that caches tell them apart.
@Suite("Gain maps over HTTP", .blocking)
struct GainMapTests {
  private static let file = UltraHDRFile.landscape(width: 2400, height: 1800).encoded

  private static func daemon(_ arguments: [String] = []) throws -> (daemon: TestDaemon, image: String) {
    let daemon = try TestDaemon(
      { files in
        try files.put(file, "hdr.jpg")
        try files.put(JPEGFile { _ in }.encoded(Scene(seed: 3).pixels(width: 600, height: 400)), "plain.jpg")
      }, arguments: arguments)
    return (daemon, "/v1/assets/\(try daemon.identifier("hdr.jpg"))/image")
  }

  private static func hasMap(_ answer: TestDaemon.Response) -> Bool {
    let (isStated, isThere) = (answer.result("dynamic-range") == "high", UltraHDRFile.parts(answer.body) != nil)
    #expect(isStated == isThere, "Image-Result says what is in the file")
    return isThere
  }

  static let queries: [(query: String, hasMap: Bool)] = [
    ("?targetSize=800x800", true), ("?targetSize=800x800&dynamicRange=preserve", true),
    ("?targetSize=800x800&dynamicRange=standard", false), ("?targetSize=800x800&format=png", false),
    ("?targetSize=800x800&format=jpeg&quality=95&normalizedCropRect=0,0,0.5,0.5", true),
    // From a derivative.
    ("?targetSize=400x400", true), ("?targetSize=200x200", false), ("?preset=thumbnail", false),
    ("?targetSize=400x400&contentMode=aspectFill&colorSpace=srgb", true),
  ]

  @Test("JPEGs keep the gain map unless the standard range is asked for or they are small")
  func answers() throws {
    let (daemon, image) = try Self.daemon()
    for (query, hasMap) in Self.queries {
      // Made, and from the caches.
      for _ in 0..<2 {
        let answer = try daemon.get(image + query)
        #expect(answer.status == 200 && Self.hasMap(answer) == hasMap, "\(query)")
      }
    }
    #expect(try daemon.get(image + "?dynamicRange=high").status == 400)
  }

  @Test(
    "IIIF keeps the gain map of every region, size and rotation, except for tiles",
    arguments: [
      ("full/800,/0", true), ("full/800,/90", true), ("100,200,1000,900/500,/0", true),
      ("100,200,1000,900/max/!270", true), ("full/600,800/0", true), ("full/200,/0", false), ("full/300,225/0", false),
      // Tiles of scales 1 and 2.
      ("512,512,512,512/512,/0", false), ("1024,0,1024,1024/512,/0", false),
    ])
  func iiif(_ part: String, _ hasMap: Bool) throws {
    let (daemon, _) = try Self.daemon()
    let path = "/iiif/3/\(try daemon.identifier("hdr.jpg"))/\(part)"
    let answer = try daemon.get("\(path)/default.jpg")
    #expect(answer.status == 200 && Self.hasMap(answer) == hasMap, "\(part)")
    #expect(!Self.hasMap(try daemon.get("\(path)/gray.jpg")))
  }

  @Test("frames with and without a map have different tags and bytes, also after a restart")
  func tags() throws {
    let folders = try TestDaemon.Folders()
    try TestDaemon.Files(root: folders.library).put(Self.file, "hdr.jpg")
    #expect(try TestDaemon.run(["scan", "--library", folders.library, "--data", folders.data]).status == 0)
    var tags: [String] = []
    for _ in 0..<2 {
      let daemon = try TestDaemon(serving: folders)
      let image = "/v1/assets/\(try daemon.identifier("hdr.jpg"))/image?targetSize=800x800"
      let high = try daemon.get(image)
      let standard = try daemon.get(image + "&dynamicRange=standard")
      let (own, other) = (try #require(high["ETag"]), try #require(standard["ETag"]))
      #expect(own != other && high.body.count > standard.body.count && Self.hasMap(high) && !Self.hasMap(standard))
      #expect(try daemon.get(image, ["If-None-Match: \(own)"]).status == 304)
      #expect(try daemon.get(image, ["If-None-Match: \(other)"]).status == 200)
      tags += [own, other]
      #expect(daemon.terminate() == 0)
    }
    #expect(tags.prefix(2) == tags.suffix(2))
  }

  @Test("a picture without a gain map has one frame, whatever is asked for")
  func plain() throws {
    let (daemon, _) = try Self.daemon()
    let image = "/v1/assets/\(try daemon.identifier("plain.jpg"))/image?targetSize=300x300"
    let (preserve, standard) = (try daemon.get(image), try daemon.get(image + "&dynamicRange=standard"))
    #expect(preserve["ETag"] == standard["ETag"] && preserve.body == standard.body && !Self.hasMap(preserve))
  }

  @Test("the full size is the file, which has its map; without the map it is rendered")
  func fullSize() throws {
    let (daemon, image) = try Self.daemon()
    let whole = try daemon.get(image)
    #expect(whole.body == Self.file && whole.result("dynamic-range") == "high")
    let standard = try daemon.get(image + "?dynamicRange=standard")
    #expect(standard.body != Self.file && !Self.hasMap(standard))
    #expect(try daemon.get(image + "?version=original&dynamicRange=standard").body != Self.file)
  }

  @Test("degraded frames have no map; the final one has")
  func degraded() throws {
    let (daemon, image) = try Self.daemon()
    // A derivative is there for the degraded frame.
    _ = try daemon.get(image + "?targetSize=400x400")
    let answer = try daemon.get(image + "?targetSize=1600x1600&deliveryMode=opportunistic&multipart=mixed")
    let parts = try Multipart(answer).parts
    #expect(parts.count >= 2)
    for part in parts {
      let isDegraded = part.fields["image-result"]?.contains("degraded=?1") == true
      #expect((UltraHDRFile.parts(part.body) != nil) == !isDegraded)
      #expect((part.fields["image-result"]?.contains("dynamic-range=high") == true) == !isDegraded)
    }
  }

  @Test(
    "format=auto does not replace a frame with a map by a format that would drop it",
    .enabled(if: EncodedFormatTests.isBuilt))
  func automaticFormat() throws {
    let (daemon, image) = try Self.daemon(["--set", "render.upgradePercent=100"])
    let target = image + "?targetSize=500x500"
    let accept = "Accept: image/avif,image/webp,image/*,*/*;q=0.8"
    // There is a smaller frame, which was asked for by name.
    #expect(try daemon.get(target + "&format=webp")["Content-Type"] == "image/webp")
    for _ in 0..<4 {
      let answer = try daemon.get(target, [accept])
      #expect(answer["Content-Type"] == "image/jpeg" && Self.hasMap(answer))
    }
    // Without the map there is nothing to lose.
    try daemon.until("the frame without a map is replaced") {
      try daemon.get(target + "&dynamicRange=standard", [accept])["Content-Type"] == "image/webp"
        || (try daemon.get(target + "&dynamicRange=standard", [accept])["Content-Type"] == "image/avif")
    }
    #expect(try daemon.get(target, [accept])["Content-Type"] == "image/jpeg")
  }

  @Test("an adjusted picture keeps its map if only its geometry changed")
  func adjusted() throws {
    let (daemon, image) = try Self.daemon()
    let adjustments = image.replacingOccurrences(of: "/image", with: "/adjustments")
    for (operation, hasMap) in [
      (#"{"type": "rotate", "quarterTurns": 1}"#, true), (#"{"type": "exposure", "ev": 0.5}"#, false),
    ] {
      #expect(try daemon.post(adjustments, #"{"operations": [\#(operation)]}"#, method: "PUT").status == 200)
      for size in [400, 900] {
        #expect(Self.hasMap(try daemon.get(image + "?targetSize=\(size)x\(size)")) == hasMap, "\(operation) \(size)")
      }
    }
  }

  // MARK: HEIC

  /// A HEIC of 320 x 48 whose tiles are all the left one of ``CodedSamples/heic(_:damaged:)``, with a tone map by a
  /// coloured gain map of 160 x 24.
  private static func toneMapped(_ properties: [[UInt8]]) -> [UInt8] {
    let color = CodedHEIFFile.nclx(1, 13, 6, isFullRange: true)
    func grid(_ columns: Int, _ rows: Int) -> [CodedHEIFFile.Item] {
      CodedHEIFFile.grid(
        columns: columns, rows: rows, tile: CodedSamples.tile, size: (40 * columns, 24 * rows),
        configuration: CodedHEIFFile.hvcC(sets: CodedSamples.parameterSets), properties: [color] + properties
      ) { _ in Boxes.number(CodedSamples.tiles[0].count, 4) + CodedSamples.tiles[0] }
    }
    var items = grid(8, 2)
    for var item in grid(4, 1) {
      item.id += 1000
      if item.id == 1001 { item.references = [("dimg", (0..<4).map { 1100 + $0 })] }
      items.append(item)
    }
    // ISO 21496-1: gains from 0 to 2 stops, an exponent of 1, and offsets of 0.
    let numbers = [0, 1, 2, 1, 0, 1, 2, 1, 1, 1, 0, 1, 0, 1].flatMap { Boxes.number($0, 4) }
    items.append(
      CodedHEIFFile.Item(2000, "tmap", [0, 0, 0, 0, 0, 0x40] + numbers, references: [("dimg", [1, 1001])]))
    return CodedHEIFFile(items).bytes
  }

  @Test(
    "a HEIC with a tone map becomes a JPEG with its gain map, turned like the picture",
    .enabled(if: CodedImageTests.isBuilt("hevc")), arguments: [false, true])
  func toneMap(_ isTurned: Bool) throws {
    let daemon = try TestDaemon { files in
      try files.put(Self.toneMapped(isTurned ? [CodedHEIFFile.irot(3)] : []), "a.heic")
    }
    let asset = "/v1/assets/\(try daemon.identifier("a.heic"))"
    #expect((try daemon.get(asset).json["mediaSubtypes"] as? [String])?.contains("photoHDR") == true)
    let answer = try daemon.get(asset + "/image?format=jpeg")
    #expect(Self.hasMap(answer))
    let map = try #require(UltraHDRFile.parts(answer.body)?.mapPixels)
    let tile = CodedSamples.heicPixels
    let stored = tile.mapped(width: 160, height: 24) { ($0 % 40, min($1, 21)) }
    // Three quarter turns anticlockwise are EXIF's orientation 6.
    let difference = try #require((isTurned ? map.stored(orientation: 6) : map).meanDifference(from: stored))
    #expect(difference < 4, "\(difference)")
    #expect(!Self.hasMap(try daemon.get(asset + "/image?format=jpeg&dynamicRange=standard")))
  }
}
