import ImageCodec
import PhotoFixtures
import PhotoModel
import Testing

@Suite("Frames of movies")
struct MoviePosterTests {
  typealias File = CodedMovieFile
  typealias Frame = CodedMovieFile.Frame

  private func header(_ file: File, at second: Double? = nil) throws(CodecError) -> ImageHeader {
    try ImageHeader.read(from: MemoryByteSource(file.bytes), limits: CodecLimits(), posterTime: second)
  }

  private func picture(_ file: File, at second: Double? = nil) throws -> HEIFPicture {
    guard case .heif(let picture)? = try header(file, at: second).coded else {
      throw CodecError.unsupported("no frame")
    }
    return picture
  }

  /// The first byte of the frame, and of its alternatives: the tests number their frames.
  private func numbers(_ file: File, at second: Double? = nil) throws -> [Int] {
    let color = try picture(file, at: second).color
    let bytes = file.bytes
    return (color.tiles + color.alternatives).map { Int(bytes[Int($0[0].offset)]) }
  }

  /// A movie of numbered frames. Only the decoder reads them.
  private func movie(_ frames: [Frame], _ change: (inout File) -> Void = { _ in }) -> File {
    File(CodedMovieSamples.avcEntry, frames, change)
  }

  private func frames(_ count: Int, keys: Set<Int> = [], _ change: (inout Frame, Int) -> Void = { _, _ in }) -> [Frame]
  {
    (0..<count).map { number in
      Frame([UInt8](repeating: UInt8(number), count: 3 + number % 4)) {
        $0.isKey = keys.isEmpty || keys.contains(number)
        change(&$0, number)
      }
    }
  }

  // MARK: Key frames

  @Test("the first key frames are found, however their tables are stored", arguments: [1, 2, 5, 100], [false, true])
  func tables(_ framesPerChunk: Int, _ isWide: Bool) throws {
    let keys: Set = [0, 3, 4, 11, 17, 20, 26, 29]
    let file = movie(frames(30, keys: keys) { frame, _ in frame.duration = 4 }) {
      ($0.framesPerChunk, $0.hasWideOffsets) = (framesPerChunk, isWide)
    }
    // Six of them at most.
    #expect(try numbers(file) == [0, 3, 4, 11, 17, 20])
    let color = try picture(file).color
    #expect(color.alternatives.allSatisfy { $0.count == 1 } && color.tiles[0][0].length == 3)
    #expect(color.alternatives[2][0].length == 3 + 11 % 4)
  }

  @Test("frames of equal size, and frames that are all key frames, have shorter tables")
  func equalSizes() throws {
    let equal = (0..<9).map { Frame([UInt8](repeating: UInt8($0), count: 5)) }
    #expect(try numbers(movie(equal) { $0.hasEqualSizes = true }) == [0, 1, 2, 3, 4, 5])
    #expect(try numbers(movie(equal) { ($0.hasEqualSizes, $0.framesPerChunk) = (true, 4) }, at: 7.2) == [7])
  }

  @Test("compact tables of sizes lead to the same frames", arguments: [4, 8, 16], [1, 3])
  func compactSizes(_ bits: Int, _ framesPerChunk: Int) throws {
    let file = movie(frames(13, keys: [0, 3, 7, 12])) {
      ($0.compactSizeBits, $0.framesPerChunk) = (bits, framesPerChunk)
    }
    #expect(try numbers(file) == [0, 3, 7, 12])
    let color = try picture(file).color
    #expect((color.tiles + color.alternatives).map { $0[0].length } == [3, 6, 6, 3])
    #expect(try numbers(file, at: 8) == [7])
  }

  @Test("key frames after the first minute are not considered")
  func bounded() throws {
    let late = frames(6) { frame, _ in frame.duration = 250 }
    #expect(try numbers(movie(late)) == [0, 1, 2])
    #expect(try numbers(movie(late), at: 1000) == [5])
  }

  @Test("an edit hides frames, and delays the movie")
  func edits() throws {
    let keys: Set = [0, 5, 10, 15]
    let all = frames(20, keys: keys)
    // From the seventh second on.
    let cut = movie(all) { $0.edits = [(9, 70)] }
    #expect(try numbers(cut) == [10, 15])
    #expect(try numbers(cut, at: 0) == [5])
    #expect(try numbers(cut, at: 3) == [10])
    // Nothing is shown for two seconds.
    let delayed = movie(all) { $0.edits = [(2, nil), (20, 0)] }
    #expect(try numbers(delayed, at: 6.9) == [0] && numbers(delayed, at: 7) == [5])
    // Two parts of the track in another order.
    let turned = movie(all) { $0.edits = [(3, 100), (5, 0)] }
    #expect(try numbers(turned, at: 1) == [10] && numbers(turned, at: 4) == [0])
    // Only one frame is shown, and it is none that can be decoded alone.
    #expect(try numbers(movie(all) { $0.edits = [(1, 190)] }) == [15])
  }

