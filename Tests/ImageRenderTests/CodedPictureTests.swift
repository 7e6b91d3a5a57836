import MediaMetadata
import PhotoFixtures
import PhotoModel
import Testing

@testable import ImageCodec
@testable import ImageRender

@Suite("Pictures that workers decode")
struct CodedPictureTests {
  private func render(
    _ file: [UInt8], _ request: ImageRequest, _ decoder: PaintingDecoder
  ) throws -> Pixels {
    let source = MemoryByteSource(file)
    let plan = RenderPlanner().plan(try ImageHeader.read(from: source, limits: CodecLimits()), request)
    let renderer = try Renderer(plan, source: source, workers: decoder, limits: CodecLimits(), stop: StopFlag())
    let image = try #require(try renderer.resume())
    return try #require(Pixels.decoded(image.bytes)).pixels
  }

  private func render(_ picture: PaintedPicture, _ request: ImageRequest) throws -> Pixels {
    try render(picture.file, request, PaintingDecoder(picture))
  }

  private func largestDifference(_ a: Pixels, _ b: Pixels) -> Int {
    guard a.width == b.width, a.height == b.height, a.channels == b.channels else { return .max }
    return zip(a.bytes, b.bytes).reduce(0) { max($0, abs(Int($1.0) - Int($1.1))) }
  }

  private let whole = ImageRequest(targetSize: .maximum, format: .png)

  // MARK: Colours

  static let conversions: [(Int, YCbCrConversion.Matrix)] = [
    (6, .weights(red: 0.299, blue: 0.114)), (1, .weights(red: 0.2126, blue: 0.0722)),
    (9, .weights(red: 0.2627, blue: 0.0593)), (0, .identity), (8, .yCgCo),
  ]

