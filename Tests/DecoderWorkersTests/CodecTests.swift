import DecoderWorkers
import Foundation
import PhotoFixtures
import PhotoModel
import Testing

/// The programs with real codecs, on pictures that were made for these tests.
@Suite("Decoder workers: codecs")
struct CodecTests {
  static func isBuilt(_ codec: DecoderCodec) -> Bool {
    FileManager.default.isExecutableFile(atPath: "\(TestDecoders.folder)/\(codec.programName)")
  }

  /// Decoders of HEVC.
  static var hevcCodecs: [DecoderCodec] { [.hevc, .avcodec].filter(isBuilt) }

  @Test("HEVC tiles with 4:2:0 and 8 bits are decoded exactly", arguments: hevcCodecs)
  func hevc8(_ codec: DecoderCodec) throws {
    try expect(
      codec, CodedPictures.tiles420, size: PixelSize(width: 40, height: 24), .half, bitDepth: 8,
      sets: CodedPictures.sets420)
  }

  @Test("an HEVC picture with 4:2:2 and 10 bits is decoded exactly", arguments: hevcCodecs)
  func hevc10(_ codec: DecoderCodec) throws {
    try expect(
      codec, CodedPictures.tiles422, size: PixelSize(width: 32, height: 16), .halfWidth, bitDepth: 10,
      sets: CodedPictures.sets422)
  }

  private func expect(
    _ codec: DecoderCodec, _ tiles: [[UInt8]], size: PixelSize, _ chroma: DecodeRequest.Chroma, bitDepth: Int,
    sets: [[UInt8]]
  ) throws {
    let pool = TestDecoders.pool([codec])
    let (request, payload) = Self.request(codec, tiles, size: size, chroma, bitDepth: bitDepth, sets: sets)
    let collected = try pool.rows(request, of: .bytes(payload))
    for tile in tiles.indices {
      for plane in 0..<3 {
        let width = plane == 0 ? size.width : size.width / chroma.horizontal
        let height = plane == 0 ? size.height : size.height / chroma.vertical
        let expected = CodedPictures.plane(width, height, tile: tile, plane: plane, bitDepth: bitDepth)
        let isEqual = collected.tiles[tile][plane] == expected
        #expect(isEqual, "tile \(tile), plane \(plane)")
      }
    }
  }

  private static func request(
    _ codec: DecoderCodec, _ tiles: [[UInt8]], size: PixelSize, _ chroma: DecodeRequest.Chroma, bitDepth: Int,
    sets: [[UInt8]]
  ) -> (DecodeRequest, payload: [UInt8]) {
    // The payload begins with bytes that belong to no tile.
    var payload: [UInt8] = [1, 2, 3]
    let ranges = tiles.map { tile in
      let start = payload.count
      payload += withUnsafeBytes(of: UInt32(tile.count).bigEndian) { Array($0) } + tile
      return DecodeRequest.Tile(picture: [ByteRange(offset: Int64(start), length: tile.count + 4)])
    }
    let request = DecodeRequest.hevc(
      by: codec, parameterSets: sets, nalLengthBytes: 4, tileSize: size, chroma: chroma, bitDepth: bitDepth,
      tiles: ranges)
    return (request, payload)
  }

  @Test("an HEVC picture of another size than its container says is refused", arguments: hevcCodecs)
  func mismatch(_ codec: DecoderCodec) {
    let (request, payload) = Self.request(
      codec, CodedPictures.tiles420, size: PixelSize(width: 48, height: 24), .half, bitDepth: 8,
      sets: CodedPictures.sets420)
    #expect(TestDecoders.pool([codec]).error(request, of: .bytes(payload)) == .failed(codec, .mismatch))
  }

