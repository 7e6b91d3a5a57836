import Foundation
import ImageCodec
import PhotoFixtures
import PhotoModel
import Testing

@testable import ImageRender

/// Scaling and light in double precision, written from the definitions: Lanczos with three lobes that is as wide as an
/// output pixel, cut off at the picture's edges, over premultiplied light.
struct ReferenceScaling: Sendable {
  /// Light of a stored value, and back, both 0...1.
  var light: @Sendable (Double) -> Double = { $0 }
  var stored: @Sendable (Double) -> Double = { $0 }

  static let sRGB = ReferenceScaling(
    light: { $0 <= 0.04045 ? $0 / 12.92 : pow(($0 + 0.055) / 1.055, 2.4) },
    stored: { $0 <= 0.0031308 ? $0 * 12.92 : 1.055 * pow($0, 1 / 2.4) - 0.055 })

  static func power(_ exponent: Double) -> ReferenceScaling {
    ReferenceScaling(light: { pow($0, exponent) }, stored: { pow($0, 1 / exponent) })
  }

  private static func weights(_ from: Int, _ to: Int) -> [[Double]] {
    let ratio = Double(from) / Double(to)
    return (0..<to).map { o in
      let centre = (Double(o) + 0.5) * ratio
      let row = (0..<from).map { i -> Double in
        let x = abs(Double(i) + 0.5 - centre) / ratio
        if x >= 3 { return 0 }
        let a = Double.pi * x
        return a == 0 ? 1 : 3 * sin(a) * sin(a / 3) / (a * a)
      }
      let sum = row.reduce(0, +)
      return row.map { $0 / sum }
    }
  }

  /// Stored values 0...1 of the scaled picture, in the order of samples.
  func callAsFunction(_ pixels: DeepPixels, width: Int, height: Int) -> [Double] {
    let (channels, hasAlpha) = (pixels.channels, pixels.channels % 2 == 0)
    let colors = hasAlpha ? channels - 1 : channels
    func value(_ x: Int, _ y: Int, _ c: Int) -> Double {
      let at = (y * pixels.width + x) * channels
      let alpha = hasAlpha ? Double(pixels.samples[at + colors]) / 65535 : 1
      return c == colors ? alpha : light(Double(pixels.samples[at + c]) / 65535) * alpha
    }
    let across = Self.weights(pixels.width, width)
    let down = Self.weights(pixels.height, height)
    var out = [Double](repeating: 0, count: width * height * channels)
    for c in 0..<channels {
      for oy in 0..<height {
        for ox in 0..<width {
          var sum = 0.0
          for y in 0..<pixels.height where down[oy][y] != 0 {
            for x in 0..<pixels.width where across[ox][x] != 0 { sum += down[oy][y] * across[ox][x] * value(x, y, c) }
          }
          out[(oy * width + ox) * channels + c] = sum
        }
      }
    }
    for i in stride(from: 0, to: out.count, by: channels) {
      let alpha = hasAlpha ? min(max(out[i + colors], 0), 1) : 1
      if hasAlpha { out[i + colors] = alpha }
      for c in 0..<colors { out[i + c] = stored(min(max(alpha > 0 ? out[i + c] / alpha : 0, 0), 1)) }
    }
    return out
  }
}

@Suite("Scaling in linear light, and PNGs of 16 bits")
struct LinearLightTests {
  private static func noisy(_ channels: Int, width: Int = 48, height: Int = 36) -> DeepPixels {
    DeepPixels(width: width, height: height, channels: channels) { x, y, c in
      if channels % 2 == 0, c == channels - 1 { return UInt16(20_000 + (x * 613 + y * 331) % 45_000) }
      // Fine detail on a slope, from black to white.
      let slope = Double(x + y) / Double(width + height) * 45_000
      let detail = (x * 7 + y * 13 + c * 5) % 4 == 0 ? 20_000.0 : 0
      return UInt16(min(65_535, slope + detail + Double((x * 37 + y * 101 + c * 17) % 500)))
    }
  }

  private static func wanted(_ side: Int, _ resampling: Resampling, bitDepth: Int = 8) -> ImageRequest {
    var wanted = request(side, side, .aspectFit, .png)
    wanted.resampling = resampling
    wanted.bitDepth = bitDepth
    return wanted
  }

  private func rendered(_ file: [UInt8], _ request: ImageRequest) throws -> (pixels: DeepPixels, bits: Int) {
    try #require(DeepPixels.decoded(render(file, request).image.bytes))
  }

  /// The largest difference in units of the sample, over pixels that are not nearly transparent.
  private func worst(_ found: DeepPixels, _ expected: [Double], scale: Double) -> Double {
    #expect(found.samples.count == expected.count)
    return zip(found.samples, expected).map { abs(Double($0) / 65535 - $1) * scale }.max() ?? .infinity
  }

