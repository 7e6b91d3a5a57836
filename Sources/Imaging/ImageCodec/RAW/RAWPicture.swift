import PhotoModel

/// The part of a RAW file that an ``ImageHeader`` describes: a JPEG that represents the developed picture.
package struct RAWPicture: Sendable, Hashable {
  /// The position of the JPEG in the file.
  package let range: ByteRange
  /// The size of the developed picture, as stored. The preview shows all of it, except for a few rows or columns at its
  /// borders.
  package let developedSize: PixelSize
  /// The headers of smaller previews with the same colours, the smallest first.
  package internal(set) var smaller: [ImageHeader] = []
  /// The sensor data, for pictures that the previews can't give; `nil` if they are not to be developed.
  package var sensor: SensorPicture?

  /// The part of the preview with the aspect ratio of the developed picture, in whole pixels and centred.
  ///
  /// - Parameter preview: the size of the preview, as stored.
  package func content(of preview: PixelSize) -> PixelRect {
    let (width, height) = (preview.width * developedSize.height, preview.height * developedSize.width)
    var size = preview
    if width > height {
      size.width = max(1, (2 * height + developedSize.height) / (2 * developedSize.height))
    } else if height > width {
      size.height = max(1, (2 * width + developedSize.width) / (2 * developedSize.width))
    }
    return PixelRect(
      x: (preview.width - size.width) / 2, y: (preview.height - size.height) / 2, width: size.width,
      height: size.height)
  }
}

extension ImageHeader {
  /// The header of the largest preview of a RAW file, as the picture that the file shows: with the file's metadata and
  /// orientation, because cameras store previews as the sensor has them.
  ///
  /// A preview with another aspect ratio, such as a thumbnail with black bars, is used only if no preview has that of
  /// the developed picture.
  ///
  /// Without a preview, the header of the picture that a worker develops from the sensor data.
  ///
  /// - Throws: ``CodecError``.
  init(_ media: MediaHeader, rawIn source: any ByteSource, limits: CodecLimits) throws(CodecError) {
    let sensor = SensorPicture(
      size: media.storedSize, fileBytes: Int(clamping: source.size), isLinear: media.isLinearSensor)
    // Previews can be shown even if the stated size exceeds the limits.
    let sizeError: CodecError?
    do throws(CodecError) {
      try limits.check(sensor.size)
      sizeError = nil
    } catch {
      sizeError = error
    }
    let found = try RAWPreviews.find(in: source, limits: limits)
    let fitting = found.filter { $0.hasAspect(of: media.storedSize) }
    guard let largest = fitting.last ?? found.last else {
      if let sizeError { throw sizeError }
      self.init(sensor, media)
      return
    }
    let size = fitting.isEmpty ? largest.header.storedSize : media.storedSize
    // Read only for previews that need it.
    var isAdobeRGB = false
    if found.contains(where: { !$0.describesColors }) { isAdobeRGB = try RAWColor.isAdobeRGB(source, media.format) }
    self.init(largest, of: media, developedSize: size, isAdobeRGB: isAdobeRGB)
    let smaller = fitting.dropLast()
      .map { ImageHeader($0, of: media, developedSize: size, isAdobeRGB: isAdobeRGB) }
      .filter { $0.hasColors(of: self) && $0.storedSize.width < storedSize.width }
    raw?.smaller = smaller
    raw?.sensor = sizeError == nil ? sensor : nil
    previews = found.map(\.range).filter { $0 != largest.range }
  }

  /// The header of one preview.
  ///
  /// - Parameter isAdobeRGB: the colour space that the RAW file states, for a preview without a description of its own.
  init(_ preview: RAWPreview, of media: MediaHeader, developedSize: PixelSize, isAdobeRGB: Bool) {
    self = preview.header
    if !preview.describesColors, isAdobeRGB { calibration = .adobeRGB }
    metadata = media.exif
    blocks = media.blocks
    warnings = media.warnings
    // The RAW file's other previews are not inside this preview's JPEG.
    embeddedThumbnail = nil
    previews = []
    gainMap = nil
    if case .parts(let parts) = embeddedProfile {
      embeddedProfile = .parts(
        parts.map { ByteRange(offset: preview.range.offset + $0.offset, length: $0.length) })
    }
    containerOrientation = media.orientation
    raw = RAWPicture(range: preview.range, developedSize: developedSize)
  }

  /// Whether both have the same description of their colours, as far as the headers show.
  package func hasColors(of other: ImageHeader) -> Bool {
    colorChannels == other.colorChannels && calibration == other.calibration
      && (embeddedProfile == nil) == (other.embeddedProfile == nil) && profileBytes == other.profileBytes
  }

  /// Itself, or the smallest preview of a RAW file that has at least as many pixels as are wanted.
  ///
  /// - Parameter width: the wanted width of the whole picture, as stored.
  package func preview(ofWidth width: Double) -> ImageHeader {
    guard let raw else { return self }
    var header = raw.smaller.first { Double(raw.content(of: $0.storedSize).width) > width - 1 } ?? self
    header.raw?.smaller = []
    return header
  }

  /// The same by the longer side of the whole picture.
  package func preview(ofLongerSide side: Int) -> ImageHeader {
    guard storedSize.height > storedSize.width else { return preview(ofWidth: Double(side)) }
    return preview(ofWidth: Double(side * storedSize.width) / Double(storedSize.height))
  }

  /// The source of the picture's own bytes: for a RAW file, the preview in it.
  package func pictureSource(in source: any ByteSource) -> any ByteSource {
    raw.map { ByteSourceSlice(source, $0.range) } ?? source
  }
}

extension MediaHeader {
  /// The header of a RAW file; `nil` for a file of another kind.
  ///
  /// - Parameter format: according to the first bytes; `tiff` for many RAW formats.
  static func readRAW(
    from source: any ByteSource, _ format: MediaFormat, limits: CodecLimits
  ) throws(CodecError) -> MediaHeader? {
    guard format.isRAW || format == .tiff else { return nil }
    do throws(CodecError) {
      let header = try read(from: source, limits: limits.headerOnly)
      return header.format.isRAW ? header : nil
    } catch {
      if case .readFailed = error { throw error }
      if format.isRAW { throw error }
      return nil
    }
  }
}