  @Test("a damaged HEVC picture fails alone or gives other rows, never anything else", arguments: hevcCodecs)
  func damaged(_ codec: DecoderCodec) {
    let pool = TestDecoders.pool([codec])
    let (request, payload) = Self.request(
      codec, CodedPictures.tiles420, size: PixelSize(width: 40, height: 24), .half, bitDepth: 8,
      sets: CodedPictures.sets420)
    for index in stride(from: 3, to: payload.count, by: 37) {
      var damaged = payload
      damaged[index] ^= 0xFF
      switch pool.error(request, of: .bytes(damaged)) {
      case nil, .failed(codec, _): break
      case let error: Issue.record("byte \(index): \(String(describing: error))")
      }
    }
    #expect(pool.error(request, of: .bytes(payload)) == nil)
  }

  // MARK: Videos

  private static func video(_ frames: [[UInt8]], areAlternatives: Bool) -> (DecodeRequest, payload: [UInt8]) {
    var payload: [UInt8] = [1, 2, 3]
    let tiles = frames.map { frame in
      defer { payload += frame }
      return DecodeRequest.Tile(picture: [ByteRange(offset: Int64(payload.count), length: frame.count)])
    }
    var request = DecodeRequest.video(
      codec: "avc1", configuration: CodedPictures.avcConfiguration, size: PixelSize(width: 40, height: 24),
      chroma: .half, bitDepth: 8, frames: tiles)
    request.areAlternatives = areAlternatives
    return (request, payload)
  }

  @Test("AVC frames are decoded exactly", .enabled(if: isBuilt(.avcodec)))
  func avc() throws {
    let (request, payload) = Self.video(Array(CodedPictures.avcFrames.dropFirst()), areAlternatives: false)
    let collected = try TestDecoders.pool([.avcodec]).rows(request, of: .bytes(payload))
    try #require(collected.tiles.count == 2)
    for tile in 0..<2 {
      for plane in 0..<3 {
        let (width, height) = plane == 0 ? (40, 24) : (20, 12)
        let expected = CodedPictures.plane(width, height, tile: tile, plane: plane, bitDepth: 8)
        let isEqual = collected.tiles[tile][plane] == expected
        #expect(isEqual, "frame \(tile), plane \(plane)")
      }
    }
  }

  /// The frames are black, the first tile and the second tile: each list names the frame whose rows must come.
  @Test(
    "of alternatives the first that is not nearly black is sent, else the last", .enabled(if: isBuilt(.avcodec)),
    arguments: [([0, 1, 2], 1), ([0, 0, 2], 2), ([1, 0], 1), ([0, 0], 0), ([0], 0)])
  func alternatives(_ order: [Int], _ sent: Int) throws {
    let (request, payload) = Self.video(order.map { CodedPictures.avcFrames[$0] }, areAlternatives: true)
    let collected = try TestDecoders.pool([.avcodec]).rows(request, of: .bytes(payload))
    let expected =
      sent == 0
      ? [UInt8](repeating: 16, count: 40 * 24) : CodedPictures.plane(40, 24, tile: sent - 1, plane: 0, bitDepth: 8)
    let isEqual = collected.tiles[0][0] == expected
    #expect(isEqual)
  }

  @Test("HEVC and AV1 frames can be alternatives too", .enabled(if: isBuilt(.hevc) && isBuilt(.av1)))
  func otherAlternatives() throws {
    var (hevc, payload) = Self.request(
      .hevc, CodedPictures.tiles420, size: PixelSize(width: 40, height: 24), .half, bitDepth: 8,
      sets: CodedPictures.sets420)
    hevc.areAlternatives = true
    let frame = CodedPictures.plane(40, 24, tile: 0, plane: 0, bitDepth: 8)
    let first = try TestDecoders.pool([.hevc]).rows(hevc, of: .bytes(payload))
    let isFirst = first.tiles[0][0] == frame
    #expect(isFirst)
    // The sequence header comes with the parameters.
    let units = CodedPictures.av1Tiles420.map { $0.prefix(11) }
    payload = CodedPictures.av1Tiles420.flatMap { $0.dropFirst(11) }
    let lengths = CodedPictures.av1Tiles420.map { $0.count - 11 }
    var av1 = DecodeRequest.av1(
      units: Array(units[0]), tileSize: PixelSize(width: 40, height: 24), chroma: .half, bitDepth: 8,
      tiles: [
        DecodeRequest.Tile(picture: [ByteRange(offset: 0, length: lengths[0])]),
        DecodeRequest.Tile(picture: [ByteRange(offset: Int64(lengths[0]), length: lengths[1])]),
      ])
    av1.areAlternatives = true
    let second = try TestDecoders.pool([.av1]).rows(av1, of: .bytes(payload))
    let isSecond = second.tiles[0][0] == frame
    #expect(isSecond)
  }

