import ImageCodec
import PhotoFixtures
import PhotoModel
import Testing

// Which colours a HEIF picture has.

extension HEIFPictureTests {
  @Test("code points and profile of the item count, then those of its tiles, then the codec's")
  func colors() throws {
    let points = File.nclx(9, 13, 9, isFullRange: true)
    let bt2020 = YCbCrConversion(matrix: .weights(red: 0.2627, blue: 0.0593), isFullRange: true)
    let calibration = ColorCalibration(transfer: .sRGB, primaries: .bt2020)
    let item = try picture([single([points])])
    #expect(item.conversion == bt2020 && item.calibration == calibration && item.embeddedProfile == nil)
    var tiles = grid()
    for i in tiles.indices.dropFirst() { tiles[i].properties += [points, File.profile([9, 9, 9])] }
    let file = File(tiles).bytes
    let tiled = try picture(file)
    #expect(tiled.conversion == bt2020)
    guard case .parts(let ranges) = tiled.embeddedProfile else {
      Issue.record("no profile")
      return
    }
    #expect(bytes(ranges, of: file) == [9, 9, 9])
    // Neither: the limited range and the weights of BT.601.
    let plain = try picture([single()])
    #expect(
      plain.conversion == YCbCrConversion(matrix: .weights(red: 0.299, blue: 0.114), isFullRange: false)
        && plain.calibration == nil)
  }

  @Test("a matrix that is not known is refused by its number, unless the picture is gray", arguments: 11...17)
  func unknownMatrices(_ matrix: Int) throws {
    // Matrix 12 follows from the primaries.
    let points = File.nclx(matrix == 12 ? 2 : 9, 16, matrix, isFullRange: true)
    let error = CodecError.unsupported("a picture whose colours have the matrix \(matrix) of ITU-T H.273")
    #expect(throws: error) { _ = try picture([single([points])]) }
    let gray = try picture([single([points], configuration: File.hvcC(chroma: 0))])
    #expect(gray.conversion == YCbCrConversion(matrix: .weights(red: 0.299, blue: 0.114), isFullRange: true))
  }

  @Test("YCgCo is known, and unspecified and reserved matrices are BT.601's")
  func knownMatrices() throws {
    let bt601 = YCbCrConversion.Matrix.weights(red: 0.299, blue: 0.114)
    for number in [2, 3, 5, 6, 8, 18, 255] {
      for isFullRange in [false, true] {
        let read = try picture([single([File.nclx(1, 13, number, isFullRange: isFullRange)])])
        let expected = YCbCrConversion(matrix: number == 8 ? .yCgCo : bt601, isFullRange: isFullRange)
        #expect(read.conversion == expected, "\(number)")
      }
    }
    for (primaries, number) in [(1, 1), (9, 9)] {
      let derived = CodePoints(primaries: primaries, matrix: 12, isFullRange: true).conversion
      #expect(derived != nil && derived == CodePoints(matrix: number, isFullRange: true).conversion)
    }
  }

  @Test("the sequence parameter set describes the colours", arguments: [false, true], [0, 2])
  func parameterSets(_ isFullRange: Bool, _ subLayers: Int) throws {
    let unit = Self.parameterSet(isFullRange: isFullRange, subLayers: subLayers)
    let read = try picture([single(configuration: File.hvcC(sets: [unit]))])
    #expect(read.conversion == YCbCrConversion(matrix: .weights(red: 0.2126, blue: 0.0722), isFullRange: isFullRange))
    #expect(read.calibration == ColorCalibration(transfer: .sRGB, primaries: .displayP3))
    // Cut off anywhere, it describes nothing or the same range.
    for length in 2..<unit.count {
      let cut = try picture([single(configuration: File.hvcC(sets: [Array(unit.prefix(length))]))])
      #expect(cut.conversion.isFullRange == false || isFullRange)
    }
  }

  /// ISO/IEC 23008-2 §7.3.2.2 with every optional part.
  private static func parameterSet(isFullRange: Bool, subLayers: Int) -> [UInt8] {
    var bits = BitWriter()
    bits.number(0x4201, 16)
    bits.number(0, 4)
    bits.number(subLayers, 3)
    bits.number(1, 1)
    bits.number(0x0160, 16)
    bits.number(0, 80)
    if subLayers > 0 {
      for layer in 0..<subLayers { bits.number(layer == 0 ? 3 : 1, 2) }
      bits.number(0, 2 * (8 - subLayers))
      for layer in 0..<subLayers { bits.number(0, layer == 0 ? 96 : 8) }
    }
    // Identifier, chroma, size, window, depth.
    bits.golomb(0, 1, 64, 48)
    bits.number(1, 1)
    bits.golomb(0, 2, 0, 4, 0, 0, 4)
    bits.number(1, 1)
    for _ in 0...subLayers { bits.golomb(4, 2, 0) }
    bits.golomb(0, 3, 0, 3, 1, 1)
    // Scaling lists: the first of each size has values, the others are predicted.
    bits.number(3, 2)
    for size in 0..<4 {
      for matrix in stride(from: 0, to: 6, by: size == 3 ? 3 : 1) {
        bits.number(matrix == 0 ? 1 : 0, 1)
        if matrix > 0 {
          bits.golomb(1)
        } else {
          if size > 1 { bits.golomb(8) }
          for _ in 0..<min(64, 16 << (2 * size)) { bits.golomb(3) }
        }
      }
    }
    bits.number(0, 2)
    bits.number(1, 1)
    bits.number(0x77, 8)
    bits.golomb(0, 2)
    bits.number(0, 1)
    // One set of references, one long-term reference, then the usability information.
    bits.golomb(1, 1, 0, 0)
    bits.number(1, 1)
    bits.number(1, 1)
    bits.golomb(1)
    bits.number(0, 9)
    bits.number(0, 2)
    bits.number(1, 1)
    bits.number(1, 1)
    bits.number(255, 8)
    bits.number(0x0001_0001, 32)
    bits.number(2, 2)
    bits.number(1, 1)
    bits.number(5, 3)
    bits.number(isFullRange ? 1 : 0, 1)
    bits.number(1, 1)
    for point in [12, 13, 1] { bits.number(point, 8) }
    return bits.unit
  }

  /// Sequence headers of encoders, and one made by hand with operating points, timing and tools (AV1 §5.5).
  private static let sequenceHeaders: [(bits: [(Int, Int)], colors: CodePoints?)] = [
    // Reduced, of a still picture.
    (
      still + [(0, 2), (1, 1), (9, 8), (16, 8), (9, 8), (1, 1)],
      CodePoints(primaries: 9, transfer: 16, matrix: 9, isFullRange: true)
    ),
    (still + [(0, 2), (0, 1), (0, 1)], CodePoints(isFullRange: false)),
    (
      still + [(1, 1), (1, 1), (1, 1), (12, 8), (13, 8), (0, 8), (1, 1)],
      CodePoints(primaries: 12, transfer: 13, matrix: 0, isFullRange: true)
    ),
    // Profile 1 has no flag for monochrome, sRGB none for the range.
    (
      [(1, 3)] + still.dropFirst() + [(0, 1), (1, 1), (1, 8), (13, 8), (0, 8)],
      CodePoints(primaries: 1, transfer: 13, matrix: 0, isFullRange: true)
    ),
    (
      sequence + [(0, 2), (1, 1), (1, 8), (1, 8), (1, 8), (1, 1)],
      CodePoints(primaries: 1, transfer: 1, matrix: 1, isFullRange: true)
    ),
    (Array(still.prefix(4)), nil),
  ]
  /// Value and number of bits of each field up to the depth: profile, still, reduced, level, sizes, tools.
  private static let still = [(0, 3), (1, 1), (1, 1), (5, 5), (5, 4), (4, 4), (59, 6), (39, 5), (0, 3), (0, 3)]
  private static let sequence =
    [
      (0, 3), (0, 1), (0, 1), (1, 1), (1, 32), (25, 32), (1, 1), (0, 2), (1, 1), (3, 2), (1, 1), (9, 5), (1, 32),
      (3, 5), (4, 5), (1, 1), (1, 5),
    ]
    + [(0, 12), (9, 5), (1, 1), (1, 1), (7, 10), (7, 10), (0, 1), (1, 1), (3, 4)] + [(1, 12), (4, 5), (0, 1), (0, 1)]
    + [
      (5, 4), (4, 4), (59, 6), (39, 5), (1, 1), (2, 4), (1, 3), (0, 3), (0, 4), (1, 1), (3, 2), (0, 1), (1, 1), (0, 1),
      (1, 1), (6, 3), (0, 3),
    ]

  @Test("without code points, those of AV1's sequence header count", arguments: sequenceHeaders.indices)
  func sequenceHeader(_ index: Int) throws {
    let (fields, colors) = Self.sequenceHeaders[index]
    var writer = BitWriter()
    for (value, bits) in fields { writer.number(value, bits) }
    let header = writer.bytes
    for hasSize in [true, false] {
      var item = single(configuration: File.av1C())
      item.type = "av01"
      // A temporal delimiter comes first.
      item.content = [0x12, 0] + (hasSize ? [0x0A, UInt8(header.count)] : [0x08]) + header
      let expected = colors ?? CodePoints(isFullRange: false)
      #expect(try picture([item]).conversion == expected.conversion, "\(hasSize)")
      #expect(try picture([item]).calibration == expected.calibration, "\(hasSize)")
    }
  }
}
