// Finds the frame that represents a movie. A frame is decoded like a picture of HEIC: its data is somewhere in the
// file, and its colours, crop and orientation are the container's.
//
//   moov -> track -> sample entry: codec, size, colours -> key frames -> ImageHeader
//
// A first frame is often black. Only its decoder can find this out, so the header names some more key frames as
// alternatives, and the decoder takes the first that is not nearly black. Of Motion JPEG, a frame is chosen here, by
// the lengths of the frames: a black one is much shorter than others.

import PhotoModel

enum MoviePoster {
  /// - Parameters:
  ///   - media: the movie's own header.
  ///   - second: of the movie; `nil` chooses.
  /// - Throws: ``CodecError``; `unsupported` if there is neither a decoder for the movie's frames nor a picture beside
  ///   them.
  static func header(
    _ media: MediaHeader, in source: any ByteSource, at second: Double?, limits: CodecLimits
  ) throws(CodecError) -> ImageHeader {
    let cover = second == nil ? coverArt(media, in: source, limits) : nil
    if let cover, cover.header.storedSize.width >= media.storedSize.width {
      return ImageHeader(cover, of: media, developedSize: media.storedSize, isAdobeRGB: false)
    }
    do throws(CodecError) {
      return try frame(media, in: source, at: second, limits)
    } catch {
      guard case .unsupported = error, let cover else { throw error }
      return ImageHeader(cover, of: media, developedSize: media.storedSize, isAdobeRGB: false)
    }
  }

  /// The first picture of a sequence (ISO/IEC 23008-12 §7), whose track is like that of a movie.
  static func firstPicture(
    _ media: MediaHeader, in source: any ByteSource, limits: CodecLimits
  ) throws(CodecError) -> ImageHeader {
    try frame(media, in: source, at: 0, limits)
  }

  /// The picture beside the frames, if it has their aspect ratio.
  private static func coverArt(
    _ media: MediaHeader, in source: any ByteSource, _ limits: CodecLimits
  ) -> RAWPreview? {
    guard let range = media.thumbnail,
      let header = try? ImageHeader.read(from: ByteSourceSlice(source, range), limits: limits), header.format == .jpeg
    else { return nil }
    let cover = RAWPreview(range: range, header: header)
    return cover.hasAspect(of: media.storedSize) ? cover : nil
  }

  private static func frame(
    _ media: MediaHeader, in source: any ByteSource, at second: Double?, _ limits: CodecLimits
  ) throws(CodecError) -> ImageHeader {
    var reader = HeaderReader(source: source)
    reader.windowBytes = ContainerLimits.windowBytes
    var boxes = BoxReader(reader)
    guard let box = try boxes.first("moov", in: 0..<boxes.fileSize) else {
      throw .malformed("\(media.format.noun) without the box that describes it", offset: nil)
    }
    let movie = try Movie(&boxes, box)
    guard let description = movie.track.sampleDescription else {
      throw .malformed("a track that does not describe its samples", offset: box.content.lowerBound)
    }
    let entry = try MovieSampleEntry(&boxes, description, limits: limits)
    var count = ContainerLimits.posterFrames
    if case .jpeg = entry.coding { count = ContainerLimits.posterJPEGs }
    let frames = try movie.keyFrames(&boxes, at: second, atMost: count)
    guard let first = frames.first else { throw .unsupported("\(media.format.noun) without a key frame") }
    switch entry.coding {
    case .jpeg:
      let data = longFrame(frames) ?? first.data
      let header = try ImageHeader.read(from: ByteSourceSlice(source, data), limits: limits)
      return ImageHeader(
        RAWPreview(range: data, header: header), of: media, developedSize: media.storedSize, isAdobeRGB: false)
    case .tiles(let stated):
      let configuration = try stated.completed(by: first, &boxes.reader)
      var color = CodedTiles(
        configuration: configuration, tileSize: entry.size, size: entry.size, tiles: [[first.data]])
      color.alternatives = frames.dropFirst().map { [$0.data] }
      let picture = HEIFPicture(
        color: color, conversion: try entry.colors.checkedConversion(of: configuration.chroma), crop: entry.crop,
        orientation: media.orientation, calibration: entry.colors.calibration)
      var header = ImageHeader(picture, media)
      if entry.crop.size != media.storedSize { header.displaySize = media.storedSize }
      return header
    }
  }