  @Test(
    "a frame of another size, or of a codec that is not listed, is refused", .enabled(if: isBuilt(.avcodec)))
  func refusedVideos() {
    let pool = TestDecoders.pool([.avcodec])
    let frame = CodedPictures.avcFrames[1]
    func request(_ codec: String, _ width: Int) -> DecodeRequest {
      .video(
        codec: codec, configuration: CodedPictures.avcConfiguration, size: PixelSize(width: width, height: 24),
        chroma: .half, bitDepth: 8,
        frames: [DecodeRequest.Tile(picture: [ByteRange(offset: 0, length: frame.count)])])
    }
    #expect(pool.error(request("avc1", 48), of: .bytes(frame)) == .failed(.avcodec, .mismatch))
    #expect(pool.error(request("VP6F", 40), of: .bytes(frame)) == .failed(.avcodec, .unsupported))
  }

  @Test("a damaged frame fails alone or gives other rows, never anything else", .enabled(if: isBuilt(.avcodec)))
  func damagedVideo() {
    let pool = TestDecoders.pool([.avcodec])
    let (request, payload) = Self.video([CodedPictures.avcFrames[1]], areAlternatives: false)
    for index in stride(from: 3, to: payload.count, by: 23) {
      var damaged = payload
      damaged[index] ^= 0xFF
      switch pool.error(request, of: .bytes(damaged)) {
      case nil, .failed(.avcodec, _): break
      case let error: Issue.record("byte \(index): \(String(describing: error))")
      }
    }
    #expect(pool.error(request, of: .bytes(payload)) == nil)
  }

  // MARK: AV1

  private static func av1(
    _ tiles: [[UInt8]], size: PixelSize, _ chroma: DecodeRequest.Chroma, bitDepth: Int
  ) -> (DecodeRequest, payload: [UInt8]) {
    var payload: [UInt8] = [1, 2, 3]
    let ranges = tiles.map { tile in
      // In two extents.
      let start = Int64(payload.count)
      payload += tile
      return DecodeRequest.Tile(
        picture: [ByteRange(offset: start, length: 7), ByteRange(offset: start + 7, length: tile.count - 7)])
    }
    return (DecodeRequest.av1(tileSize: size, chroma: chroma, bitDepth: bitDepth, tiles: ranges), payload)
  }

  static let av1Cases: [(tiles: [[UInt8]], size: PixelSize, chroma: DecodeRequest.Chroma, bitDepth: Int, first: Int)] =
    [
      (CodedPictures.av1Tiles420, PixelSize(width: 40, height: 24), .half, 8, 0),
      ([CodedPictures.av1Tile422], PixelSize(width: 32, height: 16), .halfWidth, 10, 0),
      ([CodedPictures.av1Tile444], PixelSize(width: 32, height: 16), .full, 10, 0),
      ([CodedPictures.av1Gray], PixelSize(width: 40, height: 24), .none, 8, 2),
    ]

