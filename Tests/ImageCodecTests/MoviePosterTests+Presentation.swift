import ImageCodec
import PhotoFixtures
import PhotoModel
import Testing

/// How frames are shown: size, colours, and the picture beside them.
extension MoviePosterTests {
  @Test("a frame has the size of the codec's parameters, and is shown at the track's")
  func sizes() throws {
    let plain = try header(CodedMovieSamples.avc())
    #expect(plain.storedSize == PixelSize(width: 40, height: 24) && plain.displaySize == nil)
    #expect(plain.format == .video && plain.colorChannels == 3 && plain.bitsPerChannel == 8)
    let wide = try header(CodedMovieSamples.avc { $0.width = 80 })
    #expect(wide.requestedSize == PixelSize(width: 80, height: 24) && wide.storedSize.width == 40)
    let turned = try header(CodedMovieSamples.avc { $0.matrix = (0, 1, -1, 0) })
    #expect(turned.orientation == .rightTop && turned.requestedSize == PixelSize(width: 24, height: 40))
    let parameters = CodedMovieSamples.avcParameters
    let clap = CodedHEIFFile.clap([32, 1, 20, 1, 0, 1, 0, 1])
    let entry = File.entry(
      "avc1", 40, 24, File.avcC(parameters.sequence, parameters.picture), CodedMovieSamples.colors, clap)
    let cut = File(entry, [Frame([1])]) { ($0.width, $0.height) = (32, 20) }
    #expect(try picture(cut).crop == PixelRect(x: 4, y: 2, width: 32, height: 20))
    #expect(try header(cut).displaySize == nil)
  }

  /// Boxes of a frame of 40 x 24, with the size of its track.
  static let shapes: [(name: String, boxes: [UInt8], track: (Int, Int), shown: PixelSize)] = [
    ("wide pixels", pasp(4, 3), (40, 24), PixelSize(width: 53, height: 24)),
    ("narrow pixels", pasp(3, 4), (40, 24), PixelSize(width: 30, height: 24)),
    ("square pixels", pasp(7, 7), (40, 24), PixelSize(width: 40, height: 24)),
    ("wide pixels that the track counts", pasp(4, 3), (53, 24), PixelSize(width: 53, height: 24)),
    ("wide pixels of a track without a size", pasp(2, 1), (0, 0), PixelSize(width: 80, height: 24)),
    ("a crop", crop, (40, 24), PixelSize(width: 32, height: 20)),
    ("a crop of wide pixels", pasp(3, 2) + crop, (40, 24), PixelSize(width: 48, height: 20)),
    ("a crop of wide pixels that the track counts", crop + pasp(3, 2), (48, 20), PixelSize(width: 48, height: 20)),
    ("pixels without a height", pasp(4, 0), (40, 24), PixelSize(width: 40, height: 24)),
    ("pixels without a width", pasp(0, 3), (40, 24), PixelSize(width: 40, height: 24)),
    ("pixels as wide as can be", pasp(0xFFFF_FFFF, 1), (40, 24), PixelSize(width: 40, height: 24)),
    ("pixels as high as can be", pasp(1, 0xFFFF_FFFF), (40, 24), PixelSize(width: 40, height: 24)),
    ("a shape that ends early", Boxes.box("pasp", [0, 0, 0, 4]), (40, 24), PixelSize(width: 40, height: 24)),
  ]
  private static let crop = CodedHEIFFile.clap([32, 1, 20, 1, 0, 1, 0, 1])

  private static func pasp(_ width: Int, _ height: Int) -> [UInt8] {
    Boxes.box("pasp", Boxes.number(width, 4), Boxes.number(height, 4))
  }

