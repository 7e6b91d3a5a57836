import DecoderWorkers
import PhotoFixtures
import PhotoModel
import Testing

/// libjxl's program, on pictures that were made for these tests.
@Suite("Decoder workers: JPEG XL", .enabled(if: TestDecoders.isBuilt(.jxl)))
struct JXLCodecTests {
  private static func request(
    _ file: [UInt8], _ size: PixelSize, region: PixelRect? = nil, step: Int = 1,
    colors: RGBPrimaries? = nil, isGray: Bool = false, bitDepth: Int = 8, hasAlpha: Bool = false
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

  @Test("a lossless JPEG XL of several groups is decoded exactly, whole and in part")
  func lossless() throws {
    let size = PixelSize(width: 300, height: 280)
    let pool = TestDecoders.pool([.jxl])
    let whole = JXLSamples.pixels(width: 300, height: 280)
    let regions = [
      PixelRect(size), PixelRect(x: 0, y: 270, width: 300, height: 10), PixelRect(x: 250, y: 9, width: 20, height: 251),
    ]
    for region in regions {
      let (request, payload) = Self.request(JXLSamples.rgb, size, region: region)
      let expected = whole.cropped(x: region.x, y: region.y, width: region.width, height: region.height)
      let isEqual = try pool.rows(request, of: .bytes(payload)).tiles == [Self.planes(expected)]
      #expect(isEqual, "\(region)")
    }
  }

  @Test("pixels of a JPEG XL are averaged, with fewer at the edges", arguments: [2, 4, 8])
  func averaged(_ step: Int) throws {
    let size = PixelSize(width: 300, height: 280)
    let reduced = PixelSize(width: (300 + step - 1) / step, height: (280 + step - 1) / step)
    // Without the first column and row.
    let region = PixelRect(x: 1, y: 1, width: reduced.width - 1, height: reduced.height - 1)
    let (request, payload) = Self.request(JXLSamples.rgb, size, region: region, step: step)
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

  @Test("samples of 16 bits are averaged, with fewer at the edges", arguments: [2, 4, 8])
  func deepMeans(_ step: Int) throws {
    let size = PixelSize(width: (40 + step - 1) / step, height: (30 + step - 1) / step)
    let (request, payload) = Self.request(
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

  @Test("alpha, gray with 16 bits, and the first frame of an animation are decoded exactly")
  func layouts() throws {
    let pool = TestDecoders.pool([.jxl])
    let size = PixelSize(width: 60, height: 40)
    let colors = Self.planes(JXLSamples.pixels(width: 60, height: 40))
    let (alpha, payload) = Self.request(JXLSamples.rgba, size, hasAlpha: true)
    let expected = colors + [(0..<2400).map { UInt8(255 - 4 * ($0 % 60)) }]
    #expect(try pool.rows(alpha, of: .bytes(payload)).tiles == [expected])
    let (animation, frames) = Self.request(JXLSamples.animation, size)
    #expect(try pool.rows(animation, of: .bytes(frames)).tiles == [colors])
    let (gray, samples) = Self.request(
      JXLSamples.gray, PixelSize(width: 40, height: 30), isGray: true, bitDepth: 16)
    let values = (0..<30).flatMap { y in (0..<40).map { UInt16($0 * 1000 + y * 700) } }
    #expect(
      try pool.rows(gray, of: .bytes(samples)).tiles == [
        [values.flatMap { value in withUnsafeBytes(of: value) { Array($0) } }]
      ])
  }

  @Test("a lossy JPEG XL is converted to the colours that are asked for")
  func lossy() throws {
    let size = PixelSize(width: 64, height: 48)
    let pool = TestDecoders.pool([.jxl])
    func difference(_ file: [UInt8], _ colors: RGBPrimaries?) throws -> Int {
      let (request, payload) = Self.request(file, size, colors: colors)
      let planes = try pool.rows(request, of: .bytes(payload)).tiles[0]
      let pairs = zip(planes.joined(), Self.planes(JXLSamples.ramps).joined())
      return pairs.reduce(0) { $0 + abs(Int($1.0) - Int($1.1)) } / (64 * 48 * 3)
    }
    #expect(try difference(JXLSamples.lossy, .sRGB) <= 2)
    #expect(try difference(JXLSamples.displayP3, .displayP3) <= 2)
    #expect(try difference(JXLSamples.displayP3, .bt2020) > 4, "other numbers for the same colours")
    #expect(try difference(JXLSamples.jpeg, nil) <= 2)
    // Means are rounded to the nearest.
    let (whole, wholePayload) = Self.request(JXLSamples.lossy, size, colors: .sRGB)
    let (reduced, reducedPayload) = Self.request(
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
    let (request, payload) = Self.request(JXLSamples.losslessP3, PixelSize(width: 60, height: 40), colors: .sRGB)
    #expect(pool.error(request, of: .bytes(payload)) == .failed(.jxl, .unsupported))
  }

  @Test("the ICC profile of a JPEG XL is returned, or its length if it is too long")
  func profile() throws {
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

  @Test("a JPEG XL of another size or layout than its header says is refused")
  func mismatch() {
    let size = PixelSize(width: 60, height: 40)
    let requests = [
      Self.request(JXLSamples.rgba, PixelSize(width: 61, height: 40), hasAlpha: true),
      Self.request(JXLSamples.rgba, size),
      Self.request(JXLSamples.rgba, size, isGray: true, hasAlpha: true),
      Self.request(JXLSamples.animation, size, hasAlpha: true),
      Self.request(JXLSamples.animation, size, step: 3),
      Self.request(JXLSamples.animation, size, region: PixelRect(x: 1, y: 0, width: 60, height: 40)),
    ]
    for (request, payload) in requests {
      #expect(TestDecoders.pool([.jxl]).error(request, of: .bytes(payload)) == .failed(.jxl, .mismatch))
    }
  }

  @Test("a damaged JPEG XL fails alone or gives other rows, never anything else")
  func damaged() {
    let pool = TestDecoders.pool([.jxl])
    let (request, payload) = Self.request(JXLSamples.rgba, PixelSize(width: 60, height: 40), hasAlpha: true)
    for index in 3..<payload.count {
      var damaged = payload
      damaged[index] ^= 0xFF
      switch pool.error(request, of: .bytes(damaged)) {
      case nil, .failed(.jxl, _): break
      case let error: Issue.record("byte \(index): \(String(describing: error))")
      }
    }
    let short = Self.request(Array(JXLSamples.rgba.prefix(100)), PixelSize(width: 60, height: 40), hasAlpha: true)
    #expect(pool.error(short.0, of: .bytes(short.payload)) == .failed(.jxl, .malformed))
  }

  @Test("a JPEG XL that needs more memory than its limit is ended")
  func memory() {
    let size = PixelSize(width: 1000, height: 1000)
    let (wanted, payload) = Self.request(JXLSamples.large, size)
    #expect(TestDecoders.pool([.jxl]).error(wanted, of: .bytes(payload)) == nil)
    let request = DecodeRequest(
      codec: .jxl, samples: wanted.samples, codedSize: size, size: size, tiles: wanted.tiles,
      parameters: wanted.parameters, memoryLimitBytes: 4 << 20, cpuSeconds: 5)
    #expect(TestDecoders.pool([.jxl]).error(request, of: .bytes(payload)) == .failed(.jxl, .memory))
  }
}
