import Foundation
import ImageCodec
import MediaMetadata
import PhotoFixtures
import PhotoModel
import Testing

@Suite("JPEG XL headers")
struct JXLTests {
  private func read(_ file: [UInt8]) throws(CodecError) -> (ImageHeader, JXLPicture) {
    let header = try ImageHeader.read(from: MemoryByteSource(file), limits: CodecLimits(sourcePixels: 1_000_000))
    guard case .jxl(let picture) = header.coded else { throw .unsupported("no JPEG XL") }
    return (header, picture)
  }

  private func error(_ file: [UInt8]) -> CodecError? {
    do throws(CodecError) {
      _ = try read(file)
      return nil
    } catch { return error }
  }

  private func facts(_ file: [UInt8]) throws -> MediaFacts {
    try MediaHeader.read(from: MemoryByteSource(file), limits: CodecLimits()).facts
  }

  private static let p3 = ColorCalibration(transfer: .sRGB, primaries: .displayP3)
  private static let perceptualQuantizer = ColorCalibration(transfer: .perceptualQuantizer, primaries: .bt2020)

  // MARK: Files of an encoder

  @Test("size, channels and depth of files of an encoder are read")
  func sizes() throws {
    for (file, width, height) in [
      (JXLSamples.rgb, 300, 280), (JXLSamples.rgba, 60, 40), (JXLSamples.gray, 40, 30), (JXLSamples.lossy, 64, 48),
      (JXLSamples.turned, 64, 48), (JXLSamples.pq, 64, 48), (JXLSamples.profile, 60, 40),
      (JXLSamples.animation, 60, 40), (JXLSamples.jpeg, 64, 48),
    ] {
      let (header, picture) = try read(file)
      #expect(header.format == .jxl && header.storedSize == PixelSize(width: width, height: height))
      #expect(header.hasAlpha == (file == JXLSamples.rgba))
      #expect(try facts(file).isAnimated == (file == JXLSamples.animation))
      #expect(header.colorChannels == (file == JXLSamples.gray ? 1 : 3))
      #expect(header.bitsPerChannel == (file == JXLSamples.gray ? 16 : 8))
      #expect(header.orientation == (file == JXLSamples.turned ? .rightTop : .topLeft))
      #expect(picture.codestream == [ByteRange(offset: 0, length: file.count)] && header.scalesDecodes)
    }
  }

  @Test("colours are those of the codestream, or what a decoder makes of XYB")
  func colors() throws {
    let cases: [([UInt8], RGBPrimaries?, ColorCalibration?, needsProfile: Bool)] = [
      (JXLSamples.rgb, nil, nil, false), (JXLSamples.lossy, .sRGB, nil, false),
      (JXLSamples.displayP3, .displayP3, Self.p3, false), (JXLSamples.losslessP3, nil, Self.p3, false),
      (JXLSamples.pq, nil, Self.perceptualQuantizer, false), (JXLSamples.profile, nil, nil, true),
      (JXLSamples.lossyProfile, .displayP3, Self.p3, false),
    ]
    for (index, (file, converted, calibration, needsProfile)) in cases.enumerated() {
      let (header, picture) = try read(file)
      #expect(picture.convertedColors == converted && header.calibration == calibration, "\(index)")
      #expect(picture.needsProfile == needsProfile && (header.embeddedProfile == .coded) == needsProfile, "\(index)")
    }
  }

  @Test("a picture of DCT blocks is known to need less memory")
  func memory() throws {
    let pixels = 64 * 64
    for (file, bytesPerPixel) in [
      (JXLSamples.lossy, 20), (JXLSamples.turned, 20), (JXLSamples.losslessP3, 52), (JXLSamples.rgba, 76),
      (JXLSamples.animation, 52), (JXLSamples.jpeg, 20), (JXLSamples.lossyProfile, 52),
    ] {
      let needed = try read(file).1.workingBytes - 4 << 20
      #expect(needed == pixels * bytesPerPixel, "\(file.count) bytes")
    }
    // The data for the JPEG say that its blocks are there, also where a profile hides the first frame.
    let file = JXLSamples.file(Boxes.box("jbrd", [1]), Boxes.box("jxlc", JXLSamples.profile))
    #expect(try read(file).1.workingBytes == 4 << 20 + pixels * 20)
  }

