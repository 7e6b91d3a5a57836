import ImageCodec
import MediaMetadata
import PhotoFixtures
import PhotoModel
import Testing

@Suite("Formats")
struct MediaFormatTests {
  @Test("each format is recognised by its bytes", arguments: ContainerSamples.all.map { $0.format })
  func kinds(_ format: MediaFormat) throws {
    let sample = try #require(ContainerSamples.all.first { $0.format == format })
    #expect(try header(sample.bytes).format == format)
  }

  static let brands: [(major: String?, compatible: [String], MediaFormat)] = [
    ("heic", ["mif1"], .heic), ("heix", [], .heic), ("hevc", ["msf1"], .heic), ("mif1", ["heic"], .heic),
    ("mif1", ["avif", "miaf"], .avif), ("mif1", ["mif1"], .heif), ("avis", ["avif"], .avif), ("avci", ["mif1"], .heif),
    ("qt  ", [], .quickTime), (nil, [], .quickTime), ("isom", ["qt  "], .mpeg4), ("mp42", [], .mpeg4),
    ("3gp4", [], .mpeg4), ("M4V ", [], .mpeg4), ("XAVC", [], .mpeg4),
  ]

  @Test("brands distinguish the formats based on boxes", arguments: brands)
  func branded(_ major: String?, _ compatible: [String], _ format: MediaFormat) throws {
    var bytes: [UInt8]
    if format.mediaType == .video {
      bytes = MovieFile { ($0.major, $0.compatible) = (major, compatible) }.bytes
    } else {
      bytes =
        HEIFFile {
          ($0.major, $0.compatible) = (major ?? "", compatible)
          // The codec, if the brands don't name one.
          if format == .heif { $0.itemType = "jpeg" }
        }.bytes
    }
    #expect(try header(bytes).format == format)
  }

  @Test(
    "without a codec in the brands, the type of the primary item decides",
    arguments: [("hvc1", MediaFormat.heic), ("av01", .avif), ("j2k1", .heif)])
  func codecs(_ type: String, _ format: MediaFormat) throws {
    for tiles in [0, 2] {
      let file = HEIFFile {
        ($0.major, $0.compatible, $0.itemType, $0.tiles) = ("mif1", ["mif1", "miaf"], type, tiles)
      }
      #expect(try header(file.bytes).format == format)
    }
  }

  @Test("a type identifier gives its format; only some have a decoder")
  func identifiers() {
    for format in MediaFormat.allCases {
      #expect(MediaFormat(uniformTypeIdentifier: format.uniformTypeIdentifier) == format)
      #expect(
        !format.decoders.isEmpty
          == (format.isRAW
            || [.jpeg, .png, .heic, .avif, .webp, .jxl, .gif, .bmp, .tiff, .quickTime, .mpeg4].contains(format)))
      #expect(format.isRAW == [.dng, .cr2, .cr3, .nef, .arw, .raf, .orf, .rw2, .pef].contains(format))
      #expect((format.mediaType == .video) == [.quickTime, .mpeg4].contains(format))
    }
    #expect(MediaFormat(uniformTypeIdentifier: "public.movie") == nil)
  }

  @Test("JPEG and PNG files are read by their own readers")
  func pictures() throws {
    let scene = Scene(seed: 3).pixels(width: 40, height: 30)
    let jpeg = JPEGFile {
      $0.exif = EXIFBlock {
        $0.orientation = 6
        $0.model = "Model 1"
        $0.thumbnail = DemoLibrary.thumbnail(of: scene)
      }
    }.encoded(scene)
    let read = try header(jpeg)
    #expect(read.format == .jpeg && read.storedSize == PixelSize(width: 40, height: 30))
    #expect(read.uprightSize == PixelSize(width: 30, height: 40) && read.exif.model == "Model 1")
    #expect(part(read.thumbnail, of: jpeg)?.prefix(2) == [0xFF, 0xD8] && read.block(.exif) != nil)
    let png = try header(PNGFile(.rgba(depth: 8)).encoded(scene))
    #expect(png.format == .png && png.hasAlpha && png.orientation == .topLeft && png.durationSeconds == 0)
  }

  static let strangers: [(name: String, bytes: [UInt8], error: CodecError)] = [
    ("empty", [], .truncated(offset: 0)),
    ("text", Array("hello, this is a text and no picture".utf8), .unsupported("a file of an unknown type")),
    ("text with a box's name", Array("free beer for freeskip".utf8), .unsupported("a file of an unknown type")),
    (
      "sound", MovieFile { ($0.major, $0.tracks) = ("M4A ", [.init { $0.handler = "soun" }]) }.bytes,
      .unsupported("an MPEG-4 file with sound only")
    ),
    (
      "sound without saying so", MovieFile { ($0.major, $0.tracks) = ("mp42", [.init { $0.handler = "soun" }]) }.bytes,
      .unsupported("an MPEG-4 video without a track of pictures")
    ), ("no track", MovieFile { $0.tracks = [] }.bytes, .unsupported("a QuickTime video without a track of pictures")),
    (
      "a header that is deflated", MovieFile { $0.isCompressed = true }.bytes,
      .unsupported("a movie whose header is compressed")
    ),
    (
      "a BigTIFF with offsets of nine bytes", TIFFPicture.tiff(.init()) { ($0.version, $0.padding) = (43, 1) }.bytes,
      .malformed("a BigTIFF whose offsets do not have eight bytes", offset: 4)
    ),
    (
      "a raw picture of another maker",
      TIFFPicture.tiff(.init()) {
        $0.chain[0].entries += [(330, .long([8]))]; $0.chain[0].entries.removeAll { $0.tag == 262 };
        $0.chain[0].entries.append((262, .short([32_803])))
      }
      .bytes, .unsupported("a RAW file of an unknown kind")
    ),
    (
      "no movie box", Boxes.fileType("qt  ") + Boxes.box("mdat", [1]),
      .malformed("a QuickTime video without the box that describes it", offset: nil)
    ),
    (
      "a movie cut off before its box", Boxes.fileType("qt  ") + Boxes.number(1000, 4) + Boxes.fourCC("mdat") + [1],
      .truncated(offset: 25)
    ),
  ]

  @Test("other formats are refused by name", arguments: strangers.indices)
  func refused(_ i: Int) {
    let (name, bytes, error) = Self.strangers[i]
    #expect(throws: error, "\(name)") { try header(bytes) }
  }

  @Test(
    "decoding a format without a decoder fails with the name of the format",
    arguments: ContainerSamples.all.map { $0.format }.filter { $0.decoders.isEmpty })
  func nouns(_ format: MediaFormat) throws {
    let sample = try #require(ContainerSamples.all.first { $0.format == format })
    #expect(throws: CodecError.unsupported(format.noun)) {
      try ImageHeader.read(from: MemoryByteSource(sample.bytes), limits: CodecLimits())
    }
    // A damaged file of this format is still distinguished from a damaged picture with a decoder.
    let start = Array(sample.bytes.prefix(40))
    do {
      _ = try ImageHeader.read(from: MemoryByteSource(start), limits: CodecLimits())
      Issue.record("a picture out of nothing")
    } catch {
      if case .unsupported = error { return }
      Issue.record("\(error)")
    }
  }
}
