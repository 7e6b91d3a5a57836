import MediaMetadata
import PhotoModel

/// Where the samples of a track are (ISO/IEC 14496-12 §8.7), and the kinds of its samples.
struct SampleTable {
  /// The boxes of the sample table.
  let boxes: [PlacedBox]
  /// The entries of the sample description.
  let entries: [PlacedBox]
  let file: BoxFile

  /// The positions of all samples in the file. Samples beyond the end of the file are cut off.
  func samples(_ context: inout LocationRemovalContext) throws(LocationRemovalError) -> [Range<Int64>] {
    guard !file.hasFragments else { throw .unsupported("timed metadata in a fragmented movie") }
    guard let sizes = boxes.first(where: { $0.type == "stsz" }),
      let chunks = boxes.first(where: { $0.type == "stco" || $0.type == "co64" }),
      let runs = boxes.first(where: { $0.type == "stsc" })
    else {
      throw .unsupported("timed metadata whose samples have no table of sizes")
    }
    guard !boxes.contains(where: { $0.type == "stz2" }) else {
      throw .unsupported("timed metadata with compact sizes")
    }
    // §8.7.3: one size of all samples, or 0 and the size of each.
    var fields = ByteFields(try context.block(sizes.content), at: sizes.whole.lowerBound)
    _ = try fields.number(4)
    let commonSize = try fields.number(4)
    var left = try fields.number(4)
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
        let size = Int64(commonSize > 0 ? commonSize : try fields.number(4))
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
