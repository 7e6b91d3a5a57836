// Finds key frames of a fragmented movie (ISO/IEC 14496-12 §8.8): its samples are described beside them, fragment by
// fragment. MovieFragments+Index.swift finds the fragment of a time, MovieFragments+Duration.swift adds up durations.

import PhotoModel

struct MovieFragments {
  /// The default values of a track's samples, for fragments that do not give them (§8.8.3).
  struct Defaults {
    var duration = 0
    var size = 0
    var flags = 0

    init() {}

    /// - Parameter fields: of `trex`, after its track.
    init(_ fields: BoxFields) throws(CodecError) {
      var fields = fields
      _ = try fields.take(4)
      duration = try fields.number(4)
      size = try fields.number(4)
      flags = try fields.number(4)
    }
  }

  /// sample_is_non_sync_sample.
  private static let dependentFlag = 0x1_0000

  let track: Int
  private let defaults: Defaults
  /// The decoding time of the first sample that was read; `nil` before any.
  private(set) var start: Int?
  /// The decoding time of the next fragment that does not state its own.
  var time = 0
  /// Whether samples are read for their times, wherever their data are.
  var readsOnlyTimes = false
  private var entriesRead = 0
  private var fragmentsRead = 0

  init(track: Int, defaults: Defaults) {
    self.track = track
    self.defaults = defaults
  }

  /// The default values of each track, by its number (§8.8.1).
  ///
  /// - Parameter box: `mvex`.
  static func defaults(_ boxes: inout BoxReader, _ box: Box) throws(CodecError) -> [Int: Defaults] {
    var defaults: [Int: Defaults] = [:]
    var position = box.content.lowerBound
    while let part = try boxes.next(&position, before: box.content.upperBound) {
      guard part.type == "trex" else { continue }
      var fields = try boxes.fields(of: part, atMost: 24)
      _ = try fields.version()
      let number = try fields.number(4)
      defaults[number] = try Defaults(fields)
    }
    return defaults
  }

  /// Calls `body` for each key frame in turn, until it returns false.
  ///
  /// - Parameters:
  ///   - range: where the fragments begin.
  ///   - last: no frame after this tick is wanted: the search ends with the fragment that reaches beyond.
  /// - Throws: ``CodecError``; `limitExceeded` if more than `ContainerLimits.fragments` of them had to be read.
  mutating func forEachKeyFrame(
    _ boxes: inout BoxReader, in range: Range<Int64>, until last: Int = .max, _ body: (MovieKeyFrame) -> Bool
  ) throws(CodecError) {
    var position = range.lowerBound
    while position < range.upperBound {
      guard let box = try boxes.next(&position, before: boxes.fileSize) else { return }
      guard box.type == "moof" else { continue }
      fragmentsRead += 1
      if fragmentsRead > ContainerLimits.fragments {
        throw .limitExceeded(
          "the number of a video's fragments", limit: ContainerLimits.fragments, found: fragmentsRead)
      }
      // Frames are not shown before they are decoded.
      if try !readFragment(&boxes, box, body) || time > last { return }
    }
  }

  /// - Returns: false if no further frame is wanted.
  mutating func readFragment(
    _ boxes: inout BoxReader, _ fragment: Box, _ body: (MovieKeyFrame) -> Bool
  ) throws(CodecError) -> Bool {
    var position = fragment.content.lowerBound
    while let part = try boxes.next(&position, before: fragment.content.upperBound) {
      if part.type == "traf", try !readTrack(&boxes, part, fragment: fragment, body) { return false }
    }
    return true
  }

  /// - Returns: false if no further frame is wanted.
  private mutating func readTrack(
    _ boxes: inout BoxReader, _ track: Box, fragment: Box, _ body: (MovieKeyFrame) -> Bool
  ) throws(CodecError) -> Bool {
    var defaults = self.defaults
    // A movie's own head has 8 bytes, or 16 with a long size, which no fragment needs.
    var base = fragment.content.lowerBound - 8
    var isOurs = false
    var position = track.content.lowerBound
    while let box = try boxes.next(&position, before: track.content.upperBound) {
      switch box.type {
      case "tfhd":
        // §8.8.7.
        var fields = try boxes.fields(of: box, atMost: 32)
        let flags = try fields.version().flags
        isOurs = try fields.number(4) == self.track
        if flags & 1 != 0 { base = Int64(clamping: try fields.number(8)) }
        if flags & 2 != 0 { _ = try fields.take(4) }
        if flags & 8 != 0 { defaults.duration = try fields.number(4) }
        if flags & 0x10 != 0 { defaults.size = try fields.number(4) }
        if flags & 0x20 != 0 { defaults.flags = try fields.number(4) }
      case "tfdt" where isOurs:
        // §8.8.12.
        var fields = try boxes.fields(of: box, atMost: 12)
        time = try fields.number(try fields.version().version == 1 ? 8 : 4)
      case "trun" where isOurs:
        start = start ?? time
        if try !readRun(boxes.fields(of: box), &boxes, defaults, base: base, body) { return false }
      default: break
      }
    }
    return true
  }

  /// §8.8.8.
  private mutating func readRun(
    _ run: BoxFields, _ boxes: inout BoxReader, _ defaults: Defaults, base: Int64, _ body: (MovieKeyFrame) -> Bool
  ) throws(CodecError) -> Bool {
    var fields = run
    let flags = try fields.version().flags
    let count = try fields.number(4)
    var offset = Int(clamping: base)
    if flags & 1 != 0 { offset = MovieSamples.sum(offset, try fields.signed32()) }
    let firstFlags = flags & 4 != 0 ? try fields.number(4) : nil
    for index in 0..<count {
      entriesRead += 1
      if entriesRead > ContainerLimits.sampleEntries {
        throw .limitExceeded(
          "the entries of a video's fragments", limit: ContainerLimits.sampleEntries, found: entriesRead)
      }
      let duration = flags & 0x100 != 0 ? try fields.number(4) : defaults.duration
      let size = flags & 0x200 != 0 ? try fields.number(4) : defaults.size
      var sampleFlags = flags & 0x400 != 0 ? try fields.number(4) : defaults.flags
      if index == 0, let firstFlags { sampleFlags = firstFlags }
      let shift = flags & 0x800 != 0 ? try fields.signed32() : 0
      if !readsOnlyTimes, sampleFlags & Self.dependentFlag == 0 {
        let data = try MovieSamples.checked(offset, size, fileSize: boxes.fileSize)
        if !body(MovieKeyFrame(tick: MovieSamples.sum(time, shift), data: data)) { return false }
      }
      offset = MovieSamples.sum(offset, size)
      time = MovieSamples.sum(time, duration)
    }
    return true
  }
}
