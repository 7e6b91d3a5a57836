import PhotoModel

/// A track of a movie (ISO/IEC 14496-12 §8.3; QuickTime File Format, "Track Atoms").
struct MovieTrack {
  private(set) var isEnabled = false
  /// Whether the track is visual: `vide` or `pict`.
  private(set) var isVisual = false
  /// Size in square pixels, before the matrix is applied.
  private(set) var size = PixelSize(width: 0, height: 0)
  private(set) var orientation = Orientation.topLeft
  /// Seconds since 1904; 0 if not stated.
  private(set) var created = 0
  private(set) var seconds = 0.0
  /// 0 if not stated.
  private(set) var framesPerSecond = 0.0
  /// Ticks in a second; 0 if not stated.
  private(set) var timescale = 0
  /// The number by which fragments name the track.
  private(set) var number = 0
  /// `stbl`, `stsd` in it, and `elst`.
  private(set) var sampleTable: Box?
  private(set) var sampleDescription: Box?
  private(set) var editList: Box?

  init(_ boxes: inout BoxReader, track: Box) throws(CodecError) {
    var position = track.content.lowerBound
    while let box = try boxes.next(&position, before: track.content.upperBound) {
      switch box.type {
      case "tkhd": try readHeader(boxes.fields(of: box, atMost: 128))
      case "mdia": try readMedia(&boxes, box)
      case "edts": editList = try boxes.first("elst", in: box.content)
      default: break
      }
    }
  }

  /// §8.3.2.
  private mutating func readHeader(_ fields: BoxFields) throws(CodecError) {
    var fields = fields
    let (version, flags) = try fields.version()
    isEnabled = flags & 1 != 0
    let timeBytes = version == 1 ? 8 : 4
    created = try fields.number(timeBytes)
    _ = try fields.take(timeBytes)
    number = try fields.number(4)
    // Skip: reserved, duration; reserved, layer, group, volume, reserved.
    _ = try fields.take(4 + timeBytes + 16)
    var matrix: [Int] = []
    for _ in 0..<9 { matrix.append(try fields.signed32()) }
    orientation = Self.orientation(a: matrix[0], b: matrix[1], c: matrix[3], d: matrix[4])
    // 16.16 fixed point.
    let width = try fields.number(4) >> 16
    size = PixelSize(width: width, height: try fields.number(4) >> 16)
  }

  /// The orientation nearest to a matrix that shows the point (x, y) of a frame at (ax + cy, bx + dy), y downwards: a
  /// quarter turn or a mirroring.
  static func orientation(a: Int, b: Int, c: Int, d: Int) -> Orientation {
    let swapsSides = abs(a) + abs(d) < abs(b) + abs(c)
    return Orientation(
      swapsSides: swapsSides, mirrorsX: (swapsSides ? c : a) < 0, mirrorsY: (swapsSides ? b : d) < 0)
  }

  private mutating func readMedia(_ boxes: inout BoxReader, _ media: Box) throws(CodecError) {
    var position = media.content.lowerBound
    while let box = try boxes.next(&position, before: media.content.upperBound) {
      switch box.type {
      case "mdhd":
        // §8.4.2.
        var fields = try boxes.fields(of: box, atMost: 32)
        let timeBytes = try fields.version().version == 1 ? 8 : 4
        let time = try fields.number(timeBytes)
        if created == 0 { created = time }
        _ = try fields.take(timeBytes)
        timescale = try fields.number(4)
        seconds = MovieTime.seconds(try fields.number(timeBytes), bytes: timeBytes, timescale: timescale)
      case "hdlr":
        // §8.4.3.
        var fields = try boxes.fields(of: box, atMost: 12)
        _ = try fields.take(8)
        let handler = try fields.type()
        isVisual = handler == "vide" || handler == "pict"
      case "minf" where isVisual:
        guard let table = try boxes.first("stbl", in: box.content) else { break }
        sampleTable = table
        try readSamples(&boxes, table)
      default: break
      }
    }
  }

  /// Whether this track is to be shown, and not the one before: the first enabled one. A disabled one, such as a
  /// chapter's picture, is used only if there is no other.
  func replaces(_ track: MovieTrack?) -> Bool {
    guard isVisual else { return false }
    guard let track else { return true }
    return isEnabled && !track.isEnabled
  }