  @Test("a time gives the key frame that is shown then or before", arguments: 0..<24)
  func times(_ seed: UInt64) throws {
    var random = SplitMix(state: seed)
    let keys = Set((0..<40).filter { _ in Int.random(in: 0..<4, using: &random) == 0 }).union([0])
    // Frames that others refer to are decoded first.
    let delay = Int.random(in: 0...12, using: &random)
    let list = frames(40, keys: keys) { frame, number in
      frame.duration = Int.random(in: 1...20, using: &random)
      frame.shift = seed % 3 == 0 ? 0 : keys.contains(number) ? delay : Int.random(in: 0...30, using: &random)
    }
    let start = seed % 2 == 0 ? nil : Int.random(in: 0...100, using: &random)
    let file = movie(list) {
      if let start { $0.edits = [(1000, start)] }
      $0.framesPerChunk = Int.random(in: 1...9, using: &random)
      // A fragmented movie has no edits here.
      if start == nil, seed % 4 == 0 { $0.framesPerFragment = Int.random(in: 1...9, using: &random) }
    }
    var times: [(number: Int, tick: Int)] = []
    var time = 0
    for (number, frame) in list.enumerated() {
      if frame.isKey { times.append((number, time + frame.shift)) }
      time += frame.duration
    }
    for tick in stride(from: 0, to: time + 20, by: 7) {
      let wanted = (start ?? 0) + tick
      let expected = times.last { $0.tick <= wanted } ?? times[0]
      let found = try numbers(file, at: Double(tick) / 10 + 0.001)
      #expect(found == [expected.number], "at \(tick)")
    }
  }

  @Test("key frames of a fragmented movie are found in its fragments", arguments: [1, 4, 50])
  func fragments(_ framesPerFragment: Int) throws {
    let file = movie(frames(30, keys: [0, 7, 14, 21])) { $0.framesPerFragment = framesPerFragment }
    #expect(try numbers(file) == [0, 7, 14, 21])
    #expect(try numbers(file, at: 13.9) == [7] && numbers(file, at: 100) == [21])
  }

  // MARK: How frames are shown

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
    #expect(header.movie?.highDynamicRange == .dolbyVision)
  }

  // MARK: Bad input

  @Test("movies that can't be shown are refused by name")
  func refused() {
    func error(_ file: File) -> CodecError? {
      do throws(CodecError) {
        _ = try header(file)
        return nil
      } catch {
        return error
      }
    }
    func avc(_ change: (inout File) -> Void) -> File { CodedMovieSamples.avc(change) }
    func table(_ name: String, _ numbers: [Int]) -> File {
      avc { $0.replacedTables[name] = Boxes.fullBox(name, numbers.flatMap { Boxes.number($0, 4) }) }
    }
    #expect(error(File(File.entry("VP6F", 40, 24), [Frame([1])])) == .unsupported("a video of the codec VP6F"))
    func compact(_ numbers: [UInt8]) -> File {
      avc { ($0.compactSizeBits, $0.replacedTables["stz2"]) = (8, Boxes.fullBox("stz2", numbers)) }
    }
    for (numbers, message) in [
      ([0, 0, 0, 3, 0, 0, 0, 2, 0x55], "sample sizes of 3 bits"),
      ([0, 0, 0, 0, 0, 0, 0, 1, 5], "sample sizes of 0 bits"),
      ([0, 0, 0, 4, 0x3F, 0xFF, 0xFF, 0xFF, 5], "a box of type stz2 that ends too early"),
      ([0, 0, 0, 16, 0, 0, 0, 5, 0, 5], "a box of type stz2 that ends too early"),
    ] as [([UInt8], String)] {
      guard case .malformed(message, _)? = error(compact(numbers)) else {
        Issue.record("\(message): \(String(describing: error(compact(numbers))))")
        continue
      }
    }
    #expect(error(avc { $0.frames = [] }) == .unsupported("an MPEG-4 video without a key frame"))
    for file in [
      // A billion entries in a few bytes.
      table("stsz", [0, 1_000_000_000]), table("stts", [1_000_000_000]), table("stsc", [1_000_000_000]),
      table("stco", [0xFFFF_FFFF]), table("stss", [9, 1]),
      // Numbers that lead to no sample, and chunks that don't ascend.
      table("stss", [1, 0]), table("stss", [1, 9]), table("stsc", [2, 1, 0, 1, 1, 1, 1]), table("stsc", [1, 1, 0, 1]),
      table("stsc", [0]),
      avc { $0.entry = File.entry("avc1", 40, 24) },
    ] {
      guard case .malformed? = error(file) else {
        Issue.record("\(String(describing: error(file)))")
        continue
      }
    }
    guard case .truncated? = error(table("stco", [2, 0x7FFF_FFF0, 0x7FFF_FFFF])) else {
      Issue.record("a frame behind the end of the file")
      return
    }
    guard case .limitExceeded? = error(table("stsz", [65 << 20, 3])) else {
      Issue.record("a frame of 65 MB")
      return
    }
  }

  @Test("tables whose numbers have products of 64 bits end nothing but their own reading")
  func hugeProducts() {
    let most = 0xFFFF_FFFF
    for (name, numbers) in [
      ("stts", [1, most, most]), ("stts", [2, most, most, most, most]), ("stts", [2, 1, most, most, most]),
      ("stsc", [2, 1, most, 1, most, most, 1]), ("stsc", [1, 1, most, 1]), ("stsz", [most, most]),
      ("ctts", [1, most, 0x7FFF_FFFF]),
    ] {
      let file = CodedMovieSamples.avc {
        $0.replacedTables[name] = Boxes.fullBox(name, numbers.flatMap { Boxes.number($0, 4) })
      }
      // Any header or error will do.
      _ = Result { try header(file) }
      _ = Result { try header(file, at: 1e9) }
    }
  }

  @Test("a large picture in a small file is refused before its decode")
  func large() {
    let entry = File.entry("av01", 60_000, 60_000, CodedHEIFFile.av1C())
    guard case .limitExceeded? = (Result { try header(File(entry, [Frame([1])])) }).failure as? CodecError else {
      Issue.record("60,000 x 60,000 pixels")
      return
    }
  }
}

extension Result {
  fileprivate var failure: Failure? { if case .failure(let error) = self { error } else { nil } }
}
