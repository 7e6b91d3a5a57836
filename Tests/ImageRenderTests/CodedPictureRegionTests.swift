import PhotoFixtures
import PhotoModel
import Testing

@testable import ImageCodec
@testable import ImageRender

@Suite("Regions of pictures that workers decode")
struct CodedPictureRegionTests {
  @Test("any region at any scale equals boxes of the whole picture")
  func boxes() throws {
    var random = Sampling.generator("boxes of coded pictures")
    for _ in 0..<Sampling.count(150, thorough: 2000) {
      let picture = PaintedPicture {
        $0.chroma = [.none, .half, .halfWidth, .full].randomElement(using: &random) ?? .half
        $0.bitDepth = Bool.random(using: &random) ? 8 : 10
        $0.columns = Int.random(in: 1...4, using: &random)
        $0.rows = Int.random(in: 1...4, using: &random)
        $0.tile = PixelSize(
          width: 2 * Int.random(in: 4...40, using: &random), height: 2 * Int.random(in: 4...60, using: &random))
        $0.size = PixelSize(
          width: Int.random(in: ($0.columns - 1) * $0.tile.width + 1...$0.columns * $0.tile.width, using: &random),
          height: Int.random(in: ($0.rows - 1) * $0.tile.height + 1...$0.rows * $0.tile.height, using: &random))
      }
      let eighths = [1, 2, 4, 8].randomElement(using: &random) ?? 8
      let crop = rect(in: picture.size, using: &random)
      guard case .heif(let coded) = try picture.header.coded else { throw CodecError.unsupported("no HEIF") }
      let cut = HEIFPicture(color: coded.color, conversion: coded.conversion, crop: crop)
      let step = 8 / eighths
      let reduced = PixelSize(width: (crop.width + step - 1) / step, height: (crop.height + step - 1) / step)
      let region = rect(in: reduced, using: &random)
      let decoder = HEIFRowDecoder(
        cut, eighths: eighths, region: region,
        workers: PaintingDecoder(picture, bandRows: 2 * Int.random(in: 1...20, using: &random)),
        source: MemoryByteSource(picture.file), stop: StopFlag())
      let rows = CollectedRows(decoder.layout)
      _ = try decoder.decode(into: rows)
      #expect(rows.order == Array(region.y..<region.y + region.height))
      #expect(decoder.layout.imageSize == reduced && decoder.layout.firstColumn == region.x)
      let difference = compare(rows, picture, crop, region, step)
      // Chroma of odd crops is up to half a sample away, which is at most 3 steps of these samples.
      let isAligned = crop.x % 2 == 0 && crop.y % 2 == 0 || picture.chroma == .full || picture.chroma == .none
      #expect(difference <= (isAligned ? 1.6 : 9), "\(picture.size) \(crop) \(region) \(step) \(picture.chroma)")
      if difference > 9 { return }
    }
  }

  private func rect(in size: PixelSize, using random: inout SplitMix) -> PixelRect {
    let (width, height) = (
      Int.random(in: 1...size.width, using: &random), Int.random(in: 1...size.height, using: &random)
    )
    return PixelRect(
      x: Int.random(in: 0...size.width - width, using: &random),
      y: Int.random(in: 0...size.height - height, using: &random),
      width: width, height: height)
  }

  /// The largest difference from the mean of each box, in steps of 8 bits.
  private func compare(
    _ rows: CollectedRows, _ picture: PaintedPicture, _ crop: PixelRect, _ region: PixelRect, _ step: Int
  ) -> Double {
    var largest = 0.0
    let channels = rows.layout.channels
    // At full size, chroma is interpolated in the tiles that are decoded.
    func decoded(_ start: Int, _ count: Int, _ tile: Int, _ size: Int) -> Range<Int> {
      start / tile * tile..<min(size, ((start + count - 1) / tile + 1) * tile)
    }
    let tiles =
      step > 1
      ? nil
      : (
        columns: decoded(crop.x + region.x, region.width, picture.tile.width, picture.size.width),
        rows: decoded(crop.y + region.y, region.height, picture.tile.height, picture.size.height)
      )
    for (y, bytes) in rows.rows {
      for x in region.x..<region.x + region.width {
        var (sum, count) = ([0.0, 0.0, 0.0], 0.0)
        for py in y * step..<min((y + 1) * step, crop.height) {
          for px in x * step..<min((x + 1) * step, crop.width) {
            let (r, g, b) = picture.rgb(crop.x + px, crop.y + py, decoded: tiles)
            sum = [sum[0] + r, sum[1] + g, sum[2] + b]
            count += 1
          }
        }
        for c in 0..<channels {
          let place = (x - region.x) * channels + c
          let value =
            rows.layout.bitsPerChannel == 8
            ? Double(bytes[place]) : Double(Int(bytes[2 * place]) | Int(bytes[2 * place + 1]) << 8) / 257
          largest = max(largest, abs(value - sum[c] / count * 255))
        }
      }
    }
    return largest
  }

  @Test("only the tiles that a crop shows are decoded")
  func shownTiles() throws {
    let picture = PaintedPicture { ($0.columns, $0.rows, $0.size) = (4, 4, PixelSize(width: 192, height: 128)) }
    let decoder = PaintingDecoder(picture)
    // Pixels 48..<96 and 32..<64 are the tile 5; at their own size no kernel reaches further.
    _ = try decoder.rendered(
      picture.file, request(48, 32, crop: UnitRect(x: 0.25, y: 0.25, width: 0.25, height: 0.25)))
    #expect(decoder.requests == [[5]])
    _ = try decoder.rendered(
      picture.file, request(96, 32, crop: UnitRect(x: 0.25, y: 0.25, width: 0.5, height: 0.25)))
    #expect(decoder.requests.last == [5, 6])
    _ = try decoder.rendered(picture.file, request(20, 20))
    #expect(decoder.requests.last == Array(0..<16))
  }

  @Test("a decode ends with the last row that is wanted")
  func earlyEnd() throws {
    let picture = PaintedPicture { ($0.columns, $0.rows, $0.size) = (1, 4, PixelSize(width: 48, height: 128)) }
    let (decoder, all) = (PaintingDecoder(picture, bandRows: 8), PaintingDecoder(picture, bandRows: 8))
    guard case .heif(let coded) = try picture.header.coded else { throw CodecError.unsupported("no HEIF") }
    for (workers, limit) in [(decoder, 10), (all, Int.max)] {
      let rows = HEIFRowDecoder(
        coded, eighths: 8, region: PixelRect(coded.crop.size), workers: workers,
        source: MemoryByteSource(picture.file), stop: StopFlag())
      _ = try rows.decode(into: CollectedRows(rows.layout, limit: limit))
    }
    #expect(decoder.bands == 2 && all.bands == 16)
  }
}
