import Foundation

/// Small pictures that real decoders read.
package enum CodedSamples {
  // MARK: HEIC

  /// The size of a tile of ``heic(_:)``.
  package static let tile = (width: 40, height: 24)

  /// A HEIC of two tiles side by side, 75 x 22, coded without loss: 4:2:0, 8 bits, full range, BT.601.
  package static func heic(_ properties: [[UInt8]] = [], damaged: Bool = false) -> [UInt8] {
    let configuration = CodedHEIFFile.hvcC(sets: parameterSets)
    let color = CodedHEIFFile.nclx(1, 13, 6, isFullRange: true)
    return CodedHEIFFile(
      CodedHEIFFile.grid(
        columns: 2, rows: 1, tile: tile, size: (75, 22), configuration: configuration, properties: [color] + properties
      ) { index in
        var data = tiles[index]
        if damaged { data.replaceSubrange(2..<data.count, with: repeatElement(0xA5, count: data.count - 2)) }
        return Boxes.number(data.count, 4) + data
      }
    ).bytes
  }

  /// The pixels of ``heic(_:)`` by ITU-T H.273 §8.3.
  package static var heicPixels: Pixels {
    var pixels = Pixels(width: 75, height: 22, channels: 3)
    func sample(_ x: Int, _ y: Int, _ plane: Int, _ width: Int) -> Double {
      let (tile, column) = (x / width, x % width)
      return Double((40 + y / 8 * 24 + column / 32 * 40 + (tile * 3 + plane) * 11) & 255)
    }
    for y in 0..<22 {
      for x in 0..<75 {
        let luma = sample(x, y, 0, 40)
        let blue = chroma(x, y, (75, 22)) { sample($0, $1, 1, 20) } - 128
        let red = chroma(x, y, (75, 22)) { sample($0, $1, 2, 20) } - 128
        let rgb = [luma + 1.402 * red, luma - 0.344136 * blue - 0.714136 * red, luma + 1.772 * blue]
        for c in 0..<3 { pixels.bytes[(y * 75 + x) * 3 + c] = UInt8(min(255, max(0, rgb[c].rounded()))) }
      }
    }
    return pixels
  }

  /// The chroma of a pixel. Samples are in the middle of two by two pixels; between them it is linear, and those at the
  /// edges of the picture repeat.
  static func chroma(_ x: Int, _ y: Int, _ size: (width: Int, height: Int), sample: (Int, Int) -> Double) -> Double {
    func places(_ pixel: Int, _ count: Int) -> [(sample: Int, weight: Double)] {
      let next = pixel / 2 + (pixel % 2 == 0 ? -1 : 1)
      return [(pixel / 2, 0.75), (min(max(next, 0), (count - 1) / 2), 0.25)]
    }
    var sum = 0.0
    for column in places(x, size.width) {
      for row in places(y, size.height) {
        sum += sample(column.sample, row.sample) * column.weight * row.weight
      }
    }
    return sum
  }

  // MARK: AVIF

  /// An AVIF with the size and the pixels of ``heic(_:damaged:)``, and with alpha: the left tile's luma in both tiles.
  package static func avif(_ properties: [[UInt8]] = [], hasAlpha: Bool = false, damaged: Bool = false) -> [UInt8] {
    let color = CodedHEIFFile.nclx(1, 13, 6, isFullRange: true)
    func grid(_ configuration: [UInt8], _ properties: [[UInt8]], _ tiles: [[UInt8]]) -> [CodedHEIFFile.Item] {
      CodedHEIFFile.grid(
        columns: 2, rows: 1, tile: tile, size: (75, 22), type: "av01", configuration: configuration,
        properties: properties
      ) { index in
        // Without its frame.
        damaged ? Array(tiles[index].prefix(11)) : tiles[index]
      }
    }
    var items = grid(CodedHEIFFile.av1C(), [color] + properties, av1Tiles)
    if hasAlpha {
      let name = CodedHEIFFile.auxiliary("urn:mpeg:mpegB:cicp:systems:auxiliary:alpha")
      for var item in grid(CodedHEIFFile.av1C(chroma: 0), [name], [av1Alpha, av1Alpha]) {
        item.id += 1000
        item.references = item.id == 1001 ? [("dimg", [1100, 1101]), ("auxl", [1])] : []
        items.append(item)
      }
    }
    return CodedHEIFFile(items) { $0.brands = ["avif", "mif1"] }.bytes
  }

  /// The alpha of ``avif(_:hasAlpha:damaged:)``, row by row.
  package static var avifAlpha: [UInt8] {
    var alpha: [UInt8] = []
    for y in 0..<22 {
      for x in 0..<75 {
        let (step, column) = (y / 8 * 24, x % 40 / 32 * 40)
        alpha.append(UInt8((40 + step + column + 66) & 255))
      }
    }
    return alpha
  }

  /// The OBUs of one frame for each tile, by an encoder's lossless mode; the alpha is monochrome.
  package static let av1Tiles = [
    bytes("CgkYFSe/ZAQ0GBAyGUQAAOWYSX+qNUCRBpr4YdIHhPODvstqf2k="),
    bytes("CgkYFSe/ZAQ0GBAyGUQAAOWYfyG6UpGGKZDuHdIHhPODy23uf2k="),
  ]
  private static let av1Alpha = bytes("CgkYFSe/bAQ0GIAyEkQAAP5rjfIX82W/hOYSc+a4hw==")

  /// VPS, SPS and PPS, and one NAL unit for each tile, by an encoder's lossless mode.
  package static let parameterSets = [
    bytes("QAEMAf//BAgAAAMAn6gAAAMAAP+6AkA="),
    bytes("QgEBBAgAAAMAn6gAAAMAAP+gUhlluqvK4BAAAD6AAAA+gIA="),
    bytes("RAHBcYkS"),
  ]
  package static let tiles = [
    bytes(
      """
      KAGvBbgkmABnf//rONYO0hAtsaxrGsa0wTBMEwTBMEwTe8V//8idr//+nrU3dH6U+V5XleV6HIchyHIchyHGNP/2Qc///d/ufsfQ\
      8DwPA8DwfB8HwfB8HwfBc7ZJExilAK7L2BNtttttzTTTTTTOgAAGrK+ruwZmarRiFtdQCTQAAbMLsermM3CypVyEzgAGXfHl4Zhk\
      DnzhsrDrCTS3//0ThR+nO6QHtxEECGAAEB4LTBrq4hNcR7L3IACCak+wHjPou+yl30TgAAAcLLP+MvZxy9vwol/gAVh+QZdBSlNy\
      0bYnGAAAAwBhpB0Ui8lq1atW3r169evXqFAAuW5BugLnjQLu2EjjlgAAVmesQ8kkkkkvnnnnnneIADdeY1qEkkkkmV111110UgAu\
      Qos/CCBYCQtZrVlJeY0IADxVojgpJJJJLEkkkkki6gA6kFfzUDgnyUd9r5rd/tTEAWWJrlZJJJJJUkkkkkkbd/mgoA8lTIppJJJJ\
      JoIIIIIHtxsABfuErpHO4Rs3gTV7fADB5oQBBUw2SKwp0TylIADzHR+o6g2v61xoaFUAJ35iCKeTlXPWZW5amAAAycZK/SnmDE45\
      AKF+rW/fPGdD2VWUWEmyIADzUwhsgAAAAwAfHHHHHG9gAGisiKHXXRbQhL/vMPurwA==
      """),
    bytes(
      """
      KAGvBbgkmABnf//dXeS8wDSenp6eqvr6+vr6+vwrxX//yJ2v//1m6teVkSpUqVMFChQoUKEjz/9kHP//s/X8/e+++/BgwYMGDBgc\
      7ZJExilAK7L2BNtttttzTTTTTTOgAAGrK+ruwZmarRiFtdQCTQAAbMLsermM3CypVyEzgAGXfHl4ZhkDnzhsrDrCTS3//0ThR+nO\
      6QHtxEECGAAEB4LTBrq4hNcR7L3IACCak+wHjPou+yl30TgAAAcLLP+MvZxy9vwol/gAVh+QZdBSlNy0bYnGAAADABhpB0Ui8lq1\
      atW3r169evXqFAAuW5BugLnjQLu2EjjlgAAVmesQ8kkkkkvnnnnnneIADdeY1qEkkkkmV111110UgAuQos/CCBYCQtZrVlJeY0IA\
      DxVojgpJJJJLEkkkkki6gA6kFfzUDgnyUd9r5rd/tTEAWWJrlZJJJJJUkkkkkkbd/mgoA8lTIppJJJJJoIIIIIHtxsABfuErpHO4\
      Rs3gTV7fADB5oQBBUw2SKwp0TylIADzHR+o6g2v61xoaFUAJ35iCKeTlXPWZW5amAAAycZK/SnmDE45AKF+rW/fPGdD2VWUWEmyI\
      ADzUwhsgAAADAAfHHHHHG9gAGisiKHXXRbQhL/vMPurw
      """),
  ]

  private static func bytes(_ text: String) -> [UInt8] {
    Array(Data(base64Encoded: text.filter { !$0.isWhitespace }) ?? Data())
  }

  // MARK: WebP

  /// A lossless WebP of two values in each of red, green and alpha, without transforms (RFC 9649 §3).
  package struct LosslessPicture: Sendable {
    package var width: Int
    package var height: Int
    package var hasAlpha: Bool

    package init(width: Int, height: Int, hasAlpha: Bool = false) {
      self.width = width
      self.height = height
      self.hasAlpha = hasAlpha
    }

    /// Green changes in the middle of a row, red in the middle of a column, alpha at a quarter of a row.
    package var pixels: Pixels {
      var pixels = Pixels(width: width, height: height, channels: 4)
      for y in 0..<height {
        for x in 0..<width {
          pixels.bytes.replaceSubrange(
            (y * width + x) * 4..<(y * width + x) * 4 + 4,
            with: [
              y < height / 2 ? 10 : 250, x < width / 2 ? 30 : 200, 77, hasAlpha && x < width / 4 ? 64 : 255,
            ])
        }
      }
      return pixels
    }

    /// The data of the chunk VP8L.
    package var data: [UInt8] {
      var bits = LittleBits()
      bits.add(0x2F, 8)
      bits.add(width - 1, 14)
      bits.add(height - 1, 14)
      bits.add(hasAlpha ? 1 : 0, 1)
      bits.add(0, 3)
      // No transform, no colour cache, one group of prefix codes.
      bits.add(0, 3)
      // Green, red, blue, alpha, distance: codes of one or two symbols, in ascending order.
      let codes = [[30, 200], [10, 250], [77], hasAlpha ? [64, 255] : [255], [0]]
      for symbols in codes {
        bits.add(1, 1)
        bits.add(symbols.count - 1, 1)
        bits.add(1, 1)
        for symbol in symbols { bits.add(symbol, 8) }
      }
      for y in 0..<height {
        for x in 0..<width {
          bits.add(x < width / 2 ? 0 : 1, 1)
          bits.add(y < height / 2 ? 0 : 1, 1)
          if hasAlpha { bits.add(x < width / 4 ? 0 : 1, 1) }
        }
      }
      return bits.bytes
    }

    /// A file of this picture only.
    package var file: [UInt8] { WebPChunks.file([("VP8L", data)]) }
  }
}

