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

  @Test("a RAW file without a preview is to be developed from its sensor data", arguments: RAWSamples.names)
  func none(_ name: String) throws {
    let bytes = RAWSamples.file(name, .init { $0.orientation = 6 }, previews: [])
    let developed = RAWSamples.developedSize(name)
    let read = try header(bytes)
    #expect(read.format == .raw && read.raw == nil && read.developed == nil && read.scalesDecodes)
    // Without its JPEG, a RAF still has a size of its own.
    #expect(read.storedSize == PixelSize(width: developed.width, height: developed.height))
    #expect(read.orientation == (name == "raf" ? .topLeft : .rightTop))
    #expect(read.metadata.model == (name == "raf" ? nil : "Model 1"))
    guard case .raw(let sensor) = read.coded else { throw Failure() }
    #expect(sensor.file == ByteRange(offset: 0, length: bytes.count) && !sensor.isLinear)
    // Half the size takes less, and pixels take bytes.
    #expect(sensor.workingBytes(eighths: 4) < sensor.workingBytes(eighths: 8))
    #expect(read.decoderBytes(eighths: 8, inPlanes: false) > sensor.size.pixelCount * 13 + bytes.count)
  }

  private struct Failure: Error {}

  @Test("beside previews, the developed picture has the file's metadata and none of the preview's colours")
  func developed() throws {
    let bytes = nef([Self.jpeg(192, 128) { $0.profile = Array(repeating: 1, count: 300) }])
    let read = try header(bytes)
    let developed = try #require(read.developed)
    #expect(developed.format == .raw && developed.storedSize == PixelSize(width: 4310, height: 2868))
    #expect(developed.embeddedProfile == nil && developed.calibration == nil && developed.jpegComponents == nil)
    #expect(developed.metadata.model == "Model 1" && developed.orientation == read.orientation)
    #expect(developed.raw == nil && developed.developed == nil && developed.previews.isEmpty)
    var without = read
    without.raw?.sensor = nil
    #expect(without.developed == nil)
  }

  @Test("sensor data that are not in the file are found, whatever the format", arguments: RAWSamples.names)
  func missingSamples(_ name: String) throws {
    func check(_ bytes: [UInt8]) throws(CodecError) {
      let source = MemoryByteSource(bytes)
      guard case .raw(let sensor) = try ImageHeader.read(from: source, limits: CodecLimits()).coded else {
        throw .unsupported("a file with previews")
      }
      try sensor.checkSamples(in: source)
    }
    // Those have no sensor data that could be missing.
    try check(RAWSamples.file(name, .init(), previews: []))
    guard !["cr3", "raf"].contains(name) else { return }
    let samples = [UInt8](repeating: 5, count: 6400)
    var file = TIFFPicture.withPreviews(.init { $0.make = "NIKON" }, inside: [])
    let strip: [(Int, TIFFPicture.Value)] =
      name == "rw2"
      ? [(273, .long([0xFFFF_FFFF])), (280, .data(samples)), (279, .long([samples.count]))]
      : name == "dng"
        ? [(324, .data(samples)), (325, .long([samples.count]))]
        : [(273, .data(samples)), (279, .long([samples.count]))]
    switch name {
    case "rw2": file = TIFFPicture.rw2(.init(), preview: nil)
    case "orf": file = TIFFPicture.orf(.init(), preview: nil)
    default: break
    }
    // Last, so that nothing else is cut off.
    file.chain.append(TIFFPicture.Directory(strip))
    let bytes = file.bytes
    let end = try #require(bytes.firstRange(of: samples)).upperBound
    try check(Array(bytes.prefix(end)))
    // A length that is not exact is common.
    try check(Array(bytes.prefix(end - 60)))
    #expect(throws: CodecError.truncated(offset: Int64(end - 1000))) { try check(Array(bytes.prefix(end - 1000))) }
  }

  @Test("a RAF whose sensor data are missing is found")
  func missingSamplesOfRAF() throws {
    var bytes = RAFFile { _ in }.bytes
    bytes.replaceSubrange(100..<108, with: Boxes.number(1000, 4) + Boxes.number(9000, 4))
    let source = MemoryByteSource(bytes)
    guard case .raw(let sensor) = try header(bytes).coded else { throw Failure() }
    #expect(throws: CodecError.truncated(offset: source.size)) { try sensor.checkSamples(in: source) }
  }

  @Test("a linear DNG is known as such")
  func linear() throws {
    for isLinear in [false, true] {
      let file = MosaicFile(MosaicFile.patches(width: 48, height: 32)) { $0.isLinear = isLinear }.bytes
      guard case .raw(let sensor) = try header(file).coded else { throw Failure() }
      #expect(sensor.isLinear == isLinear)
    }
  }

  @Test("a preview over the limits is left out")
  func limits() throws {
    let bytes = nef([Self.small, Self.large])
    let few = CodecLimits(sourcePixels: 10_000)
    #expect(try header(bytes, limits: few).storedSize.width == 48)
    // So is a sensor that is larger than the limits.
    #expect(try header(bytes, limits: few).developed == nil)
    #expect(throws: CodecError.limitExceeded("the number of pixels", limit: 100, found: 4310 * 2868)) {
      try header(bytes, limits: CodecLimits(sourcePixels: 100))
    }
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