  /// The first of some JPEGs of one video that is not much shorter than the longest. A guess that needs no decode: a
  /// frame of one colour has hardly any coefficients.
  private static func longFrame(_ frames: [MovieKeyFrame]) -> ByteRange? {
    let longest = frames.map(\.data.length).max() ?? 0
    return frames.first { $0.data.length * 3 >= longest }?.data
  }
}

/// The parts of a `moov` box that lead to its frames.
private struct Movie {
  let track: MovieTrack
  private var edits = MovieEdits()
  private var fragments: MovieFragments?

  init(_ boxes: inout BoxReader, _ movie: Box) throws(CodecError) {
    var found: MovieTrack?
    var timescale = 0
    var defaults: [Int: MovieFragments.Defaults] = [:]
    var isFragmented = false
    var position = movie.content.lowerBound
    while let box = try boxes.next(&position, before: movie.content.upperBound) {
      switch box.type {
      case "mvhd":
        // ISO/IEC 14496-12 §8.2.2.
        var fields = try boxes.fields(of: box, atMost: 24)
        _ = try fields.take(try fields.version().version == 1 ? 16 : 8)
        timescale = try fields.number(4)
      case "trak":
        let track = try MovieTrack(&boxes, track: box)
        if track.replaces(found) { found = track }
      case "mvex":
        isFragmented = true
        defaults = try MovieFragments.defaults(&boxes, box)
      default: break
      }
    }
    guard let found else { throw .unsupported("a movie without a track of pictures") }
    track = found
    if let list = track.editList { edits = try MovieEdits(boxes.fields(of: list), movieTimescale: timescale) }
    if isFragmented {
      fragments = MovieFragments(track: track.number, defaults: defaults[track.number] ?? .init())
    }
  }

  /// The key frame at a second, or those from which the poster is chosen.
  ///
  /// A fragmented movie may begin with samples in `moov`.
  func keyFrames(
    _ boxes: inout BoxReader, at second: Double?, atMost count: Int
  ) throws(CodecError) -> [MovieKeyFrame] {
    guard let table = track.sampleTable else { return [] }
    let wanted = second.map { edits.tick(atSecond: $0, timescale: track.timescale) }
    let end = edits.tick(atSecond: ContainerLimits.posterSeconds, timescale: track.timescale)
    var frames: [MovieKeyFrame] = []
    var samplesEnd = 0
    if var samples = try MovieSamples(&boxes, table) {
      if let wanted {
        frames = [try samples.frame(atOrBefore: wanted)]
      } else {
        frames = try samples.first(count, from: edits.start, until: end)
      }
      if isFragmented { samplesEnd = try samples.endTick() }
    }
    guard var fragments else { return frames }
    fragments.time = samplesEnd
    if let wanted {
      if !frames.isEmpty, wanted < samplesEnd { return frames }
      let found = try fragments.keyFrame(&boxes, atOrBefore: wanted, timescale: track.timescale)
      if let found, frames.isEmpty || found.tick <= wanted { return [found] }
      return frames
    }
    if frames.count >= count { return frames }
    if let last = frames.last, last.tick >= end { return frames }
    let fileSize = boxes.fileSize
    do throws(CodecError) {
      try fragments.forEachKeyFrame(&boxes, in: 0..<fileSize) { frame in
        if frames.isEmpty || frame.tick <= end {
          // A frame before the first one that is shown counts only if there is no other.
          if let last = frames.last, last.tick < edits.start { frames = [] }
          frames.append(frame)
        }
        return frames.count < count && frame.tick < end
      }
    } catch {
      // One frame is enough: the others are alternatives, and an interrupted recording may lack some of them.
      if frames.isEmpty { throw error }
    }
    return frames
  }

  private var isFragmented: Bool { fragments != nil }
}
