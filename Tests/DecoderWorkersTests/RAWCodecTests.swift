import DecoderWorkers
import PhotoFixtures
import PhotoModel
import Testing

/// LibRaw's program, on mosaics whose colours are known.
@Suite("Decoder workers: sensor data", .enabled(if: TestDecoders.isBuilt(.raw)))
struct RAWCodecTests {
  private static let card = MosaicFile.patches(width: 192, height: 128)
  private static let size = PixelSize(width: 192, height: 128)

  private static func request(
    _ file: [UInt8], _ size: PixelSize = size, step: Int = 1, region: PixelRect? = nil, workingBytes: Int = 32 << 20
  ) -> DecodeRequest {
    let reduced = PixelSize(width: (size.width + step - 1) / step, height: (size.height + step - 1) / step)
    return .raw(
      file: ByteRange(offset: 0, length: file.count), codedSize: size, region: region ?? PixelRect(reduced), step: step,
      workingBytes: workingBytes)
  }

  private func pixels(_ file: [UInt8], _ request: DecodeRequest) throws -> Pixels {
    let rows = try TestDecoders.pool([.raw]).rows(request, of: .bytes(file))
    return Pixels(width: request.size.width, height: request.size.height, channels: 3, bytes: rows.tiles[0][0])
  }

  /// The largest difference in the middle of the patches, where the interpolation sees one colour.
  private func differenceInPatches(_ pixels: Pixels, from card: Pixels, step: Int) -> Int {
    var largest = 0
    for y in [card.height / 4, card.height * 3 / 4] {
      for patch in 0..<6 {
        let x = card.width * (2 * patch + 1) / 12
        for channel in 0..<3 {
          let found = pixels.bytes[(y / step * pixels.width + x / step) * 3 + channel]
          largest = max(largest, abs(Int(found) - Int(card.bytes[(y * card.width + x) * 3 + channel])))
        }
      }
    }
    return largest
  }

  @Test(
    "a mosaic of every order of filters is developed into its colours, at every size",
    arguments: [[0, 1, 1, 2], [2, 1, 1, 0], [1, 0, 2, 1], [1, 2, 0, 1]], [1, 2, 4, 8])
  func colors(_ pattern: [Int], _ step: Int) throws {
    let file = MosaicFile(Self.card) { $0.pattern = pattern }.bytes
    let pixels = try pixels(file, Self.request(file, step: step))
    #expect(differenceInPatches(pixels, from: Self.card, step: step) <= 1)
    let mean = Self.card.averaged(width: pixels.width, height: pixels.height)
    #expect(try #require(pixels.meanDifference(from: mean)) < 4)
  }

  @Test("a file with all colours of each pixel is developed exactly, and averaged", arguments: [1, 2, 4, 8])
  func linear(_ step: Int) throws {
    let file = MosaicFile(Self.card) { $0.isLinear = true }.bytes
    let pixels = try pixels(file, Self.request(file, step: step))
    let mean = Self.card.averaged(width: pixels.width, height: pixels.height)
    #expect(try #require(pixels.meanDifference(from: mean)) < 0.5)
  }

  @Test("a region has the pixels of the whole picture", arguments: [1, 2, 4, 8])
  func region(_ step: Int) throws {
    let file = MosaicFile(Self.card).bytes
    let whole = try pixels(file, Self.request(file, step: step))
    let region = PixelRect(x: 3, y: 2, width: whole.width - 5, height: whole.height - 4)
    let part = try pixels(file, Self.request(file, step: step, region: region))
    let isEqual =
      part.bytes == whole.cropped(x: region.x, y: region.y, width: region.width, height: region.height).bytes
    #expect(isEqual)
  }

