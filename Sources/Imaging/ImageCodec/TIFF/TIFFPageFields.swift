import PhotoModel

/// The fields of a page.
struct TIFFPageFields {
  let directory: TIFFFile.Directory
  let file: TIFFFile
  var reader: HeaderReader

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
      throw .unsupported("a TIFF picture whose samples are not unsigned integers")
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
    // It would describe the L*a*b* samples, which are converted to sRGB.
    if case .lab = colors { return nil }
    guard let entry = directory[.profile], entry.count > 0 else { return nil }
    guard let value = entry.value else { return .damaged("a profile beyond the end of the file") }
    if value.count > limits.profileBytes { return .damaged("a profile that is too large") }
    return .parts([ByteRange(value)])
  }
}
