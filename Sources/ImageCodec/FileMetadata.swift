// All metadata of a file: its header says where the blocks lie, they are read, and MediaMetadata says what they hold. Never more of the
// file than that, and that within limits.

import MediaMetadata
import PhotoModel

/// What a file says of itself, in words.
package struct FileMetadata: Sendable, Hashable {
  /// By section: `Image` is what the format tells; the others are those of ``MetadataDictionary``.
  package let sections: [String: [String: MetadataValue]]
  /// What is not there, whole or in part, and why, a line each.
  package let incomplete: [String]

  /// Reads a file's metadata. What is damaged in it is left out and said so.
  ///
  /// - Parameter includesPlaces: false leaves out whatever tells where, by the location rule.
  /// - Throws: ``CodecError`` where the header can't be read, or the file.
  package static func read(
    from source: any ByteSource, limits: CodecLimits, includesPlaces: Bool
  ) throws(CodecError) -> FileMetadata {
    let header = try MediaHeader.read(from: source, limits: limits.headerAlone, .everything)
    // Text chunks may also stand behind a PNG's pixels, where its header's reader does not look.
    let places =
      header.format == .png ? try PNGHeader.metadataBlocks(of: source, limits: limits) : header.blocks
    var incomplete: [String] = []
    var blocks = try blocks(places, of: source, &incomplete)
    if let exif = header.gatheredEXIF, let block = exif.block {
      blocks.append(MetadataDictionary.Block(.exif, block[...]))
      if exif.leftOut > 0 {
        incomplete.append(
          "EXIF: \(exif.leftOut) values that are longer than \(ContainerLimits.gatheredValueBytes) bytes or are a maker note"
        )
      }
    }
    let dictionary = MetadataDictionary(blocks, includesPlaces: includesPlaces)
    return FileMetadata(
      sections: dictionary.sections.merging(sections(header, includesPlaces: includesPlaces)) { first, _ in first },
      incomplete: incomplete + dictionary.incomplete)
  }

  /// What the format tells, and of a video what its container tells beside.
  private static func sections(_ header: MediaHeader, includesPlaces: Bool) -> [String: [String: MetadataValue]] {
    guard header.format.mediaType == .video else { return ["Image": image(header)] }
    return ["Image": image(header), "Movie": movie(header, includesPlaces: includesPlaces)]
  }

  private static func movie(_ header: MediaHeader, includesPlaces: Bool) -> [String: MetadataValue] {
    var movie: [String: MetadataValue] = [:]
    if let date = header.containerDate { movie["CreationDate"] = .text(date.movieText) }
    if let make = header.exif.make { movie["Make"] = .text(make) }
    if let model = header.exif.model { movie["Model"] = .text(model) }
    if let identifier = header.facts.contentIdentifier { movie["ContentIdentifier"] = .text(identifier) }
    if includesPlaces, let location = header.exif.location {
      movie["Latitude"] = .number(location.latitude)
      movie["Longitude"] = .number(location.longitude)
      if let altitude = location.altitude { movie["Altitude"] = .number(altitude) }
    }
    return movie
  }

  /// As the file stores it, before the orientation is applied.
  private static func image(_ header: MediaHeader) -> [String: MetadataValue] {
    var image: [String: MetadataValue] = [
      "UniformTypeIdentifier": .text(header.format.uniformTypeIdentifier),
      "PixelWidth": .integer(header.storedSize.width), "PixelHeight": .integer(header.storedSize.height),
      "Orientation": .integer(header.orientation.rawValue), "HasAlpha": .boolean(header.hasAlpha),
    ]
    if header.format.mediaType == .video { image["Duration"] = .number(header.durationSeconds) }
    return image
  }

  private static func blocks(
    _ places: [MetadataBlock], of source: any ByteSource, _ incomplete: inout [String]
  ) throws(CodecError) -> [MetadataDictionary.Block] {
    var blocks: [MetadataDictionary.Block] = []
    var rest = MetadataLimits.fileBytes
    for place in places where place.kind != .multiPicture {
      guard blocks.count < MetadataLimits.blocks, place.range.length <= rest else {
        incomplete.append(
          "\(place.kind.rawValue): more than \(MetadataLimits.blocks) blocks or \(MetadataLimits.fileBytes) bytes")
        continue
      }
      rest -= place.range.length
      do throws(ByteSourceError) {
        let bytes = try source.bytes(at: place.range.offset, count: place.range.length)
        blocks.append(MetadataDictionary.Block(place.kind, bytes[...]))
      } catch {
        switch error {
        case .readFailed(let code): throw .readFailed(code: code)
        }
      }
    }
    return blocks
  }
}
