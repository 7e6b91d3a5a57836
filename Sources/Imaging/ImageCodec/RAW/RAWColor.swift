import PhotoModel

/// The colour space of previews that do not describe their colours: the one that was set on the camera.
enum RAWColor {
  /// EXIF's ColorSpace: sRGB, and a value outside of the standard that some cameras use (ExifTool, "EXIF Tags").
  private static let (sRGB, adobeRGB) = (1, 2)

  /// Whether the EXIF directories of a RAW file state Adobe RGB: by ColorSpace, or by DCF's interoperability index R03
  /// (DC-009 §5.1.2). False if they are damaged, or are only in the preview itself.
  ///
  /// - Throws: ``CodecError`` if the file can't be read.
  static func isAdobeRGB(_ source: any ByteSource, _ format: MediaFormat) throws(CodecError) -> Bool {
    var reader = HeaderReader(source: source)
    do throws(CodecError) {
      switch format {
      case .cr3:
        reader.windowBytes = ContainerLimits.windowBytes
        var boxes = BoxReader(reader)
        var position: Int64 = 0
        while let box = try boxes.next(&position, before: boxes.fileSize) {
          guard box.type == "moov" else { continue }
          guard let directories = try boxes.directory("CMT2", inMovie: box) else { return false }
          let file = try TIFFFile(&boxes.reader, in: directories)
          return try isAdobeRGB(at: file.firstOffset, of: file, &boxes.reader)
        }
        return false
      case .raf: return false
      default:
        _ = try reader.bytes(at: 0, count: FileType.bytes)
        reader.windowBytes = ContainerLimits.windowBytes
        let file = try TIFFFile(&reader, in: 0..<reader.size)
        guard let first = try file.directory(at: file.firstOffset, &reader),
          let pointer = try file.number(of: first[.exifDirectory], &reader)
        else { return false }
        return try isAdobeRGB(at: pointer, of: file, &reader)
      }
    } catch {
      if case .readFailed = error { throw error }
      return false
    }
  }

  /// - Parameter offset: of the EXIF directory.
  private static func isAdobeRGB(
    at offset: Int, of file: TIFFFile, _ reader: inout HeaderReader
  ) throws(CodecError) -> Bool {
    guard let exif = try file.directory(at: offset, &reader) else { return false }
    let space = try file.number(of: exif[.colorSpace], &reader)
    if space == sRGB { return false }
    if space == adobeRGB { return true }
    guard let pointer = try file.number(of: exif[.interoperability], &reader),
      let directory = try file.directory(at: pointer, &reader)
    else { return false }
    return try file.text(of: directory[.interoperabilityIndex], &reader) == "R03"
  }
}

extension BoxReader {
  /// The content of one of Canon's boxes in a CR3's movie box.
  fileprivate mutating func directory(_ type: FourCC, inMovie movie: Box) throws(CodecError) -> Range<Int64>? {
    var position = movie.content.lowerBound
    while let box = try next(&position, before: movie.content.upperBound) {
      guard box.type == "uuid", let own = try content(of: box, ofType: CR3Header.canon) else { continue }
      return try first(type, in: own)?.content
    }
    return nil
  }
}
