import DecoderWorkers
import PhotoModel
import Testing

/// libwebp's program, on pictures that were made for these tests.
@Suite("Decoder workers: WebP", .enabled(if: TestDecoders.isBuilt(.webp)))
struct WebPCodecTests {
  @Test("a lossless WebP with alpha is decoded exactly")
  func lossless() throws {
    let size = PixelSize(width: 20, height: 15)
    let file = CodedPictures.losslessWebP
    let request = DecodeRequest.webP(
      picture: [ByteRange(offset: 20, length: Int(file[16]))], alpha: [], isLossless: true, codedSize: size,
      size: size, samples: .rgba)
    let collected = try TestDecoders.pool([.webp]).rows(request, of: .bytes(file))
    let isEqual = collected.tiles == [[CodedPictures.webPPixels]]
    #expect(isEqual)
  }

  @Test("a lossy WebP with alpha is decoded, also scaled", arguments: [1, 2])
  func lossy(scale: Int) throws {
    let file = CodedPictures.lossyWebP
    let size = PixelSize(width: 20 / scale, height: 15 / scale)
    let request = DecodeRequest.webP(
      picture: CodedPictures.chunk("VP8 ", in: file), alpha: CodedPictures.chunk("ALPH", in: file), isLossless: false,
      codedSize: PixelSize(width: 20, height: 15), size: size, samples: .rgba)
    let pixels = try TestDecoders.pool([.webp]).rows(request, of: .bytes(file)).tiles[0][0]
    #expect(pixels.count == size.width * size.height * 4)
    // Alpha is lossless, and 255 - 5 * x.
    for y in 0..<size.height {
      for x in 0..<size.width {
        let expected = 255 - 5 * (scale == 1 ? x : 2 * x)
        #expect(abs(Int(pixels[(y * size.width + x) * 4 + 3]) - expected) <= (scale == 1 ? 0 : 12))
      }
    }
  }
}
