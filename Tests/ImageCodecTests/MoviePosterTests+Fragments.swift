import ImageCodec
import PhotoFixtures
import PhotoModel
import Testing

/// Frames of movies whose samples are described beside them.
extension MoviePosterTests {
  /// A movie of numbered frames of a second each.
  ///
  /// - Parameter keys: the key frames; empty: all frames.
  private func numbered(_ count: Int, keys: Set<Int> = [], _ change: (inout File) -> Void) -> File {
    let frames = (0..<count).map { number in
      Frame([UInt8(number >> 8), UInt8(number & 255), 0]) { $0.isKey = keys.isEmpty || keys.contains(number) }
    }
    return movie(frames, change)
  }

  private func number(_ bytes: [UInt8], at second: Double) throws -> Int {
    let header = try ImageHeader.read(from: MemoryByteSource(bytes), limits: CodecLimits(), posterTime: second)
    guard case .heif(let picture)? = header.coded else { throw CodecError.unsupported("no frame") }
    let place = Int(picture.color.tiles[0][0].offset)
    return Int(bytes[place]) << 8 | Int(bytes[place + 1])
  }

  @Test("with an index, a time in any of many fragments gives its frame", arguments: [1, 3])
  func indexed(_ framesPerFragment: Int) throws {
    for index in [.ofAll, .atEnd] as [File.FragmentIndex] {
      let bytes = numbered(900) { ($0.framesPerFragment, $0.fragmentIndex) = (framesPerFragment, index) }.bytes
      for second in [0.5, 254, 256, 300.9, 490, 899, 5000] {
        let found = try number(bytes, at: second)
        #expect(found == min(Int(second), 899), "\(index) at \(second)")
      }
    }
  }

  @Test("without an index of all fragments, a time after those that are read is refused")
  func unindexed() throws {
    for index in [nil, .ofEach] as [File.FragmentIndex?] {
      let bytes = numbered(300) { ($0.framesPerFragment, $0.fragmentIndex) = (1, index) }.bytes
      let early = try number(bytes, at: 250)
      #expect(early == 250)
      #expect(throws: CodecError.limitExceeded("the number of a video's fragments", limit: 256, found: 257)) {
        _ = try number(bytes, at: 299)
      }
    }
  }

  @Test("fragments are read up to the time, and an index of all key frames may tell which one is the last")
  func longIntervals() throws {
    for index in [nil, .atEnd] as [File.FragmentIndex?] {
      let bytes = numbered(300, keys: [0, 20]) { ($0.framesPerFragment, $0.fragmentIndex) = (1, index) }.bytes
      for (second, key) in [(10.0, 0), (20, 20), (200, 20)] {
        let found = try number(bytes, at: second)
        #expect(found == key, "at \(second)")
      }
      let last = try? number(bytes, at: 299)
      #expect(last == (index == nil ? nil : 20))
    }
  }

  @Test("an index that leads to other places is ignored")
  func staleIndex() throws {
    for index in [.ofAll, .atEnd] as [File.FragmentIndex] {
      var bytes = numbered(30) { ($0.framesPerFragment, $0.fragmentIndex) = (1, index) }.bytes
      let place = try #require((0..<bytes.count - 4).first { bytes[$0..<$0 + 4].elementsEqual("moof".utf8) })
      // Everything after this box moves.
      bytes.insert(contentsOf: [0, 0, 0, 8] + Array("free".utf8), at: place - 4)
      let found = try number(bytes, at: 20)
      #expect(found == 20, "\(index)")
    }
  }

  @Test("frames in the movie box and those in fragments are one movie", arguments: [1, 8, 15, 29])
  func framesInBoth(_ framesBeforeFragments: Int) throws {
    let file = movie(frames(30, keys: [0, 7, 14, 21])) {
      ($0.framesPerFragment, $0.framesBeforeFragments) = (4, framesBeforeFragments)
    }
    #expect(try numbers(file) == [0, 7, 14, 21])
    for (second, number) in [(0.0, 0), (6.9, 0), (7, 7), (13.9, 7), (14, 14), (22, 21), (100, 21)] {
      let found = try numbers(file, at: second)
      #expect(found == [number], "at \(second)")
    }
  }

  @Test("frames before the first one that is shown are no posters, also if later ones are in fragments")
  func editsOfFragments() throws {
    let file = movie(frames(20, keys: [0, 5, 10, 15])) {
      ($0.framesPerFragment, $0.framesBeforeFragments) = (4, 3)
      $0.edits = [(9, 70)]
    }
    #expect(try numbers(file) == [10, 15])
  }

  @Test("a time gives the same frame wherever frames are described, and with any index", arguments: 0..<24)
  func timesInFragments(_ seed: UInt64) throws {
    var random = SplitMix(state: seed)
    let keys = Set((0..<40).filter { _ in Int.random(in: 0..<6, using: &random) == 0 }).union([0])
    let delay = Int.random(in: 0...12, using: &random)
    let list = frames(40, keys: keys) { frame, number in
      frame.duration = Int.random(in: 1...20, using: &random)
      frame.shift = keys.contains(number) ? delay : Int.random(in: 0...30, using: &random)
    }
    let indexes: [File.FragmentIndex?] = [nil, .ofAll, .ofEach, .atEnd]
    let file = movie(list) {
      $0.fragmentIndex = indexes[Int(seed % 4)]
      $0.framesPerFragment = Int.random(in: 1...9, using: &random)
      $0.framesBeforeFragments = seed % 3 == 0 ? 0 : Int.random(in: 1...30, using: &random)
    }
    var times: [(number: Int, tick: Int)] = []
    var time = 0
    for (number, frame) in list.enumerated() {
      if frame.isKey { times.append((number, time + frame.shift)) }
      time += frame.duration
    }
    for tick in stride(from: 0, to: time + 20, by: 7) {
      let expected = times.last { $0.tick <= tick } ?? times[0]
      let found = try numbers(file, at: Double(tick) / 10 + 0.001)
      #expect(found == [expected.number], "at \(tick)")
    }
  }
}
