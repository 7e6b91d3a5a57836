// Reads how a TIFF's page is coded. Only for renders: scans read TIFFHeader.

import PhotoModel

extension TIFFPage {
  /// - Throws: `unsupported` for codings that photod does not decode, with their names.
  static func read(_ reader: inout HeaderReader, limits: CodecLimits) throws(CodecError) -> TIFFPage {
    let file = try TIFFFile(&reader, in: 0..<reader.size)
    let (first, children) = try TIFFHeader.firstDirectories(of: file, &reader)
    let page = try TIFFHeader.page(first, children, of: file, &reader) ?? first
    return try TIFFPage(page, of: file, &reader, limits: limits)
  }

  init(
    _ directory: TIFFFile.Directory, of file: TIFFFile, _ reader: inout HeaderReader, limits: CodecLimits
  ) throws(CodecError) {
    var fields = TIFFPageFields(directory, file, reader)
    guard let size = try TIFFHeader.size(directory, .imageWidth, .imageLength, in: file, &reader) else {
      throw fields.malformed("a TIFF whose picture has no size")
    }
    try limits.check(size)
    let samples = try fields.number(.samplesPerPixel) ?? 1
    guard samples >= 1 else { throw fields.malformed("pixels without samples") }
    if samples > ContainerLimits.samples {
      throw .limitExceeded("the number of a pixel's samples", limit: ContainerLimits.samples, found: samples)
    }
    self.size = size
    self.samples = samples
    isBigEndian = file.isBigEndian
    bits = try fields.bits(samples: samples)
    compression = try fields.compression()
    let planarConfiguration = try fields.planarConfiguration()
    isPlanar = samples > 1 && planarConfiguration == 2
    let colors = try fields.colors(samples: samples, bits: bits, isPlanar: isPlanar, compression)
    self.colors = colors
    alpha = try fields.alpha(colors, samples: samples)
    if compression == .jpeg {
      try fields.checkJPEG(colors, samples: samples, bits: bits, isPlanar: isPlanar)
    }
    hasPredictor = try fields.hasPredictor(compression, colors, bits: bits)
    isReversed = try fields.isReversed(compression)
    tileSize = try fields.tileSize(of: size, limits: limits)

    let across = (size.width + tileSize.width - 1) / tileSize.width
    let down = (size.height + tileSize.height - 1) / tileSize.height
    // Neither product overflows: no side is longer than the limit for sides.
    let count = across * down * (isPlanar ? samples : 1)
    if count > ContainerLimits.stripsAndTiles {
      throw .limitExceeded("the number of strips or tiles", limit: ContainerLimits.stripsAndTiles, found: count)
    }
    let padded = across * tileSize.width * down * min(tileSize.height, size.height)
    if padded > limits.sourcePixels {
      throw .limitExceeded(
        "the number of pixels with those that fill up tiles", limit: limits.sourcePixels, found: padded)
    }
    let isTiled = directory[.tileWidth] != nil
    guard let offsets = try fields.table(isTiled ? .tileOffsets : .stripOffsets, count: count) else {
      throw fields.malformed("a picture without strips or tiles")
    }
    self.offsets = offsets
    lengths = try fields.table(isTiled ? .tileByteCounts : .stripByteCounts, count: count)
    jpegTables = try fields.jpegTables(compression)
    let interpretation = try fields.number(.photometricInterpretation)
    hasJPEGInYCbCr = interpretation == 6 && compression == .jpeg && !isPlanar
    embeddedProfile = fields.profile(colors, limits)
  }
}

/// The fields of a page.
private struct TIFFPageFields {
  private let directory: TIFFFile.Directory
  private let file: TIFFFile
  private var reader: HeaderReader

  init(_ directory: TIFFFile.Directory, _ file: TIFFFile, _ reader: HeaderReader) {
    (self.directory, self.file, self.reader) = (directory, file, reader)
  }

  func malformed(_ what: String) -> CodecError { .malformed(what, offset: Int64(clamping: directory.offset)) }

  mutating func number(_ tag: TIFFTag) throws(CodecError) -> Int? { try file.number(of: directory[tag], &reader) }

  /// The bits of a sample. All samples must have as many, and be unsigned integers.
  mutating func bits(samples: Int) throws(CodecError) -> Int {
    let stated = try file.numbers(of: directory[.bitsPerSample], atMost: samples, &reader)
    let bits = stated.first ?? 1
    guard stated.allSatisfy({ $0 == bits }) else {
      throw .unsupported("a TIFF picture whose samples differ in their number of bits")
    }
    // SampleFormat: 1 unsigned, 2 signed, 3 floating point, 4 undefined, 5 and 6 complex.
    let formats = try file.numbers(of: directory[.sampleFormat], atMost: samples, &reader)
    if formats.contains(3) { throw .unsupported("a TIFF picture with samples in floating point") }
    // Both chroma samples of L*a*b* are signed.
    let isLab = try number(.photometricInterpretation) == 8
    guard formats.allSatisfy({ $0 == 1 || $0 == 4 || ($0 == 2 && isLab) }) else {
      throw .unsupported("a TIFF picture whose samples are no unsigned integers")
    }
    guard [1, 2, 4, 8, 16].contains(bits) else { throw .unsupported("a TIFF picture with \(bits) bits a sample") }
    return bits
  }

  mutating func planarConfiguration() throws(CodecError) -> Int {
    let stated = try number(.planarConfiguration) ?? 1
    guard 1...2 ~= stated else { throw malformed("an unknown order of samples") }
    return stated
  }