  @Test("16 bits are scaled as exact arithmetic does", arguments: [1, 2, 3, 4], [Resampling.encoded, .linear])
  func deep(_ channels: Int, _ resampling: Resampling) throws {
    let source = Self.noisy(channels)
    let (found, bits) = try rendered(source.png(), Self.wanted(20, resampling, bitDepth: 16))
    let reference = resampling == .linear ? ReferenceScaling.sRGB : ReferenceScaling()
    #expect(bits == 16 && found.channels == channels && found.width == 20 && found.height == 15)
    let worst = self.worst(found, reference(source, width: 20, height: 15), scale: 65535)
    // A kernel's negligible weights are left out; in linear light that counts for more in dark places.
    #expect(worst < (resampling == .linear ? 30 : 12), "\(worst) of 65,535")
  }

  @Test("8 bits are scaled in linear light as exact arithmetic does", arguments: [1, 2, 3, 4])
  func linear(_ channels: Int) throws {
    var source = Self.noisy(channels)
    source.samples = source.samples.map { $0 >> 8 * 257 }
    let kind: [PNGFile.Kind] = [.gray(depth: 8), .grayAlpha(depth: 8), .rgb(depth: 8), .rgba(depth: 8)]
    var pixels = Pixels(width: source.width, height: source.height, channels: 4)
    for i in 0..<source.width * source.height {
      let from = source.samples[i * channels..<(i + 1) * channels].map { UInt8($0 >> 8) }
      let colors = channels < 3 ? [from[0], from[0], from[0]] : Array(from[0..<3])
      pixels.bytes.replaceSubrange(i * 4..<i * 4 + 4, with: colors + [channels % 2 == 0 ? from[channels - 1] : 255])
    }
    let file = PNGFile(kind[channels - 1]).encoded(pixels)
    let (found, bits) = try rendered(file, Self.wanted(20, .linear))
    #expect(bits == 8 && found.channels == channels)
    let worst = self.worst(found, ReferenceScaling.sRGB(source, width: 20, height: 15), scale: 255)
    #expect(worst < 0.52, "\(worst) of 255")
  }

  @Test("light is that of the picture's profile")
  func profile() throws {
    var source = Self.noisy(3)
    source.samples = source.samples.map { $0 >> 8 * 257 }
    var pixels = Pixels(width: source.width, height: source.height, channels: 3)
    pixels.bytes = source.samples.map { UInt8($0 >> 8) }
    let file = PNGFile(.rgb(depth: 8)) { $0.profile = ICCFile.adobeRGB }.encoded(pixels)
    let found = try rendered(file, Self.wanted(20, .linear)).pixels
    let right = worst(found, ReferenceScaling.power(2.199_218_75)(source, width: 20, height: 15), scale: 255)
    let wrong = worst(found, ReferenceScaling.sRGB(source, width: 20, height: 15), scale: 255)
    #expect(right < 0.6 && wrong > 1, "\(right), \(wrong)")
  }