  @Test("AV1 tiles of every layout are decoded exactly", .enabled(if: isBuilt(.av1)), arguments: av1Cases.indices)
  func av1(_ index: Int) throws {
    let (tiles, size, chroma, bitDepth, first) = Self.av1Cases[index]
    let (request, payload) = Self.av1(tiles, size: size, chroma, bitDepth: bitDepth)
    let collected = try TestDecoders.pool([.av1]).rows(request, of: .bytes(payload))
    for tile in tiles.indices {
      for plane in 0..<(chroma == .none ? 1 : 3) {
        let width = plane == 0 ? size.width : size.width / chroma.horizontal
        let height = plane == 0 ? size.height : size.height / chroma.vertical
        let expected = CodedPictures.plane(width, height, tile: first + tile, plane: plane, bitDepth: bitDepth)
        let isEqual = collected.tiles[tile][plane] == expected
        #expect(isEqual, "tile \(tile), plane \(plane)")
      }
    }
  }

  @Test(
    "an AV1 picture of another size, layout or depth than its container says is refused", .enabled(if: isBuilt(.av1)))
  func av1Mismatch() {
    let declared: [(PixelSize, DecodeRequest.Chroma, Int)] = [
      (PixelSize(width: 48, height: 24), .half, 8), (PixelSize(width: 40, height: 16), .half, 8),
      (PixelSize(width: 40, height: 24), .full, 8), (PixelSize(width: 40, height: 24), .half, 10),
    ]
    for (size, chroma, bitDepth) in declared {
      let (request, payload) = Self.av1(CodedPictures.av1Tiles420, size: size, chroma, bitDepth: bitDepth)
      #expect(TestDecoders.pool([.av1]).error(request, of: .bytes(payload)) == .failed(.av1, .mismatch))
    }
  }

  @Test("a damaged AV1 picture fails alone or gives other rows, never anything else", .enabled(if: isBuilt(.av1)))
  func av1Damaged() {
    let pool = TestDecoders.pool([.av1])
    let (request, payload) = Self.av1(
      CodedPictures.av1Tiles420, size: PixelSize(width: 40, height: 24), .half, bitDepth: 8)
    for index in 3..<payload.count {
      var damaged = payload
      damaged[index] ^= 0xFF
      switch pool.error(request, of: .bytes(damaged)) {
      case nil, .failed(.av1, _): break
      case let error: Issue.record("byte \(index): \(String(describing: error))")
      }
    }
  }

  // MARK: JPEG XL

  private static func jxl(
    _ file: [UInt8], _ size: PixelSize, region: PixelRect? = nil, step: Int = 1,
    colors: DecodeRequest.RGBColors? = nil, isGray: Bool = false, bitDepth: Int = 8, hasAlpha: Bool = false
  ) -> (DecodeRequest, payload: [UInt8]) {
    // In two extents, after bytes that belong to none.
    let request = DecodeRequest.jxl(
      codestream: [ByteRange(offset: 3, length: 20), ByteRange(offset: 23, length: file.count - 20)], codedSize: size,
      region: region ?? PixelRect(size), step: step, colors: colors, isGray: isGray, bitDepth: bitDepth,
      hasAlpha: hasAlpha, workingBytes: 32 << 20)
    return (request, [1, 2, 3] + file)
  }

  /// The planes of interleaved pixels.
  private static func planes(_ pixels: Pixels) -> [[UInt8]] {
    (0..<pixels.channels).map { channel in
      stride(from: channel, to: pixels.bytes.count, by: pixels.channels).map { pixels.bytes[$0] }
    }
  }

  @Test("a lossless JPEG XL of several groups is decoded exactly, whole and in part", .enabled(if: isBuilt(.jxl)))
  func losslessJXL() throws {
    let size = PixelSize(width: 300, height: 280)
    let pool = TestDecoders.pool([.jxl])
    let whole = JXLSamples.pixels(width: 300, height: 280)
    let regions = [
      PixelRect(size), PixelRect(x: 0, y: 270, width: 300, height: 10), PixelRect(x: 250, y: 9, width: 20, height: 251),
    ]
    for region in regions {
      let (request, payload) = Self.jxl(JXLSamples.rgb, size, region: region)
      let expected = whole.cropped(x: region.x, y: region.y, width: region.width, height: region.height)
      let isEqual = try pool.rows(request, of: .bytes(payload)).tiles == [Self.planes(expected)]
      #expect(isEqual, "\(region)")
    }
  }

