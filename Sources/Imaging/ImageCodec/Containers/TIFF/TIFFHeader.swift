import MediaMetadata
import PhotoModel

/// Reads TIFF, BigTIFF and the RAW formats based on it: DNG, CR2, NEF, ARW, ORF, RW2, PEF.
///
/// Their first directory is often a small picture. The main directory has NewSubfileType 0 (TIFF 6.0 §8), and is either
/// in the main chain or among the first directory's SubIFDs (TIFF Technical Note 1).
enum TIFFHeader {
  /// Canon's signature after the header of a CR2, before a version.
  static let canonSignature = Array("CR".utf8)
  /// PhotometricInterpretation values of sensor data: a colour filter array (TIFF/EP §5.1.9), linear (DNG).
  private static let sensorInterpretations = [32_803, linearInterpretation]
  private static let linearInterpretation = 34_892

  static func read(
    _ reader: inout HeaderReader, _ selection: TIFFMetadata.Selection
  ) throws(CodecError) -> MediaHeader {
    let start = try reader.bytes(at: 0, count: 16)
    let file = try TIFFFile(&reader, in: 0..<reader.size)
    let (first, children) = try firstDirectories(of: file, &reader)
    let make = try file.text(of: first[.make], &reader) ?? ""
    let isCR2 = !file.isBig && start.dropFirst(8).starts(with: canonSignature)
    let variant = TIFFFile.variant(start)?.format
    let isDNG = first[.dngVersion] != nil
    let main =
      variant != nil || isDNG || isCR2
      ? try mainDirectory([first] + children, in: file, &reader)
      : try page(first, children, of: file, &reader)
    let shown = main ?? first
    let interpretation = try file.number(of: shown[.photometricInterpretation], &reader) ?? 0
    let isSensor = sensorInterpretations.contains(interpretation)
    let format = try format(variant, isDNG: isDNG, isCR2: isCR2, isSensor: isSensor, make: make)
    let (metadata, claimed) = try metadata(of: first, in: file, selection, &reader)
    let found =
      format == .rw2
      ? try sizeWithinBorders(first, in: file, &reader)
      : try size(shown, .imageWidth, .imageLength, in: file, &reader)
    guard let stored = found else {
      throw .malformed("a TIFF whose picture has no size", offset: Int64(shown.offset))
    }
    let crop = try file.numbers(of: shown[.defaultCropSize], atMost: 2, &reader)
    var header = MediaHeader(
      format: format,
      storedSize: crop.count == 2 ? PixelSize(width: crop[0], height: crop[1]) : developed(stored, claimed, format))
    header.isLinearSensor = interpretation == linearInterpretation
    header.add(metadata)
    header.hasAlpha = try hasAlpha(shown, interpretation, in: file, &reader)
    if let iptc = first[.iptc]?.value { try header.parse(iptc: iptc, &reader) }
    if let xmp = first[.xmp]?.value { try header.parse(xmp: xmp, &reader) }
    var candidates = ([first] + children).filter { $0.offset != shown.offset }
    if format != .tiff, let second = try file.directory(at: first.next, &reader) { candidates.append(second) }
    header.thumbnail = try thumbnail(candidates, in: file, &reader)
    return header
  }

  /// The format by the signature (`variant`), the version of DNG, or who made the camera of sensor data.
  private static func format(
    _ variant: MediaFormat?, isDNG: Bool, isCR2: Bool, isSensor: Bool, make: String
  ) throws(CodecError) -> MediaFormat {
    if let variant { return variant }
    if isDNG { return .dng }
    if isCR2 { return .cr2 }
    guard isSensor else { return .tiff }
    if make.hasPrefix("NIKON") { return .nef }
    if make.hasPrefix("SONY") { return .arw }
    if make.hasPrefix("PENTAX") || make.hasPrefix("RICOH") { return .pef }
    throw .unsupported("a RAW file of an unknown kind")
  }

  private static func hasAlpha(
    _ shown: TIFFFile.Directory, _ interpretation: Int, in file: TIFFFile, _ reader: inout HeaderReader
  ) throws(CodecError) -> Bool {
    // Associated alpha, or unassociated; old writers do not say what the fourth sample of RGB is.
    let samples = try file.number(of: shown[.samplesPerPixel], &reader)
    let extra = try file.numbers(of: shown[.extraSamples], atMost: 4, &reader)
    let isUnstated = shown[.extraSamples] == nil && interpretation == 2 && samples == 4
    return isUnstated || extra.contains { $0 == 1 || $0 == 2 }
  }

  /// The first directory of the chain, and its SubIFDs.
  static func firstDirectories(
    of file: TIFFFile, _ reader: inout HeaderReader
  ) throws(CodecError) -> (first: TIFFFile.Directory, children: [TIFFFile.Directory]) {
    guard let first = try file.directory(at: file.firstOffset, &reader) else {
      throw .truncated(offset: reader.size)
    }
    return (first, try children(of: first, in: file, &reader))
  }

  /// The page that is shown of a file that is not a RAW file: the first that is neither a smaller version of another
  /// picture nor a mask; `nil` if there is none.
  static func page(
    _ first: TIFFFile.Directory, _ children: [TIFFFile.Directory], of file: TIFFFile, _ reader: inout HeaderReader
  ) throws(CodecError) -> TIFFFile.Directory? {
    var main = try mainDirectory([first] + children, in: file, &reader)
    var next = first.next
    var seen = [first.offset]
    while main == nil, next != 0, !seen.contains(next) {
      if seen.count >= ContainerLimits.directories {
        throw .limitExceeded(
          "the number of directories", limit: ContainerLimits.directories, found: seen.count + 1)
      }
      guard let directory = try file.directory(at: next, &reader) else { break }
      seen.append(next)
      next = directory.next
      main = try mainDirectory([directory], in: file, &reader)
    }
    return main
  }

