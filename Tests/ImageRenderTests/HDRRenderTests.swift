import Foundation
import ImageCodec
import MediaMetadata
import PhotoFixtures
import PhotoModel
import Testing

@testable import ImageRender

/// Frames that have high dynamic range themselves. What the encoder gets is compared with the formulas of the standards.
@Suite("Frames of high dynamic range")
struct HDRRenderTests {
  static func request(_ width: Int, _ height: Int, _ format: OutputFormat = .avif) -> ImageRequest {
    var request = ImageRequest(targetSize: .size(PixelSize(width: width, height: height)), format: format)
    request.dynamicRange = .high
    return request
  }

  static func frame(
    _ file: [UInt8], _ request: ImageRequest, _ adjustments: Adjustments? = nil,
    decoder: (any CodedPictureDecoder)? = nil
  ) throws -> (image: RenderedImage, capture: CapturingEncoder.Capture?) {
    let header = try ImageHeader.read(from: MemoryByteSource(file), limits: CodecLimits())
    let plan = RenderPlanner().plan(header, header.sized(request, adjustments))
    let workers = CapturingEncoder(decoder)
    let renderer = try Renderer(
      plan, source: MemoryByteSource(file), workers: workers, limits: CodecLimits(), stop: StopFlag())
    return (try renderer.render(), workers.captures.first)
  }

  /// The largest difference from expected light in steps of 10 bits, and the mean.
  private static func difference(
    _ capture: CapturingEncoder.Capture, _ expected: (Int, Int) -> [Double]
  ) -> (most: Double, mean: Double) {
    var (most, sum) = (0.0, 0.0)
    let size = capture.encoding.size
    for y in 0..<size.height {
      for x in 0..<size.width {
        for (found, light) in zip(capture.pixel(x, y), expected(x, y)) {
          let difference = abs(found / 65_535 - ReferenceLight.pq(light)) * 1023
          most = max(most, difference)
          sum += difference
        }
      }
    }
    return (most, sum / Double(size.pixelCount * 3))
  }

  // MARK: Gain maps

  struct Base: CustomTestStringConvertible, Sendable {
    let testDescription: String
    let matrix: [[Double]]
    let isColored: Bool
    let change: @Sendable (inout UltraHDRFile) -> Void
    /// The factor of light for a sample of the map.
    let factor: @Sendable (_ sample: Double, _ channel: Int) -> Double
    var offset = 1.0 / 64

    init(
      _ name: String, matrix: [[Double]] = ReferenceLight.bt709, isColored: Bool = false, offset: Double = 1.0 / 64,
      _ change: @escaping @Sendable (inout UltraHDRFile) -> Void,
      factor: @escaping @Sendable (Double, Int) -> Double
    ) {
      testDescription = name
      (self.matrix, self.isColored, self.change, self.factor, self.offset) = (matrix, isColored, change, factor, offset)
    }
  }

  private static let appleLight: @Sendable (Double) -> Double = {
    $0 < 0.081 ? $0 / 4.5 : pow(($0 + 0.099) / 1.099, 1 / 0.45)
  }

  static let bases = [
    Base("Ultra HDR", { _ in }) { sample, _ in exp2(2.5 * sample) },
    Base(
      "ISO 21496-1 with a gamma and darker places",
      {
        ($0.form, $0.minimum, $0.gamma) = (.iso, [-0.5], 1.25)
      }
    ) { sample, _ in exp2(-0.5 + 3 * pow(sample, 1 / 1.25)) },
    Base("Apple's", offset: 0, { $0.form = .apple }) { sample, _ in 1 + 3 * appleLight(sample) },
    Base("in Display P3", matrix: ReferenceLight.displayP3, { $0.profile = ICCFile.displayP3 }) { sample, _ in
      exp2(2.5 * sample)
    },
    Base(
      "in Display P3, with gains for red, green and blue", matrix: ReferenceLight.displayP3, isColored: true,
      { ($0.profile, $0.maximum) = (ICCFile.displayP3, [1, 2, 3]) }
    ) { sample, channel in exp2(Double(channel + 1) * sample) },
  ]

