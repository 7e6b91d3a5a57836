import ImageCodec
import PhotoFixtures
import PhotoModel
import Testing

/// A decode of a region gives the same pixels as a decode of the whole picture, so a frame has the same bytes whatever
/// else its decode was for.
@Suite("Cropped decodes")
struct CroppedDecodeTests {
  struct Kind: CustomTestStringConvertible {
    let testDescription: String
    let file: [UInt8]
  }

  private static let size = PixelSize(width: 209, height: 143)

  static let kinds: [Kind] = {
    let scene = Scene(seed: 11, grain: 20).pixels(width: size.width, height: size.height)
    func jpeg(_ name: String, _ change: (inout JPEGFile) -> Void) -> Kind {
      Kind(testDescription: name, file: JPEGFile(change).encoded(scene))
    }
    return [
      jpeg("4:2:0") { _ in }, jpeg("4:2:2") { $0.sampling = (2, 1) }, jpeg("4:4:0") { $0.sampling = (1, 2) },
      jpeg("4:1:1") { $0.sampling = (4, 1) }, jpeg("4:4:4") { $0.sampling = (1, 1) },
      jpeg("progressive 4:2:0") { $0.isProgressive = true }, jpeg("CMYK") { $0.color = .cmyk },
      jpeg("YCCK") { $0.color = .ycck }, jpeg("4:2:0 with restart markers") { $0.restartRows = 1 },
    ]
  }()

  private final class Canvas: RowConsumer {
    private(set) var rows: [Int: [UInt8]] = [:]
    private var row: [UInt8]
    private let space: UnsafeMutableRawPointer
    private let rowBytes: Int

    init(_ layout: RowLayout) {
      rowBytes = layout.rowBytes
      row = []
      space = .allocate(byteCount: rowBytes + 64, alignment: 16)
    }

    deinit { space.deallocate() }

    func space(forRow y: Int) -> UnsafeMutableRawPointer { space }

    func rowArrived(_ y: Int) -> Bool {
      rows[y] = Array(UnsafeRawBufferPointer(start: space, count: rowBytes))
      return true
    }
  }

  private static func decode(_ file: [UInt8], _ eighths: Int, _ region: PixelRect?) throws -> (RowLayout, Canvas) {
    let decoder = try JPEGDecoder(
      source: MemoryByteSource(file), size: size, options: JPEGDecoder.Options(eighths: eighths, region: region),
      limits: CodecLimits(), stop: StopFlag())
    let canvas = Canvas(decoder.layout)
    _ = try decoder.decode(into: canvas)
    return (decoder.layout, canvas)
  }

  @Test("a cropped decode gives the same pixels, wherever the region begins", arguments: kinds, [1, 2, 4, 8])
  func same(_ kind: Kind, _ eighths: Int) throws {
    let (layout, whole) = try Self.decode(kind.file, eighths, nil)
    let (width, height) = (layout.imageSize.width, layout.imageSize.height)
    var regions: [PixelRect] = []
    for x in stride(from: 0, to: width - 2, by: max(1, width / 40)) {
      let y = (x * 7) % (height - 1)
      regions.append(PixelRect(x: x, y: y, width: max(1, (width - x) / 2), height: max(1, (height - y) / 2)))
    }
    for region in regions {
      let (cropped, part) = try Self.decode(kind.file, eighths, region)
      #expect(cropped.firstColumn <= region.x && cropped.firstColumn + cropped.width >= region.x + region.width)
      var differing = 0
      for y in region.y..<region.y + region.height {
        let (expected, found) = (try #require(whole.rows[y]), try #require(part.rows[y]))
        let n = layout.channels
        for i in 0..<region.width * n
        where expected[region.x * n + i] != found[(region.x - cropped.firstColumn) * n + i] { differing += 1 }
      }
      #expect(differing == 0, "\(region)")
    }
  }
}
