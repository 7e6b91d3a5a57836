import ImageCodec
import ImageRender
import PhotoFixtures
import PhotoModel
import Testing

@Suite("Embedded thumbnails and headers")
struct ThumbnailTests {
  private func photo(_ scene: Pixels, orientation: Int = 1, thumbnail: [UInt8]?, isBigEndian: Bool = false) -> [UInt8] {
    JPEGFile {
      $0.exif = EXIFBlock {
        $0.isBigEndian = isBigEndian
        $0.orientation = orientation
        $0.thumbnail = thumbnail
      }
    }.encoded(scene)
  }

  private func frame(_ file: [UInt8], _ request: ImageRequest) throws -> RenderedImage? {
    let source = MemoryByteSource(file)
    let limits = CodecLimits()
    let header = try ImageHeader.read(from: source, limits: limits)
    let range = try #require(header.embeddedThumbnail)
    let thumbnail = try EmbeddedThumbnail(at: range, in: source, of: header, limits: limits, stop: StopFlag())
    return try thumbnail?.render(for: request, of: header, limits: limits, stop: StopFlag())
  }

  @Test("its place in the file is found, in either byte order", arguments: [false, true])
  func place(_ isBigEndian: Bool) throws {
    let scene = Scene(seed: 3).pixels(width: 400, height: 300)
    let thumbnail = DemoLibrary.thumbnail(of: scene)
    let file = photo(scene, thumbnail: thumbnail, isBigEndian: isBigEndian)
    let header = try ImageHeader.read(from: MemoryByteSource(file), limits: CodecLimits())
    let range = try #require(header.embeddedThumbnail)
    #expect(Array(file[Int(range.offset)..<Int(range.offset) + range.length]) == thumbnail)
  }

  @Test("one that serves is sent as it is")
  func asItIs() throws {
    let scene = Scene(seed: 3).pixels(width: 800, height: 600)
    let thumbnail = DemoLibrary.thumbnail(of: scene)
    let image = try #require(try frame(photo(scene, thumbnail: thumbnail), request(400, 400, .aspectFit, .jpeg)))
    #expect(image.bytes == thumbnail)
  }

  @Test(
    "black bars are trimmed: the frame has the picture's aspect ratio",
    arguments: [(900, 600, 160, 107), (1600, 600, 160, 60), (600, 900, 107, 160)])
  func bars(_ width: Int, _ height: Int, _ frameWidth: Int, _ frameHeight: Int) throws {
    let scene = Scene(seed: 3).pixels(width: width, height: height)
    let image = try #require(
      try frame(photo(scene, thumbnail: DemoLibrary.thumbnail(of: scene)), request(400, 400, .aspectFit, .png)))
    #expect(abs(image.size.width - frameWidth) <= 1 && abs(image.size.height - frameHeight) <= 1)
    let pixels = try #require(Pixels.decoded(image.bytes)).pixels.channels(3)
    let reference = scene.averaged(width: image.size.width, height: image.size.height)
    let difference = try #require(pixels.meanDifference(from: reference))
    #expect(difference < 8)
  }

  @Test("it is turned with the picture", arguments: [3, 6, 8])
  func turned(_ orientation: Int) throws {
    let upright = Pixels.orientationCard(width: 640, height: 480)
    let stored = upright.stored(orientation: orientation)
    let file = photo(stored, orientation: orientation, thumbnail: DemoLibrary.thumbnail(of: stored))
    let image = try #require(try frame(file, request(100, 100, .aspectFit, .png)))
    let pixels = try #require(Pixels.decoded(image.bytes)).pixels.channels(3)
    let reference = upright.averaged(width: image.size.width, height: image.size.height)
    #expect(try #require(pixels.meanDifference(from: reference)) < 6)
  }

  @Test("a fill frame is cropped as the final one is")
  func filled() throws {
    let card = Pixels.orientationCard(width: 640, height: 480)
    let image = try #require(
      try frame(photo(card, thumbnail: DemoLibrary.thumbnail(of: card)), request(300, 300, .aspectFill, .png)))
    #expect(image.size.width == image.size.height && image.size.width <= 120)
    let pixels = try #require(Pixels.decoded(image.bytes)).pixels.channels(3)
    let reference = card.cropped(x: 80, y: 0, width: 480, height: 480).averaged(
      width: image.size.width, height: image.size.height)
    #expect(try #require(pixels.meanDifference(from: reference)) < 6)
  }

  @Test("a stale one, left behind by a crop, is not used")
  func stale() throws {
    let before = Scene(seed: 3).pixels(width: 800, height: 600)
    let after = before.cropped(x: 0, y: 0, width: 800, height: 300)
    #expect(try frame(photo(after, thumbnail: DemoLibrary.thumbnail(of: before)), request(400, 400)) == nil)
  }

  @Test("EXIF is read in either byte order", arguments: [false, true])
  func metadata(_ isBigEndian: Bool) throws {
    let file = JPEGFile {
      $0.exif = EXIFBlock {
        $0.isBigEndian = isBigEndian
        $0.orientation = 8
        $0.make = "Maker"
        $0.model = "Model 1 "
        $0.dateTimeOriginal = "2024:05:06 07:08:09"
        $0.offsetTimeOriginal = "-03:30"
        $0.subSecTimeOriginal = "5"
        $0.latitude = -33.9628
        $0.longitude = 18.4098
        $0.altitude = -12.5
      }
    }.encoded(Pixels(width: 8, height: 8, channels: 3))
    let summary = try ImageHeader.read(from: MemoryByteSource(file), limits: CodecLimits()).metadata
    #expect(summary.orientation == .leftBottom)
    #expect(summary.make == "Maker" && summary.model == "Model 1")
    #expect(
      summary.date
        == EXIFDate(year: 2024, month: 5, day: 6, hour: 7, minute: 8, second: 9, millisecond: 500, offsetMinutes: -210))
    let location = try #require(summary.location)
    #expect(
      abs(location.latitude + 33.9628) < 1e-5 && abs(location.longitude - 18.4098) < 1e-5 && location.altitude == -12.5)
  }
}