  @Test("pixels of a JPEG XL are averaged, with fewer at the edges", .enabled(if: isBuilt(.jxl)), arguments: [2, 4, 8])
  func averagedJXL(_ step: Int) throws {
    let size = PixelSize(width: 300, height: 280)
    let reduced = PixelSize(width: (300 + step - 1) / step, height: (280 + step - 1) / step)
    // Without the first column and row.
    let region = PixelRect(x: 1, y: 1, width: reduced.width - 1, height: reduced.height - 1)
    let (request, payload) = Self.jxl(JXLSamples.rgb, size, region: region, step: step)
    let planes = try TestDecoders.pool([.jxl]).rows(request, of: .bytes(payload)).tiles[0]
    let source = JXLSamples.pixels(width: 300, height: 280)
    for (channel, plane) in planes.enumerated() {
      for y in 0..<region.height {
        for x in 0..<region.width {
          let (left, top) = ((x + 1) * step, (y + 1) * step)
          var (sum, count) = (0, 0)
          for row in top..<min(top + step, 280) {
            for column in left..<min(left + step, 300) {
              sum += Int(source.bytes[(row * 300 + column) * 3 + channel])
              count += 1
            }
          }
          if Int(plane[y * region.width + x]) != (sum + count / 2) / count { Issue.record("\(channel) \(x) \(y)") }
        }
      }
    }
  }

  @Test("samples of 16 bits are averaged, with fewer at the edges", .enabled(if: isBuilt(.jxl)), arguments: [2, 4, 8])
  func deepMeansOfJXL(_ step: Int) throws {
    let size = PixelSize(width: (40 + step - 1) / step, height: (30 + step - 1) / step)
    let (request, payload) = Self.jxl(
      JXLSamples.gray, PixelSize(width: 40, height: 30), region: PixelRect(size), step: step, isGray: true,
      bitDepth: 16)
    let plane = try TestDecoders.pool([.jxl]).rows(request, of: .bytes(payload)).tiles[0][0]
    let expected = (0..<size.height).flatMap { y in
      (0..<size.width).flatMap { x -> [UInt8] in
        let columns = x * step..<min(x * step + step, 40)
        let rows = y * step..<min(y * step + step, 30)
        let sum = rows.reduce(0) { sum, row in columns.reduce(sum) { $0 + $1 * 1000 + row * 700 } }
        let count = rows.count * columns.count
        return withUnsafeBytes(of: UInt16((sum + count / 2) / count)) { Array($0) }
      }
    }
    #expect(plane == expected)
  }

