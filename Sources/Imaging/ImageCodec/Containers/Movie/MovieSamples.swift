// Finds key frames of a movie by its sample tables (ISO/IEC 14496-12 §8.6, §8.7). Tables may have millions of entries,
// so they are not held: single entries are read, and a bounded number of them for each frame.

import PhotoModel

/// A frame that is decoded without others.
struct MovieKeyFrame: Hashable {
  /// When it is shown, in ticks of the track.
  let tick: Int
  let data: ByteRange
}

struct MovieSamples {
  /// A table of equally long entries.
  private struct Table {
    /// The position of the first entry.
    let start: Int64
    let count: Int
    let entryBytes: Int
  }

  /// The sizes of samples (§8.7.3).
  private struct SizeTable {
    let table: Table
    /// The number of samples.
    let count: Int
    /// The size of every sample, or 0 if each has its own.
    let equalSize: Int
    /// The length of an entry: 4, 8, 16 or 32.
    let bits: Int
  }

  private var reader: HeaderReader
  private let sizes: SizeTable
  private let runs: Table
  private let chunks: Table
  private let durations: Table
  private let offsets: Table?
  /// `nil` if every sample is a key frame.
  private let keys: Table?
  private var entriesRead = 0

  /// - Parameter table: the track's `stbl`.
  /// - Returns: `nil` for a track without samples, as in the first part of a fragmented movie.
  init?(_ boxes: inout BoxReader, _ table: Box) throws(CodecError) {
    var found: [FourCC: Box] = [:]
    var position = table.content.lowerBound
    while let box = try boxes.next(&position, before: table.content.upperBound) {
      if found[box.type] == nil { found[box.type] = box }
    }
    func read(_ name: FourCC, entry: Int, _ head: Int = 8) throws(CodecError) -> Table? {
      guard let box = found[name] else { return nil }
      var fields = try boxes.fields(of: box, atMost: head)
      _ = try fields.take(head - 4)
      let count = try fields.number(4)
      guard Int64(count) * Int64(entry) <= box.content.upperBound - box.content.lowerBound - Int64(head) else {
        throw .malformed("a box of type \(box.type) that ends too early", offset: box.content.lowerBound)
      }
      return Table(start: box.content.lowerBound + Int64(head), count: count, entryBytes: entry)
    }
    let sizes: SizeTable
    if let box = found["stsz"] {
      var fields = try boxes.fields(of: box, atMost: 12)
      _ = try fields.take(4)
      let equalSize = try fields.number(4)
      let count = try fields.number(4)
      if count == 0 { return nil }
      var table: Table?
      if equalSize == 0 { table = try read("stsz", entry: 4, 12) }
      sizes = SizeTable(
        table: table ?? Table(start: 0, count: count, entryBytes: 0), count: count, equalSize: equalSize, bits: 32)
    } else if let box = found["stz2"] {
      guard let table = try Self.compactSizes(box, &boxes) else { return nil }
      sizes = table
    } else {
      return nil
    }
    self.sizes = sizes
    let chunkTable = found["stco"] == nil ? try read("co64", entry: 8) : try read("stco", entry: 4)
    guard let runs = try read("stsc", entry: 12), let durations = try read("stts", entry: 8), let chunks = chunkTable
    else { throw .malformed("a track without all tables of its samples", offset: table.content.lowerBound) }
    self.runs = runs
    self.chunks = chunks
    self.durations = durations
    offsets = try read("ctts", entry: 8)
    keys = try read("stss", entry: 4)
    reader = boxes.reader
  }

  /// The first key frames that are shown, in order. If there are none, the last key frame before `start`.
  ///
  /// - Parameters:
  ///   - start: the first tick that is shown.
  ///   - end: frames after this tick are left out, unless there is no other frame.
  mutating func first(_ count: Int, from start: Int, until end: Int) throws(CodecError) -> [MovieKeyFrame] {
    var frames: [MovieKeyFrame] = []
    var hidden: MovieKeyFrame?
    var index = max(0, try keyIndex(atOrBefore: start) ?? 0)
    while index < keyCount, frames.count < count {
      let frame: MovieKeyFrame
      do throws(CodecError) {
        frame = try keyFrame(index)
      } catch {
        // One frame is enough: the others are alternatives, and a truncated file may lack some of them.
        if frames.isEmpty && hidden == nil { throw error }
        break
      }
      index += 1
      if frame.tick < start {
        hidden = frame
      } else {
        if frame.tick > end, !frames.isEmpty || hidden != nil { break }
        frames.append(frame)
      }
    }
    return frames.isEmpty ? [hidden].compactMap(\.self) : frames
  }