  mutating func compression() throws(CodecError) -> TIFFPage.Compression {
    let code = try number(.compression) ?? 1
    switch code {
    case 1: return .none
    case 5: return .lzw
    case 7: return .jpeg
    case 8, 32_946: return .deflate
    case 32_773: return .packBits
    default:
      let name = Self.otherCompressions[code] ?? "compression \(code)"
      throw .unsupported("a TIFF picture with \(name)")
    }
  }

  private static let otherCompressions = [
    2: "CCITT compression", 3: "CCITT compression (fax group 3)", 4: "CCITT compression (fax group 4)",
    6: "old-style JPEG compression", 32_771: "CCITT compression", 34_676: "LogLuv compression",
    34_677: "LogLuv compression", 34_712: "JPEG 2000 compression", 34_887: "LERC compression",
    34_925: "LZMA compression", 50_000: "Zstandard compression", 50_001: "WebP compression",
    50_002: "JPEG XL compression", 52_546: "JPEG XL compression",
  ]

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
      // A picture of lightness only.
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
    // libjpeg makes RGB of it.
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
    // Old writers do not say what the fourth sample of RGB is.
    if colors == .rgb, samples == 4, directory[.extraSamples] == nil {
      return TIFFPage.Alpha(sample: 3, isPremultiplied: false)
    }
    let extra = try file.numbers(of: directory[.extraSamples], atMost: samples - colors.count, &reader)
    guard let index = extra.firstIndex(where: { $0 == 1 || $0 == 2 }) else { return nil }
    return TIFFPage.Alpha(sample: colors.count + index, isPremultiplied: extra[index] == 1)
  }

  mutating func checkJPEG(_ colors: TIFFPage.Colors, samples: Int, bits: Int, isPlanar: Bool) throws(CodecError) {
    guard bits == 8 else { throw .unsupported("a TIFF picture with a JPEG of \(bits) bits a sample") }
    // libjpeg gives four samples as they are, but not those of which three are YCbCr.
    let interpretation = try number(.photometricInterpretation)
    let isRGBA = colors == .rgb && samples == 4 && interpretation == 2
    switch colors {
    case .gray, .rgb, .inks, .yCbCr: if isPlanar || samples == colors.count || isRGBA { return }
    case .palette, .lab: break
    }
    throw .unsupported("a TIFF picture with a JPEG of other colours")
  }

  mutating func hasPredictor(
    _ compression: TIFFPage.Compression, _ colors: TIFFPage.Colors, bits: Int
  ) throws(CodecError) -> Bool {
    // Other compressions do not use it.
    guard compression == .lzw || compression == .deflate else { return false }
    let code = try number(.predictor) ?? 1
    switch code {
    case 1: return false
    case 2:
      if case .yCbCr(let chroma) = colors, chroma.isSubsampled {
        throw .unsupported("a TIFF picture with differences of subsampled chroma")
      }
      guard bits >= 8 else { throw .unsupported("a TIFF picture with differences of \(bits) bits") }
      return true
    case 3: throw .unsupported("a TIFF picture with samples in floating point")
    default: throw malformed("an unknown predictor")
    }
  }

  mutating func isReversed(_ compression: TIFFPage.Compression) throws(CodecError) -> Bool {
    guard try number(.fillOrder) == 2, compression != .jpeg else { return false }
    guard compression == .none else {
      throw .unsupported("a TIFF picture that is compressed with its bits in reverse order")
    }
    return true
  }

  mutating func tileSize(of size: PixelSize, limits: CodecLimits) throws(CodecError) -> PixelSize {
    guard directory[.tileWidth] != nil else {
      let rows = try number(.rowsPerStrip) ?? size.height
      guard rows > 0 else { throw malformed("strips without rows") }
      return PixelSize(width: size.width, height: min(rows, size.height))
    }
    guard let width = try number(.tileWidth), let height = try number(.tileLength), width > 0, height > 0 else {
      throw malformed("tiles without pixels")
    }
    if max(width, height) > limits.sourceSide {
      throw .limitExceeded("the longer side of a tile", limit: limits.sourceSide, found: max(width, height))
    }
    return PixelSize(width: width, height: height)
  }

  /// - Parameter count: how many numbers the picture needs.
  mutating func table(_ tag: TIFFTag, count: Int) throws(CodecError) -> TIFFPage.Table? {
    guard let entry = directory[tag] else { return nil }
    guard [3, 4, 13, 16, 18].contains(entry.type), let bytes = file.typeBytes(entry.type) else {
      throw malformed("a table of strips or tiles that has no numbers")
    }
    guard entry.count >= count else { throw malformed("fewer strips or tiles than the picture needs") }
    guard let value = entry.value else { throw .truncated(offset: reader.size) }
    return TIFFPage.Table(range: ByteRange(offset: value.lowerBound, length: count * bytes), entryBytes: bytes)
  }

  mutating func jpegTables(_ compression: TIFFPage.Compression) throws(CodecError) -> ByteRange? {
    guard compression == .jpeg, let entry = directory[.jpegTables] else { return nil }
    guard let value = entry.value else { throw .truncated(offset: reader.size) }
    if value.count > ContainerLimits.jpegTables {
      throw .limitExceeded("the size of the JPEG tables", limit: ContainerLimits.jpegTables, found: value.count)
    }
    return ByteRange(value)
  }

  func profile(_ colors: TIFFPage.Colors, _ limits: CodecLimits) -> EmbeddedProfile? {
    // It would describe L*a*b*, which becomes sRGB.
    if case .lab = colors { return nil }
    guard let entry = directory[.profile], entry.count > 0 else { return nil }
    guard let value = entry.value else { return .damaged("a profile beyond the end of the file") }
    if value.count > limits.profileBytes { return .damaged("a profile that is too large") }
    return .parts([ByteRange(value)])
  }
}
