import Foundation
import ImageCodec
import MediaMetadata
import PhotoFixtures
import PhotoModel
import Testing

@testable import ImageRender

/// Frames of pictures with a gain map. The expected maps are averages of the map that was put in, without photod's code.
@Suite("Gain maps")
struct GainMapTests {
  private static let landscape = UltraHDRFile.landscape(width: 1600, height: 1200)

  private static func request(_ width: Int, _ height: Int, _ change: (inout ImageRequest) -> Void = { _ in })
    -> ImageRequest
  {
    var request = ImageRequest(targetSize: .size(PixelSize(width: width, height: height)), format: .jpeg)
    request.dynamicRange = .preserve
    change(&request)
    return request
  }

  private static func frame(_ file: [UInt8], _ request: ImageRequest, _ adjustments: Adjustments? = nil) throws
    -> RenderedImage
  {
    let header = try ImageHeader.read(from: MemoryByteSource(file), limits: CodecLimits())
    let plan = RenderPlanner().plan(header, header.sized(request, adjustments))
    let renderer = try Renderer(plan, source: MemoryByteSource(file), limits: CodecLimits(), stop: StopFlag())
    return try renderer.render()
  }

  private static func parts(_ image: RenderedImage) throws -> UltraHDRFile.Parts {
    #expect(image.hasGainMap && GainMapFile.isOne(image.bytes))
    return try #require(UltraHDRFile.parts(image.bytes))
  }