  /// Where the map's JPEG begins, the last one of the file.
  private static func mapStart(_ file: [UInt8]) throws -> Int {
    try #require((1..<file.count - 3).last { Array(file[$0..<$0 + 3]) == [0xFF, 0xD8, 0xFF] })
  }

  /// A small picture with a map of its size, whose three channels differ.
  private static func file(_ base: Base) -> UltraHDRFile {
    let gray = UltraHDRFile.glow(width: 160, height: 120)
    var map = gray
    if base.isColored {
      map = Pixels(width: 160, height: 120, channels: 3)
      for i in gray.bytes.indices {
        map.bytes.replaceSubrange(i * 3..<i * 3 + 3, with: [gray.bytes[i], 255 - gray.bytes[i], UInt8(i % 160)])
      }
    }
    return UltraHDRFile(Scene(seed: 7, grain: 2).pixels(width: 160, height: 120), map: map) {
      base.change(&$0)
    }
  }

  @Test("a gain map brightens the picture by the formula of ISO 21496-1, in PQ and BT.2020", arguments: bases)
  func gains(_ base: Base) throws {
    let file = Self.file(base)
    let encoded = file.encoded
    let picture = try #require(Pixels.decoded(encoded)).pixels
    let map = try #require(Pixels.decoded(Array(encoded[try Self.mapStart(encoded)...]))).pixels
    let (image, capture) = try Self.frame(encoded, Self.request(160, 120))
    let found = try #require(capture)
    #expect(image.isHDR && !image.hasGainMap && image.format == .avif && found.encoding.channels == 3)
    func light(_ x: Int, _ y: Int) -> [Double] {
      let place = y * 160 + x
      let linear = (0..<3).map { c -> Double in
        let sample = Double(map.bytes[place * map.channels + (map.channels == 1 ? 0 : c)]) / 255
        let base709 = ReferenceLight.sRGB(Double(picture.bytes[place * picture.channels + c]) / 255)
        return (base709 + base.offset) * base.factor(sample, c) - base.offset
      }
      return ReferenceLight.times(base.matrix, linear).map { 203 * $0 }
    }
    let (most, mean) = Self.difference(found, light)
    #expect(most < 1.5 && mean < 0.15, "\(most), \(mean) steps")
    // Some places are brighter than white.
    var (brightest, sum) = (0.0, 0.0)
    for y in 0..<120 {
      for x in 0..<160 {
        let most = min(max(light(x, y).max() ?? 0, 0), 10_000)
        brightest = max(brightest, most)
        sum += most
      }
    }
    let level = try #require(found.encoding.contentLight)
    #expect(brightest > 300)
    #expect(abs(Double(level.maximum) - brightest) < 0.01 * brightest + 1)
    #expect(abs(Double(level.average) - sum / 19_200) < 2)
  }

  @Test("a gray picture with a map has three equal channels")
  func gray() throws {
    let file = UltraHDRFile(
      Pixels(width: 160, height: 120, channels: 1, bytes: Array(repeating: 188, count: 160 * 120)),
      map: UltraHDRFile.glow(width: 40, height: 30))
    let (image, capture) = try Self.frame(file.encoded, Self.request(160, 120))
    let found = try #require(capture)
    #expect(image.isHDR && found.encoding.channels == 3)
    var isGray = true
    for i in stride(from: 0, to: found.samples.count, by: 3) {
      isGray = isGray && found.samples[i] == found.samples[i + 1] && found.samples[i] == found.samples[i + 2]
    }
    #expect(isGray)
    #expect(found.samples.max() ?? 0 > UInt16(ReferenceLight.pq(203) * 65_535))
  }

