import MediaMetadata
import PhotoModel

/// The rows of strips or tiles as samples: of all samples of a pixel, or of one if each has tiles of its own.
final class TIFFPlane {
  private let page: TIFFPage
  /// The first tile of this plane in the page's tables.
  private let firstTile: Int
  private let stream: any TIFFStream
  private var table: TIFFTileTable
  private let stored: UnsafeMutableRawBufferPointer
  /// Samples of less than 8 bits, one in each byte; empty for others.
  private let unpacked: UnsafeMutableRawBufferPointer
  private var tile: Int?
  /// The next stored row of the tile.
  private var nextRow = 0

  /// - Parameter sample: 0 if the tiles have all samples.
  init(_ page: TIFFPage, sample: Int, _ stream: any TIFFStream, _ table: TIFFTileTable) {
    self.page = page
    self.stream = stream
    self.table = table
    firstTile = sample * page.columns * page.rows
    func allocate(_ count: Int) -> UnsafeMutableRawPointer {
      let start = UnsafeMutableRawPointer.allocate(byteCount: count, alignment: 16)
      start.initializeMemory(as: UInt8.self, repeating: 0, count: count)
      return start
    }
    let unpackedBytes = page.bits < 8 ? page.tileSize.width * page.streamSamples : 0
    let (row, bytes) = (allocate(page.storedRowBytes), allocate(unpackedBytes))
    stored = UnsafeMutableRawBufferPointer(start: row, count: page.storedRowBytes)
    unpacked = UnsafeMutableRawBufferPointer(start: bytes, count: unpackedBytes)
    samples = UnsafeRawPointer(page.bits < 8 ? bytes : row)
  }

  deinit {
    stored.deallocate()
    unpacked.deallocate()
  }

  var readTime: Duration { stream.readTime + table.readTime }
  var isTruncated: Bool { stream.isTruncated }
  var warnings: CodecWarnings? { stream.warnings }

  /// The samples of the row: `streamSamples` for each pixel of the tile, of 8 bits, or 16 in native byte order. Those
  /// of subsampled chroma are as stored (TIFF 6.0 §21). Valid until the next row is decoded.
  let samples: UnsafeRawPointer

  /// Decodes the row `row` of a tile. The caller requests the rows of a tile in order.
  ///
  /// - Parameters:
  ///   - tile: counts from the top left, row by row.
  ///   - row: counts stored rows.
  func seek(tile: Int, row: Int) throws(CodecError) {
    if tile != self.tile {
      let range = try table.range(of: firstTile + tile, storedBytes: storedBytes(of: tile))
      nextRow = stream.begin(range, skippedBytes: row * stored.count) / stored.count
      self.tile = tile
    }
    while nextRow <= row {
      try stream.fill(stored)
      if nextRow == row { finishRow() }
      nextRow += 1
    }
  }

  /// The length of a tile's rows within the picture, without compression.
  private func storedBytes(of tile: Int) -> Int {
    let rows = min(page.tileSize.height, page.size.height - tile / page.columns * page.tileSize.height)
    return (rows + page.rowsPerStoredRow - 1) / page.rowsPerStoredRow * stored.count
  }

  private func finishRow() {
    let step = page.streamSamples
    switch page.bits {
    case 16:
      let samples = stored.bindMemory(to: UInt16.self)
      if page.isBigEndian { for i in samples.indices { samples[i] = UInt16(bigEndian: samples[i]) } }
      if page.hasPredictor { addDifferences(samples, step: step) }
    case 8:
      if page.hasPredictor { addDifferences(stored.bindMemory(to: UInt8.self), step: step) }
    default: unpack()
    }
  }

  /// The samples of a row that does not end at a byte are followed by unused bits.
  private func unpack() {
    let bits = page.bits
    let last = UInt8(1 << bits - 1)
    // A palette index is not changed; other samples are scaled to 8 bits.
    let scale: UInt8 = if case .palette = page.colors { 1 } else { 255 / last }
    let perByte = 8 / bits
    for i in 0..<unpacked.count {
      let shift = 8 - bits - i % perByte * bits
      unpacked[i] = (stored[i / perByte] >> UInt8(shift) & last) &* scale
    }
  }
}

/// Turns differences from the sample `step` places before into samples (TIFF 6.0 §14).
private func addDifferences<Sample: FixedWidthInteger>(_ row: UnsafeMutableBufferPointer<Sample>, step: Int) {
  // The sums stay in registers for the usual numbers of samples.
  switch step {
  case 1:
    var sum: Sample = 0
    for i in row.indices {
      sum &+= row[i]
      row[i] = sum
    }
  case 3:
    var (red, green, blue): (Sample, Sample, Sample) = (0, 0, 0)
    for i in stride(from: 0, to: row.count / 3 * 3, by: 3) {
      red &+= row[i]
      green &+= row[i + 1]
      blue &+= row[i + 2]
      row[i] = red
      row[i + 1] = green
      row[i + 2] = blue
    }
  default:
    guard row.count > step else { return }
    for i in step..<row.count { row[i] &+= row[i - step] }
  }
}
