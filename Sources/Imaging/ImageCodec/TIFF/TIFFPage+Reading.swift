// Reads how a TIFF's page is coded. Used by renders only; scans use TIFFHeader.

import PhotoModel

extension TIFFPage {
  /// - Throws: `unsupported` for codings that photod does not decode, with their names.
  static func read(_ reader: inout HeaderReader, limits: CodecLimits) throws(CodecError) -> TIFFPage {
    let file = try TIFFFile(&reader, in: 0..<reader.size)
    let (first, children) = try TIFFHeader.firstDirectories(of: file, &reader)
    let directory = try TIFFHeader.page(first, children, of: file, &reader) ?? first
    var page = try TIFFPage(directory, of: file, &reader, limits: limits)
    page.reductions = try TIFFReductions.read(of: page, directory, in: file, &reader, limits: limits)
    return page
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
