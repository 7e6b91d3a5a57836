import PhotoModel

extension ImageHeader {
  /// Memory of this picture's decoder, an upper estimate: its rows, tables and 64 KiB of input, plus the whole picture
  /// if the decoder must hold it.
  ///
  /// - Parameters:
  ///   - eighths: the DCT scale of a JPEG.
  ///   - inPlanes: whether ``JPEGPlaneDecoder`` is used.
  package func decoderBytes(eighths: Int, inPlanes: Bool) -> Int {
    switch format {
    case .jpeg: jpegBytes(eighths: eighths, inPlanes: inPlanes)
    case .png: pngBytes
    case .gif, .bmp, .tiff, .heic, .avif, .webp, .jxl, .video, .raw:
      coded.map { $0.decoderBytes(eighths: eighths) } ?? 0
    }
  }

  private func jpegBytes(eighths: Int, inPlanes: Bool) -> Int {
    let sampling =
      jpegComponents?.sampling ?? Array(repeating: JPEGComponents.Sampling(across: 1, down: 1), count: colorChannels)
    let across = max(1, sampling.map(\.across).max() ?? 1)
    let down = max(1, sampling.map(\.down).max() ?? 1)
    // Input, tables, and the reader for counting scans.
    var bytes = 256 * 1024
    if !inPlanes {
      // libjpeg holds one row of MCUs of each component and the neighbouring rows (jdmainct.c), and enlarges chroma
      // (jdsample.c): ten rows for each sampling factor of a component, and as many enlarged rows as the largest
      // factor.
      let width = (storedSize.width * eighths + 7) / 8 + 64
      let rows = sampling.reduce(0.0) { $0 + 10 * Double($1.down) * Double($1.across) / Double(across) }
      bytes += width * (Int(rows.rounded(.up)) + sampling.count * down)
    }
    guard isBuffered else { return bytes }
    // Every coefficient in 16 bits, of whole MCUs (T.81 §A.2.4; jdcoefct.c).
    let mcusAcross = (storedSize.width + 8 * across - 1) / (8 * across)
    let mcusDown = (storedSize.height + 8 * down - 1) / (8 * down)
    let blocks = sampling.reduce(0) { $0 + max(1, $1.across) * max(1, $1.down) } * mcusAcross * mcusDown
    // Plus a pointer for each row of blocks.
    return bytes + blocks * 128 + sampling.count * mcusDown * 4 * 16
  }

  private var pngBytes: Int {
    let rowBytes = storedSize.width * (colorChannels + (hasAlpha ? 1 : 0)) * bitsPerChannel / 8
    // libpng's rows, before and after filters and palettes; ISA-L's state and zlib's.
    return 384 * 1024 + rowBytes * 6 + (isBuffered ? rowBytes * storedSize.height : 0)
  }
}

extension CodedPicture {
  /// Memory of the worker, if there is one, and of samples that this process keeps until rows can be delivered.
  fileprivate func decoderBytes(eighths: Int) -> Int {
    switch self {
    case .heif(let picture):
      let (color, tile) = (picture.color, picture.color.tileSize)
      let step = 8 / eighths
      // Sums of 16 bits in up to three planes, for a row of tiles and the rest of the row above.
      let pending = color.columns == 1 ? min(64, tile.height) : tile.height
      let rows = (pending + step - 1) / step + 3
      let columns = (color.size.width + step - 1) / step + 8
      let alpha = picture.alpha == nil ? 0 : columns * ((color.size.height + step - 1) / step) * 2
      // Alpha is decoded before the colours.
      let workers = max(color.workersBytes, picture.alpha?.workersBytes ?? 0)
      return workers + columns * (rows * 6 + 32) + alpha
    case .gif(let picture): return picture.decoderBytes
    case .bmp(let picture): return picture.decoderBytes
    case .tiff(let page): return page.decoderBytes
    case .webP(let picture):
      // The worker holds its whole output, and lossless planes at full size.
      let output = picture.canvas.pixelCount * 4 * eighths * eighths / 64
      let planes = picture.frame.width * picture.frame.height * (picture.isLossless || picture.hasAlpha ? 6 : 0)
      return Self.workerBytes + output + planes + picture.frame.width * 256 + picture.picture.length
        + (picture.alpha?.length ?? 0) + picture.canvas.width * 8
    case .jxl(let picture):
      let size = picture.header.size
      // Sums of four bytes, or samples.
      let sampleBytes = eighths < 8 ? 4 : picture.header.isDeep ? 2 : 1
      let output = ((size.width * eighths + 7) / 8) * ((size.height * eighths + 7) / 8) * picture.channels * sampleBytes
      let profile = picture.needsProfile ? Self.profileWorkerBytes + EmbeddedProfile.maximumCodedBytes : 0
      return Self.workerBytes + max(profile, picture.workingBytes + output) + picture.codedBytes
    case .raw(let sensor): return Self.workerBytes + sensor.workingBytes(eighths: eighths) + sensor.fileBytes
    }
  }

  /// Memory of a worker that does not depend on the picture's size.
  fileprivate static let workerBytes = 5 << 20
  /// A profile is read before the rows, by a worker that ends before theirs begins. The module DecoderWorkers allows it
  /// 16 MiB (`DecodeLimits.jxlProfileBytes`); the rest is for its buffers.
  private static let profileWorkerBytes = 17 << 20
}

extension ChromaSampling {
  /// Twice the samples of a pixel on average: the decoder has a picture and a reference.
  fileprivate var doubledSamples: Int { self == .none ? 2 : 2 + 4 / (horizontal * vertical) }
}

extension CodedTiles {
  /// An upper estimate of what `DecodeLimits` of the module DecoderWorkers allows the workers that decode tiles at the
  /// same time.
  fileprivate var workersBytes: Int {
    let samples = configuration.chroma.doubledSamples * (configuration.bitDepth > 8 ? 2 : 1)
    let picture =
      switch configuration {
      case .hevc, .av1: tileSize.pixelCount * (samples + 2)
      // libavcodec has larger tables, and borders around the picture.
      case .video: (4 << 20) + (tileSize.width + 64) * (tileSize.height + 64) * (samples + 4)
      }
    return min(tiles.count, Self.workersAtOnce) * (CodedPicture.workerBytes + picture + 3 * largestTile)
  }

  /// The bytes of the longest tile's data; alternatives count.
  private var largestTile: Int { (tiles + alternatives).map { $0.reduce(0) { $0 + $1.length } }.max() ?? 0 }
}
