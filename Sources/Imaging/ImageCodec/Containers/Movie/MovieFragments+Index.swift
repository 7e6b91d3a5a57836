// Finds the fragment of a time: by an index of fragments at the end of the file (`mfra`), or by one of segments before
// the first fragment (`sidx`). Without an index, fragments are read from the first one on.

import PhotoModel

extension MovieFragments {
  /// Where the frames from a time on are, according to an index.
  struct Start {
    /// In ticks of the track.
    let tick: Int
    /// The position of a box of the file, which fragments follow.
    let position: Int64
  }

  /// The boxes with which an indexed segment may begin.
  private static let segmentTypes: Set<FourCC> = ["moof", "styp", "sidx", "emsg", "prft"]

  /// The last key frame that is shown at a tick or before, else the first one; `nil` if there is none.
  ///
  /// An index only shortens the search: a segment need not begin with a key frame, and key frames may be shown later
  /// than the index says.
  ///
  /// - Parameter timescale: ticks of the track in a second.
  mutating func keyFrame(
    _ boxes: inout BoxReader, atOrBefore wanted: Int, timescale: Int
  ) throws(CodecError) -> MovieKeyFrame? {
    let (indexed, isComplete) = try indexedStarts(&boxes, until: wanted, timescale: timescale)
    let starts = [Start(tick: time, position: 0)] + indexed
    var first: MovieKeyFrame?
    var end = boxes.fileSize
    for start in starts.reversed() {
      time = start.tick
      var found: MovieKeyFrame?
      do throws(CodecError) {
        try forEachKeyFrame(&boxes, in: start.position..<end, until: wanted) { frame in
          if found == nil || frame.tick <= wanted { found = frame }
          return frame.tick < wanted
        }
      } catch {
        // The index names all key frames, so the frame that was found is the last one at or before the tick.
        guard case .limitExceeded = error, isComplete, start.position > 0, let found, found.tick <= wanted else {
          throw error
        }
      }
      if let found {
        if found.tick <= wanted { return found }
        first = found
      }
      end = start.position
    }
    if first == nil {
      // All fragments up to that time lack key frames: take the first key frame after it.
      time = starts[0].tick
      try forEachKeyFrame(&boxes, in: 0..<boxes.fileSize) { frame in
        first = frame
        return false
      }
    }
    return first
  }

  /// The indexed segments that begin at a tick or before, in the order of the file, and whether the index names all key
  /// frames; none without a usable index.
  private func indexedStarts(
    _ boxes: inout BoxReader, until wanted: Int, timescale: Int
  ) throws(CodecError) -> (starts: [Start], isComplete: Bool) {
    var indexed: [Start] = []
    var isComplete = false
    do throws(CodecError) {
      if let index = try indexAtEnd(&boxes) {
        indexed = try index.starts(&boxes)
        isComplete = true
      } else {
        indexed = try segmentStarts(&boxes, timescale: timescale)
      }
    } catch {
      if case .readFailed = error { throw error }
    }
    var starts: [Start] = []
    var position: Int64 = 0
    for start in indexed where start.tick <= wanted {
      // One fragment has several key frames.
      if start.position == position { continue }
      guard start.position > position, start.position < boxes.fileSize else { return ([], false) }
      position = start.position
      starts.append(start)
    }
    // The index may be stale: the file may have been changed after it was written.
    let head = try boxes.reader.bytes(at: position, count: 8)
    guard head.count == 8, Self.segmentTypes.contains(FourCC(head.dropFirst(4))) else { return ([], false) }
    return (starts, isComplete)
  }

  /// The segments of the first index before the fragments.
  private func segmentStarts(_ boxes: inout BoxReader, timescale: Int) throws(CodecError) -> [Start] {
    var position: Int64 = 0
    while let box = try boxes.next(&position, before: boxes.fileSize) {
      if box.type == "moof" { break }
      if box.type == "sidx" {
        let index = try SegmentIndex(boxes.fields(of: box), end: box.content.upperBound)
        return index.starts(timescale: timescale)
      }
    }
    return []
  }

  /// The index of this track's fragments at the end of the file (§8.8.9 to §8.8.11); `nil` if there is none.
  func indexAtEnd(_ boxes: inout BoxReader) throws(CodecError) -> FragmentTable? {
    let end = boxes.fileSize
    let tail = try boxes.reader.bytes(at: end - 16, count: 16)
    guard tail.count == 16, FourCC(tail.dropFirst(4)) == "mfro" else { return nil }
    var position = end - Int64(tail.bigEndian(at: 12, bytes: 4))
    guard position > 0, let index = try boxes.next(&position, before: end), index.type == "mfra" else { return nil }
    var place = index.content.lowerBound
    while let box = try boxes.next(&place, before: index.content.upperBound) {
      guard box.type == "tfra" else { continue }
      if let table = try FragmentTable(&boxes, box, track: track) { return table }
    }
    return nil
  }
}