  @Test("only the default crop of a DNG is sent", arguments: [1, 2])
  func crop(_ step: Int) throws {
    let file = MosaicFile(Self.card) { $0.border = 8 }.bytes
    let pixels = try pixels(file, Self.request(file, step: step))
    #expect(differenceInPatches(pixels, from: Self.card, step: step) <= 1)
    // The border is green, and the first patch white.
    let corner = Array(pixels.bytes[(2 * pixels.width + 2) * 3..<(2 * pixels.width + 2) * 3 + 3])
    #expect(corner.allSatisfy { $0 > 250 })
  }

  @Test("of a picture without a crop the middle is sent, and its border is repeated where it is smaller")
  func sizes() throws {
    let file = MosaicFile(Self.card).bytes
    let whole = try pixels(file, Self.request(file))
    let smaller = try pixels(file, Self.request(file, PixelSize(width: 184, height: 122)))
    let isMiddle = smaller.bytes == whole.cropped(x: 4, y: 3, width: 184, height: 122).bytes
    #expect(isMiddle)
    let larger = try pixels(file, Self.request(file, PixelSize(width: 194, height: 130)))
    let isMiddleOfLarger = larger.cropped(x: 1, y: 1, width: 192, height: 128).bytes == whole.bytes
    #expect(isMiddleOfLarger)
    #expect(Array(larger.bytes.prefix(6)) == Array(whole.bytes.prefix(3)) + Array(whole.bytes.prefix(3)))
  }

  /// Means of squares, which have fewer pixels at the right and at the bottom.
  private func means(of card: Pixels, _ step: Int) -> Pixels {
    var means = Pixels(width: (card.width + step - 1) / step, height: (card.height + step - 1) / step, channels: 3)
    for y in 0..<means.height {
      for x in 0..<means.width {
        let rows = y * step..<min(y * step + step, card.height)
        let columns = x * step..<min(x * step + step, card.width)
        for channel in 0..<3 {
          let sum = rows.reduce(0) { sum, row in
            columns.reduce(sum) { $0 + Int(card.bytes[(row * card.width + $1) * 3 + channel]) }
          }
          means.bytes[(y * means.width + x) * 3 + channel] = UInt8(sum / (rows.count * columns.count))
        }
      }
    }
    return means
  }

  @Test("sides that the steps do not divide are rounded up", arguments: [2, 4, 8])
  func oddSides(_ step: Int) throws {
    let card = MosaicFile.patches(width: 187, height: 125)
    let file = MosaicFile(card).bytes
    let pixels = try pixels(file, Self.request(file, PixelSize(width: 187, height: 125), step: step))
    #expect(pixels.width == (187 + step - 1) / step && pixels.height == (125 + step - 1) / step)
    #expect(try #require(pixels.meanDifference(from: means(of: card, step))) < 4)
  }

  @Test("the picture is not turned, whatever its orientation says", arguments: [3, 6, 8])
  func orientation(_ orientation: Int) throws {
    let file = MosaicFile(Self.card) { $0.details.orientation = orientation }.bytes
    #expect(try differenceInPatches(pixels(file, Self.request(file)), from: Self.card, step: 1) <= 1)
  }

  /// Each has the size that it states, unless another one is given.
  static let refused: [(name: String, file: [UInt8], size: PixelSize, failure: DecoderFailure)] = {
    let sound = MosaicFile(card).bytes
    func lying(_ width: Int, _ height: Int) -> [UInt8] { MosaicFile(card) { $0.error = (width, height) }.bytes }
    return [
      ("no RAW file", Array(repeating: 7, count: 9000), size, .unsupported),
      ("a picture of another kind", JXLSamples.rgb, size, .unsupported),
      ("a compression that is not known", MosaicFile(card) { $0.compression = 65_000 }.bytes, size, .unsupported),
      ("a camera's file without sensor data", RAWSamples.file("nef", .init(), previews: []), size, .mismatch),
      ("a file that ends in its samples", Array(sound.prefix(sound.count / 2)), size, .malformed),
      ("a file whose last rows are missing", Array(sound.prefix(48_000)), size, .malformed),
      ("rows that are not there", lying(0, 1000), PixelSize(width: 192, height: 1128), .malformed),
      ("columns that are not there", lying(1000, 0), PixelSize(width: 1192, height: 128), .malformed),
      ("rows and columns that are not there", lying(1800, 1800), PixelSize(width: 1992, height: 1928), .malformed),
      ("a size that the file can't hold", lying(8000, 8000), PixelSize(width: 8192, height: 8128), .malformed),
      ("another size than the container's", sound, PixelSize(width: 150, height: 128), .mismatch),
      ("a larger size in the file", lying(30_000, 30_000), size, .mismatch),
    ]
  }()