  private static func metadata(_ parts: UltraHDRFile.Parts) throws -> GainMapMetadata {
    let block = try #require(parts.segment("urn:iso:std:iso:ts:21496:-1\0", in: parts.mapSegments))
    let packet = try #require(parts.segment("http://ns.adobe.com/xap/1.0/\0", in: parts.mapSegments))
    let (iso, xmp) = (try #require(GainMapMetadata(iso: block)), try #require(GainMapMetadata(xmp: packet[...])))
    #expect(abs(iso.alternateHeadroom - xmp.alternateHeadroom) < 1e-5)
    for (own, other) in zip(iso.channels, xmp.channels) { #expect(abs(own.maximum - other.maximum) < 1e-5) }
    return xmp
  }

  @Test("every form is read, and written in both forms", arguments: UltraHDRFile.Form.allCases)
  func forms(_ form: UltraHDRFile.Form) throws {
    var file = Self.landscape
    file.form = form
    (file.minimum, file.gamma) = ([-0.5], 1.25)
    let image = try Self.frame(file.encoded, Self.request(800, 800))
    let parts = try Self.parts(image)
    let metadata = try Self.metadata(parts)
    let isApple = form == .apple
    #expect(abs(metadata.channels[0].maximum - (isApple ? log2(UltraHDRFile.appleHeadroom) : 2.5)) < 1e-3)
    #expect(metadata.channels[0].minimum == (isApple ? 0 : -0.5) && metadata.channels[0].gamma == (isApple ? 1 : 1.25))
    #expect(metadata.channels[0].baseOffset == (isApple ? 0 : 1.0 / 64) || form == .iso)
    let directory = try #require(parts.segment("http://ns.adobe.com/xap/1.0/\0", in: parts.pictureSegments))
    #expect(MotionPhotoXMP(directory[...]).gainMap == .init(distance: parts.map.count, length: parts.map.count))
    #expect(parts.segment("urn:iso:std:iso:ts:21496:-1\0", in: parts.pictureSegments) == [0, 0, 0, 0])
    #expect(parts.pictureSegments.first?.content.starts(with: Array("JFIF".utf8)) == true)

    // Half the size, so half the map; Apple's samples have another curve.
    let pixels = try #require(parts.mapPixels)
    var expected = file.map.averaged(width: 200, height: 150)
    if isApple {
      let table = AppleGainMap.standardSamples(headroom: UltraHDRFile.appleHeadroom)
      expected.bytes = expected.bytes.map { table[Int($0)] }
    }
    let difference = try #require(pixels.meanDifference(from: expected))
    #expect(difference < 1.5, "\(difference)")
    // The picture is what it is without a map.
    let plain = try Self.frame(file.encoded, Self.request(800, 800) { $0.dynamicRange = .standard })
    #expect(!plain.hasGainMap && Pixels.decoded(plain.bytes)?.pixels == Pixels.decoded(image.bytes)?.pixels)
    #expect(plain.bytes.count < image.bytes.count && UltraHDRFile.parts(plain.bytes) == nil)
  }

  @Test(
    "metadata of any length may precede the index that leads to the map", arguments: [UltraHDRFile.Form.iso, .apple])
  func farIndex(_ form: UltraHDRFile.Form) throws {
    var file = Self.landscape
    file.form = form
    let near = try Self.parts(try Self.frame(file.encoded, Self.request(400, 400)))
    let long = JPEGSegment(marker: 0xE9, content: [UInt8](repeating: 1, count: 50_000))
    file.leadingSegments = [long, long]
    let far = try Self.parts(try Self.frame(file.encoded, Self.request(400, 400)))
    #expect(far.map == near.map)
  }

  struct View: CustomTestStringConvertible {
    let testDescription: String
    let request: ImageRequest
    /// The part of the upright picture that the frame shows, in pixels of the upright map.
    let part: PixelRect
    let size: PixelSize
  }

  static let views = [
    View(
      testDescription: "at half the size", request: request(800, 800),
      part: PixelRect(x: 0, y: 0, width: 400, height: 300),
      size: PixelSize(width: 200, height: 150)),
    View(
      testDescription: "a square of the middle", request: request(400, 400) { $0.contentMode = .aspectFill },
      part: PixelRect(x: 50, y: 0, width: 300, height: 300), size: PixelSize(width: 100, height: 100)),
    View(
      testDescription: "the right half",
      request: request(600, 900) { $0.normalizedCropRect = UnitRect(x: 0.5, y: 0, width: 0.5, height: 1) },
      part: PixelRect(x: 200, y: 0, width: 200, height: 300), size: PixelSize(width: 150, height: 225)),
    View(
      testDescription: "the whole, unchanged", request: request(1600, 1600),
      part: PixelRect(x: 0, y: 0, width: 400, height: 300), size: PixelSize(width: 400, height: 300)),
  ]

  @Test("the map is cut, resized and turned with its picture", arguments: 1...8, views)
  func geometry(_ orientation: Int, _ view: View) throws {
    let upright = UltraHDRFile.glow(width: 400, height: 300)
    let scene = Pixels(width: 1600, height: 1200, channels: 3)
    let file = UltraHDRFile(scene.stored(orientation: orientation), map: upright.stored(orientation: orientation)) {
      $0.orientation = orientation
    }
    let pixels = try #require(try Self.parts(try Self.frame(file.encoded, view.request)).mapPixels)
    let part = upright.cropped(x: view.part.x, y: view.part.y, width: view.part.width, height: view.part.height)
    let difference = try #require(
      pixels.meanDifference(from: part.averaged(width: view.size.width, height: view.size.height)))
    #expect(difference < 1.5, "\(difference)")
  }

  @Test("adjustments that move pixels move the map; those that change pixels drop it")
  func adjustments() throws {
    let file = Self.landscape
    let moved = Adjustments([
      .crop(UnitRect(x: 0, y: 0, width: 0.5, height: 1)), .rotate(quarterTurns: 1), .flip(.horizontal),
    ])
    let pixels = try #require(
      try Self.parts(try Self.frame(file.encoded, Self.request(600, 600), moved)).mapPixels)
    // The left half, turned clockwise and mirrored: transposed.
    let expected = file.map.cropped(x: 0, y: 0, width: 200, height: 300).mapped(width: 300, height: 200) { ($1, $0) }
    let difference = try #require(
      pixels.meanDifference(from: expected.averaged(width: pixels.width, height: pixels.height)))
    #expect(pixels.width == 150 && pixels.height == 100 && difference < 1.5, "\(difference)")
    for changed in [Adjustments([.tone(.exposure, 0.5)]), Adjustments([.straighten(degrees: 3)])] {
      #expect(!(try Self.frame(file.encoded, Self.request(600, 600), changed)).hasGainMap)
    }
  }

  @Test("gains for red, green and blue keep their colours, and apply only to the original's primaries")
  func colored() throws {
    var map = Pixels(width: 400, height: 300, channels: 3)
    for y in 0..<300 {
      for x in 0..<400 {
        let start = (y * 400 + x) * 3
        map.bytes.replaceSubrange(start..<start + 3, with: [UInt8(x * 255 / 399), UInt8(y * 255 / 299), 60])
      }
    }
    var file = Self.landscape
    file.map = map
    file.maximum = [1, 2, 3]
    let parts = try Self.parts(try Self.frame(file.encoded, Self.request(800, 800)))
    #expect(try Self.metadata(parts).channels.map(\.maximum) == [1, 2, 3])
    let difference = try #require(parts.mapPixels?.meanDifference(from: map.averaged(width: 200, height: 150)))
    #expect(difference < 2.5, "\(difference)")
    // A gain for all colours is right with any primaries.
    file.profile = ICCFile.displayP3
    #expect(try Self.frame(file.encoded, Self.request(800, 800)).hasGainMap)
    #expect(!(try Self.frame(file.encoded, Self.request(800, 800) { $0.colorSpace = .srgb })).hasGainMap)
    (file.map, file.maximum) = (Self.landscape.map, [2])
    #expect(try Self.frame(file.encoded, Self.request(800, 800) { $0.colorSpace = .srgb }).hasGainMap)
  }

  static let without: [(name: String, request: ImageRequest)] = [
    ("the standard range", request(800, 800) { $0.dynamicRange = .standard }),
    ("a small picture", request(255, 255)), ("PNG", request(800, 800) { $0.format = .png }),
    ("gray", request(800, 800) { ($0.tone, $0.colorSpace) = (.gray, .srgb) }),
  ]

  @Test("frames that have no place for a map have none", arguments: without)
  func none(_ name: String, _ request: ImageRequest) throws {
    let image = try Self.frame(Self.landscape.encoded, request)
    #expect(!image.hasGainMap && UltraHDRFile.parts(image.bytes) == nil, "\(name)")
  }

  @Test("a map of a base of high dynamic range is not kept", arguments: [UltraHDRFile.Form.ultraHDR, .iso])
  func hdrBase(_ form: UltraHDRFile.Form) throws {
    var file = Self.landscape
    (file.form, file.isBaseHDR) = (form, true)
    #expect(!(try Self.frame(file.encoded, Self.request(800, 800))).hasGainMap)
  }

  @Test("a damaged or missing map leaves the picture as it is")
  func damaged() throws {
    let whole = Self.landscape.encoded
    let plain = try Self.frame(whole, Self.request(800, 800) { $0.dynamicRange = .standard })
    let start = try #require((1..<whole.count - 3).last { Array(whole[$0..<$0 + 3]) == [0xFF, 0xD8, 0xFF] })
    // Cut off in the map's head and in its data; its frame header overwritten.
    var overwritten = whole
    for i in start + 2..<start + 400 { overwritten[i] = 0x5A }
    for file in [
      Array(whole[..<(start + 300)]), Array(whole[..<(whole.count - 2000)]), overwritten, Array(whole[..<start]),
    ] {
      let image = try Self.frame(file, Self.request(800, 800))
      #expect(!image.hasGainMap && image.bytes == plain.bytes)
    }
  }

  @Test("a derivative keeps the map, and so do the frames from it; a degraded frame has none")
  func derivatives() throws {
    let file = UltraHDRFile.landscape(width: 2400, height: 1800).encoded
    let header = try ImageHeader.read(from: MemoryByteSource(file), limits: CodecLimits())
    let ladder = DerivativeLadder.standard
    let rung = try #require(ladder.rungs(of: header.uprightSize).last)
    let derivative = try Self.frame(file, ladder.request(for: rung, of: header.uprightSize, hasAlpha: false))
    #expect(try Self.parts(derivative).mapPixels?.width == Int((Double(derivative.size.width) / 4).rounded()))
    let own = try ImageHeader.read(from: MemoryByteSource(derivative.bytes), limits: CodecLimits())
    let wanted = header.sized(Self.request(400, 400))
    let plan = RenderPlanner().derivativePlan(own, wanted)
    let source = MemoryByteSource(derivative.bytes)
    let image = try Renderer(plan, source: source, limits: CodecLimits(), stop: StopFlag()).render()
    let pixels = try #require(try Self.parts(image).mapPixels)
    let expected = UltraHDRFile.glow(width: 600, height: 450).averaged(width: 100, height: 75)
    #expect(try #require(pixels.meanDifference(from: expected)) < 2)
    #expect(plan.peakBytes < 4 << 20)

    let degraded = wanted.forDegradedFrame(hasAlpha: false)
    #expect(RenderPlanner().derivativePlan(own, degraded).gainMap == nil)
    #expect(
      !DerivativeLadder.canServeUnchanged(
        own, for: header.sized(Self.request(2000, 2000)).forDegradedFrame(hasAlpha: false)))
  }

  @Test("the plan's memory contains the map")
  func price() throws {
    let file = Self.landscape.encoded
    let header = try ImageHeader.read(from: MemoryByteSource(file), limits: CodecLimits())
    let with = RenderPlanner().plan(header, Self.request(1200, 1200))
    let without = RenderPlanner().plan(header, Self.request(1200, 1200) { $0.dynamicRange = .standard })
    let map = try #require(with.gainMap)
    #expect(map.outputSize == PixelSize(width: 300, height: 225))
    #expect(with.peakBytes >= without.peakBytes + map.plan.peakBytes)
  }

  // MARK: HEIF

  /// A HEIC of painted tiles with a map of painted tiles, which is Apple's or the input of a tone map.
  private static func heif(_ properties: [[UInt8]], toneMap: [UInt8]?, mapProperties: [[UInt8]]? = nil) -> [UInt8] {
    let picture = PaintedPicture {
      $0.tile = PixelSize(width: 256, height: 256)
      $0.size = PixelSize(width: 760, height: 500)
      $0.properties = properties
    }
    let color = CodedHEIFFile.nclx(1, 13, 6, isFullRange: true)
    func items(_ kind: UInt8, _ columns: Int, _ rows: Int, _ size: PixelSize, chroma: Int, _ more: [[UInt8]])
      -> [CodedHEIFFile.Item]
    {
      CodedHEIFFile.grid(
        columns: columns, rows: rows, tile: (256, 256), size: (size.width, size.height),
        configuration: CodedHEIFFile.hvcC(chroma: chroma), properties: [color] + more
      ) { [kind, UInt8($0 >> 8), UInt8($0 & 255)] }
    }
    var all = items(0, 3, 2, picture.size, chroma: 1, properties)
    // The map's samples are those of the picture's alpha in the painting decoder: kind 1.
    let apple = toneMap == nil ? [CodedHEIFFile.auxiliary("urn:com:apple:photo:2020:aux:hdrgainmap")] : []
    for var item in items(1, 2, 1, PixelSize(width: 380, height: 250), chroma: 0, (mapProperties ?? properties) + apple)
    {
      item.id += 1000
      item.references = []
      if item.id == 1001 {
        item.references.append(("dimg", [1100, 1101]))
        if toneMap == nil { item.references.append(("auxl", [1])) }
      }
      all.append(item)
    }
    if let toneMap {
      all.append(CodedHEIFFile.Item(2000, "tmap", [0] + toneMap, references: [("dimg", [1, 1001])]))
    }
    return CodedHEIFFile(all).bytes
  }

  @Test("a tone map's gain map is found in HEIF, with its metadata")
  func toneMap() throws {
    let metadata = try #require(GainMapMetadata(linearHeadroom: 4))
    let file = Self.heif([], toneMap: metadata.isoBlock)
    let header = try ImageHeader.read(from: MemoryByteSource(file), limits: CodecLimits())
    let map = try #require(header.gainMap)
    #expect(map.metadata == metadata && map.header.storedSize == PixelSize(width: 380, height: 250))
    #expect(map.header.colorChannels == 1 && map.ratio == 0.5 && map.encoding == .standard && map.range == nil)
    // Turned like the picture, or stored like it; otherwise it is not known where it belongs.
    let turn = [CodedHEIFFile.irot(1)]
    for (own, isFound) in [(turn, true), ([], true), ([CodedHEIFFile.irot(2)], false)] {
      let file = Self.heif(turn, toneMap: metadata.isoBlock, mapProperties: own)
      let header = try ImageHeader.read(from: MemoryByteSource(file), limits: CodecLimits())
      #expect((header.gainMap != nil) == isFound)
      let plan = RenderPlanner().plan(header, Self.request(300, 300))
      #expect(plan.gainMap?.outputSize == (isFound ? PixelSize(width: 99, height: 150) : nil))
    }
    let damaged = Self.heif([], toneMap: Array(metadata.isoBlock.dropLast()))
    #expect(try ImageHeader.read(from: MemoryByteSource(damaged), limits: CodecLimits()).gainMap == nil)
    // Apple's needs the headroom of the maker note.
    #expect(
      try ImageHeader.read(from: MemoryByteSource(Self.heif([], toneMap: nil)), limits: CodecLimits()).gainMap == nil)
  }
}
