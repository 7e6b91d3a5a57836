import ImageCodec
import ImageRender
import MediaMetadata
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
    let wanted = header.sized(request)
    let thumbnail = EmbeddedThumbnail.best(for: wanted, of: header, in: source, limits: limits)
    return try thumbnail?.render(for: wanted, of: header, in: source, limits: limits, stop: StopFlag())
  }

  @Test("a thumbnail's place in the file is found in either byte order", arguments: [false, true])
  func place(_ isBigEndian: Bool) throws {
    let scene = Scene(seed: 3).pixels(width: 400, height: 300)
    let thumbnail = DemoLibrary.thumbnail(of: scene)
    let file = photo(scene, thumbnail: thumbnail, isBigEndian: isBigEndian)
    let header = try ImageHeader.read(from: MemoryByteSource(file), limits: CodecLimits())
    let range = try #require(header.embeddedThumbnail)
    #expect(Array(file[Int(range.offset)..<Int(range.offset) + range.length]) == thumbnail)
  }

  @Test("a suitable thumbnail is sent unchanged")
  func asItIs() throws {
    let scene = Scene(seed: 3).pixels(width: 800, height: 600)
    let thumbnail = DemoLibrary.thumbnail(of: scene)
    let image = try #require(try frame(photo(scene, thumbnail: thumbnail), request(400, 400, .aspectFit, .jpeg)))
    #expect(image.bytes == thumbnail)
  }

  @Test(
    "black bars are trimmed, so the frame has the picture's aspect ratio",
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

  @Test("a thumbnail is turned upright with its picture", arguments: [3, 6, 8])
  func turned(_ orientation: Int) throws {
    let upright = Pixels.orientationCard(width: 640, height: 480)
    let stored = upright.stored(orientation: orientation)
    let file = photo(stored, orientation: orientation, thumbnail: DemoLibrary.thumbnail(of: stored))
    let image = try #require(try frame(file, request(100, 100, .aspectFit, .png)))
    let pixels = try #require(Pixels.decoded(image.bytes)).pixels.channels(3)
    let reference = upright.averaged(width: image.size.width, height: image.size.height)
    #expect(try #require(pixels.meanDifference(from: reference)) < 6)
  }

  @Test("an aspectFill frame from a thumbnail is cropped like the final frame")
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

  @Test("a stale thumbnail, from before a crop, is not used")
  func stale() throws {
    let before = Scene(seed: 3).pixels(width: 800, height: 600)
    let after = before.cropped(x: 0, y: 0, width: 800, height: 300)
    #expect(try frame(photo(after, thumbnail: DemoLibrary.thumbnail(of: before)), request(400, 400)) == nil)
  }

  @Test("a damaged thumbnail is not shown")
  func damaged() throws {
    let scene = Scene(seed: 3).pixels(width: 800, height: 600)
    let thumbnail = DemoLibrary.thumbnail(of: scene)
    func tables(_ marker: UInt8) throws -> [UInt8] {
      var bytes = thumbnail
      while let place = bytes.firstRange(of: [0xFF, marker]) { bytes[place.lowerBound + 1] = 0xE0 }
      return bytes
    }
    let wish = request(400, 400, .aspectFit, .jpeg)
    for (name, bytes) in [
      ("cut short", Array(thumbnail.dropLast(thumbnail.count / 3))), ("without EOI", Array(thumbnail.dropLast(2))),
      ("without its Huffman tables", try tables(0xC4)), ("without its quantization tables", try tables(0xDB)),
    ] {
      let image = try? frame(photo(scene, thumbnail: bytes), wish)
      #expect(image?.bytes != bytes, "\(name)")
      // The other thumbnails have complete pixels, and libjpeg adds missing Huffman tables: they are encoded again, so
      // the frame is valid.
      if name == "cut short" || name == "without its quantization tables" { #expect(image == nil, "\(name)") }
    }
    // Padding after EOI, as cameras write it, is no damage and is not sent.
    let padded = try #require(try frame(photo(scene, thumbnail: thumbnail + [0, 0, 0]), wish))
    #expect(padded.bytes == thumbnail)
  }

  @Test("a thumbnail with metadata is not sent unchanged")
  func talkative() throws {
    let scene = Scene(seed: 3).pixels(width: 800, height: 600)
    let small = scene.averaged(width: 160, height: 120)
    let place = EXIFBlock {
      $0.latitude = 47
      $0.longitude = 11
    }
    let thumbnail = JPEGFile { $0.exif = place }.encoded(small)
    let image = try #require(try frame(photo(scene, thumbnail: thumbnail), request(400, 400, .aspectFit, .jpeg)))
    #expect(image.size == PixelSize(width: 160, height: 120) && image.bytes.firstRange(of: Array("Exif".utf8)) == nil)
  }

  @Test(
    "a thumbnail with a short segment or a stray marker is not sent unchanged",
    arguments: [[0xFF, 0xE0, 0, 0], [0xFF, 0xE0, 0, 1], [0xFF, 0x01], [0xFF, 0xD3]] as [[UInt8]], [false, true])
  func oddHeader(_ bytes: [UInt8], _ hasProfile: Bool) throws {
    let scene = Scene(seed: 3).pixels(width: 800, height: 600)
    let sound = DemoLibrary.thumbnail(of: scene)
    let thumbnail = Array(sound[..<2]) + bytes + Array(sound[2...])
    let file = JPEGFile {
      $0.exif = EXIFBlock { $0.thumbnail = thumbnail }
      $0.profile = hasProfile ? ICCFile.displayP3 : nil
    }.encoded(scene)
    let image = try #require(try frame(file, request(400, 400, .aspectFit, .jpeg)))
    #expect(image.bytes != thumbnail)
    let shown = try #require(Pixels.decoded(image.bytes)).pixels.channels(3)
    let expected = try #require(Pixels.decoded(sound)).pixels.channels(3)
    #expect(try #require(shown.meanDifference(from: expected)) < 3)
  }

  // MARK: Multi-picture files

  private static let scene = Scene(seed: 3).pixels(width: 800, height: 600)
  private static let previews = [(320, 240), (600, 450)].map {
    JPEGFile { _ in }.encoded(scene.averaged(width: $0, height: $1))
  }

  /// A photograph of 800x600 with a thumbnail of 160x120, followed by previews of 320x240 and 600x450.
  private func multiPicture(isBigEndian: Bool = false) -> (file: [UInt8], previews: [[UInt8]]) {
    let (small, large) = (Self.previews[0], Self.previews[1])
    var file = MultiPictureFile(previews: [(type: 0x01_0001, bytes: small), (type: 0x01_0002, bytes: large)])
    file.isBigEndian = isBigEndian
    return (file.encoded(photo(Self.scene, thumbnail: DemoLibrary.thumbnail(of: Self.scene))), Self.previews)
  }

  @Test("previews are found by the multi-picture index, in either byte order", arguments: [false, true])
  func previews(_ isBigEndian: Bool) throws {
    let (file, previews) = multiPicture(isBigEndian: isBigEndian)
    let header = try ImageHeader.read(from: MemoryByteSource(file), limits: CodecLimits())
    #expect(header.previews.map { Array(file[Int($0.offset)..<Int($0.offset) + $0.length]) } == previews)
  }

  @Test("previews are found after metadata of any length")
  func previewsAfterMuchMetadata() throws {
    let long = JPEGSegment(marker: 0xE9, content: [UInt8](repeating: 1, count: 50_000))
    let photograph = JPEGFile { $0.segments = [long, long] }.encoded(Self.scene)
    let file = MultiPictureFile(previews: [(type: 0x01_0001, bytes: Self.previews[0])]).encoded(photograph)
    let header = try ImageHeader.read(from: MemoryByteSource(file), limits: CodecLimits())
    #expect(header.previews.map(\.length) == [Self.previews[0].count])
  }

  @Test("other pictures of the index and missing previews are not used")
  func otherPictures() throws {
    let scene = Scene(seed: 3).pixels(width: 160, height: 120)
    let photograph = JPEGFile { _ in }.encoded(scene)
    // Stereo, the undefined type of a gain map, and a preview that is not a JPEG.
    for type in [0x02_0002, 0x00_0000, 0x0101_0001] {
      let file = MultiPictureFile(previews: [(type: type, bytes: photograph)]).encoded(photograph)
      #expect(try ImageHeader.read(from: MemoryByteSource(file), limits: CodecLimits()).previews.isEmpty)
    }
    let cut = MultiPictureFile(previews: [(type: 0x01_0001, bytes: photograph)]).encoded(photograph).dropLast(10)
    #expect(try ImageHeader.read(from: MemoryByteSource(Array(cut)), limits: CodecLimits()).previews.isEmpty)
  }

  @Test(
    "the smallest preview with enough pixels is used unless far too large, else the largest",
    arguments: [40, 160, 170, 300, 320, 500, 600, 700])
  func choice(_ target: Int) throws {
    let (file, previews) = multiPicture()
    let image = try #require(try frame(file, request(target, target, .aspectFit, .jpeg)))
    let expected = min(target, 600)
    #expect(image.size == PixelSize(width: expected, height: (expected * 3 + 2) / 4))
    if target == 320 { #expect(image.bytes == previews[0], "as it is") }
    if target >= 600 { #expect(image.bytes == previews[1], "as it is") }
  }

  @Test("a preview with four times the pixels on a side is not decoded to gain a few pixels over the thumbnail")
  func farTooLarge() throws {
    let preview = JPEGFile { _ in }.encoded(Self.scene.averaged(width: 720, height: 540))
    let photograph = photo(Self.scene, thumbnail: DemoLibrary.thumbnail(of: Self.scene))
    let file = MultiPictureFile(previews: [(type: 0x01_0001, bytes: preview)]).encoded(photograph)
    // The frame would be 170x128, and is reduced to fit 160x120.
    #expect(try frame(file, request(170, 170))?.size == PixelSize(width: 159, height: 120))
    #expect(try frame(file, request(190, 190))?.size.width == 190)
  }

  @Test("without a thumbnail, a preview of any allowed size is used")
  func onlyPreview() throws {
    let (scene, preview) = (Self.scene, Self.previews[1])
    let file = MultiPictureFile(previews: [(type: 0x01_0002, bytes: preview)]).encoded(JPEGFile { _ in }.encoded(scene))
    let image = try #require(try frame(file, request(80, 80)))
    let pixels = try #require(Pixels.decoded(image.bytes)).pixels.channels(3)
    #expect(try #require(pixels.meanDifference(from: scene.averaged(width: 80, height: 60))) < 4)
  }

  @Test("a preview of another shape, a progressive one and a huge one are not used")
  func unusablePreviews() throws {
    let scene = Self.scene
    let photograph = JPEGFile { _ in }.encoded(scene)
    let others = [
      JPEGFile { _ in }.encoded(scene.cropped(x: 0, y: 0, width: 640, height: 320)),
      JPEGFile { $0.isProgressive = true }.encoded(scene.averaged(width: 320, height: 240)),
      JPEGFile { _ in }.encoded(Pixels(width: 2400, height: 1800, channels: 3)),
    ]
    for other in others {
      let file = MultiPictureFile(previews: [(type: 0x01_0002, bytes: other)]).encoded(photograph)
      #expect(try frame(file, request(400, 400)) == nil)
    }
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