  @Test(
    "pixels become square, and crops count, also if the track has only the size of its frames",
    arguments: shapes.indices)
  func shape(_ i: Int) throws {
    let (name, boxes, track, shown) = Self.shapes[i]
    let parameters = CodedMovieSamples.avcParameters
    let entry = File.entry(
      "avc1", 40, 24, File.avcC(parameters.sequence, parameters.picture), CodedMovieSamples.colors, boxes)
    let file = File(entry, [Frame([1])]) { ($0.width, $0.height) = track }
    #expect(try header(file).requestedSize == shown, "\(name)")
    let media = try MediaHeader.read(from: MemoryByteSource(file.bytes), limits: CodecLimits())
    #expect(media.storedSize == shown, "\(name)")
  }

  @Test("sizes, samples and colours of AVC come from its parameter set", arguments: 0..<4)
  func parameterSets(_ kind: Int) throws {
    // A frame of 1920 x 1080, progressive or interlaced, with or without a description of its samples.
    let (isHigh, isProgressive) = (kind & 1 == 1, kind & 2 == 2)
    var bits = BitWriter()
    bits.number(0x67, 8)
    bits.number(isHigh ? 122 : 77, 8)
    bits.number(40, 16)
    bits.golomb(0)
    if isHigh {
      // 4:2:2 with 10 bits, and a scaling list of two steps.
      bits.golomb(2, 2, 2)
      bits.number(0b011, 3)
      // A difference of -8 ends the list.
      bits.golomb(16)
      bits.number(0, 7)
    }
    bits.golomb(0, 2, 4)
    bits.number(0, 1)
    bits.golomb(119, isProgressive ? 67 : 33)
    bits.number(isProgressive ? 1 : 0b00, isProgressive ? 1 : 2)
    bits.number(1, 1)
    // 8 rows are cut off: counted in rows of chroma, of a field.
    bits.number(1, 1)
    bits.golomb(0, 0, 0, (isHigh ? 8 : 4) / (isProgressive ? 1 : 2))
    // Colours: no shape of pixels, no overscan, then format, range and three numbers.
    bits.number(0b1001, 4)
    bits.number(5, 3)
    bits.number(0b01, 2)
    for number in [9, 16, 9] { bits.number(number, 8) }
    let entry = File.entry("avc1", 1440, 900, File.avcC(bits.unit, [0x68, 1]))
    let found = try picture(File(entry, [Frame([1])]) { ($0.width, $0.height) = (1920, 1080) })
    #expect(found.color.size == PixelSize(width: 1920, height: 1080))
    #expect(found.color.configuration.chroma == (isHigh ? .halfWidth : .half))
    #expect(found.color.configuration.bitDepth == (isHigh ? 10 : 8))
    #expect(found.conversion == CodePoints(matrix: 9, isFullRange: false).conversion)
    #expect(found.calibration == CodePoints(primaries: 9, transfer: 16, isFullRange: false).calibration)
  }