/// The key frames of one track, by the times at which they are shown and the positions of their fragments (§8.8.10).
struct FragmentTable {
  /// The place of the entries in the file; there is at least one.
  let entries: Range<Int64>
  let entryBytes: Int
  /// The length of a time, and of a position.
  private let numberBytes: Int

  /// - Parameter box: `tfra`.
  /// - Returns: `nil` if it is the table of another track, or has no entries.
  init?(_ boxes: inout BoxReader, _ box: Box, track: Int) throws(CodecError) {
    var fields = try boxes.fields(of: box, atMost: 16)
    let bytes = try fields.version().version == 1 ? 8 : 4
    guard try fields.number(4) == track else { return nil }
    let lengths = try fields.number(4)
    let count = try fields.number(4)
    // The lengths of three numbers, which follow the time and the position.
    let length = 2 * bytes + 3 + (lengths >> 4 & 3) + (lengths >> 2 & 3) + (lengths & 3)
    let start = box.content.lowerBound + 16
    let end = start + Int64(count) * Int64(length)
    guard count > 0, end <= box.content.upperBound else { return nil }
    entries = start..<end
    entryBytes = length
    numberBytes = bytes
  }

  /// All entries, in their order; none of a table that is too long.
  func starts(_ boxes: inout BoxReader) throws(CodecError) -> [MovieFragments.Start] {
    guard entries.count <= ContainerLimits.tableBytes else { return [] }
    let bytes = try boxes.reader.wholeBytes(at: entries.lowerBound, count: entries.count)
    return stride(from: 0, to: bytes.count, by: entryBytes).map { start(bytes.dropFirst($0)) }
  }

  /// The last entry.
  func last(_ boxes: inout BoxReader) throws(CodecError) -> MovieFragments.Start {
    let position = entries.upperBound - Int64(entryBytes)
    return start(try boxes.reader.wholeBytes(at: position, count: entryBytes))
  }

  private func start(_ entry: ArraySlice<UInt8>) -> MovieFragments.Start {
    let tick = entry.bigEndian(at: 0, bytes: numberBytes)
    let position = entry.bigEndian(at: numberBytes, bytes: numberBytes)
    return MovieFragments.Start(tick: max(0, tick), position: Int64(position))
  }
}

/// An index of segments (§8.16.3).
struct SegmentIndex {
  /// Seconds.
  var start: Double { Double(first) / Double(timescale) }
  var end: Double { Double(last) / Double(timescale) }
  /// Where the last indexed segment ends in the file.
  let dataEnd: Int64
  /// Ticks of the index in a second.
  private let timescale: Int
  /// The ticks at which the first segment begins and the last one ends.
  private let first: Int
  private let last: Int
  /// The ticks at which the segments begin, and their positions.
  private let segments: [(tick: Int, position: Int64)]

  /// - Parameter end: the end of the box, from which positions are counted.
  init(_ fields: BoxFields, end: Int64) throws(CodecError) {
    var fields = fields
    let bytes = try fields.version().version == 0 ? 4 : 8
    _ = try fields.take(4)
    timescale = max(1, try fields.number(4))
    first = try fields.number(bytes)
    var place = MovieSamples.sum(Int(end), try fields.number(bytes))
    _ = try fields.take(2)
    let count = try fields.number(2)
    var time = first
    var segments: [(tick: Int, position: Int64)] = []
    for _ in 0..<count {
      segments.append((time, Int64(place)))
      // Without the highest bit, reference_type.
      place = MovieSamples.sum(place, try fields.number(4) & 0x7FFF_FFFF)
      time = MovieSamples.sum(time, try fields.number(4))
      _ = try fields.take(4)
    }
    (last, dataEnd) = (time, Int64(place))
    self.segments = segments
  }

  /// - Parameter timescale: ticks of the track in a second.
  func starts(timescale: Int) -> [MovieFragments.Start] {
    segments.map { segment in
      let tick = Int128(segment.tick) * Int128(timescale) / Int128(self.timescale)
      return MovieFragments.Start(tick: Int(clamping: tick), position: segment.position)
    }
  }
}
