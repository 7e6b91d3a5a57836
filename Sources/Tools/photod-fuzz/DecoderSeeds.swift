import PhotoFixtures

/// Initial inputs for the codecs of the decoder programs, in the form that Sources/Tools/DecoderFuzz/fuzz.c reads.
enum DecoderSeeds {
  /// The description of a request.
  private struct Request {
    var size: (width: Int, height: Int)
    /// `nil`: the size of the rows.
    var codedSize: (width: Int, height: Int)?
    /// DECODER_RGB, DECODER_RGBA or DECODER_PLANAR, and chroma_format_idc.
    var format = 3
    var chroma = 1
    var bitDepth = 8
    var hasAlpha = false
    var isAlternatives = false
    var parameters: [UInt8] = []

    func seed(_ tiles: [[UInt8]], alpha: [UInt8] = []) -> [UInt8] {
      let coded = codedSize ?? size
      let sides = [size.width, size.height, coded.width, coded.height].flatMap(Self.little)
      let flags = [format, chroma, bitDepth, hasAlpha ? 1 : 0, 4, isAlternatives ? 1 : 0, tiles.count, 0]
      return sides + flags.map { UInt8($0) } + Self.little(parameters.count) + Self.little(alpha.count) + parameters
        + alpha + tiles.flatMap { Self.little($0.count) + $0 }
    }

    static func little(_ number: Int) -> [UInt8] { [UInt8(number & 255), UInt8(number >> 8)] }
  }

  /// By the name of the program's codec.
  static var all: [(codec: String, seeds: [[UInt8]])] {
    [("hevc", hevc), ("avcodec", avcodec), ("av1", av1), ("webp", webp), ("jxl", jxl), ("raw", raw)]
  }

  private static func afterLength(_ data: [UInt8]) -> [UInt8] { Boxes.number(data.count, 4) + data }

  private static let tiles = CodedSamples.tiles.map(afterLength)

  private static var hevc: [[UInt8]] {
    var request = Request(size: CodedSamples.tile)
    request.parameters = CodedSamples.parameterSets.flatMap(afterLength)
    var alternatives = request
    alternatives.isAlternatives = true
    return [request.seed(tiles), request.seed([tiles[0]]), alternatives.seed(tiles)]
  }

  private static var avcodec: [[UInt8]] {
    var hevc = Request(size: CodedSamples.tile)
    hevc.parameters = Array("hvc1".utf8) + CodedHEIFFile.hvcC(sets: CodedSamples.parameterSets).dropFirst(8)
    var avc = Request(size: CodedMovieSamples.size)
    let parameters = CodedMovieSamples.avcParameters
    avc.parameters =
      Array("avc1".utf8) + CodedMovieFile.avcC(parameters.sequence, parameters.picture).dropFirst(8)
    avc.isAlternatives = true
    // Other codecs begin with nothing but their names.
    let others = ["mp4v", "s263", "apch", "vp09"].map { name in
      var request = Request(size: (64, 48))
      request.parameters = Array(name.utf8)
      return request.seed([[0, 0, 1, 0xB0, 1, 0, 0, 1, 0xB6]])
    }
    return [hevc.seed(tiles), avc.seed(CodedMovieSamples.avcFrames)] + others
  }

  private static var av1: [[UInt8]] {
    let whole = Request(size: CodedSamples.tile)
    var split = whole
    split.parameters = Array(CodedSamples.av1Tiles[0].prefix(11))
    return [whole.seed(CodedSamples.av1Tiles), split.seed(CodedSamples.av1Tiles.map { Array($0.dropFirst(11)) })]
  }

  private static var webp: [[UInt8]] {
    [false, true].flatMap { hasAlpha in
      let picture = CodedSamples.LosslessPicture(width: 60, height: 40, hasAlpha: hasAlpha)
      return [(60, 40), (30, 20)].map { size in
        var request = Request(size: size, codedSize: (60, 40), format: hasAlpha ? 2 : 1)
        request.hasAlpha = hasAlpha
        return request.seed([picture.data])
      }
    }
  }

  private static var raw: [[UInt8]] {
    let card = MosaicFile.patches(width: 24, height: 16)
    let files = [
      MosaicFile(card), MosaicFile(card) { $0.pattern = [2, 1, 1, 0] }, MosaicFile(card) { $0.isLinear = true },
      MosaicFile(card) { $0.border = 4 },
    ]
    let seeds = files.flatMap { file in
      [1, 2, 4].map { step in
        var request = Request(size: ((24 + step - 1) / step, (16 + step - 1) / step), codedSize: (24, 16), format: 1)
        request.parameters = [step, 0, 0].flatMap { Boxes.number($0, 4).reversed() }
        return request.seed([file.bytes])
      }
    }
    // The other formats, as far as their directories.
    let others = RAWSamples.names.map { name in
      let size = RAWSamples.developedSize(name)
      var request = Request(size: (10, 10), codedSize: (size.width / 8, size.height / 8), format: 1)
      request.parameters = [8, 0, 0].flatMap { Boxes.number($0, 4).reversed() }
      return request.seed([RAWSamples.file(name, .init(), previews: [])])
    }
    return seeds + others
  }

  private static var jxl: [[UInt8]] {
    func seed(_ codestream: [UInt8], _ size: (Int, Int), step: Int = 1, _ change: (inout Request) -> Void = { _ in })
      -> [UInt8]
    {
      var request = Request(size: ((size.0 + step - 1) / step, (size.1 + step - 1) / step), codedSize: size, chroma: 3)
      request.parameters = [0, 0, step, 0, 0].flatMap { Boxes.number($0, 4).reversed() }
      change(&request)
      return request.seed([codestream])
    }
    return [
      seed(JXLSamples.rgb, (300, 280)), seed(JXLSamples.rgb, (300, 280), step: 4),
      seed(JXLSamples.rgba, (60, 40)) { $0.hasAlpha = true },
      seed(JXLSamples.gray, (40, 30)) { ($0.chroma, $0.bitDepth) = (0, 16) },
      seed(JXLSamples.animation, (60, 40)),
      seed(JXLSamples.profile, (60, 40)) {
        ($0.size, $0.chroma) = ((64, 8), 0)
        $0.parameters.replaceSubrange(0..<1, with: [1])
      },
    ]
  }
}