  @Test(
    "alpha, gray with 16 bits, and the first frame of an animation are decoded exactly", .enabled(if: isBuilt(.jxl)))
  func layoutsOfJXL() throws {
    let pool = TestDecoders.pool([.jxl])
    let size = PixelSize(width: 60, height: 40)
    let colors = Self.planes(JXLSamples.pixels(width: 60, height: 40))
    let (alpha, payload) = Self.jxl(JXLSamples.rgba, size, hasAlpha: true)
    let expected = colors + [(0..<2400).map { UInt8(255 - 4 * ($0 % 60)) }]
    #expect(try pool.rows(alpha, of: .bytes(payload)).tiles == [expected])
    let (animation, frames) = Self.jxl(JXLSamples.animation, size)
    #expect(try pool.rows(animation, of: .bytes(frames)).tiles == [colors])
    let (gray, samples) = Self.jxl(
      JXLSamples.gray, PixelSize(width: 40, height: 30), isGray: true, bitDepth: 16)
    let values = (0..<30).flatMap { y in (0..<40).map { UInt16($0 * 1000 + y * 700) } }
    #expect(
      try pool.rows(gray, of: .bytes(samples)).tiles == [
        [values.flatMap { value in withUnsafeBytes(of: value) { Array($0) } }]
      ])
  }

  @Test("a lossy JPEG XL is converted to the colours that are asked for", .enabled(if: isBuilt(.jxl)))
  func lossyJXL() throws {
    let size = PixelSize(width: 64, height: 48)
    let pool = TestDecoders.pool([.jxl])
    func difference(_ file: [UInt8], _ colors: DecodeRequest.RGBColors?) throws -> Int {
      let (request, payload) = Self.jxl(file, size, colors: colors)
      let planes = try pool.rows(request, of: .bytes(payload)).tiles[0]
      let pairs = zip(planes.joined(), Self.planes(JXLSamples.ramps).joined())
      return pairs.reduce(0) { $0 + abs(Int($1.0) - Int($1.1)) } / (64 * 48 * 3)
    }
    #expect(try difference(JXLSamples.lossy, .sRGB) <= 2)
    #expect(try difference(JXLSamples.displayP3, .displayP3) <= 2)
    #expect(try difference(JXLSamples.displayP3, .bt2020) > 4, "other numbers for the same colours")
    #expect(try difference(JXLSamples.jpeg, nil) <= 2)
    // Means are rounded to the nearest.
    let (whole, wholePayload) = Self.jxl(JXLSamples.lossy, size, colors: .sRGB)
    let (reduced, reducedPayload) = Self.jxl(
      JXLSamples.lossy, size, region: PixelRect(x: 0, y: 0, width: 16, height: 12), step: 4, colors: .sRGB)
    let all = try pool.rows(whole, of: .bytes(wholePayload)).tiles[0]
    let means = all.map { plane in
      (0..<16 * 12).map { i in
        let sum = (0..<16).reduce(0) { $0 + Int(plane[(i / 16 * 4 + $1 / 4) * 64 + i % 16 * 4 + $1 % 4]) }
        return UInt8((sum + 8) / 16)
      }
    }
    #expect(try pool.rows(reduced, of: .bytes(reducedPayload)).tiles == [means])
    // Without XYB, libjxl converts nothing.
    let (request, payload) = Self.jxl(JXLSamples.losslessP3, PixelSize(width: 60, height: 40), colors: .sRGB)
    #expect(pool.error(request, of: .bytes(payload)) == .failed(.jxl, .unsupported))
  }

  @Test("the ICC profile of a JPEG XL is returned, or its length if it is too long", .enabled(if: isBuilt(.jxl)))
  func profileOfJXL() throws {
    let pool = TestDecoders.pool([.jxl])
    for (width, hasRoom) in [(476, true), (475, false)] {
      let request = DecodeRequest.jxlProfile(
        codestream: [ByteRange(offset: 0, length: JXLSamples.profile.count)],
        codedSize: PixelSize(width: 60, height: 40), rows: PixelSize(width: width, height: 1))
      let bytes = try pool.rows(request, of: .bytes(JXLSamples.profile)).tiles[0][0]
      #expect(bytes.prefix(4).elementsEqual([0, 0, 1, 216]))
      // ICC.1 §7.2: the size, and the signature.
      #expect(bytes[4..<8].elementsEqual(hasRoom ? [0, 0, 1, 216] : [0, 0, 0, 0]))
      #expect(bytes[40..<44].elementsEqual(hasRoom ? Array("acsp".utf8) : [0, 0, 0, 0]))
    }
  }

  @Test("a JPEG XL of another size or layout than its header says is refused", .enabled(if: isBuilt(.jxl)))
  func mismatchOfJXL() {
    let size = PixelSize(width: 60, height: 40)
    let requests = [
      Self.jxl(JXLSamples.rgba, PixelSize(width: 61, height: 40), hasAlpha: true), Self.jxl(JXLSamples.rgba, size),
      Self.jxl(JXLSamples.rgba, size, isGray: true, hasAlpha: true),
      Self.jxl(JXLSamples.animation, size, hasAlpha: true),
      Self.jxl(JXLSamples.animation, size, step: 3),
      Self.jxl(JXLSamples.animation, size, region: PixelRect(x: 1, y: 0, width: 60, height: 40)),
    ]
    for (request, payload) in requests {
      #expect(TestDecoders.pool([.jxl]).error(request, of: .bytes(payload)) == .failed(.jxl, .mismatch))
    }
  }

  @Test("a damaged JPEG XL fails alone or gives other rows, never anything else", .enabled(if: isBuilt(.jxl)))
  func damagedJXL() {
    let pool = TestDecoders.pool([.jxl])
    let (request, payload) = Self.jxl(JXLSamples.rgba, PixelSize(width: 60, height: 40), hasAlpha: true)
    for index in 3..<payload.count {
      var damaged = payload
      damaged[index] ^= 0xFF
      switch pool.error(request, of: .bytes(damaged)) {
      case nil, .failed(.jxl, _): break
      case let error: Issue.record("byte \(index): \(String(describing: error))")
      }
    }
    let short = Self.jxl(Array(JXLSamples.rgba.prefix(100)), PixelSize(width: 60, height: 40), hasAlpha: true)
    #expect(pool.error(short.0, of: .bytes(short.payload)) == .failed(.jxl, .malformed))
  }

  @Test("a JPEG XL that needs more memory than its price is ended", .enabled(if: isBuilt(.jxl)))
  func memoryOfJXL() {
    let size = PixelSize(width: 1000, height: 1000)
    let (wanted, payload) = Self.jxl(JXLSamples.large, size)
    #expect(TestDecoders.pool([.jxl]).error(wanted, of: .bytes(payload)) == nil)
    let request = DecodeRequest(
      codec: .jxl, samples: wanted.samples, codedSize: size, size: size, tiles: wanted.tiles,
      parameters: wanted.parameters, priceBytes: 4 << 20, cpuSeconds: 5)
    #expect(TestDecoders.pool([.jxl]).error(request, of: .bytes(payload)) == .failed(.jxl, .memory))
  }

  @Test("a lossless WebP with alpha is decoded exactly", .enabled(if: isBuilt(.webp)))
  func losslessWebP() throws {
    let size = PixelSize(width: 20, height: 15)
    let file = CodedPictures.losslessWebP
    let request = DecodeRequest.webP(
      picture: [ByteRange(offset: 20, length: Int(file[16]))], alpha: [], isLossless: true, codedSize: size,
      size: size, samples: .rgba)
    let collected = try TestDecoders.pool([.webp]).rows(request, of: .bytes(file))
    let isEqual = collected.tiles == [[CodedPictures.webPPixels]]
    #expect(isEqual)
  }

  @Test("a lossy WebP with alpha is decoded, also scaled", .enabled(if: isBuilt(.webp)), arguments: [1, 2])
  func lossyWebP(scale: Int) throws {
    let file = CodedPictures.lossyWebP
    let size = PixelSize(width: 20 / scale, height: 15 / scale)
    let request = DecodeRequest.webP(
      picture: CodedPictures.chunk("VP8 ", in: file), alpha: CodedPictures.chunk("ALPH", in: file), isLossless: false,
      codedSize: PixelSize(width: 20, height: 15), size: size, samples: .rgba)
    let pixels = try TestDecoders.pool([.webp]).rows(request, of: .bytes(file)).tiles[0][0]
    #expect(pixels.count == size.width * size.height * 4)
    // Alpha is lossless, and 255 - 5 * x.
    for y in 0..<size.height {
      for x in 0..<size.width {
        let expected = 255 - 5 * (scale == 1 ? x : 2 * x)
        #expect(abs(Int(pixels[(y * size.width + x) * 4 + 3]) - expected) <= (scale == 1 ? 0 : 12))
      }
    }
  }
}