  @Test("a profile's table precedes its curves, as in frames of standard range")
  func table() throws {
    let picture = Pixels(width: 160, height: 120, channels: 3, bytes: Array(repeating: 150, count: 160 * 120 * 3))
    // A map without gains.
    let file = UltraHDRFile(picture, map: Pixels(width: 40, height: 30, channels: 1)) {
      $0.profile = ICCFile.table(exponent: 2.6, besideCurve: 1.8)
    }
    let found = try #require(try Self.frame(file.encoded, Self.request(160, 120)).capture).pixel(80, 60)
    let expected = ReferenceLight.pq(203 * pow(150.0 / 255, 2.6)) * 65_535
    for channel in 0..<3 { #expect(abs(found[channel] - expected) < 400, "\(found[channel]) of \(expected)") }
  }

  @Test("the map's gains are cut, resized and turned with the picture", arguments: 1...8, GainMapTests.views)
  func geometry(_ orientation: Int, _ view: GainMapTests.View) throws {
    let upright = UltraHDRFile.glow(width: 400, height: 300)
    let flat = Pixels(width: 1600, height: 1200, channels: 3, bytes: Array(repeating: 128, count: 1600 * 1200 * 3))
    let file = UltraHDRFile(flat.stored(orientation: orientation), map: upright.stored(orientation: orientation)) {
      $0.orientation = orientation
    }
    var request = view.request
    (request.format, request.dynamicRange) = (.jxl, .high)
    let found = try #require(try Self.frame(file.encoded, request).capture)
    let size = found.encoding.size
    // Back to the map's samples.
    let base = ReferenceLight.sRGB(128.0 / 255) + 1.0 / 64
    var samples = Pixels(width: size.width, height: size.height, channels: 1)
    for i in 0..<size.pixelCount {
      let gain = (ReferenceLight.luminance(Double(found.samples[i * 3]) / 65_535) / 203 + 1.0 / 64) / base
      samples.bytes[i] = UInt8(min(255, max(0, (log2(gain) / 2.5 * 255).rounded())))
    }
    let part = upright.cropped(x: view.part.x, y: view.part.y, width: view.part.width, height: view.part.height)
    let difference = try #require(
      samples.averaged(width: view.size.width, height: view.size.height)
        .meanDifference(from: part.averaged(width: view.size.width, height: view.size.height)))
    #expect(difference < 1.5, "\(difference)")
  }

  @Test("small frames have the gains too; a damaged map leaves the light of the base picture")
  func damaged() throws {
    let file = UltraHDRFile.landscape(width: 640, height: 480).encoded
    let small = try #require(try Self.frame(file, Self.request(100, 100)).capture)
    let white = ReferenceLight.pq(203) * 65_535
    #expect(Double(small.samples.max() ?? 0) > white + 3000)
    // The map's picture ends early.
    var damaged = file
    let middle = (try Self.mapStart(file) + file.count) / 2
    damaged.replaceSubrange(middle..<middle + 2, with: [0xFF, 0xD9])
    let (image, capture) = try Self.frame(damaged, Self.request(100, 100))
    let cut = try #require(capture)
    #expect(!image.isHDR && cut.encoding.isHDR)
    #expect(Double(cut.samples.max() ?? 0) < white + 300)
  }

  // MARK: PQ and HLG

  private static func deep(_ codes: [UInt8], channels: Int = 3, _ sample: (Int, Int, Int) -> UInt16) -> [UInt8] {
    DeepPixels(width: 64, height: 48, channels: channels, sample)
      .png(chunks: PNGChunks.chunk("cICP", codes + [0, 1]))
  }

  @Sendable private static func ramp(_ x: Int, _ y: Int, _ c: Int) -> UInt16 {
    UInt16(min(65_535, (x * 700 + y * 300 + c * 5000) * 65_535 / 70_000))
  }

  private static func ramps(_ x: Int, _ y: Int) -> [Double] { (0..<3).map { Double(ramp(x, y, $0)) / 65_535 } }

  /// The code point of primaries, and their matrix to BT.2020.
  struct Primaries: Sendable {
    let code: UInt8
    let matrix: [[Double]]
  }