  // MARK: Made headers

  /// A codestream whose header has these numbers of bits, the first one in the lowest bit.
  private func codestream(_ fields: [(value: Int, bits: Int)]) -> [UInt8] {
    let bits = fields.flatMap { field in (0..<field.bits).map { field.value >> $0 & 1 } }
    let bytes = stride(from: 0, to: bits.count, by: 8).map { start in
      bits[start..<min(start + 8, bits.count)].enumerated().reduce(UInt8(0)) { $0 | UInt8($1.element << $1.offset) }
    }
    return [0xFF, 0x0A] + bytes + [UInt8](repeating: 0, count: 40)
  }

  /// 100 x 60: sides in 9 bits.
  private static let size: [(value: Int, bits: Int)] = [(0, 1), (0, 2), (59, 9), (0, 3), (0, 2), (99, 9)]
  /// Fields that differ from their defaults, without those for animations and the like.
  private static let fields = size + [(0, 1), (0, 1)]
  /// 8 bits, samples of 16 bits are enough.
  private static let depth: [(value: Int, bits: Int)] = [(0, 1), (0, 2), (1, 1)]

  @Test("all ways to write a size are read")
  func writtenSizes() throws {
    let sizes: [([(value: Int, bits: Int)], Int, Int)] = [
      ([(1, 1), (2, 5), (0, 3), (4, 5)], 40, 24), ([(1, 1), (31, 5), (7, 3)], 512, 256),
      ([(0, 1), (1, 2), (999, 13), (1, 3)], 1000, 1000), ([(0, 1), (0, 2), (99, 9), (2, 3)], 120, 100),
      ([(0, 1), (0, 2), (99, 9), (3, 3)], 133, 100), ([(0, 1), (0, 2), (99, 9), (4, 3)], 150, 100),
      ([(0, 1), (0, 2), (99, 9), (5, 3)], 177, 100), ([(0, 1), (0, 2), (99, 9), (6, 3)], 125, 100),
      ([(0, 1), (2, 2), (9, 18), (0, 3), (3, 2), (49, 30)], 50, 10),
    ]
    for (fields, width, height) in sizes {
      let (header, picture) = try read(codestream(fields + [(1, 1)]))
      #expect(header.storedSize == PixelSize(width: width, height: height) && picture.header.isXYB)
    }
    let large = codestream([(0, 1), (3, 2), (1 << 30 - 1, 30), (7, 3), (1, 1)])
    #expect(error(large) == .limitExceeded("the longer side", limit: 65_500, found: 1 << 31))
  }

  @Test("fields before the colours are skipped by their lengths")
  func skippedFields() throws {
    let intrinsic: [(value: Int, bits: Int)] = [(1, 1), (1, 1), (3, 5), (1, 3)]
    let previews: [[(value: Int, bits: Int)]] = [
      [(0, 1)], [(1, 1), (1, 1), (0, 2), (2, 3)], [(1, 1), (1, 1), (3, 2), (7, 9), (0, 3), (2, 2), (9, 5)],
      [(1, 1), (0, 1), (1, 2), (200, 8), (0, 3), (3, 2), (77, 12)],
    ]
    let animations: [[(value: Int, bits: Int)]] = [
      [(0, 1)], [(1, 1), (0, 2), (0, 2), (0, 2), (0, 1)],
      [(1, 1), (3, 2), (5, 30), (3, 2), (9, 10), (3, 2), (8, 32), (1, 1)],
    ]
    for preview in previews {
      for animation in animations {
        // Orientation 3, 10 bits, in XYB with the default colours.
        let head = Self.size + [(0, 1), (1, 1), (2, 3)] + intrinsic + preview + animation
        let file = codestream(head + [(0, 1), (1, 2), (1, 1), (0, 2), (1, 1), (1, 1), (1, 1), (0, 2)])
        let (header, picture) = try read(file)
        #expect(header.orientation == .bottomRight && header.bitsPerChannel == 16 && !header.hasAlpha)
        #expect(try facts(file).isAnimated == (animation.count > 1) && picture.header.isXYB)
        #expect(header.calibration == nil)
      }
    }
  }

