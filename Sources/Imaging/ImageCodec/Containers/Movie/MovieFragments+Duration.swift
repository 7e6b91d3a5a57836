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
        _ = try readFragment(&boxes, box) { _ in true }
        if let first = self.start { span.add(Double(first) / Double(timescale), Double(time) / Double(timescale)) }
        if isFirst, let last = try lastIndexed(&boxes), last.position > position {
          position = last.position
          time = last.tick
        }
        isFirst = false
      default: break
      }
    }
  }

  /// The last fragment that the index at the end of the file names, and its time; `nil` without such an index.
  private func lastIndexed(_ boxes: inout BoxReader) throws(CodecError) -> Start? {
    guard let last = try indexAtEnd(&boxes)?.last(&boxes) else { return nil }
    var position = last.position
    guard position > 0, position < boxes.fileSize, try boxes.next(&position, before: boxes.fileSize)?.type == "moof"
    else { return nil }
    return last
  }
}
