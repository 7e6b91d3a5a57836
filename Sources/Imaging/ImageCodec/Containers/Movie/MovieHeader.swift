import MediaMetadata
import PhotoModel

/// Reads QuickTime and MPEG-4 movies from their `moov` box (ISO/IEC 14496-12 §8.2; QuickTime File Format, "Movie
/// Atoms").
enum MovieHeader {
  static func read(
    _ boxes: inout BoxReader, movie: Box, _ format: MediaFormat, _ xmpPacket: Range<Int64>?
  ) throws(CodecError) -> MediaHeader {
    var contents = Contents()
    var position = movie.content.lowerBound
    while let box = try boxes.next(&position, before: movie.content.upperBound) { try contents.take(box, &boxes) }
    guard let track = contents.track else {
      if boxes.fileEndsInBox { throw .truncated(offset: boxes.fileSize) }
      throw .unsupported("\(format.noun) without a track of pictures")
    }
    let metadata = contents.metadata
    var header = MediaHeader(format: format, storedSize: track.size)
    header.orientation = track.orientation
    if format.mediaType == .video {
      var fragmentedSeconds = contents.fragmentedSeconds
      if let defaults = contents.fragmentDefaults, fragmentedSeconds == 0 {
        var fragments = MovieFragments(track: track.number, defaults: defaults[track.number] ?? .init())
        fragmentedSeconds = try fragments.seconds(
          boxes.reader, from: movie.content.upperBound, timescale: track.timescale,
          startsAtZero: track.framesPerSecond > 0)
      }
      // `mvhd` may cover only the samples in `moov`.
      let covered = max(contents.seconds, fragmentedSeconds)
      header.durationSeconds = covered > 0 ? covered : track.seconds
      header.facts.subtypes = metadata.subtypes(framesPerSecond: track.framesPerSecond)
      if let description = track.sampleDescription {
        header.movie = try MovieFacts(&boxes, description: description, framesPerSecond: track.framesPerSecond)
      }
    }
    let dates: [EXIFDate?] = [
      metadata.date, EXIFDate(movieTime: contents.created), EXIFDate(movieTime: track.created),
    ]
    header.containerDates = dates.compactMap { $0 }
    header.exif.make = metadata.make
    header.exif.model = metadata.model
    header.exif.location = metadata.location
    header.facts.contentIdentifier = metadata.contentIdentifier
    header.thumbnail = metadata.coverArt.map { ByteRange($0) }
    if let packet = metadata.xmp ?? xmpPacket { try header.parse(xmp: packet, &boxes.reader) }
    return header
  }

  /// The facts in the boxes of `moov`.
  private struct Contents {
    private(set) var created = 0
    private(set) var seconds = 0.0
    private(set) var fragmentedSeconds = 0.0
    private(set) var fragmentDefaults: [Int: MovieFragments.Defaults]?
    private(set) var track: MovieTrack?
    private(set) var metadata = MovieMetadata()
    private var timescale = 0
    private var tracks = 0

    mutating func take(_ box: Box, _ boxes: inout BoxReader) throws(CodecError) {
      switch box.type {
      case "mvhd": try takeHeader(box, &boxes)
      case "trak": try takeTrack(box, &boxes)
      case "mvex": try takeFragmentDefaults(box, &boxes)
      case "udta": try metadata.readUserData(&boxes, box)
      case "meta": try metadata.readMetadata(&boxes, box)
      case "cmov": throw .unsupported("a movie whose header is compressed")
      default: break
      }
    }

    /// §8.2.2.
    private mutating func takeHeader(_ box: Box, _ boxes: inout BoxReader) throws(CodecError) {
      var fields = try boxes.fields(of: box, atMost: 32)
      let timeBytes = try fields.version().version == 1 ? 8 : 4
      created = try fields.number(timeBytes)
      _ = try fields.take(timeBytes)
      timescale = try fields.number(4)
      seconds = MovieTime.seconds(try fields.number(timeBytes), bytes: timeBytes, timescale: timescale)
    }

    /// The first enabled track of pictures is shown.
    private mutating func takeTrack(_ box: Box, _ boxes: inout BoxReader) throws(CodecError) {
      tracks += 1
      if tracks > ContainerLimits.tracks {
        throw .limitExceeded("the number of tracks", limit: ContainerLimits.tracks, found: tracks)
      }
      if let track, track.isEnabled { return }
      let next = try MovieTrack(&boxes, track: box)
      if next.replaces(track) { track = next }
    }

    private mutating func takeFragmentDefaults(_ box: Box, _ boxes: inout BoxReader) throws(CodecError) {
      fragmentDefaults = try MovieFragments.defaults(&boxes, box)
      // §8.8.2: a fragmented movie states its duration here, if at all.
      guard let header = try boxes.first("mehd", in: box.content) else { return }
      var fields = try boxes.fields(of: header, atMost: 12)
      let bytes = try fields.version().version == 1 ? 8 : 4
      fragmentedSeconds = MovieTime.seconds(try fields.number(bytes), bytes: bytes, timescale: timescale)
    }
  }
}