  @Test("extra channels are counted, and only alpha is shown")
  func extraChannels() throws {
    let alpha: [(value: Int, bits: Int)] = [
      (0, 1), (0, 2), (0, 1), (0, 2), (0, 2), (1, 2), (2, 4), (65, 8), (66, 8), (1, 1),
    ]
    let depth: [(value: Int, bits: Int)] = [(0, 1), (1, 2), (1, 1), (0, 2), (7, 4), (3, 2), (2, 3), (0, 2)]
    let spot: [(value: Int, bits: Int)] =
      [(0, 1), (2, 2), (0, 4), (0, 1), (0, 2), (0, 2), (0, 2)] + [(7, 16), (7, 16), (7, 16), (7, 16)]
    let filter: [(value: Int, bits: Int)] = [(0, 1), (2, 2), (3, 4), (0, 1), (0, 2), (0, 2), (0, 2), (2, 2), (3, 4)]
    let channels = [([(1, 1)], true), (alpha, true), (depth, false), (spot, false), (filter, false)]
    for (channel, hasAlpha) in channels {
      // One channel; without XYB, in Display P3 with a gamma.
      let colors: [(value: Int, bits: Int)] = [
        (0, 1), (0, 1), (0, 2), (1, 2), (2, 2), (9, 4), (1, 1), (5_000_000, 24), (1, 2),
      ]
      let (header, picture) = try read(codestream(Self.fields + Self.depth + [(1, 2)] + channel + [(0, 1)] + colors))
      #expect(header.hasAlpha == hasAlpha && picture.header.extraChannels == 1)
      #expect(header.calibration == ColorCalibration(transfer: .power(2), primaries: .displayP3))
    }
    let ink: [(value: Int, bits: Int)] = [(0, 1), (2, 2), (2, 4), (0, 1), (0, 2), (0, 2), (0, 2)]
    #expect(
      error(codestream(Self.fields + Self.depth + [(1, 2)] + ink)) == .unsupported("a JPEG XL picture in printing inks")
    )
    #expect(
      error(codestream(Self.fields + Self.depth + [(3, 2), (4095, 12)]))
        == .limitExceeded("the number of extra channels", limit: 64, found: 4096))
  }

  @Test("chromaticities and curves of the codestream's own colours are read")
  func ownColors() throws {
    func calibration(_ colors: [(value: Int, bits: Int)]) throws -> ColorCalibration? {
      try read(codestream(Self.fields + Self.depth + [(0, 2), (0, 1), (0, 1), (0, 1)] + colors)).0.calibration
    }
    // Adobe RGB: numbers in millionths, the sign in the lowest bit.
    func coordinate(_ value: Int) -> [(value: Int, bits: Int)] {
      let coded = value < 0 ? -2 * value - 1 : 2 * value
      return coded < 524_288
        ? [(0, 2), (coded, 19)]
        : coded < 1_048_576 ? [(1, 2), (coded - 524_288, 19)] : [(2, 2), (coded - 1_048_576, 20)]
    }
    let points = [640_000, 330_000, 210_000, 710_000, 150_000, 60_000].flatMap(coordinate)
    let adobe = try calibration([(0, 2), (1, 2), (2, 2), (0, 4)] + points + [(1, 1), (4_545_454, 24)])
    #expect(adobe?.primaries == .adobeRGB)
    guard case .power(let exponent) = adobe?.transfer else {
      Issue.record("no power")
      return
    }
    #expect(abs(exponent - 2.2) < 0.001)
    let white = [345_700, -358_500].flatMap(coordinate)
    let custom = try calibration([(0, 2), (2, 2), (0, 4)] + white + [(1, 2), (0, 1), (2, 2), (11, 4)])
    #expect(custom?.primaries.white == .init(0.3457, -0.3585) && custom?.transfer == .sRGB)
    // Equal energy, and linear; DCI; HLG; video, which is shown as sRGB.
    let equal = try calibration([(0, 2), (2, 2), (8, 4), (1, 2), (0, 1), (2, 2), (6, 4)])
    #expect(equal?.transfer == .power(1) && equal?.primaries.white == .init(1.0 / 3, 1.0 / 3))
    let cinema = try calibration([(0, 2), (2, 2), (9, 4), (2, 2), (9, 4), (0, 1), (2, 2), (15, 4)])
    #expect(cinema?.transfer == .power(2.6) && cinema?.primaries.white == .init(0.314, 0.351))
    let bright = try calibration([(0, 2), (1, 2), (2, 2), (7, 4), (0, 1), (3, 2), (0, 6)])
    #expect(bright == ColorCalibration(transfer: .hybridLogGamma, primaries: .bt2020))
    #expect(try calibration([(0, 2), (1, 2), (1, 2), (0, 1), (1, 2)]) == nil)
    // Gray has no primaries.
    #expect(try calibration([(1, 2), (1, 2), (1, 1), (10_000_000, 24)])?.transfer == .power(1))
    for (colors, text) in [
      ([(0, 2), (2, 2), (15, 4)], "a JPEG XL codestream with an unknown white point"),
      ([(0, 2), (1, 2), (2, 2), (15, 4)], "a JPEG XL codestream with unknown primaries"),
    ] {
      let file = codestream(Self.fields + Self.depth + [(0, 2), (0, 1), (0, 1), (0, 1)] + colors)
      #expect(error(file) == .malformed(text, offset: 0))
    }
    #expect(
      error(codestream(Self.fields + Self.depth + [(0, 2), (0, 1), (0, 1), (0, 1), (2, 2), (0, 4)]))
        == .unsupported("a JPEG XL picture in unknown colours"))
  }

  // MARK: Boxes

  @Test("the codestream is found whole and in parts, and metadata around it", arguments: [1, 7, 1000])
  func boxes(_ bytes: Int) throws {
    let exif = exifBlock {
      $0.make = "Maker"
      $0.orientation = 6
    }
    let packet = Array(secretPacket.utf8)
    let file = JXLSamples.file(
      JXLSamples.exif(exif, distance: 5), JXLSamples.parts(JXLSamples.lossy, of: bytes), Boxes.box("xml ", packet),
      Boxes.box("brob", Array("Exif".utf8), [1, 2, 3]))
    let (header, picture) = try read(file)
    #expect(picture.codestream.flatMap { part($0, of: file) ?? [] } == JXLSamples.lossy)
    #expect(header.metadata.make == "Maker" && header.storedSize == PixelSize(width: 64, height: 48))
    // The codestream's orientation counts.
    #expect(header.metadata.orientation == .rightTop && header.orientation == .topLeft)
    #expect(header.blocks.map(\.kind) == [.exif, .xmp])
    #expect(header.blocks.map { part($0.range, of: file) } == [exif, packet])
    let whole = JXLSamples.file(Boxes.box("jxll", [5]), Boxes.box("jxlc", JXLSamples.turned))
    #expect(try read(whole).0.orientation == .rightTop)
  }

  @Test("compressed metadata is read, unless there is the same uncompressed")
  func compressedMetadata() throws {
    let packet = Array(
      """
      <x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">\
      <rdf:Description xmlns:xmp="http://ns.adobe.com/xap/1.0/" xmp:Rating="4"/></rdf:RDF></x:xmpmeta>
      """.utf8)
    let exif: (String) -> [UInt8] = { make in exifBlock { $0.make = make } }
    let picture = Boxes.box("jxlc", JXLSamples.lossy)
    let both = JXLSamples.file(
      picture, JXLSamples.compressed("Exif", [0, 0, 0, 0] + exif("Compressed")), JXLSamples.compressed("xml ", packet))
    let (header, _) = try read(both)
    #expect(try header.metadata.make == "Compressed" && facts(both).rating == 4)
    // There are no bytes in the file that could be read or changed as they are.
    #expect(header.blocks.isEmpty)
    let plain = JXLSamples.file(
      JXLSamples.compressed("Exif", [0, 0, 0, 0] + exif("Compressed")), picture, JXLSamples.exif(exif("Plain")))
    #expect(try read(plain).0.metadata.make == "Plain")
    for damaged in [[], [0xFF], Array(JXLSamples.compressed("Exif", exif("Cut")).dropFirst(12).prefix(20))] {
      let file = JXLSamples.file(picture, Boxes.box("brob", Array("Exif".utf8), damaged))
      #expect(try read(file).0.metadata.make == nil)
    }
  }

  @Test("Brotli is expanded up to a limit, and a block that wants too much memory gives nothing")
  func brotli() {
    func bytes(_ text: String) -> ArraySlice<UInt8> { Array(Data(base64Encoded: text) ?? Data())[...] }
    let words = bytes("GycF4CVBWFx6kEMmsUwrRqUa7zPKMg/CwcwC")
    let text = Array(String(repeating: "The same words, again and again. ", count: 40).utf8)
    #expect(BrotliBlock.prefix(of: words, limit: 5000) == text)
    #expect(BrotliBlock.prefix(of: words, limit: 100) == Array(text.prefix(100)))
    #expect(BrotliBlock.prefix(of: words.dropLast(), limit: 5000).count < 5000)
    // 64 MiB of zeros in 53 bytes.
    let zeros = bytes("z///f/gnAOKxQCD3/p/////wTwDEYQGA7v0/////4Z8AiMMiAN37//z//8c/ARCHBQC69/8=")
    #expect(BrotliBlock.prefix(of: zeros, limit: 1 << 18).isEmpty)
  }

  @Test("boxes in another order, or none with a picture, are refused")
  func damagedBoxes() {
    let part = JXLSamples.parts(JXLSamples.lossy, of: 100)
    let first = Array(part.prefix(112))
    let rest = Array(part.dropFirst(112))
    let several = "a JPEG XL file with several codestreams"
    let cases: [([UInt8], String)] = [
      (JXLSamples.file(rest, first), "parts of a JPEG XL codestream in another order"),
      (JXLSamples.file(first, first), "parts of a JPEG XL codestream in another order"),
      (JXLSamples.file(part, part), several),
      (JXLSamples.file(Boxes.box("jxlc", JXLSamples.lossy), Boxes.box("jxlc", JXLSamples.lossy)), several),
      (JXLSamples.file(part, Boxes.box("jxlc", JXLSamples.lossy)), several),
      (JXLSamples.file(), "a JPEG XL file without a codestream"),
      (
        JXLSamples.file(Boxes.box("jxlc", JXLSamples.lossy), Boxes.box("brob", [1, 2, 3])),
        "a box of type brob that ends too early"
      ),
      (JXLSamples.file(Boxes.box("jxlc", [1, 2, 3])), "a JPEG XL codestream without its signature"),
    ]
    for (file, text) in cases {
      guard case .malformed(text, _) = error(file) else {
        Issue.record("\(text): \(String(describing: error(file)))")
        continue
      }
    }
    let many = JXLSamples.parts([UInt8](repeating: 0xFF, count: 1025), of: 1)
    #expect(
      error(JXLSamples.file(many)) == .limitExceeded("the number of parts of the codestream", limit: 1024, found: 1025))
  }

  @Test("a file cut anywhere in its header is refused, and read from there on")
  func cut() throws {
    let file = JXLSamples.file(Boxes.box("jxlc", JXLSamples.displayP3))
    let header = file.count - JXLSamples.displayP3.count + 8
    for length in 12..<file.count {
      let error = error(Array(file.prefix(length)))
      #expect(
        length < header ? error != nil : length < header + 8 || error == nil, "\(length): \(String(describing: error))")
    }
  }
}