  /// The last key frame that is shown at a tick or before, else the first one.
  mutating func frame(atOrBefore tick: Int) throws(CodecError) -> MovieKeyFrame {
    var index = try keyIndex(atOrBefore: tick) ?? 0
    var frame = try keyFrame(index)
    // Frames are decoded before they are shown.
    while frame.tick > tick, index > 0 {
      index -= 1
      frame = try keyFrame(index)
    }
    return frame
  }

  /// The tick at which the last sample ends (§8.6.1.2).
  mutating func endTick() throws(CodecError) -> Int {
    var time = 0
    for run in 0..<durations.count {
      let (count, delta) = (try entry(durations, run, 0, 4), try entry(durations, run, 4, 4))
      time = Self.sum(time, Self.product(count, delta))
    }
    return time
  }

  // MARK: Key frames

  private var keyCount: Int { keys?.count ?? sizes.count }

  /// The sample, counted from 0, of a key frame.
  private mutating func sample(ofKey index: Int) throws(CodecError) -> Int {
    guard let keys else { return index }
    let number = try entry(keys, index, 0, 4)
    guard number >= 1, number <= sizes.count else {
      throw .malformed("a key frame that is not a sample", offset: keys.start)
    }
    return number - 1
  }

  /// The last key frame that is decoded at a tick or before.
  private mutating func keyIndex(atOrBefore tick: Int) throws(CodecError) -> Int? {
    let sample = try self.sample(atOrBefore: tick)
    guard keys != nil else { return sample }
    // The numbers of samples ascend.
    var range = 0..<keyCount
    while !range.isEmpty {
      let middle = range.lowerBound + range.count / 2
      if try self.sample(ofKey: middle) <= sample {
        range = middle + 1..<range.upperBound
      } else {
        range = range.lowerBound..<middle
      }
    }
    return range.lowerBound > 0 ? range.lowerBound - 1 : nil
  }

  private mutating func keyFrame(_ index: Int) throws(CodecError) -> MovieKeyFrame {
    guard index < keyCount else { throw .malformed("a video without frames", offset: nil) }
    let sample = try sample(ofKey: index)
    return MovieKeyFrame(tick: try tick(of: sample), data: try data(of: sample))
  }

  // MARK: Times

  /// §8.6.1.2: the sample that is decoded at a tick.
  private mutating func sample(atOrBefore tick: Int) throws(CodecError) -> Int {
    var (sample, time) = (0, 0)
    for run in 0..<durations.count {
      let (count, delta) = (try entry(durations, run, 0, 4), try entry(durations, run, 4, 4))
      let end = Self.sum(time, Self.product(count, delta))
      if end > tick {
        return min(sizes.count - 1, sample + (delta > 0 ? max(0, tick - time) / delta : 0))
      }
      time = end
      sample += count
      if sample >= sizes.count { break }
    }
    return sizes.count - 1
  }

  /// When a sample is shown: §8.6.1.2 and §8.6.1.3.
  private mutating func tick(of sample: Int) throws(CodecError) -> Int {
    var (first, time) = (0, 0)
    for run in 0..<durations.count {
      let (count, delta) = (try entry(durations, run, 0, 4), try entry(durations, run, 4, 4))
      if sample < first + count {
        time = Self.sum(time, Self.product(sample - first, delta))
        break
      }
      time = Self.sum(time, Self.product(count, delta))
      first += count
    }
    time = min(time, Self.lastTick)
    guard let offsets else { return time }
    first = 0
    for run in 0..<offsets.count {
      let count = try entry(offsets, run, 0, 4)
      if sample < first + count {
        return time + Int(Int32(truncatingIfNeeded: try entry(offsets, run, 4, 4)))
      }
      first += count
    }
    return time
  }

  // MARK: Places