  @Test("what can't be developed is refused by name", arguments: refused.indices)
  func refusals(_ i: Int) {
    let (name, file, size, failure) = Self.refused[i]
    let error = TestDecoders.pool([.raw]).error(Self.request(file, size), of: .bytes(file))
    #expect(error == .failed(.raw, failure), "\(name)")
  }

  @Test("regions outside of the picture, and other steps, are refused")
  func regions() {
    let file = MosaicFile(Self.card).bytes
    let pool = TestDecoders.pool([.raw])
    for request in [
      Self.request(file, step: 3), Self.request(file, step: 16),
      Self.request(file, region: PixelRect(x: 1, y: 0, width: 192, height: 128)),
      Self.request(file, step: 2, region: PixelRect(x: 0, y: 60, width: 10, height: 5)),
    ] {
      #expect(pool.error(request, of: .bytes(file)) == .failed(.raw, .unsupported))
    }
  }

  @Test("a picture that needs more memory than its limit is ended")
  func memory() {
    let file = MosaicFile(MosaicFile.patches(width: 1500, height: 1000)).bytes
    let size = PixelSize(width: 1500, height: 1000)
    let pool = TestDecoders.pool([.raw])
    #expect(pool.error(Self.request(file, size), of: .bytes(file)) == nil)
    let cheap = Self.request(file, size, workingBytes: 1 << 20)
    #expect(pool.error(cheap, of: .bytes(file)) == .failed(.raw, .memory))
  }

  @Test("a damaged file fails alone or gives other rows, never anything else")
  func damaged() {
    let card = MosaicFile.patches(width: 48, height: 32)
    let file = MosaicFile(card) { $0.details.hasLocation = true }.bytes
    let size = PixelSize(width: 48, height: 32)
    let pool = TestDecoders.pool([.raw])
    // All bytes of the directories, and some samples.
    for index in Array(0..<900) + Array(stride(from: 900, to: file.count, by: 211)) where index < file.count {
      var damaged = file
      damaged[index] ^= 0xFF
      switch pool.error(Self.request(damaged, size), of: .bytes(damaged)) {
      case nil, .failed(.raw, .malformed), .failed(.raw, .unsupported), .failed(.raw, .mismatch),
        .failed(.raw, .memory),
        .failed(.raw, .crashed), .failed(.raw, .time):
        break
      case let error: Issue.record("byte \(index): \(String(describing: error))")
      }
    }
    #expect(pool.error(Self.request(file, size), of: .bytes(file)) == nil)
  }

  @Test("a development is cancelled by killing its worker, and the next one is sound")
  func cancellation() throws {
    let file = MosaicFile(Self.card).bytes
    let pool = TestDecoders.pool([.raw], slotBytes: 4096)
    let stop = StopFlag()
    #expect(throws: DecoderError.cancelled) {
      try pool.decode(Self.request(file), of: .bytes(file), stop: stop) { _, _ in
        stop.raise()
        return .more
      }
    }
    #expect(pool.workerCount == 0 && pool.failures.count(.raw, .crashed) == 0)
    #expect(pool.sandbox(of: .raw).isSuperset(of: SandboxRequirement.filter.parts))
    #expect(try differenceInPatches(pixels(file, Self.request(file)), from: Self.card, step: 1) <= 1)
  }
}
