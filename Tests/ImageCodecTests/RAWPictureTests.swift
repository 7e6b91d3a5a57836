import ImageCodec
import MediaMetadata
import PhotoFixtures
import PhotoModel
import Testing

@Suite("What can be shown of a RAW file")
struct RAWPictureTests {
  private static func jpeg(_ width: Int, _ height: Int, _ change: (inout JPEGFile) -> Void = { _ in }) -> [UInt8] {
    JPEGFile(change).encoded(Pixels(width: width, height: height, channels: 3))
  }
  private static let (small, medium, large) = (jpeg(48, 32), jpeg(96, 64), jpeg(192, 128))

  private func header(_ bytes: [UInt8], limits: CodecLimits = CodecLimits()) throws(CodecError) -> ImageHeader {
    try ImageHeader.read(from: MemoryByteSource(bytes), limits: limits)
  }

  private func nef(_ previews: [[UInt8]], _ change: (inout TIFFPicture.Details) -> Void = { _ in }) -> [UInt8] {
    RAWSamples.file("nef", TIFFPicture.Details(change), previews: previews)
  }

  @Test("the largest preview is the picture, turned by the RAW file and not by itself", arguments: RAWSamples.names)
  func largest(_ name: String) throws {
    // Only Fujifilm's files have no orientation besides that of the JPEG.
    let isRAF = name == "raf"
    let preview = Self.jpeg(192, 128) { $0.exif = EXIFBlock { $0.orientation = isRAF ? 6 : 3 } }
    let bytes = RAWSamples.file(name, .init { $0.orientation = 6 }, previews: [Self.small, Self.medium, preview])
    let read = try header(bytes)
    let raw = try #require(read.raw)
    let isFourThirds = ["orf", "rw2"].contains(name)
    let developed = RAWSamples.developedSize(name)
    #expect(read.format == .jpeg && read.storedSize == PixelSize(width: 192, height: 128))
    #expect(read.orientation == .rightTop && read.uprightSize == PixelSize(width: 128, height: 192))
    #expect(part(raw.range, of: bytes) == preview)
    // A preview with another aspect ratio is a picture of its own.
    let expected = isFourThirds ? read.storedSize : PixelSize(width: developed.width, height: developed.height)
    #expect(raw.developedSize == expected && read.requestedSize == expected.transposed)
    #expect(raw.smaller.map(\.storedSize.width) == (isFourThirds || isRAF ? [] : [48, 96]))
    #expect(read.metadata.model == (isRAF ? nil : "Model 1"))
  }

  @Test(
    "the smallest preview with enough pixels serves, else the largest",
    arguments: [
      (0.5, 48), (48, 48), (48.5, 48), (49, 96), (96, 96), (97, 192), (192, 192), (193, 192), (6000, 192),
    ] as [(Double, Int)])
  func serving(_ width: Double, _ expected: Int) throws {
    let read = try header(nef([Self.large, Self.jpeg(100, 100), Self.small, Self.medium]))
    let chosen = read.preview(ofWidth: width)
    #expect(chosen.storedSize.width == expected && chosen.raw?.smaller == [])
    #expect(chosen.raw?.developedSize == read.raw?.developedSize && chosen.orientation == read.orientation)
  }

  @Test("a thumbnail with black bars is the picture only if there is nothing else")
  func bars() throws {
    let thumbnail = Self.jpeg(160, 120)
    let both = try header(nef([thumbnail, Self.small]))
    #expect(both.storedSize.width == 48 && both.raw?.smaller == [])
    // It may still be trimmed for a degraded frame.
    #expect(both.previews.count == 1)
    let only = try header(nef([thumbnail]))
    #expect(only.storedSize == PixelSize(width: 160, height: 120) && only.raw?.developedSize == only.storedSize)
  }

  static let contents: [(name: String, developed: PixelSize, preview: PixelSize, content: PixelRect)] = [
    (
      "the same aspect ratio", PixelSize(width: 6000, height: 4000), PixelSize(width: 1620, height: 1080),
      PixelRect(x: 0, y: 0, width: 1620, height: 1080)
    ),
    (
      "rows too many", PixelSize(width: 6000, height: 4000), PixelSize(width: 1616, height: 1080),
      PixelRect(x: 0, y: 1, width: 1616, height: 1077)
    ),
    (
      "columns too many", PixelSize(width: 6016, height: 4016), PixelSize(width: 6000, height: 4000),
      PixelRect(x: 4, y: 0, width: 5992, height: 4000)
    ),
    (
      "a single pixel", PixelSize(width: 6000, height: 4000), PixelSize(width: 1, height: 1),
      PixelRect(x: 0, y: 0, width: 1, height: 1)
    ),
  ]