  /// §8.7.4: the chunk of a sample, and the sizes of the samples before it in that chunk.
  private mutating func data(of sample: Int) throws(CodecError) -> ByteRange {
    var firstSample = 0
    for run in 0..<runs.count {
      let firstChunk = try entry(runs, run, 0, 4)
      let perChunk = try entry(runs, run, 4, 4)
      let nextChunk = run + 1 < runs.count ? try entry(runs, run + 1, 0, 4) : chunks.count + 1
      guard firstChunk >= 1, nextChunk > firstChunk, perChunk >= 1 else {
        throw .malformed("chunks of samples that do not ascend", offset: runs.start)
      }
      let end = Self.sum(firstSample, Self.product(nextChunk - firstChunk, perChunk))
      if sample >= end {
        firstSample = end
        continue
      }
      let chunk = firstChunk - 1 + (sample - firstSample) / perChunk
      let before = (sample - firstSample) % perChunk
      guard chunk < chunks.count else { break }
      var offset = try entry(chunks, chunk, 0, chunks.entryBytes)
      if sizes.equalSize > 0 {
        offset = Self.sum(offset, Self.product(before, sizes.equalSize))
      } else {
        for i in sample - before..<sample { offset = Self.sum(offset, try size(of: i)) }
      }
      return try Self.checked(offset, try size(of: sample), fileSize: reader.size)
    }
    throw .malformed("a frame that is in no chunk", offset: runs.start)
  }

  private mutating func size(of sample: Int) throws(CodecError) -> Int {
    if sizes.equalSize > 0 { return sizes.equalSize }
    guard sizes.bits == 4 else { return try entry(sizes.table, sample, 0, sizes.bits / 8) }
    let pair = try entry(sizes.table, sample / 2, 0, 1)
    return sample % 2 == 0 ? pair >> 4 : pair & 15
  }

  /// §8.7.3.3: sizes in entries of 4, 8 or 16 bits. The first of two entries in a byte has the higher bits.
  ///
  /// - Returns: `nil` for a track without samples.
  private static func compactSizes(_ box: Box, _ boxes: inout BoxReader) throws(CodecError) -> SizeTable? {
    var fields = try boxes.fields(of: box, atMost: 12)
    _ = try fields.take(7)
    let bits = try fields.number(1)
    let count = try fields.number(4)
    guard [4, 8, 16].contains(bits) else {
      throw .malformed("sample sizes of \(bits) bits", offset: box.content.lowerBound)
    }
    if count == 0 { return nil }
    let start = box.content.lowerBound + 12
    guard Int64((count * bits + 7) / 8) <= box.content.upperBound - start else {
      throw .malformed("a box of type \(box.type) that ends too early", offset: box.content.lowerBound)
    }
    let table =
      bits == 4
      ? Table(start: start, count: (count + 1) / 2, entryBytes: 1)
      : Table(start: start, count: count, entryBytes: bits / 8)
    return SizeTable(table: table, count: count, equalSize: 0, bits: bits)
  }

  /// The range of a frame's data, which must be in the file.
  static func checked(_ offset: Int, _ length: Int, fileSize: Int64) throws(CodecError) -> ByteRange {
    guard length <= ContainerLimits.sampleBytes else {
      throw .limitExceeded("the bytes of a frame", limit: ContainerLimits.sampleBytes, found: length)
    }
    guard length > 0, offset >= 0, Int64(offset) <= fileSize - Int64(length) else {
      throw .truncated(offset: fileSize)
    }
    return ByteRange(offset: Int64(offset), length: length)
  }

  /// `Int.max` for a sum that does not fit.
  static func sum(_ a: Int, _ b: Int) -> Int {
    let (sum, overflow) = a.addingReportingOverflow(b)
    return overflow ? Int.max : sum
  }

  /// The product of two numbers that are not negative, or `Int.max`: two numbers of 32 bits can have one of 64.
  static func product(_ a: Int, _ b: Int) -> Int {
    let (product, overflow) = a.multipliedReportingOverflow(by: b)
    return overflow ? Int.max : product
  }

  /// Later than any real tick, and early enough to add and subtract others.
  private static let lastTick = 1 << 60

  // MARK: Entries

  /// A number in an entry.
  ///
  /// - Parameters:
  ///   - field: the number's first byte in the entry.
  private mutating func entry(_ table: Table, _ index: Int, _ field: Int, _ bytes: Int) throws(CodecError) -> Int {
    entriesRead += 1
    if entriesRead > ContainerLimits.sampleEntries {
      throw .limitExceeded(
        "the entries of a video's tables", limit: ContainerLimits.sampleEntries, found: entriesRead)
    }
    guard index < table.count else { throw .malformed("a sample without an entry", offset: table.start) }
    let position = table.start + Int64(index * table.entryBytes + field)
    let number = try reader.wholeBytes(at: position, count: bytes).bigEndian(at: 0, bytes: bytes)
    return number < 0 ? Int.max : number
  }
}