  private mutating func readSamples(_ boxes: inout BoxReader, _ table: Box) throws(CodecError) {
    var position = table.content.lowerBound
    while let box = try boxes.next(&position, before: table.content.upperBound) {
      switch box.type {
      case "stsd":
        sampleDescription = box
        try readSize(&boxes, box)
      case "stts": framesPerSecond = try frameRate(boxes.fields(of: box, atMost: 8 + 8 * ContainerLimits.frameRuns))
      default: break
      }
    }
  }

  /// §12.1.3: the size of the first entry's frames, cut by `clap`, with the shape of their pixels (`pasp`). It counts
  /// if the track states no size, or only the size of the coded frames, as some programs write it.
  private mutating func readSize(_ boxes: inout BoxReader, _ description: Box) throws(CodecError) {
    let isStated = size.width > 0 && size.height > 0
    // The version, and the number of entries.
    var position = description.content.lowerBound + 8
    guard let entry = try boxes.next(&position, before: description.content.upperBound),
      entry.content.count >= MovieSampleEntry.fieldBytes
    else {
      if isStated { return }
      throw .malformed("a track that does not describe its samples", offset: description.content.lowerBound)
    }
    var fields = try boxes.fields(of: entry, atMost: MovieSampleEntry.fieldBytes)
    _ = try fields.take(24)
    let width = try fields.number(2)
    let coded = PixelSize(width: width, height: try fields.number(2))
    if isStated, size != coded { return }
    size = coded
    // Canon's RAW files have other fields before the boxes.
    if entry.type == "CRAW" { return }
    position = entry.content.lowerBound + Int64(MovieSampleEntry.fieldBytes)
    var shape = (width: 1, height: 1)
    while let child = try boxes.next(&position, before: entry.content.upperBound) {
      switch child.type {
      case "clap" where child.content.count >= 32:
        size = try HEIFTransformation(&boxes, size: coded, by: [child]).crop.size
      case "pasp" where child.content.count >= 8:
        // §12.1.4: horizontal and vertical spacing.
        var fields = try boxes.fields(of: child, atMost: 8)
        let width = try fields.number(4)
        shape = (width, try fields.number(4))
      default: break
      }
    }
    guard shape.width > 0, shape.height > 0 else { return }
    let shown = size.width * shape.width / shape.height
    // A track header can't state a greater width.
    if (1...0xFFFF).contains(shown) { size = PixelSize(width: shown, height: size.height) }
  }

  /// §8.6.1.2: runs of frames with equal durations. If all frames of a video have different durations, the first ones
  /// decide.
  private func frameRate(_ fields: BoxFields) throws(CodecError) -> Double {
    var fields = fields
    _ = try fields.version()
    let runs = min(try fields.number(4), ContainerLimits.frameRuns)
    var frames = 0.0
    var ticks = 0.0
    for _ in 0..<runs {
      let count = Double(try fields.number(4))
      frames += count
      ticks += count * Double(try fields.number(4))
    }
    return ticks > 0 ? frames * Double(timescale) / ticks : 0
  }
}

enum MovieTime {
  /// A duration in seconds; 0 if it is unknown, which is stored as 0 or as all ones (§8.2.2.3).
  static func seconds(_ duration: Int, bytes: Int, timescale: Int) -> Double {
    guard timescale > 0, duration > 0, duration < (bytes == 8 ? Int.max : 0xFFFF_FFFF) else { return 0 }
    return Double(duration) / Double(timescale)
  }
}

extension Orientation {
  /// The orientation that performs these three operations, in this order.
  init(swapsSides: Bool, mirrorsX: Bool, mirrorsY: Bool) {
    self =
      switch (swapsSides, mirrorsX, mirrorsY) {
      case (false, false, false): .topLeft
      case (false, true, false): .topRight
      case (false, true, true): .bottomRight
      case (false, false, true): .bottomLeft
      case (true, false, false): .leftTop
      case (true, true, false): .rightTop
      case (true, true, true): .rightBottom
      case (true, false, true): .leftBottom
      }
  }
}
