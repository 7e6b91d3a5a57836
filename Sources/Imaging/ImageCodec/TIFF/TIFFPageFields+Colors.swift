import PhotoModel

/// Which samples a page has, and how they become colours.
extension TIFFPageFields {
  /// PhotometricInterpretation, and the fields that belong to it.
  mutating func colors(
    samples: Int, bits: Int, isPlanar: Bool, _ compression: TIFFPage.Compression
  ) throws(CodecError) -> TIFFPage.Colors {
    let code = try number(.photometricInterpretation) ?? (samples >= 3 ? 2 : 1)
    let colors: TIFFPage.Colors
    switch code {
    case 0, 1: colors = .gray(isInverted: code == 0)
    case 2: colors = .rgb
    case 3: colors = try palette(bits: bits)
    case 5:
      guard try number(.inkSet) ?? 1 == 1 else { throw .unsupported("a TIFF picture with inks other than CMYK") }
      colors = .inks
    case 6: colors = try yCbCr(bits: bits, isPlanar: isPlanar, compression)
    case 8, 9:
      guard bits >= 8 else { throw malformed("an impossible number of bits for L*a*b*") }
      // Only L*.
      colors = samples < 3 ? .gray(isInverted: false) : .lab(isOffset: code == 9)
    default: throw .unsupported("a TIFF picture with photometric interpretation \(code)")
    }
    guard samples >= colors.count else { throw malformed("fewer samples than its colours need") }
    return colors
  }

  private mutating func palette(bits: Int) throws(CodecError) -> TIFFPage.Colors {
    guard bits <= 8 else { throw .unsupported("a TIFF picture with a palette for \(bits) bits") }
    let length = 6 << bits
    guard let entry = directory[.colorMap], entry.type == 3, let value = entry.value, value.count >= length else {
      throw malformed("a palette without its colours")
    }
    return .palette(ByteRange(offset: value.lowerBound, length: length))
  }

  private mutating func yCbCr(
    bits: Int, isPlanar: Bool, _ compression: TIFFPage.Compression
  ) throws(CodecError) -> TIFFPage.Colors {
    // libjpeg converts it to RGB.
    if compression == .jpeg && !isPlanar { return .rgb }
    guard bits == 8 else { throw .unsupported("a TIFF picture in YCbCr with \(bits) bits a sample") }
    var chroma = TIFFYCbCr()
    let sampling = try file.numbers(of: directory[.yCbCrSubsampling], atMost: 2, &reader)
    (chroma.across, chroma.down) = sampling.count == 2 ? (sampling[0], sampling[1]) : (2, 2)
    guard [1, 2, 4].contains(chroma.across), [1, 2, 4].contains(chroma.down) else {
      throw malformed("an impossible subsampling")
    }
    if chroma.isSubsampled && isPlanar {
      throw .unsupported("a TIFF picture in planes of subsampled YCbCr")
    }
    let weights = try file.rationals(of: directory[.yCbCrCoefficients], atMost: 3, &reader)
    if weights.count == 3 {
      guard weights.allSatisfy({ $0 > 0 && $0 < 1 }) else { throw malformed("impossible shares of luma") }
      (chroma.red, chroma.green, chroma.blue) = (weights[0], weights[1], weights[2])
    }
    let levels = try file.rationals(of: directory[.referenceBlackWhite], atMost: 6, &reader)
    if levels.count == 6 {
      (chroma.black, chroma.white) = ([levels[0], levels[2], levels[4]], [levels[1], levels[3], levels[5]])
      for (black, white) in zip(chroma.black, chroma.white) {
        guard white >= black + 1, white < 1024 else { throw malformed("an impossible black or white") }
      }
    }
    return .yCbCr(chroma)
  }

  /// §18: associated alpha is 1, unassociated 2. Others have no meaning for readers.
  mutating func alpha(_ colors: TIFFPage.Colors, samples: Int) throws(CodecError) -> TIFFPage.Alpha? {
    switch colors {
    case .gray, .rgb: break
    case .palette, .inks, .yCbCr, .lab: return nil
    }
    // Old writers do not declare the meaning of the fourth sample of RGB.
    if colors == .rgb, samples == 4, directory[.extraSamples] == nil {
      return TIFFPage.Alpha(sample: 3, isPremultiplied: false)
    }
    let extra = try file.numbers(of: directory[.extraSamples], atMost: samples - colors.count, &reader)
    guard let index = extra.firstIndex(where: { $0 == 1 || $0 == 2 }) else { return nil }
    return TIFFPage.Alpha(sample: colors.count + index, isPremultiplied: extra[index] == 1)
  }

  mutating func checkJPEG(_ colors: TIFFPage.Colors, samples: Int, bits: Int, isPlanar: Bool) throws(CodecError) {
    guard bits == 8 else { throw .unsupported("a TIFF picture with a JPEG of \(bits) bits a sample") }
    // libjpeg delivers four samples unchanged, except if three of them are YCbCr.
    let interpretation = try number(.photometricInterpretation)
    let isRGBA = colors == .rgb && samples == 4 && interpretation == 2
    switch colors {
    case .gray, .rgb, .inks, .yCbCr: if isPlanar || samples == colors.count || isRGBA { return }
    case .palette, .lab: break
    }
    throw .unsupported("a TIFF picture with a JPEG of other colours")
  }
}
