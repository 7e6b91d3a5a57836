import ImageCodec
import MediaMetadata
import PhotoFixtures
import PhotoModel
import Testing

@Suite("WebP and GIF")
struct SmallContainerTests {
  @Test(
    "size and alpha are read from all three kinds of WebP",
    arguments: [
      (WebPFile.Kind.lossy, false), (.lossless, false), (.lossless, true), (.extended, false), (.extended, true),
    ])
  func webp(_ kind: WebPFile.Kind, _ hasAlpha: Bool) throws {
    let read = try header(WebPFile(kind) { ($0.hasAlpha, $0.width, $0.height) = (hasAlpha, 16_383, 2) }.bytes)
    #expect(read.format == .webp && read.storedSize == PixelSize(width: 16_383, height: 2) && read.hasAlpha == hasAlpha)
  }

  @Test("EXIF and XMP of a WebP are read after its pictures", arguments: [1, 7])
  func webpBlocks(_ frames: Int) throws {
    let exif = exifBlock {
      $0.orientation = 8
      $0.model = "Model 1"
    }
    for prefix in [[], EXIFSummary.signature] {
      let bytes = WebPFile(.extended) {
        ($0.exif, $0.xmp, $0.frames) = (prefix + exif, packet(rating: 4), frames)
      }.bytes
      let read = try header(bytes)
      #expect(read.orientation == .leftBottom && read.uprightSize == PixelSize(width: 200, height: 300))
      #expect(read.exif.model == "Model 1" && read.facts.rating == 4)
      #expect(part(read.block(.exif), of: bytes) == exif)
      #expect(part(read.block(.xmp), of: bytes) == Array(packet(rating: 4).utf8))
    }
  }

  @Test("a WebP with very many pictures is read without its metadata")
  func manyFrames() throws {
    let bytes = WebPFile(.extended) { ($0.exif, $0.frames) = (exifBlock { $0.orientation = 8 }, 2000) }.bytes
    let source = CountingSource(bytes)
    let read = try MediaHeader.read(from: source, limits: CodecLimits())
    #expect(read.storedSize == PixelSize(width: 300, height: 200) && read.exif.isEmpty)
    #expect(source.reads < 20)
  }

  @Test("animated GIF, WebP and PNG differ from still ones")
  func animations() throws {
    func png(_ chunks: [PNGChunk]) -> [UInt8] {
      PNGFile(.rgb(depth: 8)) { $0.chunks = chunks }.encoded(Pixels.orientationCard(width: 16, height: 16))
    }
    let cases: [(name: String, bytes: [UInt8], isAnimated: Bool)] = [
      ("a GIF", GIFFile().bytes, false), ("a GIF of two", GIFFile { $0.pictures = 2 }.bytes, true),
      ("a GIF with a delay", GIFFile { $0.delay = 10 }.bytes, false),
      ("a GIF that repeats", GIFFile { $0.repeats = "NETSCAPE2.0" }.bytes, false),
      ("a GIF of two that repeats", GIFFile { ($0.pictures, $0.repeats) = (2, "NETSCAPE2.0") }.bytes, true),
      ("a GIF of another application", GIFFile { $0.repeats = "ICCRGBG1012" }.bytes, false),
      ("a GIF that ends in its first picture", Array(GIFFile { $0.delay = 10 }.bytes.dropLast(3)), false),
      ("a WebP", WebPFile(.extended).bytes, false),
      ("a WebP of two", WebPFile(.extended) { $0.frames = 2 }.bytes, true),
      ("a PNG", png([]), false), ("an APNG", png([PNGChunk("acTL", [0, 0, 0, 2, 0, 0, 0, 0])]), true),
      ("an APNG of one picture", png([PNGChunk("acTL", [0, 0, 0, 1, 0, 0, 0, 0])]), false),
    ]
    for (name, bytes, isAnimated) in cases {
      #expect(try header(bytes).facts.isAnimated == isAnimated, "\(name)")
    }
  }

  @Test("the first picture of a GIF is skipped if it is not long; else a delay or a repetition says what it is")
  func longFirstPicture() throws {
    let block = [255] + [UInt8](repeating: 0x2C, count: 255)
    func gif(kilobytes: Int, _ change: (inout GIFFile) -> Void) -> [UInt8] {
      GIFFile {
        $0.data = (0..<kilobytes * 4).flatMap { _ in block }
        change(&$0)
      }.bytes
    }
    for (kilobytes, isSkipped) in [(900, true), (1100, false)] {
      let still = try header(gif(kilobytes: kilobytes) { $0.delay = 10 }).facts.isAnimated
      #expect(still == !isSkipped, "\(kilobytes) KiB")
      let two = try header(gif(kilobytes: kilobytes) { $0.pictures = 2 }).facts.isAnimated
      #expect(two == isSkipped, "\(kilobytes) KiB")
      let repeating = try header(gif(kilobytes: kilobytes) { ($0.pictures, $0.repeats) = (2, "ANIMEXTS1.0") })
      #expect(repeating.facts.isAnimated, "\(kilobytes) KiB")
      let source = CountingSource(gif(kilobytes: kilobytes) { $0.pictures = 2 })
      _ = try MediaHeader.read(from: source, limits: CodecLimits())
      #expect(source.reads <= 12, "\(source.reads) reads")
    }
  }

  @Test("size, transparency and XMP of a GIF are read", arguments: ["87a", "89a"])
  func gif(_ version: String) throws {
    for hasColorTable in [false, true] {
      // Of all lengths, so that readers of sub-blocks reach the ramp after the packet at every offset.
      for padding in 0..<257 {
        let xmp = packet(rating: 2) + String(repeating: "\n", count: padding)
        let bytes = GIFFile {
          ($0.version, $0.hasColorTable, $0.isTransparent, $0.xmp) = (version, hasColorTable, true, xmp)
          $0.comment = "before it"
        }.bytes
        let read = try header(bytes)
        #expect(read.format == .gif && read.storedSize == PixelSize(width: 300, height: 200) && read.hasAlpha)
        #expect(part(read.block(.xmp), of: bytes) == Array(xmp.utf8) && read.facts.rating == 2)
      }
    }
    #expect(try !header(GIFFile { $0.version = version }.bytes).hasAlpha)
  }
}
