/// A movie with one track of coded frames and the tables that lead to them (ISO/IEC 14496-12 §8.5 to §8.8).
package struct CodedMovieFile: Sendable {
  package struct Frame: Sendable {
    package var data: [UInt8]
    /// Ticks until the next frame is decoded, and from being decoded to being shown.
    package var duration = 10
    package var shift = 0
    package var isKey = true

    package init(_ data: [UInt8], _ change: (inout Frame) -> Void = { _ in }) {
      self.data = data
      change(&self)
    }
  }

  /// The boxes that locate the fragments of a movie.
  package enum FragmentIndex: Sendable {
    /// One `sidx` before all fragments, or one before each; `mfra` after them.
    case ofAll, ofEach, atEnd
  }

  /// The sample description's entry.
  package var entry: [UInt8]
  package var frames: [Frame]
  /// Ticks in a second.
  package var timescale = 10
  /// The size at which the track is shown.
  package var width = 40
  package var height = 24
  /// a, b, c and d of the matrix.
  package var matrix = (1, 0, 0, 1)
  /// Ticks of the movie in a second.
  package var movieTimescale = 1
  /// Ticks of the movie, and the tick of the track that is shown first; `nil` shows nothing.
  package var edits: [(ticks: Int, start: Int?)] = []
  package var framesPerChunk = 2
  package var hasWideOffsets = false
  /// Whether frames of equal size have one size in the table.
  package var hasEqualSizes = false
  /// Seconds since 1904.
  package var created = 0
  /// Whether the track states its duration; players can't seek otherwise.
  package var hasTrackDuration = false
  /// The length of an entry of a compact table of sizes (`stz2`): 4, 8 or 16 bits; `nil` for `stsz`.
  package var compactSizeBits: Int?
  /// The frames of each fragment; `nil` for a movie that is not fragmented.
  package var framesPerFragment: Int?
  package var fragmentIndex: FragmentIndex?
  /// The frames of a fragmented movie that the movie box describes, before the first fragment.
  package var framesBeforeFragments = 0
  /// The tick at which the first frame of a fragmented movie is decoded.
  package var firstTick = 0
  /// Seconds that `mvhd` states; `nil` for the sum of the frames.
  package var statedSeconds: Int?
  /// A JPEG that stands for the movie.
  package var coverArt: [UInt8]?
  package var brand = "isom"
  package var otherBrands = ["isom"]
  /// `pict` for a sequence of pictures (ISO/IEC 23008-12 §7.2).
  package var handler = "vide"
  /// Replaces boxes of the sample table by their types.
  package var replacedTables: [String: [UInt8]] = [:]

  package init(_ entry: [UInt8], _ frames: [Frame], _ change: (inout CodedMovieFile) -> Void = { _ in }) {
    self.entry = entry
    self.frames = frames
    change(&self)
  }

  /// An entry of the sample description (§12.1.3).
  package static func entry(_ type: String, _ width: Int, _ height: Int, _ boxes: [UInt8]...) -> [UInt8] {
    Boxes.box(
      type, [UInt8](repeating: 0, count: 24), Boxes.number(width, 2), Boxes.number(height, 2),
      [UInt8](repeating: 0, count: 50), Array(boxes.joined()))
  }

  /// The configuration of AVC (ISO/IEC 14496-15 §5.3.3.1).
  package static func avcC(_ sequence: [UInt8], _ picture: [UInt8]) -> [UInt8] {
    Boxes.box(
      "avcC", [1, 100, 0, 30, 0xFF, 0xE1], Boxes.number(sequence.count, 2), sequence, [1],
      Boxes.number(picture.count, 2), picture)
  }

  /// Colours by code points; QuickTime's form has no range.
  package static func colors(_ points: (Int, Int, Int), isFullRange: Bool?) -> [UInt8] {
    let numbers = Boxes.number(points.0, 2) + Boxes.number(points.1, 2) + Boxes.number(points.2, 2)
    guard let isFullRange else { return Boxes.box("colr", Boxes.fourCC("nclc"), numbers) }
    return Boxes.box("colr", Boxes.fourCC("nclx"), numbers, [isFullRange ? 0x80 : 0])
  }

  package var bytes: [UInt8] {
    let head = Boxes.fileType(brand, otherBrands)
    let isFragmented = framesPerFragment != nil
    if isFragmented, framesBeforeFragments == 0 {
      let start = head + Boxes.box("moov", movie([], []))
      return start + fragments(at: start.count)
    }
    // The samples come first, so their places do not depend on the tables.
    let frames = framesInMovieBox
    let chunks = stride(from: 0, to: frames.count, by: framesPerChunk).map {
      Array(frames[$0..<min(frames.count, $0 + framesPerChunk)])
    }
    var data: [UInt8] = []
    let offsets = chunks.map { chunk in
      // A gap before each chunk, as another track's chunk would be.
      data += [0xEE, 0xEE, 0xEE]
      defer { data += chunk.flatMap(\.data) }
      return head.count + 8 + data.count
    }
    let start = head + Boxes.box("mdat", data) + Boxes.box("moov", movie(chunks.map(\.count), offsets))
    return isFragmented ? start + fragments(at: start.count) : start
  }

  private var framesInMovieBox: [Frame] {
    framesPerFragment == nil ? frames : Array(frames.prefix(framesBeforeFragments))
  }

  private func movie(_ chunks: [Int], _ offsets: [Int]) -> [UInt8] {
    let seconds = statedSeconds ?? frames.reduce(0) { $0 + $1.duration } / timescale
    var movie = Boxes.fullBox(
      "mvhd", Boxes.number(created, 4), Boxes.number(created, 4), Boxes.number(movieTimescale, 4),
      Boxes.number(seconds * movieTimescale, 4), [UInt8](repeating: 0, count: 80))
    let (a, b, c, d) = matrix
    let numbers = [a << 16, b << 16, 0, c << 16, d << 16, 0, 0, 0, 1 << 30].flatMap { Boxes.number($0, 4) }
    let header = Boxes.fullBox(
      "tkhd", flags: 3, Boxes.number(0, 8), Boxes.number(7, 4), Boxes.number(0, 4),
      Boxes.number(seconds * movieTimescale, 4), [UInt8](repeating: 0, count: 16), numbers,
      Boxes.number(width << 16, 4), Boxes.number(height << 16, 4))
    let list = edits.flatMap {
      Boxes.number($0.ticks, 4) + Boxes.number($0.start ?? 0xFFFF_FFFF, 4) + Boxes.number(0x1_0000, 4)
    }
    let edit = edits.isEmpty ? [] : Boxes.box("edts", Boxes.fullBox("elst", Boxes.number(edits.count, 4), list))
    let media = Boxes.box(
      "mdia",
      Boxes.fullBox(
        "mdhd", Boxes.number(0, 8), Boxes.number(timescale, 4),
        Boxes.number(hasTrackDuration ? frames.reduce(0) { $0 + $1.duration } : 0, 4), Boxes.number(0, 4)),
      Boxes.fullBox("hdlr", Boxes.number(0, 4), Boxes.fourCC(handler), [UInt8](repeating: 0, count: 13)),
      Boxes.box("minf", Boxes.fullBox("vmhd"), sampleTable(chunks, offsets)))
    movie += Boxes.box("trak", header, edit, media)
    if framesPerFragment != nil {
      movie += Boxes.box(
        "mvex",
        Boxes.fullBox(
          "trex", Boxes.number(7, 4), Boxes.number(1, 4), Boxes.number(0, 4), Boxes.number(0, 4),
          Boxes.number(0x1_0000, 4)))
    }
    guard let coverArt else { return movie }
    let item = Boxes.box("covr", Boxes.box("data", Boxes.number(13, 4), Boxes.number(0, 4), coverArt))
    let handler = Boxes.fullBox("hdlr", Boxes.number(0, 4), Boxes.fourCC("mdir"), [UInt8](repeating: 0, count: 13))
    return movie + Boxes.box("udta", Boxes.fullBox("meta", handler, Boxes.box("ilst", item)))
  }

  private func sampleTable(_ chunks: [Int], _ offsets: [Int]) -> [UInt8] {
    let frames = framesInMovieBox
    func list(_ numbers: [[Int]]) -> [UInt8] {
      Boxes.number(numbers.count, 4) + numbers.flatMap { $0.flatMap { Boxes.number($0, 4) } }
    }
    // A run of chunks for each change of their size.
    let runs = chunks.indices.filter { $0 == 0 || chunks[$0] != chunks[$0 - 1] }.map { [$0 + 1, chunks[$0], 1] }
    let isEqual = hasEqualSizes && Set(frames.map(\.data.count)).count == 1
    let sizes =
      isEqual
      ? Boxes.number(frames[0].data.count, 4) + Boxes.number(frames.count, 4)
      : Boxes.number(0, 4) + list(frames.map { [$0.data.count] })
    var sizeTable = ("stsz", Boxes.fullBox("stsz", sizes))
    if let compactSizeBits {
      sizeTable = ("stz2", Boxes.compactSizes(frames.map(\.data.count), bits: compactSizeBits))
    }
    var tables: [(String, [UInt8])] = [
      ("stsd", Boxes.fullBox("stsd", Boxes.number(1, 4), entry)),
      ("stts", Boxes.fullBox("stts", list(frames.map { [1, $0.duration] }))),
      ("stsc", Boxes.fullBox("stsc", list(runs))), sizeTable,
      hasWideOffsets
        ? ("co64", Boxes.fullBox("co64", Boxes.number(offsets.count, 4), offsets.flatMap { Boxes.number($0, 8) }))
        : ("stco", Boxes.fullBox("stco", list(offsets.map { [$0] }))),
    ]
    if frames.contains(where: { $0.shift != 0 }) {
      tables.append(("ctts", Boxes.fullBox("ctts", list(frames.map { [1, $0.shift] }))))
    }
    if frames.contains(where: { !$0.isKey }) || replacedTables["stss"] != nil {
      tables.append(
        ("stss", Boxes.fullBox("stss", list(frames.indices.filter { frames[$0].isKey }.map { [$0 + 1] }))))
    }
    return Boxes.box("stbl", tables.flatMap { replacedTables[$0.0] ?? $0.1 })
  }

  /// - Parameter start: the position of the first box.
  private func fragments(at start: Int) -> [UInt8] {
    let count = framesPerFragment ?? 1
    var time = framesInMovieBox.reduce(firstTick) { $0 + $1.duration }
    let firstTime = time
    var parts: [(time: Int, duration: Int, bytes: [UInt8], hasKey: Bool)] = []
    for first in stride(from: framesBeforeFragments, to: frames.count, by: count) {
      let part = frames[first..<min(frames.count, first + count)]
      let duration = part.reduce(0) { $0 + $1.duration }
      let bytes = fragment(part, time, fragment(part, time, 0).count + 8) + Boxes.box("mdat", part.flatMap(\.data))
      parts.append((time, duration, bytes, part.contains(where: \.isKey)))
      time += duration
    }
    let ofAll = fragmentIndex == .ofAll ? segmentIndex(firstTime, parts.map { ($0.bytes.count, $0.duration) }) : []
    var file = ofAll
    var entries: [[UInt8]] = []
    for part in parts {
      if fragmentIndex == .ofEach { file += segmentIndex(part.time, [(part.bytes.count, part.duration)]) }
      // §8.8.10: only of key frames.
      if part.hasKey { entries.append(Boxes.number(part.time, 8) + Boxes.number(start + file.count, 8) + [1, 1, 1]) }
      file += part.bytes
    }
    guard fragmentIndex == .atEnd else { return file }
    let table = Boxes.fullBox(
      "tfra", version: 1, Boxes.number(7, 4), Boxes.number(0, 4), Boxes.number(entries.count, 4),
      entries.flatMap(\.self))
    return file + Boxes.box("mfra", table, Boxes.fullBox("mfro", Boxes.number(table.count + 24, 4)))
  }

  private func fragment(_ part: ArraySlice<Frame>, _ time: Int, _ offset: Int) -> [UInt8] {
    let samples = part.flatMap {
      Boxes.number($0.duration, 4) + Boxes.number($0.data.count, 4)
        + Boxes.number($0.isKey ? 0 : 0x1_0000, 4) + Boxes.number($0.shift, 4)
    }
    return Boxes.box(
      "moof", Boxes.fullBox("mfhd", Boxes.number(1, 4)),
      Boxes.box(
        "traf", Boxes.fullBox("tfhd", flags: 0x2_0000, Boxes.number(7, 4)),
        Boxes.fullBox("tfdt", Boxes.number(time, 4)),
        Boxes.fullBox(
          "trun", version: 1, flags: 0xF01, Boxes.number(part.count, 4), Boxes.number(offset, 4), samples)))
  }

  /// §8.16.3: segments that follow this box.
  private func segmentIndex(_ time: Int, _ segments: [(bytes: Int, ticks: Int)]) -> [UInt8] {
    Boxes.fullBox(
      "sidx", Boxes.number(7, 4), Boxes.number(timescale, 4), Boxes.number(time, 4), Boxes.number(0, 4),
      Boxes.number(segments.count, 4),
      segments.flatMap { Boxes.number($0.bytes, 4) + Boxes.number($0.ticks, 4) + Boxes.number(0x9000_0000, 4) })
  }
}

extension Boxes {
  /// Sizes of samples in entries of 4, 8 or 16 bits (§8.7.3.3).
  package static func compactSizes(_ sizes: [Int], bits: Int) -> [UInt8] {
    let entries: [UInt8] =
      bits == 4
      ? stride(from: 0, to: sizes.count, by: 2).map { i in
        UInt8(sizes[i] << 4 | (i + 1 < sizes.count ? sizes[i + 1] : 0))
      } : sizes.flatMap { number($0, bits / 8) }
    return fullBox("stz2", number(bits, 4), number(sizes.count, 4), entries)
  }
}