  @Test("colours come from the container, else from the codec, else from the size")
  func colors() throws {
    let parameters = CodedMovieSamples.avcParameters
    func conversion(_ boxes: [UInt8], _ type: String = "avc1", _ size: (Int, Int) = (40, 24)) throws -> YCbCrConversion
    {
      let codec = type == "avc1" ? File.avcC(parameters.sequence, parameters.picture) : CodedHEIFFile.av1C()
      return try picture(File(File.entry(type, size.0, size.1, codec, boxes), [Frame([1])])).conversion
    }
    let bt601 = CodePoints(matrix: 6, isFullRange: false).conversion
    let bt709 = CodePoints(matrix: 1, isFullRange: false).conversion
    #expect(try conversion(File.colors((1, 1, 1), isFullRange: nil)) == bt709)
    #expect(
      try conversion(File.colors((9, 18, 9), isFullRange: true)) == CodePoints(matrix: 9, isFullRange: true).conversion)
    #expect(try conversion([]) == bt601)
    #expect(try conversion([], "av01", (1280, 720)) == bt709)
    #expect(try conversion(File.colors((2, 2, 2), isFullRange: false), "av01", (1280, 720)) == bt709)
  }

  @Test("VP9's depth, samples, range and colours come from its configuration; the container's colours come first")
  func vp9() throws {
    func frame(_ fields: [UInt8], _ boxes: [UInt8] = []) throws -> HEIFPicture {
      let configuration = Boxes.fullBox("vpcC", version: 1, fields, [0, 0])
      return try picture(File(File.entry("vp09", 40, 24, configuration, boxes), [Frame([1])]))
    }
    // 10 bits of 4:2:0 in PQ, and 8 bits of RGB in the full range.
    let deep = try frame([2, 31, 0xA2, 9, 16, 9])
    #expect(deep.color.configuration.chroma == .half && deep.color.configuration.bitDepth == 10)
    #expect(deep.conversion == CodePoints(matrix: 9, isFullRange: false).conversion)
    #expect(deep.calibration == CodePoints(primaries: 9, transfer: 16, isFullRange: false).calibration)
    let rgb = try frame([1, 31, 0x87, 1, 13, 0])
    #expect(rgb.color.configuration.chroma == .full && rgb.color.configuration.bitDepth == 8)
    #expect(rgb.conversion == CodePoints(matrix: 0, isFullRange: true).conversion && rgb.calibration == nil)
    let unspecified = try frame([0, 31, 0x83, 2, 2, 2])
    #expect(unspecified.conversion == CodePoints(matrix: 6, isFullRange: true).conversion)
    // QuickTime's form has no range.
    let quickTime = try frame([0, 31, 0x83, 2, 2, 2], File.colors((1, 1, 1), isFullRange: nil))
    #expect(quickTime.conversion == CodePoints(matrix: 1, isFullRange: true).conversion)
    let stated = try frame([0, 31, 0x83, 9, 18, 9], File.colors((1, 1, 1), isFullRange: false))
    #expect(stated.conversion == CodePoints(matrix: 1, isFullRange: false).conversion && stated.calibration == nil)
  }

  @Test("a codec's configuration is given to its decoder", arguments: ["avc1", "hvc1", "hev1", "av01", "apcn", "s263"])
  func configurations(_ type: String) throws {
    let parameters = CodedMovieSamples.avcParameters
    let box: [UInt8] =
      switch type {
      case "avc1": File.avcC(parameters.sequence, parameters.picture)
      case "av01": CodedHEIFFile.av1C()
      case "hvc1", "hev1": CodedHEIFFile.hvcC(sets: CodedSamples.parameterSets)
      default: []
      }
    let picture = try picture(File(File.entry(type, 40, 24, box), [Frame([1])]))
    switch (type, picture.color.configuration) {
    case ("avc1", .video(let video)):
      #expect(video.codec == .avc && video.configuration == Array(box.dropFirst(8)))
    case ("hvc1", .hevc(let hevc)), ("hev1", .hevc(let hevc)):
      // The entry's size does not count.
      #expect(hevc.parameterSets == CodedSamples.parameterSets && picture.color.size.width == 40)
    case ("av01", .av1(let av1)): #expect(av1.chroma == .half && av1.bitDepth == 8)
    case ("apcn", .video(let video)): #expect(video.codec == .proRes && video.bitDepth == 10)
    case ("s263", .video(let video)): #expect(video.codec == .h263 && video.configuration.isEmpty)
    default: Issue.record("another codec")
    }
  }

  @Test("a frame of ProRes says how its colours are subsampled, whatever name the movie gives it")
  func proRes() throws {
    func chroma(_ type: String, _ frame: [UInt8]) throws -> ChromaSampling {
      let configuration = try picture(File(File.entry(type, 40, 24), [Frame(frame)])).color.configuration
      #expect(configuration.bitDepth == 10)
      return configuration.chroma
    }
    let frame = CodedMovieSamples.proRes
    var subsampled = frame
    subsampled[20] = 0x80
    for type in ["apch", "apcn", "apcs", "apco"] {
      #expect(try chroma(type, frame) == .full && chroma(type, subsampled) == .halfWidth, "\(type)")
      // Another box follows it.
      #expect(try chroma(type, Array(frame.prefix(20))) == .halfWidth, "\(type)")
    }
  }

  @Test("a sequence of pictures is shown by its first one, however dark, and is no video", arguments: ["msf1", "hevc"])
  func sequence(_ brand: String) throws {
    let entry = File.entry("hvc1", 40, 24, CodedHEIFFile.hvcC(sets: CodedSamples.parameterSets))
    let file = File(entry, frames(4)) {
      ($0.brand, $0.otherBrands, $0.handler) = (brand, ["msf1", "hevc", "mif1"], "pict")
      $0.matrix = (0, 1, -1, 0)
    }
    #expect(try numbers(file) == [0])
    let header = try header(file)
    #expect(header.format == .heic && header.orientation == .rightTop && header.storedSize.width == 40)
    let media = try MediaHeader.read(from: MemoryByteSource(file.bytes), limits: CodecLimits())
    #expect(media.format == .heic && media.facts.isAnimated && media.durationSeconds == 0)
    // A still picture in the same file comes first.
    let both = CodedSamples.heic() + file.bytes.dropFirst(8 + 8 + 4 * 3)
    let still = try ImageHeader.read(from: MemoryByteSource(both), limits: CodecLimits())
    #expect(still.storedSize.width == 75)
  }

  @Test("MPEG-4's configuration is found in its descriptors, with short and long lengths", arguments: [1, 4])
  func descriptors(_ lengthBytes: Int) throws {
    func descriptor(_ tag: UInt8, _ content: [UInt8]) -> [UInt8] {
      let length = (0..<lengthBytes).map { byte in
        UInt8(content.count >> (7 * (lengthBytes - 1 - byte)) & 0x7F) | (byte < lengthBytes - 1 ? 0x80 : 0)
      }
      return [tag] + length + content
    }
    let own: [UInt8] = [0, 0, 1, 0xB0, 1]
    let decoder = descriptor(4, [0x20, 0x11] + [UInt8](repeating: 0, count: 11) + descriptor(5, own))
    let box = Boxes.fullBox("esds", descriptor(3, [0, 1, 0] + decoder + descriptor(6, [2])))
    guard case .video(let video) = try picture(File(File.entry("mp4v", 64, 48, box), [Frame([1])])).color.configuration
    else {
      Issue.record("another codec")
      return
    }
    #expect(video.codec == .mpeg4 && video.configuration == own)
  }

  @Test("a frame of Motion JPEG, and a large picture beside the frames, are shown as the JPEGs that they are")
  func pictures() throws {
    let jpeg = JPEGFile().encoded(Pixels(width: 64, height: 48, channels: 3))
    let motion = try header(File(File.entry("jpeg", 64, 48), [Frame(jpeg)]) { ($0.width, $0.height) = (64, 48) })
    #expect(motion.format == .jpeg && motion.raw?.range.length == jpeg.count)
    let same = try header(CodedMovieSamples.avc { ($0.coverArt, $0.width, $0.height) = (jpeg, 64, 48) })
    #expect(same.format == .jpeg && same.raw?.developedSize == PixelSize(width: 64, height: 48))
    // A time names a frame.
    let frame = try header(CodedMovieSamples.avc { ($0.coverArt, $0.width, $0.height) = (jpeg, 64, 48) }, at: 1)
    #expect(frame.format == .video)
    // Smaller, or of another aspect ratio: it can only be a degraded frame.
    let small = try header(CodedMovieSamples.avc { ($0.coverArt, $0.width, $0.height) = (jpeg, 128, 96) })
    #expect(small.format == .video && small.embeddedThumbnail?.length == jpeg.count)
    #expect(try header(CodedMovieSamples.avc { $0.coverArt = jpeg }).format == .video)
    // Better than nothing.
    let unknown = File(File.entry("VP6F", 128, 96), [Frame([1])]) {
      ($0.coverArt, $0.width, $0.height) = (jpeg, 128, 96)
    }
    #expect(try header(unknown).format == .jpeg)
  }

  @Test("Motion JPEG is shown by its first frame that is not much shorter than others, or by that of a time")
  func motionJPEG() throws {
    let fine = JPEGFile { $0.quality = 95 }
    let black = fine.encoded(Pixels(width: 320, height: 240, channels: 3))
    let scene = fine.encoded(Scene(seed: 3, grain: 8).pixels(width: 320, height: 240))
    let other = fine.encoded(Scene(seed: 4, grain: 8).pixels(width: 320, height: 240))
    try #require(black.count * 3 < scene.count && scene.count * 3 > other.count && scene != other)
    func shown(_ pictures: [[UInt8]], at second: Double? = nil, fragment: Int? = nil) throws -> [UInt8] {
      let file = File(File.entry("jpeg", 320, 240), pictures.map { Frame($0) }) {
        ($0.width, $0.height, $0.framesPerFragment) = (320, 240, fragment)
      }
      let range = try #require(try header(file, at: second).raw?.range)
      return Array(file.bytes[Int(range.offset)..<Int(range.offset) + range.length])
    }
    #expect(try shown([scene, black, other]) == scene)
    #expect(try shown([black, scene, other]) == scene)
    let late = [[UInt8]](repeating: black, count: 30) + [scene, other]
    #expect(try shown(late) == scene)
    #expect(try shown(late, fragment: 4) == scene)
    #expect(try shown([black, black]) == black)
    #expect(try shown(late, at: 0) == black)
    #expect(try shown(late, at: 31.5) == other)
  }

  @Test("Motion JPEG that ends early is shown by the frames that it has")
  func cutMotionJPEG() throws {
    let fine = JPEGFile { $0.quality = 95 }
    let pictures = [3, 4, 5, 6].map { fine.encoded(Scene(seed: $0, grain: 8).pixels(width: 320, height: 240)) }
    func shown(_ bytes: [UInt8]) throws -> [UInt8] {
      let header = try ImageHeader.read(from: MemoryByteSource(bytes), limits: CodecLimits())
      let range = try #require(header.raw?.range)
      return Array(bytes[Int(range.offset)..<Int(range.offset) + range.length])
    }
    var file = File(File.entry("jpeg", 320, 240), pictures.map { Frame($0) }) { ($0.width, $0.height) = (320, 240) }
    let first = try #require(file.bytes.firstRange(of: pictures[0])).lowerBound
    // The second of two chunks is behind the end of the file.
    file.replacedTables["stco"] = Boxes.fullBox("stco", [2, first, 0x7FFF_FFFF].flatMap { Boxes.number($0, 4) })
    #expect(try shown(file.bytes) == pictures[0])
    file.replacedTables = [:]
    file.framesPerFragment = 1
    let third = try #require(file.bytes.firstRange(of: pictures[2])).lowerBound
    #expect(try shown(Array(file.bytes[..<(third + 10)])) == pictures[0])
  }

  @Test("the metadata names a video's codec, frame rate and dynamic range")
  func facts() throws {
    let ranges: [(Int, String?)] = [(1, nil), (16, "PQ"), (18, "HLG")]
    for (transfer, range) in ranges {
      let entry = File.entry("hvc1", 40, 24, File.colors((9, transfer, 9), isFullRange: false))
      let file = File(entry, (0..<50).map { _ in Frame([1]) { $0.duration = 1 } })
      let metadata = try FileMetadata.read(
        from: MemoryByteSource(file.bytes), limits: CodecLimits(), includesLocations: false)
      let movie = try #require(metadata.sections["Movie"])
      #expect(movie["Codec"] == .text("hvc1") && movie["FramesPerSecond"] == .number(10))
      #expect(movie["HighDynamicRange"] == range.map { .text($0) })
    }
    let dolby = File(File.entry("hvc1", 40, 24, Boxes.box("dvvC", [1])), [Frame([1])])
    let header = try MediaHeader.read(from: MemoryByteSource(dolby.bytes), limits: CodecLimits())
    #expect(header.movie?.hdrFormat == .dolbyVision)
  }
}
