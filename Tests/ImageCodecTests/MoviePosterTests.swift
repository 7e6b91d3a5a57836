import ImageCodec
import PhotoFixtures
import PhotoModel
import Testing

@Suite("Frames of movies")
struct MoviePosterTests {
  typealias File = CodedMovieFile
  typealias Frame = CodedMovieFile.Frame

  func header(_ file: File, at second: Double? = nil) throws(CodecError) -> ImageHeader {
    try ImageHeader.read(from: MemoryByteSource(file.bytes), limits: CodecLimits(), posterTime: second)
  }

  func picture(_ file: File, at second: Double? = nil) throws -> HEIFPicture {
    guard case .heif(let picture)? = try header(file, at: second).coded else {
      throw CodecError.unsupported("no frame")
    }
    return picture
  }

  /// The first byte of the frame, and of its alternatives: the tests number their frames.
  func numbers(_ file: File, at second: Double? = nil) throws -> [Int] {
    let color = try picture(file, at: second).color
    let bytes = file.bytes
    return (color.tiles + color.alternatives).map { Int(bytes[Int($0[0].offset)]) }
  }

  /// A movie of numbered frames. Only the decoder reads them.
  func movie(_ frames: [Frame], _ change: (inout File) -> Void = { _ in }) -> File {
    File(CodedMovieSamples.avcEntry, frames, change)
  }

  func frames(_ count: Int, keys: Set<Int> = [], _ change: (inout Frame, Int) -> Void = { _, _ in }) -> [Frame] {
    (0..<count).map { number in
      Frame([UInt8](repeating: UInt8(number), count: 3 + number % 4)) {
        $0.isKey = keys.isEmpty || keys.contains(number)
        change(&$0, number)
      }
    }
  }

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

  @Test("the exact time of a key frame or an edit selects it, also if its decimals are rounded down")
  func exactTimes() throws {
    let tenths = movie(frames(30) { frame, _ in frame.duration = 9000 }) { $0.timescale = 90_000 }
    for number in 0..<30 {
      let found = try numbers(tenths, at: Double(number) / 10)
      #expect(found == [number], "frame \(number)")
    }
    let thirds = movie(frames(6) { frame, _ in frame.duration = 10_000 }) { $0.timescale = 30_000 }
    for (second, number) in [
      (0.333333, 1), (0.333334, 1), (0.666665, 1), (0.666666, 2), (0.666667, 2), (1.333333, 4),
    ] {
      let found = try numbers(thirds, at: second)
      #expect(found == [number], "at \(second)")
    }
    // A tenth of a second of each frame, the last one first.
    let turned = movie(frames(10) { frame, _ in frame.duration = 1 }) { file in
      file.movieTimescale = 10
      for part in 0..<10 { file.edits.append((1, 9 - part)) }
    }
    for part in 0..<10 {
      let found = try numbers(turned, at: Double(part) / 10)
      #expect(found == [9 - part], "part \(part)")
    }
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
}