/// Builds WebP files of chunks (RFC 9649 §2.3).
package enum WebPChunks {
  package static func little(_ value: Int, _ bytes: Int) -> [UInt8] { Boxes.number(value, bytes).reversed() }

  package static func chunk(_ type: String, _ data: [UInt8]) -> [UInt8] {
    Boxes.fourCC(type) + little(data.count, 4) + data + (data.count % 2 == 1 ? [0] : [])
  }

  package static func file(_ chunks: [(String, [UInt8])]) -> [UInt8] {
    let content = chunks.flatMap { chunk($0.0, $0.1) }
    return Boxes.fourCC("RIFF") + little(content.count + 4, 4) + Boxes.fourCC("WEBP") + content
  }

  /// The data of the chunk VP8X: 0x20 profile, 0x10 alpha, 0x08 EXIF, 0x02 animation.
  package static func extended(_ flags: UInt8, _ width: Int, _ height: Int) -> [UInt8] {
    [flags, 0, 0, 0] + little(width - 1, 3) + little(height - 1, 3)
  }

  /// The data of the chunk ANMF.
  package static func frame(x: Int, y: Int, width: Int, height: Int, _ chunks: [(String, [UInt8])]) -> [UInt8] {
    little(x / 2, 3) + little(y / 2, 3) + little(width - 1, 3) + little(height - 1, 3) + [10, 0, 0, 0]
      + chunks.flatMap { chunk($0.0, $0.1) }
  }
}

/// Bits of a stream that begins with the least significant bit of each byte.
private struct LittleBits {
  private(set) var bytes: [UInt8] = []
  private var count = 0

  mutating func add(_ value: Int, _ bits: Int) {
    for bit in 0..<bits {
      if count % 8 == 0 { bytes.append(0) }
      if value >> bit & 1 == 1 { bytes[count / 8] |= 1 << (count % 8) }
      count += 1
    }
  }
}