  @Test("the content of a preview has the picture's aspect ratio and is centred", arguments: contents.indices)
  func content(_ i: Int) throws {
    let (name, developed, preview, content) = Self.contents[i]
    let bytes = CR3File {
      ($0.width, $0.height, $0.thumbnail) = (developed.width, developed.height, Self.jpeg(150, 100))
    }.bytes
    let raw = try #require(try header(bytes).raw)
    #expect(raw.developedSize == developed && raw.content(of: preview) == content, "\(name)")
  }

  @Test("a RAW file without a preview is refused by name", arguments: RAWSamples.names)
  func none(_ name: String) throws {
    let bytes = RAWSamples.file(name, .init(), previews: [])
    let format = try #require(MediaFormat(rawValue: name))
    let error = CodecError.unsupported("\(format.noun) without a preview, and demosaicing is not available")
    // Without its JPEG, a RAF still has a size of its own.
    #expect(throws: error) { try header(bytes) }
  }

  @Test("a preview over the limits is left out")
  func limits() throws {
    let bytes = nef([Self.small, Self.large])
    #expect(try header(bytes, limits: CodecLimits(sourcePixels: 10_000)).storedSize.width == 48)
    #expect(throws: CodecError.self) { try header(bytes, limits: CodecLimits(sourcePixels: 100)) }
  }

  static let colors: [(name: String, space: Int?, index: String?, isAdobeRGB: Bool)] = [
    ("nothing", nil, nil, false), ("sRGB", 1, "R98", false), ("the optional space", 65_535, "R03", true),
    ("only the index", nil, "R03", true), ("converted", 1, "R03", false), ("not standard", 2, nil, true),
    ("uncalibrated", 65_535, nil, false),
  ]

  @Test(
    "a preview without a description has the colour space that the RAW file states",
    arguments: colors.indices, ["nef", "cr3", "orf"])
  func adobeRGB(_ i: Int, _ name: String) throws {
    let (_, space, index, isAdobeRGB) = Self.colors[i]
    func details(_ details: inout TIFFPicture.Details) {
      (details.colorSpace, details.interoperabilityIndex) = (space, index)
    }
    let read = try header(RAWSamples.file(name, .init(details), previews: [Self.large]))
    #expect((read.calibration == .adobeRGB) == isAdobeRGB && read.embeddedProfile == nil, "\(name) \(i)")
    // Its own description counts.
    let described = Self.jpeg(192, 128) { $0.exif = EXIFBlock { $0.colorSpace = 1 } }
    #expect(try header(RAWSamples.file(name, .init(details), previews: [described])).calibration == nil)
  }

  @Test("a preview's ICC profile is found at its position in the file")
  func profile() throws {
    let profile = (0..<3000).map { UInt8($0 % 251) }
    let preview = Self.jpeg(192, 128) { $0.profile = profile }
    let bytes = nef([Self.small, preview])
    let read = try header(bytes)
    let color = try SourceColor(read, in: MemoryByteSource(bytes), limits: CodecLimits())
    #expect(color.profile == profile)
    // The smaller preview has other colours, as far as its header shows.
    #expect(read.raw?.smaller == [] && read.previews.count == 1)
  }

  @Test("every truncated or changed file gives a preview inside of it or an error", arguments: RAWSamples.names)
  func hostile(_ name: String) {
    let bytes = RAWSamples.file(name, .init(), previews: [Self.small, Self.medium, Self.large])
    for position in stride(from: 0, to: bytes.count, by: 5) {
      var changed = bytes
      changed[position] ^= 0xFF
      for file in [Array(bytes.prefix(position)), changed] {
        let source = CountingSource(file)
        let read = try? ImageHeader.read(from: source, limits: CodecLimits())
        #expect(source.reads <= 128)
        guard let read, let raw = read.raw else { continue }
        let areInside = ([raw] + raw.smaller.compactMap(\.raw)).allSatisfy {
          $0.range.offset >= 0 && $0.range.offset + Int64($0.range.length) <= source.size
        }
        let content = raw.content(of: read.storedSize)
        #expect(areInside && content.width > 0 && content.height > 0 && content.x >= 0 && content.y >= 0)
        #expect(content.x + content.width <= read.storedSize.width)
        #expect(content.y + content.height <= read.storedSize.height)
      }
    }
  }
}