  /// Reads the EXIF directories, and the picture size that they state.
  private static func metadata(
    of first: TIFFFile.Directory, in file: TIFFFile, _ selection: TIFFMetadata.Selection, _ reader: inout HeaderReader
  ) throws(CodecError) -> (TIFFMetadata, PixelSize?) {
    var metadata = TIFFMetadata(isBigEndian: file.isBigEndian, selection)
    try metadata.takeFirst(first, of: file, &reader)
    var claimed: PixelSize?
    if let pointer = try file.number(of: first[.exifDirectory], &reader),
      let directory = try file.directory(at: pointer, &reader)
    {
      try metadata.takeEXIF(directory, of: file, &reader)
      claimed = try size(directory, .pixelXDimension, .pixelYDimension, in: file, &reader)
    }
    if let pointer = try file.number(of: first[.gpsDirectory], &reader),
      let directory = try file.directory(at: pointer, &reader)
    {
      try metadata.takeGPS(directory, of: file, &reader)
    }
    return (metadata, claimed)
  }

  /// A camera's RAW has a few more rows and columns than the final picture, and EXIF may state the final size (in a
  /// CR2, the first directory may even be a smaller preview). In a plain TIFF, the EXIF block describes the picture
  /// from which the TIFF was made, so its size is not used.
  private static func developed(_ stored: PixelSize, _ claimed: PixelSize?, _ format: MediaFormat) -> PixelSize {
    guard let claimed, [.cr2, .arw, .nef, .orf, .pef].contains(format) else { return stored }
    if format == .cr2 { return claimed }
    let isNearly =
      (stored.width * 9 / 10...stored.width).contains(claimed.width)
      && (stored.height * 9 / 10...stored.height).contains(claimed.height)
    return isNearly ? claimed : stored
  }

  private static func children(
    of first: TIFFFile.Directory, in file: TIFFFile, _ reader: inout HeaderReader
  ) throws(CodecError) -> [TIFFFile.Directory] {
    let count = first[.subIFDs]?.count ?? 0
    if count > ContainerLimits.directories {
      throw .limitExceeded("the number of directories", limit: ContainerLimits.directories, found: count)
    }
    var directories: [TIFFFile.Directory] = []
    for offset in try file.numbers(of: first[.subIFDs], atMost: count, &reader) {
      if let directory = try file.directory(at: offset, &reader) { directories.append(directory) }
    }
    return directories
  }

  /// The first directory whose NewSubfileType does not mark it as a smaller version or a mask; a missing tag means 0.
  private static func mainDirectory(
    _ directories: [TIFFFile.Directory], in file: TIFFFile, _ reader: inout HeaderReader
  ) throws(CodecError) -> TIFFFile.Directory? {
    for directory in directories where directory[.imageWidth] != nil {
      if try (file.number(of: directory[.newSubfileType], &reader) ?? 0) & 5 == 0 { return directory }
    }
    return nil
  }

  static func size(
    _ directory: TIFFFile.Directory, _ width: TIFFTag, _ height: TIFFTag, in file: TIFFFile,
    _ reader: inout HeaderReader
  ) throws(CodecError) -> PixelSize? {
    guard let width = try file.number(of: directory[width], &reader), width > 0,
      let height = try file.number(of: directory[height], &reader), height > 0,
      max(width, height) <= Int(UInt32.max)
    else { return nil }
    return PixelSize(width: width, height: height)
  }

  /// The size of a Panasonic's picture: its borders are rows and columns of the sensor.
  private static func sizeWithinBorders(
    _ directory: TIFFFile.Directory, in file: TIFFFile, _ reader: inout HeaderReader
  ) throws(CodecError) -> PixelSize? {
    guard let top = try file.number(of: directory[PanasonicTag.top], &reader),
      let left = try file.number(of: directory[PanasonicTag.left], &reader),
      let bottom = try file.number(of: directory[PanasonicTag.bottom], &reader),
      let right = try file.number(of: directory[PanasonicTag.right], &reader), right > left, bottom > top
    else { return nil }
    return PixelSize(width: right - left, height: bottom - top)
  }

  /// The smallest JPEG among the smaller pictures: either the one that EXIF points to (CIPA DC-008 §4.5.5), or the only
  /// strip of a picture in JPEG's colour space.
  private static func thumbnail(
    _ directories: [TIFFFile.Directory], in file: TIFFFile, _ reader: inout HeaderReader
  ) throws(CodecError) -> ByteRange? {
    var found: [Range<Int64>] = []
    for directory in directories {
      var offset = try file.number(of: directory[.jpegOffset], &reader)
      var length = try file.number(of: directory[.jpegLength], &reader)
      if offset == nil, directory[.stripOffsets]?.count == 1,
        try [6, 7].contains(file.number(of: directory[.compression], &reader)),
        try file.number(of: directory[.photometricInterpretation], &reader) == 6
      {
        offset = try file.number(of: directory[.stripOffsets], &reader)
        length = try file.number(of: directory[.stripByteCounts], &reader)
      }
      guard let offset, let length, length >= 4, let range = file.place(offset, length) else { continue }
      found.append(range)
    }
    for range in found.sorted(by: { $0.count < $1.count })
    where try reader.bytes(at: range.lowerBound, count: 2).elementsEqual([0xFF, 0xD8]) { return ByteRange(range) }
    return nil
  }
}