  @Test("a picture in PQ keeps its light and its alpha", arguments: [3, 4])
  func perceptualQuantizer(_ channels: Int) throws {
    let file = Self.deep([9, 16], channels: channels, Self.ramp)
    let (image, capture) = try Self.frame(file, Self.request(64, 48, .jxl))
    let found = try #require(capture)
    #expect(image.isHDR && found.encoding.channels == channels)
    var most = 0.0
    for y in 0..<48 {
      for x in 0..<64 {
        for c in 0..<channels {
          // Fully transparent pixels have no colour.
          if channels == 4, Self.ramp(x, y, 3) == 0 { continue }
          most = max(most, abs(found.pixel(x, y)[c] - Double(Self.ramp(x, y, c))))
        }
      }
    }
    #expect(most < (channels == 4 ? 64 : 24), "\(most) of 65,535")
  }

  @Test(
    "PQ in other primaries is converted in linear light",
    arguments: [
      Primaries(code: 1, matrix: ReferenceLight.bt709), Primaries(code: 12, matrix: ReferenceLight.displayP3),
    ])
  func primaries(_ primaries: Primaries) throws {
    let file = Self.deep([primaries.code, 16], Self.ramp)
    let found = try #require(try Self.frame(file, Self.request(64, 48)).capture)
    let (most, _) = Self.difference(found) { x, y in
      ReferenceLight.times(primaries.matrix, Self.ramps(x, y).map { ReferenceLight.luminance($0) })
    }
    #expect(most < 1, "\(most) steps")
  }

