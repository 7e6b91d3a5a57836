// The duration of a fragmented movie that does not state it. An index of segments (`sidx`) says it; else an index of
// fragments at the end of the file (`mfra`) leads to the last ones; else the heads of all fragments are read, within
// `ContainerLimits.durationBytes`.

import PhotoModel

extension MovieFragments {
  /// The time that has been measured so far, in seconds of the track.
  private struct Span {
    var start: Double?
    var end = 0.0
    /// The length of all fragments, as a multiple of that of the measured ones.
    var share = 1.0

    mutating func add(_ start: Double, _ end: Double) {
      self.start = self.start ?? start
      self.end = max(self.end, end)
    }
  }

  /// The seconds from the first fragment to the end of the last one; 0 if there are none. Damage ends the search.
  ///
  /// - Parameters:
  ///   - position: the end of the movie box.
  ///   - startsAtZero: the movie begins with samples of the movie box, before the first fragment.
  mutating func seconds(
    _ reader: HeaderReader, from position: Int64, timescale: Int, startsAtZero: Bool
  ) throws(CodecError) -> Double {
    guard timescale > 0 else { return 0 }
    readsOnlyTimes = true
    var boxes = BoxReader(reader)
    var span = Span()
    do throws(CodecError) {
      try measure(&boxes, from: position, timescale, &span)
    } catch {
      if case .readFailed = error { throw error }
    }
    let seconds = (span.end - (startsAtZero ? 0 : span.start ?? 0)) * span.share
    return seconds.isFinite && seconds > 0 ? seconds : 0
  }

  private mutating func measure(
    _ boxes: inout BoxReader, from start: Int64, _ timescale: Int, _ span: inout Span
  ) throws(CodecError) {
    var rest = ContainerLimits.durationBytes
    var position = start
    var isFirst = true
    while true {
      let place = position
      guard let box = try boxes.next(&position, before: boxes.fileSize) else { return }
      let isMeasured = box.type == "moof" || box.type == "sidx"
      rest -= isMeasured ? ContainerLimits.fragmentReadBytes + box.content.count : ContainerLimits.boxReadBytes
      if rest < 0 {
        if place > start { span.share = Double(boxes.fileSize - start) / Double(place - start) }
        return
      }
      switch box.type {
      case "sidx":
        let index = try SegmentIndex(boxes.fields(of: box), end: box.content.upperBound)
        span.add(index.start, index.end)
        position = max(position, min(index.dataEnd, boxes.fileSize))
      case "moof":
        let isComplete = try readFragment(&boxes, box) { _ in true }
        if let first = self.start { span.add(Double(first) / Double(timescale), Double(time) / Double(timescale)) }
        if !isComplete { return }
        if isFirst, let last = try lastIndexed(&boxes), last.position > position {
          position = last.position
          time = last.time
        }
        isFirst = false
      default: break
      }
    }
  }

  /// The last fragment with a key frame that the end of the file names, and that frame's time (§8.8.9 to §8.8.11);
  /// `nil` without such an index.
  private func lastIndexed(_ boxes: inout BoxReader) throws(CodecError) -> (position: Int64, time: Int)? {
    let end = boxes.fileSize
    let tail = try boxes.reader.bytes(at: end - 16, count: 16)
    guard tail.count == 16, FourCC(tail.dropFirst(4)) == "mfro" else { return nil }
    var position = end - Int64(tail.bigEndian(at: 12, bytes: 4))
    guard position > 0, let index = try boxes.next(&position, before: end), index.type == "mfra" else { return nil }
    var place = index.content.lowerBound
    while let box = try boxes.next(&place, before: index.content.upperBound) {
      guard box.type == "tfra" else { continue }
      var fields = try boxes.fields(of: box, atMost: 16)
      let bytes = try fields.version().version == 1 ? 8 : 4
      guard try fields.number(4) == track else { continue }
      let lengths = try fields.number(4)
      let count = try fields.number(4)
      // The lengths of three numbers, which follow the time and the position.
      let entryBytes = 2 * bytes + 3 + (lengths >> 4 & 3) + (lengths >> 2 & 3) + (lengths & 3)
      let entry = box.content.lowerBound + 16 + Int64(count - 1) * Int64(entryBytes)
      guard count > 0, entry + Int64(entryBytes) <= box.content.upperBound else { return nil }
      let numbers = try boxes.reader.wholeBytes(at: entry, count: 2 * bytes)
      var fragment = Int64(numbers.bigEndian(at: bytes, bytes: bytes))
      let found = (position: fragment, time: max(0, numbers.bigEndian(at: 0, bytes: bytes)))
      guard fragment > 0, fragment < end, try boxes.next(&fragment, before: end)?.type == "moof" else { return nil }
      return found
    }
    return nil
  }
}

/// An index of segments (§8.16.3).
private struct SegmentIndex {
  /// Seconds.
  let start: Double
  let end: Double
  /// Where the last indexed segment ends in the file.
  let dataEnd: Int64

  /// - Parameter end: the end of the box, from which positions are counted.
  init(_ fields: BoxFields, end: Int64) throws(CodecError) {
    var fields = fields
    let bytes = try fields.version().version == 0 ? 4 : 8
    _ = try fields.take(4)
    let timescale = Double(max(1, try fields.number(4)))
    let first = try fields.number(bytes)
    var place = MovieSamples.sum(Int(end), try fields.number(bytes))
    _ = try fields.take(2)
    let count = try fields.number(2)
    var time = first
    for _ in 0..<count {
      // Without the bit that says what is indexed.
      place = MovieSamples.sum(place, try fields.number(4) & 0x7FFF_FFFF)
      time = MovieSamples.sum(time, try fields.number(4))
      _ = try fields.take(4)
    }
    (start, self.end, dataEnd) = (Double(first) / timescale, Double(time) / timescale, Int64(place))
  }
}
