import MediaMetadata
import PhotoModel

/// Where the samples of a track are (ISO/IEC 14496-12 §8.7), and the kinds of its samples.
struct TrackSampleTable {
  /// The boxes of the sample table.
  let boxes: [PlacedBox]
  /// The entries of the sample description.
  let entries: [PlacedBox]
  let file: BoxFile

  /// The positions of all samples in the file. Samples beyond the end of the file are cut off.
  func samples(_ context: inout LocationRemovalContext) throws(LocationRemovalError) -> [Range<Int64>] {
    guard !file.hasFragments else { throw .unsupported("timed metadata in a fragmented movie") }
    guard let sizes = boxes.first(where: { $0.type == "stsz" || $0.type == "stz2" }),
      let chunks = boxes.first(where: { $0.type == "stco" || $0.type == "co64" }),
      let runs = boxes.first(where: { $0.type == "stsc" })
    else {
      throw .unsupported("timed metadata whose samples have no table of sizes")
    }
    // Two tables could state different sizes.
    guard !boxes.contains(where: { $0.type == "stz2" }) || !boxes.contains(where: { $0.type == "stsz" }) else {
      throw .unsupported("timed metadata with two tables of sizes")
    }
    var lengths = try SampleLengths(sizes, &context)
    var left = lengths.count
    // §8.7.4: the number of samples in each chunk, as runs.
    var runFields = ByteFields(try context.block(runs.content), at: runs.whole.lowerBound)
    _ = try runFields.number(4)
    var runsLeft = try runFields.number(4)
    var perChunk = 0
    var nextRunStart = try nextRun(&runFields, &runsLeft)
    var nextPerChunk = try perChunkOfRun(&runFields, nextRunStart)
    // §8.7.5.
    var offsets = ByteFields(try context.block(chunks.content), at: chunks.whole.lowerBound)
    _ = try offsets.number(4)
    var samples: [Range<Int64>] = []
    let chunkCount = try offsets.number(4)
    var chunk = 0
    while left > 0, chunk < chunkCount {
      chunk += 1
      let offset = try offsets.number(chunks.type == "co64" ? 8 : 4)
      while let start = nextRunStart, start <= chunk {
        perChunk = nextPerChunk
        nextRunStart = try nextRun(&runFields, &runsLeft)
        nextPerChunk = try perChunkOfRun(&runFields, nextRunStart)
      }
      var position = file.range.lowerBound + Int64(min(offset, Int(Int64.max / 4)))
      for _ in 0..<min(perChunk, left) {
        try context.countStructure()
        left -= 1
        let size = Int64(try lengths.next())
        if size > 0, position < context.fileSize {
          let sample = position..<min(position + size, context.fileSize)
          try file.checkIsData(sample)
          samples.append(sample)
        }
        position = min(position + size, Int64.max / 4)
      }
    }
    guard left == 0 else { throw .malformed("samples without a position", offset: sizes.whole.lowerBound) }
    return samples
  }

  private func nextRun(_ fields: inout ByteFields, _ left: inout Int) throws(LocationRemovalError) -> Int? {
    guard left > 0 else { return nil }
    left -= 1
    return try fields.number(4)
  }

  private func perChunkOfRun(_ fields: inout ByteFields, _ start: Int?) throws(LocationRemovalError) -> Int {
    guard start != nil else { return 0 }
    let count = try fields.number(4)
    _ = try fields.number(4)
    return count
  }
}

/// The sizes of samples, one after the other (ISO/IEC 14496-12 §8.7.3): one for all of them, or one each, of 32 bits
/// in `stsz` and of 4, 8 or 16 bits in `stz2`.
private struct SampleLengths {
  let count: Int
  private var fields: ByteFields
  private let common: Int
  private let bits: Int
  /// The second of two sizes in a byte.
  private var waiting: Int?

  init(_ box: PlacedBox, _ context: inout LocationRemovalContext) throws(LocationRemovalError) {
    fields = ByteFields(try context.block(box.content), at: box.whole.lowerBound)
    _ = try fields.number(4)
    let first = try fields.number(4)
    count = try fields.number(4)
    if box.type == "stsz" {
      (common, bits) = (first, 32)
    } else {
      // The upper three bytes are reserved.
      (common, bits) = (0, first & 255)
      guard [4, 8, 16].contains(bits) else {
        throw .malformed("sample sizes of \(bits) bits", offset: box.whole.lowerBound)
      }
    }
  }

  mutating func next() throws(LocationRemovalError) -> Int {
    if common > 0 { return common }
    if bits > 4 { return try fields.number(bits / 8) }
    if let size = waiting {
      waiting = nil
      return size
    }
    let pair = try fields.number(1)
    waiting = pair & 15
    return pair >> 4
  }
}