  @Test(
    "HLG gets the light of a display of 1,000 cd/m²",
    arguments: [
      Primaries(code: 9, matrix: ReferenceLight.same), Primaries(code: 1, matrix: ReferenceLight.bt709),
    ])
  func hybridLogGamma(_ primaries: Primaries) throws {
    let file = Self.deep([primaries.code, 18], Self.ramp)
    let found = try #require(try Self.frame(file, Self.request(64, 48)).capture)
    let (most, _) = Self.difference(found) { x, y in
      ReferenceLight.hybridLogGamma(Self.ramps(x, y), primaries.matrix)
    }
    #expect(most < 1, "\(most) steps")
    // The white of BT.2408 is at 75%.
    let white = try #require(
      try Self.frame(Self.deep([9, 18]) { _, _, _ in 49_151 }, Self.request(64, 48)).capture)
    #expect(abs(ReferenceLight.luminance(white.pixel(9, 9)[1] / 65_535) - 203) < 1)
  }

  @Test("a PQ picture is scaled in its light where asked", arguments: [Resampling.encoded, .linear])
  func linear(_ resampling: Resampling) throws {
    let bright = UInt16(ReferenceLight.pq(1000) * 65_535)
    let file = Self.deep([9, 16]) { x, _, _ in x % 2 == 0 ? 0 : bright }
    var request = Self.request(16, 12)
    request.resampling = resampling
    let found = try #require(try Self.frame(file, request).capture)
    let middle = ReferenceLight.luminance(found.pixel(8, 6)[1] / 65_535)
    let expected = resampling == .linear ? 500 : ReferenceLight.luminance(ReferenceLight.pq(1000) / 2)
    #expect(abs(middle - expected) < 0.03 * expected, "\(middle)")
  }

  @Test("a HEIC of 10 bits in HLG is a frame of high dynamic range, turned upright")
  func heic() throws {
    let picture = PaintedPicture {
      ($0.bitDepth, $0.matrix, $0.properties) = (10, 9, [CodedHEIFFile.irot(1)])
      $0.conversion = YCbCrConversion(matrix: .weights(red: 0.2627, blue: 0.0593), isFullRange: true)
      $0.colors = (9, 18)
    }
    let (image, capture) = try Self.frame(
      picture.file, Self.request(1000, 1000), decoder: PaintingDecoder(picture))
    let found = try #require(capture)
    #expect(image.isHDR && found.encoding.size == PixelSize(width: 61, height: 131))
    // A quarter turn anticlockwise.
    let (most, mean) = Self.difference(found) { x, y in
      let (r, g, b) = picture.rgb(130 - y, x, decoded: picture.everything)
      return ReferenceLight.hybridLogGamma([r, g, b])
    }
    #expect(most < 3 && mean < 0.5, "\(most), \(mean) steps")
  }

  // MARK: What stays in standard range

  enum Standard: String, CaseIterable, Sendable {
    case standard, preserve, webp, srgb, gray, changedPixels

    func change(_ request: inout ImageRequest) {
      switch self {
      case .standard: request.dynamicRange = .standard
      case .preserve: request.dynamicRange = .preserve
      case .webp: request.format = .webp
      case .srgb: request.colorSpace = .srgb
      case .gray: (request.tone, request.colorSpace) = (.gray, .srgb)
      case .changedPixels: break
      }
    }
  }

  @Test("other requests get the standard range of 8 bits", arguments: Standard.allCases, [true, false])
  func standardRange(_ kind: Standard, _ hasMap: Bool) throws {
    var request = Self.request(64, 48)
    kind.change(&request)
    let adjustments = kind == .changedPixels ? Adjustments([.tone(.exposure, 0.5)]) : nil
    let file = hasMap ? UltraHDRFile.landscape(width: 320, height: 240).encoded : Self.deep([9, 16], Self.ramp)
    let (image, capture) = try Self.frame(file, request, adjustments)
    #expect(!image.isHDR && capture?.encoding.isHDR == false)
    #expect(capture?.samples.max() ?? .max <= 255)
  }

  @Test("a picture that has no more is one of standard range", arguments: [OutputFormat.avif, .jxl])
  func plain(_ format: OutputFormat) throws {
    let file = JPEGFile { _ in }.encoded(Scene(seed: 3).pixels(width: 320, height: 240))
    let (image, capture) = try Self.frame(file, Self.request(160, 120, format))
    #expect(!image.isHDR && capture?.encoding.isHDR == false)
  }

  // MARK: Files

  @Test("an AVIF says what its samples are: H.273's code points, 10 bits, and its light")
  func container() throws {
    for (channels, pixi) in [(3, [3, 10, 10, 10]), (4, [1, 10])] {
      let file = Self.deep([9, 16], channels: channels, Self.ramp)
      let (image, capture) = try Self.frame(file, Self.request(64, 48))
      let level = try #require(capture?.encoding.contentLight)
      let brightest = ReferenceLight.luminance(Double(Self.ramp(63, 47, 2)) / 65_535)
      #expect(abs(Double(level.maximum) - brightest) < 10 && level.average > 10)
      let bytes = image.bytes
      func contains(_ part: [UInt8]) -> Bool { bytes.indices.contains { bytes[$0...].starts(with: part) } }
      #expect(contains(Array("colrnclx".utf8) + [0, 9, 0, 16, 0, 9, 0x80]))
      #expect(contains(Array("pixi".utf8) + [0, 0, 0, 0] + pixi.map { UInt8($0) }))
      let light = [level.maximum, level.average].flatMap { [UInt8($0 >> 8), UInt8($0 & 255)] }
      #expect(contains(Array("clli".utf8) + light))
      // high_bitdepth, and subsampled chroma.
      #expect(contains(Array("av1C".utf8) + [0x81, 0, 0x4C, 0]))
    }
  }

  @Test("the plan's memory contains the worker's and the map's")
  func price() throws {
    let file = UltraHDRFile.landscape(width: 1600, height: 1200).encoded
    let header = try ImageHeader.read(from: MemoryByteSource(file), limits: CodecLimits())
    for format in [OutputFormat.avif, .jxl] {
      let high = RenderPlanner().plan(header, Self.request(1200, 1200, format))
      var request = Self.request(1200, 1200, format)
      request.dynamicRange = .standard
      let plain = RenderPlanner().plan(header, request)
      let map = try #require(high.gainMap)
      // As many pixels as the map has.
      #expect(map.outputSize == PixelSize(width: 400, height: 300))
      #expect(high.peakBytes > plain.peakBytes + map.plan.peakBytes + 1200 * 900 * 3)
    }
  }
}