  @Test(
    "samples become the RGB of H.273, for each subsampling, depth, range and matrix",
    arguments: [ChromaSampling.none, .half, .halfWidth, .full], conversions.indices)
  func colors(_ chroma: ChromaSampling, _ matrix: Int) throws {
    for (depth, isFullRange) in [(8, true), (8, false), (10, true), (10, false)] {
      let picture = PaintedPicture {
        ($0.chroma, $0.bitDepth, $0.matrix) = (chroma, depth, Self.conversions[matrix].0)
        $0.conversion = YCbCrConversion(matrix: Self.conversions[matrix].1, isFullRange: isFullRange)
      }
      let pixels = try render(picture, whole)
      #expect(
        largestDifference(pixels.channels(3), picture.pixels) <= 1, "\(depth) bits, \(isFullRange ? "full" : "limited")"
      )
    }
  }

  // MARK: Geometry

  static let turns: [(Int, Int?, Orientation)] = [
    (0, nil, .topLeft), (0, 0, .bottomLeft), (0, 1, .topRight), (1, nil, .leftBottom), (1, 0, .leftTop),
    (1, 1, .rightBottom), (2, nil, .bottomRight), (3, nil, .rightTop),
  ]

  @Test("rotation, mirroring and crop of the container give the upright picture", arguments: turns)
  func upright(_ turns: Int, _ axis: Int?, _ orientation: Orientation) throws {
    for isCropped in [false, true] { try compare(turns, axis, orientation, isCropped) }
  }

  private func compare(_ turns: Int, _ axis: Int?, _ orientation: Orientation, _ isCropped: Bool) throws {
    let crop = isCropped ? PixelRect(x: 17, y: 6, width: 101, height: 43) : nil
    let picture = PaintedPicture {
      // The centre of the crop is 2 to the right of the picture's, and 3 above it.
      if isCropped { $0.properties.append(CodedHEIFFile.clap([101, 1, 43, 1, 2, 1, -3, 1])) }
      if turns > 0 { $0.properties.append(CodedHEIFFile.irot(turns)) }
      if let axis { $0.properties.append(CodedHEIFFile.imir(axis)) }
    }
    let expected = picture.upright(orientation, crop: crop)
    #expect(largestDifference(try render(picture, whole).channels(3), expected) <= 1)
    // Smaller, and the right half.
    let part = try render(
      picture, request(expected.width / 3, expected.height / 3, crop: UnitRect(x: 0.5, y: 0, width: 0.5, height: 1)))
    let (x, width) = (expected.width / 2, expected.width - expected.width / 2)
    let half = expected.cropped(x: x, y: 0, width: width, height: expected.height)
      .averaged(width: part.width, height: part.height)
    #expect(try #require(part.channels(3).meanDifference(from: half)) < 6)
  }

  /// Collects the rows of a decode.
  private final class Rows: RowConsumer {
    let layout: RowLayout
    let limit: Int
    var rows: [Int: [UInt8]] = [:]
    var order: [Int] = []
    private let row: UnsafeMutableRawPointer

    init(_ layout: RowLayout, limit: Int = .max) {
      self.layout = layout
      self.limit = limit
      row = .allocate(byteCount: layout.rowBytes, alignment: 16)
    }

    deinit { row.deallocate() }

    func space(forRow y: Int) -> UnsafeMutableRawPointer { row }

    func rowArrived(_ y: Int) -> Bool {
      rows[y] = Array(UnsafeRawBufferPointer(start: row, count: layout.rowBytes))
      order.append(y)
      return order.count < limit
    }
  }

  @Test("any region at any scale equals boxes of the whole picture")
  func boxes() throws {
    var random = Sampling.generator("boxes of coded pictures")
    for _ in 0..<Sampling.count(150, thorough: 2000) {
      let picture = PaintedPicture {
        $0.chroma = [.none, .half, .halfWidth, .full].randomElement(using: &random) ?? .half
        $0.bitDepth = Bool.random(using: &random) ? 8 : 10
        $0.columns = Int.random(in: 1...4, using: &random)
        $0.rows = Int.random(in: 1...4, using: &random)
        $0.tile = PixelSize(
          width: 2 * Int.random(in: 4...40, using: &random), height: 2 * Int.random(in: 4...60, using: &random))
        $0.size = PixelSize(
          width: Int.random(in: ($0.columns - 1) * $0.tile.width + 1...$0.columns * $0.tile.width, using: &random),
          height: Int.random(in: ($0.rows - 1) * $0.tile.height + 1...$0.rows * $0.tile.height, using: &random))
      }
      let eighths = [1, 2, 4, 8].randomElement(using: &random) ?? 8
      let crop = rect(in: picture.size, using: &random)
      guard case .heif(let coded) = try picture.header.coded else { continue }
      let cut = HEIFPicture(color: coded.color, conversion: coded.conversion, crop: crop)
      let step = 8 / eighths
      let reduced = PixelSize(width: (crop.width + step - 1) / step, height: (crop.height + step - 1) / step)
      let region = rect(in: reduced, using: &random)
      let decoder = HEIFRowDecoder(
        cut, eighths: eighths, region: region,
        workers: PaintingDecoder(picture, bandRows: 2 * Int.random(in: 1...20, using: &random)),
        source: MemoryByteSource(picture.file), stop: StopFlag())
      let rows = Rows(decoder.layout)
      _ = try decoder.decode(into: rows)
      #expect(rows.order == Array(region.y..<region.y + region.height))
      #expect(decoder.layout.imageSize == reduced && decoder.layout.firstColumn == region.x)
      let difference = compare(rows, picture, crop, region, step)
      // Chroma of odd crops is up to half a sample away, which is at most 3 steps of these samples.
      let isAligned = crop.x % 2 == 0 && crop.y % 2 == 0 || picture.chroma == .full || picture.chroma == .none
      #expect(difference <= (isAligned ? 1.6 : 9), "\(picture.size) \(crop) \(region) \(step) \(picture.chroma)")
      if difference > 9 { return }
    }
  }

  private func rect(in size: PixelSize, using random: inout SplitMix) -> PixelRect {
    let (width, height) = (
      Int.random(in: 1...size.width, using: &random), Int.random(in: 1...size.height, using: &random)
    )
    return PixelRect(
      x: Int.random(in: 0...size.width - width, using: &random),
      y: Int.random(in: 0...size.height - height, using: &random),
      width: width, height: height)
  }

  /// The largest difference from the mean of each box, in steps of 8 bits.
  private func compare(
    _ rows: Rows, _ picture: PaintedPicture, _ crop: PixelRect, _ region: PixelRect, _ step: Int
  ) -> Double {
    var largest = 0.0
    let channels = rows.layout.channels
    for (y, bytes) in rows.rows {
      for x in region.x..<region.x + region.width {
        var (sum, count) = ([0.0, 0.0, 0.0], 0.0)
        for py in y * step..<min((y + 1) * step, crop.height) {
          for px in x * step..<min((x + 1) * step, crop.width) {
            let (r, g, b) = picture.rgb(crop.x + px, crop.y + py)
            sum = [sum[0] + r, sum[1] + g, sum[2] + b]
            count += 1
          }
        }
        for c in 0..<channels {
          let place = (x - region.x) * channels + c
          let value =
            rows.layout.bitsPerChannel == 8
            ? Double(bytes[place]) : Double(Int(bytes[2 * place]) | Int(bytes[2 * place + 1]) << 8) / 257
          largest = max(largest, abs(value - sum[c] / count * 255))
        }
      }
    }
    return largest
  }

  @Test("only the tiles that a crop shows are decoded")
  func shownTiles() throws {
    let picture = PaintedPicture { ($0.columns, $0.rows, $0.size) = (4, 4, PixelSize(width: 192, height: 128)) }
    let decoder = PaintingDecoder(picture)
    // Pixels 48..<96 and 32..<64 are the tile 5; at their own size no kernel reaches further.
    _ = try render(
      picture.file, request(48, 32, crop: UnitRect(x: 0.25, y: 0.25, width: 0.25, height: 0.25)), decoder)
    #expect(decoder.requests == [[5]])
    _ = try render(
      picture.file, request(96, 32, crop: UnitRect(x: 0.25, y: 0.25, width: 0.5, height: 0.25)), decoder)
    #expect(decoder.requests.last == [5, 6])
    _ = try render(picture.file, request(20, 20), decoder)
    #expect(decoder.requests.last == Array(0..<16))
  }

  @Test("a decode ends with the last row that is wanted")
  func earlyEnd() throws {
    let picture = PaintedPicture { ($0.columns, $0.rows, $0.size) = (1, 4, PixelSize(width: 48, height: 128)) }
    let (decoder, all) = (PaintingDecoder(picture, bandRows: 8), PaintingDecoder(picture, bandRows: 8))
    guard case .heif(let coded) = try picture.header.coded else { return }
    for (workers, limit) in [(decoder, 10), (all, Int.max)] {
      let rows = HEIFRowDecoder(
        coded, eighths: 8, region: PixelRect(coded.crop.size), workers: workers,
        source: MemoryByteSource(picture.file), stop: StopFlag())
      _ = try rows.decode(into: Rows(rows.layout, limit: limit))
    }
    #expect(decoder.bands == 2 && all.bands == 16)
  }

  @Test("a decoder that leaves out rows gives an error, and so does one that is missing")
  func failures() throws {
    let picture = PaintedPicture()
    #expect(throws: CodecError.malformed("a decoder that left out rows", offset: nil)) {
      try render(picture.file, whole, PaintingDecoder(picture, lastBand: 20))
    }
    let plan = RenderPlanner().plan(try picture.header, whole)
    #expect(throws: CodecError.decoderUnavailable(.heic)) {
      try Renderer(plan, source: MemoryByteSource(picture.file), limits: CodecLimits(), stop: StopFlag())
    }
  }

  // MARK: Alpha, thumbnails, sharing

  @Test("alpha is kept in a PNG and blended over white in a JPEG")
  func alpha() throws {
    let picture = PaintedPicture { $0.hasAlpha = true }
    let decoder = PaintingDecoder(picture)
    let png = try render(picture.file, whole, decoder)
    #expect(decoder.requests.count == 2)
    #expect(largestDifference(png, picture.pixels) <= 1)
    let jpeg = try render(picture, ImageRequest(targetSize: .maximum, format: .jpeg, quality: 100)).channels(3)
    let painted = picture.pixels
    var blended = painted.channels(3)
    for i in 0..<blended.bytes.count {
      let alpha = Int(painted.bytes[i / 3 * 4 + 3])
      blended.bytes[i] = UInt8((Int(blended.bytes[i]) * alpha + 255 * (255 - alpha)) / 255)
    }
    #expect(try #require(jpeg.psnr(against: blended)) > 28)
  }

  @Test("a thumbnail of the same codec is the degraded frame if it is much smaller")
  func thumbnails() throws {
    func header(_ thumbnails: [Int], turns: Int = 0) throws -> ImageHeader {
      let configuration = CodedHEIFFile.hvcC()
      var items = [
        CodedHEIFFile.Item(1, "hvc1", [1], properties: [configuration, CodedHEIFFile.ispe(1600, 1200)])
      ]
      for (i, width) in thumbnails.enumerated() {
        items.append(
          CodedHEIFFile.Item(
            10 + i, "hvc1", [2], properties: [configuration, CodedHEIFFile.ispe(width, width * 3 / 4)],
            references: [("thmb", [1])]))
      }
      if turns > 0 { for i in items.indices { items[i].properties.append(CodedHEIFFile.irot(turns)) } }
      return try ImageHeader.read(from: MemoryByteSource(CodedHEIFFile(items).bytes), limits: CodecLimits())
    }
    let planner = RenderPlanner()
    func degraded(_ header: ImageHeader, _ side: Int) -> RenderPlan? {
      planner.degradedPlan(header, header.sized(request(side, side)))
    }
    let several = try header([320, 400, 1000])
    #expect(degraded(several, 200)?.header.storedSize.width == 320)
    #expect(degraded(several, 200)?.outputSize == PixelSize(width: 200, height: 150))
    #expect(degraded(several, 400)?.header.storedSize.width == 400)
    // The one of 1000 has enough pixels, and takes nearly as long as the picture.
    #expect(degraded(several, 800) == nil)
    #expect(degraded(try header([320]), 800)?.outputSize == PixelSize(width: 320, height: 240))
    #expect(degraded(try header([]), 200) == nil)
    #expect(degraded(try header([320], turns: 1), 200)?.outputSize == PixelSize(width: 150, height: 200))
  }

  @Test("a thumbnail is the final frame if it has the pixels, the colours and the whole picture's alpha")
  func finalThumbnails() throws {
    func header(_ color: (Int, Int, Int)?, _ thumbnail: (Int, Int, Int)?) throws -> ImageHeader {
      func properties(_ points: (Int, Int, Int)?, _ width: Int) -> [[UInt8]] {
        let color = points.map { [CodedHEIFFile.nclx($0.0, $0.1, $0.2, isFullRange: true)] } ?? []
        return [CodedHEIFFile.hvcC(), CodedHEIFFile.ispe(width, width * 3 / 4)] + color
      }
      return try ImageHeader.read(
        from: MemoryByteSource(
          CodedHEIFFile([
            CodedHEIFFile.Item(1, "hvc1", [1], properties: properties(color, 1600)),
            CodedHEIFFile.Item(10, "hvc1", [2], properties: properties(thumbnail, 320), references: [("thmb", [1])]),
            CodedHEIFFile.Item(11, "hvc1", [2], properties: properties(thumbnail, 400), references: [("thmb", [1])]),
          ]).bytes), limits: CodecLimits())
    }
    let planner = RenderPlanner()
    func width(_ header: ImageHeader, _ request: ImageRequest) -> Int? {
      planner.finalThumbnailPlan(header, header.sized(request))?.header.storedSize.width
    }
    let p3 = (12, 13, 6)
    let same = try header(p3, p3)
    #expect(width(same, request(320, 320)) == 320 && width(same, request(321, 321)) == 400)
    #expect(width(same, request(401, 401)) == nil)
    // A crop needs more pixels of the whole picture.
    var crop = request(160, 160)
    crop.normalizedCropRect = UnitRect(x: 0.25, y: 0, width: 0.5, height: 1)
    #expect(width(same, crop) == 320)
    crop.targetSize = .size(PixelSize(width: 320, height: 320))
    #expect(width(same, crop) == nil)
    #expect(width(try header(p3, (1, 13, 6)), request(200, 200)) == nil)
    let plan = try #require(planner.finalThumbnailPlan(same, same.sized(request(200, 200))))
    #expect(plan.outputSize == PixelSize(width: 200, height: 150))
  }

  @Test("one decode makes a frame and all derivatives, whatever scale they need")
  func sharing() throws {
    let picture = PaintedPicture {
      ($0.columns, $0.rows, $0.tile) = (3, 3, PixelSize(width: 64, height: 64))
      $0.size = PixelSize(width: 192, height: 192)
    }
    let header = try picture.header
    let requests = [12, 60, 96].map { header.sized(request($0, $0)) }
    let plan = RenderPlanner().sharedPlan(header, [requests[0]], extras: Array(requests.dropFirst()))
    #expect(plan.members.count == 3 && plan.eighths == 8)
    let decoder = PaintingDecoder(picture)
    let renderer = try SharedRenderer(
      plan, source: MemoryByteSource(picture.file), workers: decoder, limits: CodecLimits(),
      stops: plan.members.map { _ in StopFlag() })
    var sizes: [Int: PixelSize] = [:]
    #expect(renderer.resume { sizes[$0] = try? $1.get().size })
    #expect(sizes.values.map(\.width).sorted() == [12, 60, 96])
    #expect(decoder.requests.count == 1)
  }

  // MARK: WebP

  private func webP(_ frame: PixelRect? = nil, hasAlpha: Bool = false, _ canvas: PixelSize) -> ImageHeader {
    var header = ImageHeader(
      format: .webp, storedSize: canvas, colorChannels: 3, hasAlpha: hasAlpha, bitsPerChannel: 8, isProgressive: false,
      isBuffered: false, metadata: EXIFSummary(), profileBytes: 0)
    header.coded = .webP(
      WebPPicture(
        picture: ByteRange(offset: 0, length: 1), isLossless: false, hasAlpha: hasAlpha, canvas: canvas, frame: frame))
    return header
  }

  @Test("a WebP is scaled by its decoder, with alpha or without", arguments: [false, true], [8, 40])
  func webPScale(_ hasAlpha: Bool, _ side: Int) throws {
    let size = PixelSize(width: 131, height: 61)
    let header = webP(hasAlpha: hasAlpha, size)
    let plan = RenderPlanner().plan(header, request(side, side))
    #expect(plan.eighths == (side == 8 ? 1 : 4))
    let renderer = try Renderer(
      plan, source: MemoryByteSource([0]), workers: PaintingDecoder(), limits: CodecLimits(), stop: StopFlag())
    let image = try #require(try renderer.resume())
    let pixels = try #require(Pixels.decoded(image.bytes)).pixels
    let painted = PaintedPicture {
      $0.size = size
      $0.hasAlpha = hasAlpha
    }
    let expected = painted.pixels.averaged(width: pixels.width, height: pixels.height)
    // Colours of pixels with alpha are weighted by it, so only the alpha itself is compared.
    let channels = hasAlpha ? [3] : [0, 1, 2]
    let sum = (0..<pixels.width * pixels.height).reduce(0) { sum, i in
      channels.reduce(sum) { $0 + abs(Int(pixels.bytes[i * 4 + $1]) - Int(expected.bytes[i * expected.channels + $1])) }
    }
    #expect(sum < 6 * channels.count * pixels.width * pixels.height)
  }

  @Test("a frame that is smaller than its canvas is placed on transparent pixels")
  func webPFrame() throws {
    let canvas = PixelSize(width: 90, height: 70)
    let frame = PixelRect(x: 20, y: 30, width: 50, height: 25)
    let header = webP(frame, hasAlpha: true, canvas)
    let plan = RenderPlanner().plan(header, whole)
    let renderer = try Renderer(
      plan, source: MemoryByteSource([0]), workers: PaintingDecoder(), limits: CodecLimits(), stop: StopFlag())
    let image = try #require(try renderer.resume())
    let pixels = try #require(Pixels.decoded(image.bytes)).pixels
    let painted = PaintedPicture {
      $0.size = frame.size
      $0.hasAlpha = true
    }
    let part = pixels.cropped(x: frame.x, y: frame.y, width: frame.width, height: frame.height)
    #expect(largestDifference(part, painted.pixels) == 0)
    for (x, y) in [(0, 0), (19, 40), (70, 40), (40, 29), (40, 55), (89, 69)] {
      #expect(pixels.bytes[(y * canvas.width + x) * 4 + 3] == 0, "\(x), \(y)")
    }
  }

  // MARK: JPEG XL

  private func jxl(
    _ size: PixelSize, isGray: Bool = false, hasAlpha: Bool = false, isDeep: Bool = false, hasProfile: Bool = false
  ) -> ImageHeader {
    var colors = JXLColors()
    colors.hasProfile = hasProfile
    var header = ImageHeader(
      format: .jxl, storedSize: size, colorChannels: isGray ? 1 : 3, hasAlpha: hasAlpha,
      bitsPerChannel: isDeep ? 16 : 8,
      isProgressive: false, isBuffered: false, metadata: EXIFSummary(),
      embeddedProfile: hasProfile ? .coded : nil, profileBytes: 0)
    header.coded = .jxl(
      JXLPicture(
        JXLCodestream(
          size: size, isGray: isGray, hasAlpha: hasAlpha, isDeep: isDeep, isXYB: !hasProfile, colors: colors),
        codestream: [ByteRange(offset: 0, length: 1)]))
    return header
  }

  @Test("the region of a JPEG XL comes from its worker at the scale of the plan", arguments: [8, 4, 1])
  func jxlRegion(_ eighths: Int) throws {
    let size = PixelSize(width: 136, height: 64)
    for (isGray, hasAlpha, isDeep) in [
      (false, false, false), (false, true, false), (true, false, false), (true, true, true), (false, false, true),
    ] {
      let header = jxl(size, isGray: isGray, hasAlpha: hasAlpha, isDeep: isDeep)
      let region = PixelRect(x: 3, y: 2, width: 136 * eighths / 8 - 5, height: 64 * eighths / 8 - 4)
      guard case .jxl(let picture) = header.coded else { return }
      let decoder = JXLRowDecoder(
        picture, eighths: eighths, region: region, workers: PaintingDecoder(), source: MemoryByteSource([0]),
        stop: StopFlag())
      let channels = (isGray ? 1 : 3) + (hasAlpha ? 1 : 0)
      #expect(decoder.layout.channels == channels && decoder.layout.firstColumn == 3)
      let rows = Rows(decoder.layout)
      #expect(try decoder.decode(into: rows) == .finished)
      let painted = PaintedPicture { ($0.size, $0.hasAlpha) = (size, hasAlpha) }
      let all = painted.pixels.averaged(width: 136 * eighths / 8, height: 64 * eighths / 8)
      let expected = all.cropped(x: 3, y: 2, width: region.width, height: region.height)
      let wanted = (isGray ? [0] : [0, 1, 2]) + (hasAlpha ? [3] : [])
      let samples = (0..<region.width * region.height).flatMap { pixel in
        wanted.flatMap { channel -> [UInt8] in
          let sample = expected.bytes[pixel * expected.channels + channel]
          return isDeep ? [sample, sample] : [sample]
        }
      }
      let isEqual = rows.order.flatMap { rows.rows[$0] ?? [] } == samples
      #expect(isEqual && rows.order == Array(2..<2 + region.height))
    }
  }

  @Test("a worker of a JPEG XL that leaves out rows is an error")
  func jxlMissingRows() throws {
    guard case .jxl(let picture) = jxl(PixelSize(width: 136, height: 64)).coded else { return }
    let decoder = JXLRowDecoder(
      picture, eighths: 8, region: PixelRect(picture.header.size), workers: PaintingDecoder(lastBand: 2),
      source: MemoryByteSource([0]), stop: StopFlag())
    // The worker's end is no error, and the consumer wants more.
    #expect(throws: CodecError.malformed("a decoder that left out rows", offset: nil)) {
      _ = try decoder.decode(into: Rows(decoder.layout))
    }
  }

  @Test("the profile of a JPEG XL comes from its worker, within its limits")
  func jxlProfile() throws {
    let header = jxl(PixelSize(width: 20, height: 10), hasProfile: true)
    func color(_ decoder: PaintingDecoder?, limit: Int = 8 << 20) throws(CodecError) -> SourceColor {
      try header.sourceColor(
        in: MemoryByteSource([0]), workers: decoder, limits: CodecLimits(profileBytes: limit), stop: StopFlag())
    }
    for profile in [ICCFile.adobeRGB, ICCFile.padded(ICCFile.displayP3, by: 20_000)] {
      let isEqual = try color(PaintingDecoder(profile: profile)).profile == profile
      #expect(isEqual)
    }
    let decoder = PaintingDecoder(profile: ICCFile.adobeRGB)
    #expect(
      throws: CodecError.limitExceeded("the size of the colour profile", limit: 100, found: ICCFile.adobeRGB.count)
    ) { try color(decoder, limit: 100) }
    #expect(throws: CodecError.limitExceeded("the size of the colour profile", limit: 1 << 20, found: 1 << 24)) {
      try color(PaintingDecoder(statedProfileBytes: 1 << 24))
    }
    #expect(throws: CodecError.decoderUnavailable(.jxl)) { try color(nil) }
    // Only the rows that hold it are waited for.
    #expect(decoder.bands == 1)
  }
}
