// Reads all metadata of a file: the header locates the metadata blocks, this file reads them, and MediaMetadata parses
// them. Nothing else of the file is read, and the amount is limited.

import MediaMetadata
import PhotoModel

/// A file's metadata in readable form.
package struct FileMetadata: Sendable, Hashable {
  /// Values by section: `Image` has the facts from the format; the other sections are those of ``MetadataDictionary``.
  package let sections: [String: [String: MetadataValue]]
  /// The sections that are missing completely or in part, with the reason, one line each.
  package let incomplete: [String]

  /// Reads a file's metadata. Damaged parts are left out and listed in `incomplete`.
  ///
  /// - Parameter includesLocations: false removes everything that reveals a location, by the location rule.
  /// - Throws: ``CodecError`` if the header or the file can't be read.
  package static func read(
    from source: any ByteSource, limits: CodecLimits, includesLocations: Bool, includesNames: Bool = true
  ) throws(CodecError) -> FileMetadata {
    let header = try MediaHeader.read(from: source, limits: limits.headerOnly, .everything)
    // A PNG may also have text chunks after its pixels, which the header reader does not search.
    let places =
      header.format == .png ? try PNGHeader.metadataBlocks(of: source, limits: limits) : header.blocks
    var incomplete: [String] = []
    var blocks = try blocks(places, of: source, &incomplete)
    if let exif = header.assembledEXIF, let block = exif.block {
      blocks.append(MetadataDictionary.Block(.exif, block[...]))
      if exif.omittedCount > 0 {
        incomplete.append(
          "EXIF: \(exif.omittedCount) values that are longer than \(ContainerLimits.assembledValueBytes) bytes or are a maker note"
        )
      }
    }
    let dictionary = MetadataDictionary(
      blocks, includesLocations: includesLocations, includesNames: includesNames)
    return FileMetadata(
      sections: dictionary.sections.merging(sections(header, includesLocations: includesLocations)) { first, _ in first
      },
      incomplete: incomplete + dictionary.incomplete)
  }

  /// The facts from the format and, for a video, the metadata of its container.
  private static func sections(_ header: MediaHeader, includesLocations: Bool) -> [String: [String: MetadataValue]] {
    guard header.format.mediaType == .video else { return ["Image": image(header)] }
    return ["Image": image(header), "Movie": movie(header, includesLocations: includesLocations)]
  }

  private static func movie(_ header: MediaHeader, includesLocations: Bool) -> [String: MetadataValue] {
    var movie: [String: MetadataValue] = [:]
    if let date = header.containerDate { movie["CreationDate"] = .text(date.movieText) }
    if let make = header.exif.make { movie["Make"] = .text(make) }
    if let model = header.exif.model { movie["Model"] = .text(model) }
    if let facts = header.movie {
      movie["Codec"] = .text(facts.codec)
      if facts.framesPerSecond > 0 { movie["FramesPerSecond"] = .number(facts.framesPerSecond) }
      if let format = facts.hdrFormat { movie["HighDynamicRange"] = .text(format.rawValue) }
    }
    if let identifier = header.facts.contentIdentifier { movie["ContentIdentifier"] = .text(identifier) }
    if includesLocations, let location = header.exif.location {
      movie["Latitude"] = .number(location.latitude)
      movie["Longitude"] = .number(location.longitude)
      if let altitude = location.altitude { movie["Altitude"] = .number(altitude) }
    }
    return movie
  }

  /// The `Image` section, before the orientation is applied.
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
      let bytes = try source.codecBytes(at: place.range.offset, count: place.range.length)
      blocks.append(MetadataDictionary.Block(place.kind, bytes[...]))
    }
    return blocks
  }
}
