import PhotoModel

/// Turns samples into the pixels of decoded rows.
struct TIFFColors {
  private let page: TIFFPage
  /// Red, green and blue of each index.
  private let palette: [UInt8]
  private let yCbCr: TIFFYCbCrTables?
  private let lab: TIFFLabTables?

  /// - Parameter colorMap: the page's colours, as stored.
  init(_ page: TIFFPage, colorMap: [UInt8]) {
    self.page = page
    var (yCbCr, lab): (TIFFYCbCrTables?, TIFFLabTables?)
    var palette: [UInt8] = []
    switch page.colors {
    case .palette: palette = Self.palette(colorMap, isBigEndian: page.isBigEndian)
    case .yCbCr(let chroma): yCbCr = TIFFYCbCrTables(chroma)
    case .lab(let isOffset): lab = TIFFLabTables(isOffset: isOffset)
    case .gray, .rgb, .inks: break
    }
    (self.palette, self.yCbCr, self.lab) = (palette, yCbCr, lab)
  }

  /// Three tables of 16 bits become RGB. Some writers use only 8 of the bits.
  private static func palette(_ map: [UInt8], isBigEndian: Bool) -> [UInt8] {
    let values = (0..<map.count / 2).map { i in
      isBigEndian ? map[...].bigEndian(at: i * 2, bytes: 2) : map[...].littleEndian(at: i * 2, bytes: 2)
    }
    let shift = values.contains { $0 > 255 } ? 8 : 0
    let colors = values.count / 3
    // 256 colours, so that no index is beyond them.
    return (0..<256).flatMap { i in
      (0..<3).map { i < colors ? UInt8(truncatingIfNeeded: values[$0 * colors + i] >> shift) : 0 }
    }
  }

  /// Converts a part of a row.
  ///
  /// - Parameters:
  ///   - planes: their current rows.
  ///   - y: the row of pixels in a stored row.
  ///   - columns: of the tile.
  ///   - space: for as many pixels.
  func convert(_ planes: [TIFFPlane], y: Int, columns: Range<Int>, into space: UnsafeMutableRawPointer) {
    switch page.colors {
    case .gray(let isInverted):
      if page.bits == 16 {
        copy(planes, columns, UInt16.self, isInverted: isInverted, into: space)
      } else {
        copy(planes, columns, UInt8.self, isInverted: isInverted, into: space)
      }
    case .rgb:
      if page.bits == 16 {
        copy(planes, columns, UInt16.self, isInverted: false, into: space)
      } else {
        copy(planes, columns, UInt8.self, isInverted: false, into: space)
      }
    case .palette: convertIndexes(planes, columns, into: space)
    case .inks: convertInks(planes, columns, into: space)
    case .yCbCr:
      guard let yCbCr else { return }
      if page.isPlanar {
        yCbCr.convert(planes.map(\.samples), step: 1, columns, into: space)
      } else if yCbCr.isSubsampled {
        yCbCr.convertUnits(planes[0].samples, y: y, columns, into: space)
      } else {
        let start = planes[0].samples
        yCbCr.convert([start, start + 1, start + 2], step: page.samples, columns, into: space)
      }
    case .lab:
      let channels = (0..<3).map { channel($0, planes) }
      if page.bits == 16 {
        lab?.convert16(channels.map(\.start), step: channels[0].step, columns, into: space)
      } else {
        lab?.convert8(channels.map(\.start), step: channels[0].step, columns, into: space)
      }
    }
  }

  /// The first sample of a channel of the output, and the distance in samples to the next.
  private func channel(_ i: Int, _ planes: [TIFFPlane]) -> (start: UnsafeRawPointer, step: Int) {
    if page.isPlanar { return (planes[i].samples, 1) }
    let sample = i < page.colors.count ? i : page.alpha?.sample ?? i
    return (planes[0].samples + sample * (page.bits == 16 ? 2 : 1), page.samples)
  }

  /// Gray and RGB, with alpha if there is one.
  private func copy<Sample: FixedWidthInteger & UnsignedInteger>(
    _ planes: [TIFFPlane], _ columns: Range<Int>, _ type: Sample.Type, isInverted: Bool,
    into space: UnsafeMutableRawPointer
  ) {
    let count = page.colors.count + (page.hasAlpha ? 1 : 0)
    let size = MemoryLayout<Sample>.size
    let pixels = space.assumingMemoryBound(to: Sample.self)
    if !page.isPlanar && page.samples == count && !isInverted {
      space.copyMemory(
        from: planes[0].samples + columns.lowerBound * count * size, byteCount: columns.count * count * size)
    } else {
      for c in 0..<count {
        let (start, step) = channel(c, planes)
        let samples = start.assumingMemoryBound(to: Sample.self) + columns.lowerBound * step
        let mask: Sample = isInverted && c < page.colors.count ? .max : 0
        for x in 0..<columns.count { pixels[x * count + c] = samples[x * step] ^ mask }
      }
    }
    guard page.alpha?.isPremultiplied == true else { return }
    PremultipliedAlpha.divideOut(of: space, channels: count, width: columns.count, bitsPerChannel: size * 8)
  }

  private func convertIndexes(_ planes: [TIFFPlane], _ columns: Range<Int>, into space: UnsafeMutableRawPointer) {
    let (start, step) = channel(0, planes)
    let indexes = start.assumingMemoryBound(to: UInt8.self) + columns.lowerBound * step
    let pixels = space.assumingMemoryBound(to: UInt8.self)
    palette.withUnsafeBufferPointer { palette in
      for x in 0..<columns.count {
        let color = Int(indexes[x * step]) * 3
        pixels[x * 3] = palette[color]
        pixels[x * 3 + 1] = palette[color + 1]
        pixels[x * 3 + 2] = palette[color + 2]
      }
    }
  }

  /// Rows have inks in Adobe's polarity, and 8 bits.
  private func convertInks(_ planes: [TIFFPlane], _ columns: Range<Int>, into space: UnsafeMutableRawPointer) {
    let pixels = space.assumingMemoryBound(to: UInt8.self)
    // Of 16 bits in native byte order, only the higher byte is used.
    let size = page.bits == 16 ? 2 : 1
    for c in 0..<4 {
      let (start, step) = channel(c, planes)
      let samples = start.assumingMemoryBound(to: UInt8.self) + columns.lowerBound * step * size + size - 1
      for x in 0..<columns.count { pixels[x * 4 + c] = ~samples[x * step * size] }
    }
  }
}
