import ImageCodec
import ImageRender
import MediaMetadata
import PhotoModel
import Synchronization

/// Parses the header of a file of any kind, and finds the previews of a RAW file. All ranges must lie within the file,
/// and parsing may take only a few reads.
enum ContainerTarget {
  static func check(_ bytes: [UInt8]) {
    checkPreviews(bytes)
    let source = ReadCountingSource(bytes)
    let header = try? MediaHeader.read(from: source, limits: CodecLimits().headerOnly)
    precondition(source.reads <= 512, "\(source.reads) reads")
    guard let header else { return }
    precondition(header.storedSize.width > 0 && header.storedSize.height > 0)
    precondition(header.durationSeconds.isFinite && header.durationSeconds >= 0)
    let video = try? MotionVideo.range(in: source, header)
    precondition(source.reads <= 1536, "\(source.reads) reads with those for a video")
    for range in header.blocks.map(\.range) + [header.thumbnail, video].compactMap(\.self) {
      precondition(range.offset >= 0 && range.length >= 0 && range.offset + Int64(range.length) <= source.size)
    }
    let again = try? MediaHeader.read(from: MemoryByteSource(bytes), limits: CodecLimits().headerOnly)
    precondition(again == header, "another header the second time")
    coded(bytes)
  }

  /// Checks the description of a picture that a worker decodes: its data must be in the file, and its tiles must cover
  /// it.
  private static func coded(_ bytes: [UInt8]) {
    for time in [nil, Double(bytes.count % 100)] {
      let source = ReadCountingSource(bytes)
      let header = try? ImageHeader.read(from: source, limits: CodecLimits(), posterTime: time)
      precondition(source.reads <= 16_384, "\(source.reads) reads")
      check(header, source, bytes)
    }
  }

  private static func check(_ header: ImageHeader?, _ source: ReadCountingSource, _ bytes: [UInt8]) {
    if let header, let raw = header.raw { check(raw, of: header, bytes) }
    guard let header, let coded = header.coded else { return }
    var ranges: [ByteRange] = []
    switch coded {
    case .heif(let picture):
      for tiles in [picture.color, picture.alpha].compactMap(\.self) + picture.thumbnails.map(\.color) {
        precondition(tiles.tiles.count == tiles.columns * tiles.rows)
        precondition(tiles.columns * tiles.tileSize.width >= tiles.size.width)
        precondition(tiles.rows * tiles.tileSize.height >= tiles.size.height)
        ranges += (tiles.tiles + tiles.alternatives).joined()
      }
      let crop = picture.crop
      precondition(crop.x >= 0 && crop.x + crop.width <= picture.color.size.width)
      precondition(crop.y >= 0 && crop.y + crop.height <= picture.color.size.height)
    case .gif, .bmp, .tiff: break
    case .raw(let sensor):
      ranges = [sensor.file]
      try? sensor.checkSamples(in: source)
      precondition(source.reads <= 16_384, "\(source.reads) reads")
    case .jxl(let picture): ranges = picture.codestream
    case .webP(let picture):
      ranges = [picture.picture] + [picture.alpha].compactMap(\.self)
      precondition(picture.frame.x + picture.frame.width <= picture.canvas.width)
    }
    for range in ranges {
      precondition(range.offset >= 0 && range.length >= 0 && range.offset + Int64(range.length) <= source.size)
    }
    // Every header that can be read must have a plan.
    let request = ImageRequest(targetSize: .size(PixelSize(width: 100, height: 100)))
    let plan = RenderPlanner().plan(header, request)
    precondition(plan.peakBytes > 0 && plan.outputSize.width > 0)
  }

  /// Checks the previews of a RAW file: they must lie in the file, and must have plans for any size that the file
  /// states.
  private static func check(_ raw: RAWPicture, of header: ImageHeader, _ bytes: [UInt8]) {
    for preview in [raw] + raw.smaller.compactMap(\.raw) {
      let range = preview.range
      precondition(range.offset >= 0 && range.length >= 4 && range.offset + Int64(range.length) <= bytes.count)
    }
    let content = raw.content(of: header.storedSize)
    precondition(content.x >= 0 && content.width > 0 && content.x + content.width <= header.storedSize.width)
    precondition(content.y >= 0 && content.height > 0 && content.y + content.height <= header.storedSize.height)
    let small = ImageRequest(targetSize: .size(PixelSize(width: 100, height: 100)))
    for request in [small, ImageRequest(), PictureTarget.request(for: bytes)] {
      let plan = RenderPlanner().plan(header, request)
      let (output, stored) = (plan.storedOutput, plan.header.storedSize)
      precondition(plan.peakBytes > 0 && plan.header.raw?.smaller == [])
      precondition((1...stored.width).contains(output.width) && (1...stored.height).contains(output.height))
    }
    if let developed = header.developed {
      let plan = RenderPlanner().plan(developed, small)
      precondition(plan.peakBytes > 0 && plan.header.storedSize == raw.sensor?.size)
    }
    PictureTarget.check(bytes)
  }

  private static func checkPreviews(_ bytes: [UInt8]) {
    let source = ReadCountingSource(bytes)
    guard let previews = try? RAWPreviews.find(in: source, limits: PictureTarget.limits) else { return }
    var width = 0
    for preview in previews {
      let range = preview.range
      precondition(range.offset >= 0 && range.length >= 4 && range.offset + Int64(range.length) <= source.size)
      precondition(preview.header.format == .jpeg && preview.header.storedSize.width >= width, "not sorted by size")
      width = preview.header.storedSize.width
    }
  }
}

/// Counts reads.
private final class ReadCountingSource: ByteSource {
  private let source: MemoryByteSource
  private let count = Mutex(0)

  init(_ bytes: [UInt8]) { source = MemoryByteSource(bytes) }

  var size: Int64 { source.size }
  var canReturnNotYet: Bool { false }
  var reads: Int { count.withLock { $0 } }

  func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) -> ByteRead {
    count.withLock { $0 += 1 }
    return source.read(into: buffer, at: offset)
  }
}
