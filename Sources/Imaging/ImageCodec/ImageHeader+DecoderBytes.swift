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