  @Test("a pattern of black and white is as bright as it looks from afar, from every decoder of this process")
  func brightness() throws {
    var board = Pixels(width: 128, height: 96, channels: 3)
    for y in 0..<96 {
      for x in 0..<128 where (x + y) % 2 == 0 {
        board.bytes.replaceSubrange((y * 128 + x) * 3..<(y * 128 + x) * 3 + 3, with: [255, 255, 255])
      }
    }
    let files: [(String, [UInt8])] = [
      ("PNG", PNGFile(.rgb(depth: 8)).encoded(board)),
      (
        "JPEG",
        JPEGFile {
          $0.quality = 100
          $0.sampling = (1, 1)
        }.encoded(board)
      ),
      (
        "gray JPEG",
        JPEGFile {
          $0.quality = 100
          $0.color = .gray
        }.encoded(board.channels(1))
      ),
    ]
    for (name, file) in files {
      for (resampling, expected) in [(Resampling.linear, 187.5), (.encoded, 127.5)] {
        let pixels = try render(file, Self.wanted(16, resampling)).pixels
        let middle = Double(try #require(pixels[8, 6].first))
        #expect(abs(middle - expected) < 3, "\(name) \(resampling): \(middle)")
      }
    }
  }

  @Test(
    "a JPEG of a picture with alpha is its PNG over white, scaled or not",
    arguments: [PNGFile.Kind.rgba(depth: 8), .rgba(depth: 16), .grayAlpha(depth: 8), .grayAlpha(depth: 16)], [48, 20])
  func overWhite(_ kind: PNGFile.Kind, _ side: Int) throws {
    let dark = Pixels.translucent(from: 0)
    let file = PNGFile(kind).encoded(dark)
    var wanted = Self.wanted(side, .linear)
    let expected = try render(file, wanted).pixels.overWhite
    wanted.format = .jpeg
    wanted.quality = 100
    for rotation in [Orientation.topLeft, .bottomRight] {
      wanted.rotation = rotation
      let found = try render(file, wanted).pixels.channels(3).stored(orientation: rotation == .topLeft ? 1 : 3)
      let difference = try #require(found.meanDifference(from: expected))
      #expect(difference < 1.5, "\(difference)")
    }
  }

  @Test("nothing is scaled before linear light: the whole picture is decoded, into rows")
  func plan() throws {
    let file = JPEGFile { _ in }.encoded(Scene(seed: 2).pixels(width: 640, height: 480))
    let header = try ImageHeader.read(from: MemoryByteSource(file), limits: CodecLimits())
    var wanted = request(60, 60, .aspectFit, .jpeg)
    #expect(RenderPlanner().plan(header, wanted).eighths == 2 && !RenderPlanner().plan(header, wanted).planes.isEmpty)
    wanted.resampling = .linear
    let plan = RenderPlanner().plan(header, wanted)
    #expect(plan.eighths == 8 && plan.planes.isEmpty && plan.isLinear)
    // No decode of another scale is shared, and no derivative serves.
    #expect(DerivativeLadder.standard.rung(for: header.sized(wanted), hasAlpha: false) == nil)
  }

  @Test("inks are scaled as they are")
  func inks() throws {
    let file = JPEGFile { $0.color = .cmyk }.encoded(Scene(seed: 2).pixels(width: 64, height: 48))
    let (plain, linear) = (
      try render(file, Self.wanted(20, .encoded)).pixels, try render(file, Self.wanted(20, .linear)).pixels
    )
    #expect(plain == linear)
  }

  @Test("at its own size, every sample of 16 bits stays, turned too", arguments: [1, 2, 3, 4])
  func exact(_ channels: Int) throws {
    let source = Self.noisy(channels)
    var request = ImageRequest(format: .png)
    request.bitDepth = 16
    let (found, bits) = try rendered(source.png(), request)
    #expect(bits == 16)
    let worst = zip(found.samples, source.samples).map { abs(Int($0) - Int($1)) }.max() ?? 0
    #expect(worst <= (channels % 2 == 0 ? 1 : 0), "\(worst)")
    request.rotation = .rightTop
    let upright = try rendered(source.png(), request).pixels
    #expect(upright.width == source.height && upright.height == source.width)
    for (x, y) in [(0, 0), (10, 30), (35, 47)] {
      let (to, from) = ((y * upright.width + x) * channels, ((source.height - 1 - x) * source.width + y) * channels)
      #expect(abs(Int(upright.samples[to]) - Int(source.samples[from])) <= 1, "\(x), \(y)")
    }
  }

  @Test("16 bits are converted to sRGB as exact arithmetic does")
  func converted() throws {
    let source = DeepPixels(width: 32, height: 32, channels: 3) { x, y, c in
      UInt16([x * 1800 + 4000, y * 1500 + 9000, (x + y) * 700 + 12_000][c])
    }
    let profile = ICCFile.adobeRGB
    let chunk = PNGChunks.chunk("iCCP", Array("a\0\0".utf8) + PNGChunks.stored(profile))
    var request = ImageRequest(format: .png, colorSpace: .srgb)
    request.bitDepth = 16
    let (found, bits) = try rendered(source.png(chunks: chunk), request)
    #expect(bits == 16)
    var worst = 0.0
    for i in 0..<32 * 32 {
      let light = source.samples[i * 3..<i * 3 + 3].map { pow(Double($0) / 65535, 2.199_218_75) }
      for (c, row) in ReferenceColor.adobe.enumerated() {
        let value = zip(row, light).reduce(0) { $0 + $1.0 * $1.1 }
        // Colours outside of sRGB are clipped in ways of their own.
        guard (0.002...1).contains(value) else { continue }
        worst = max(worst, abs(ReferenceScaling.sRGB.stored(value) * 65535 - Double(found.samples[i * 3 + c])))
      }
    }
    #expect(worst < 64, "\(worst) of 65,535")
  }

  @Test("the tables of light are made once for a profile and its rows", arguments: [8, 16])
  func shared(_ bits: Int) throws {
    let rows = RowFormat(model: .rgb, hasAlpha: false, bitsPerChannel: bits)
    for profile in [nil, ICCFile.adobeRGB] as [[UInt8]?] {
      let color = SourceColor(profile: profile)
      let transforms = ColorTransforms(capacityBytes: 16 << 20)
      func light(_ colorSpace: ColorSpace = .preserve) -> LinearLight? {
        transforms.outputColor(of: color, rows, as: colorSpace, isLinear: true).light
      }
      let first = try #require(light())
      let hasLight = transforms.outputColor(of: color, rows, as: .preserve).light != nil
      #expect(!hasLight)
      #expect(light() === first)
      _ = try #require(light(.srgb))
      #expect(transforms.bytesInUse >= (profile == nil ? 0 : first.bytes))
    }
  }

  @Test("other sources, formats and pictures have 8 bits")
  func shallow() throws {
    var request = ImageRequest(format: .png)
    request.bitDepth = 16
    let scene = Scene(seed: 3).pixels(width: 40, height: 30)
    for file in [PNGFile(.rgb(depth: 8)).encoded(scene), JPEGFile { _ in }.encoded(scene)] {
      #expect(try rendered(file, request).bits == 8)
    }
    let deep = Self.noisy(3).png()
    #expect(try rendered(deep, ImageRequest(format: .png)).bits == 8)
    request.tone = .gray
    request.colorSpace = .srgb
    #expect(try rendered(deep, request).bits == 8)
    request = ImageRequest(format: .jpeg)
    request.bitDepth = 16
    #expect(try render(deep, request).pixels.width == 48)
  }
}
