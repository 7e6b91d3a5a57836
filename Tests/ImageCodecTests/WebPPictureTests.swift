import ImageCodec
import PhotoFixtures
import PhotoModel
import Testing

@Suite("How WebP pictures are coded")
struct WebPPictureTests {
  private func header(_ file: [UInt8]) throws(CodecError) -> (ImageHeader, WebPPicture) {
    let header = try ImageHeader.read(from: MemoryByteSource(file), limits: CodecLimits(sourcePixels: 100_000))
    guard case .webP(let picture) = header.coded else { throw .unsupported("no WebP") }
    return (header, picture)
  }

  private let picture = CodedSamples.LosslessPicture(width: 60, height: 40, hasAlpha: true)

  @Test("the chunks of simple and extended files are found")
  func chunks() throws {
    let (simple, coded) = try header(picture.file)
    #expect(simple.format == .webp && simple.storedSize == PixelSize(width: 60, height: 40) && simple.hasAlpha)
    #expect(part(coded.picture, of: picture.file) == picture.data && coded.isLossless && coded.fillsCanvas)
    let lossy = WebPFile(.lossy).bytes
    let plain = try header(lossy).1
    #expect(!plain.isLossless && !plain.hasAlpha && plain.canvas == PixelSize(width: 300, height: 200))
    let frame = WebPChunks.file([("VP8 ", Array(lossy.dropFirst(20)))])
    let data = try #require(part(try header(frame).1.picture, of: frame))
    let extended = WebPChunks.file([
      ("VP8X", WebPChunks.extended(0x30, 300, 200)), ("ICCP", [7, 8, 9]), ("ALPH", [1, 2, 3]), ("VP8 ", data),
    ])
    let (whole, read) = try header(extended)
    #expect(whole.hasAlpha && part(read.alpha, of: extended) == [1, 2, 3] && part(read.picture, of: extended) == data)
    guard case .parts(let ranges) = read.embeddedProfile else {
      Issue.record("no profile")
      return
    }
    #expect(ranges.map { part($0, of: extended) } == [[7, 8, 9]])
  }

  @Test("the first frame of an animation has its place on the canvas")
  func animation() throws {
    let file = WebPChunks.file([
      ("VP8X", WebPChunks.extended(0x02, 100, 80)), ("ANIM", [0, 0, 0, 0, 0, 0]),
      ("ANMF", WebPChunks.frame(x: 20, y: 10, width: 60, height: 40, [("VP8L", picture.data)])),
      ("ANMF", WebPChunks.frame(x: 0, y: 0, width: 60, height: 40, [("VP8L", picture.data)])),
    ])
    let (header, coded) = try header(file)
    #expect(coded.canvas == PixelSize(width: 100, height: 80))
    #expect(coded.frame == PixelRect(x: 20, y: 10, width: 60, height: 40))
    #expect(header.hasAlpha && !header.scalesDecodes, "what the frame leaves free is transparent")
  }

  static let refused: [(String, [(String, [UInt8])])] = [
    ("no picture", [("VP8X", WebPChunks.extended(0, 60, 40))]),
    (
      "another size than the canvas",
      [
        ("VP8X", WebPChunks.extended(0, 61, 40)), ("VP8L", CodedSamples.LosslessPicture(width: 60, height: 40).data),
      ]
    ),
    (
      "a frame over the edge",
      [
        ("VP8X", WebPChunks.extended(2, 60, 40)),
        (
          "ANMF",
          WebPChunks.frame(
            x: 2, y: 0, width: 60, height: 40, [("VP8L", CodedSamples.LosslessPicture(width: 60, height: 40).data)])
        ),
      ]
    ),
    ("too many pixels", [("VP8L", CodedSamples.LosslessPicture(width: 400, height: 300).data)]),
    ("a canvas with too many pixels", [("VP8X", WebPChunks.extended(2, 16_000, 16_000))]),
    ("no signature", [("VP8L", [1, 2, 3, 4, 5, 6, 7, 8, 9, 10])]),
  ]

  @Test("a picture that can't be decoded as declared is refused", arguments: refused.indices)
  func refusals(_ index: Int) {
    #expect(throws: CodecError.self, "\(Self.refused[index].0)") { try header(WebPChunks.file(Self.refused[index].1)) }
  }

  @Test("damaged files give an error or ranges in the file")
  func mutations() {
    var random = Sampling.generator("damaged WebP pictures")
    let file = WebPChunks.file([
      ("VP8X", WebPChunks.extended(0x22, 100, 80)), ("ICCP", [7, 8, 9]), ("ANIM", [0, 0, 0, 0, 0, 0]),
      ("ANMF", WebPChunks.frame(x: 20, y: 10, width: 60, height: 40, [("VP8L", picture.data)])),
    ])
    for _ in 0..<3000 {
      var bytes = file
      bytes[Int.random(in: 0..<bytes.count, using: &random)] = UInt8.random(in: 0...255, using: &random)
      bytes[Int.random(in: 0..<90, using: &random)] = UInt8.random(in: 0...255, using: &random)
      guard let (header, coded) = try? header(bytes) else { continue }
      #expect(coded.picture.offset >= 0 && coded.picture.offset + Int64(coded.picture.length) <= Int64(bytes.count))
      #expect(coded.frame.x + coded.frame.width <= coded.canvas.width && header.storedSize == coded.canvas)
    }
  }
}
