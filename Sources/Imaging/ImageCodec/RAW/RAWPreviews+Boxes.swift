extension RAWPreviews {
  /// The type of the box in which Canon stores a preview of medium size.
  private static let previewBox: [UInt8] = [
    0xEA, 0xF4, 0x2B, 0x5E, 0x1C, 0x98, 0x4B, 0x88, 0xB9, 0xFB, 0xB7, 0xDC, 0x40, 0x6E, 0x4D, 0x16,
  ]
  /// Bytes of fields before the JPEG, in the boxes of the thumbnail and of the preview.
  private static let fieldBytes = 16

  /// Canon's CR3: the thumbnail in the movie box, the preview in a box of its own, and a track whose only sample is the
  /// full picture. Other tracks hold sensor data.
  static func findByBoxes(_ reader: HeaderReader, _ candidates: inout Candidates) throws(CodecError) {
    var boxes = BoxReader(reader)
    var position: Int64 = 0
    while let box = try boxes.next(&position, before: boxes.fileSize) {
      switch box.type {
      case "moov":
        try skippingDamage { () throws(CodecError) in try find(inMovie: box, &boxes, &candidates) }
      case "uuid":
        // Eight bytes come before the box inside.
        guard let content = try boxes.content(of: box, ofType: previewBox), content.count > 8 else { break }
        let inner = content.lowerBound + 8..<content.upperBound
        try skippingDamage { () throws(CodecError) in
          if let preview = try boxes.first("PRVW", in: inner) {
            try add(preview, lengthAt: 12, &boxes, &candidates)
          }
        }
      default: break
      }
    }
  }

  /// Calls `find` for one part of the file and ignores damage there: the previews in other parts are still found.
  private static func skippingDamage(_ find: () throws(CodecError) -> Void) throws(CodecError) {
    do throws(CodecError) {
      try find()
    } catch {
      switch error {
      case .malformed, .truncated: break
      default: throw error
      }
    }
  }

  private static func find(
    inMovie movie: Box, _ boxes: inout BoxReader, _ candidates: inout Candidates
  ) throws(CodecError) {
    var tracks = 0
    var position = movie.content.lowerBound
    while let box = try boxes.next(&position, before: movie.content.upperBound) {
      switch box.type {
      case "uuid":
        guard let own = try boxes.content(of: box, ofType: CR3Header.canon) else { break }
        if let thumbnail = try boxes.first("THMB", in: own) {
          try add(thumbnail, lengthAt: 8, &boxes, &candidates)
        }
      case "trak":
        tracks += 1
        if tracks > ContainerLimits.tracks {
          throw .limitExceeded("the number of tracks", limit: ContainerLimits.tracks, found: tracks)
        }
        try skippingDamage { () throws(CodecError) in try find(inTrack: box, &boxes, &candidates) }
      default: break
      }
    }
  }

  /// The first sample of a track (ISO/IEC 14496-12 §8.7.3.2, §8.7.5).
  private static func find(
    inTrack track: Box, _ boxes: inout BoxReader, _ candidates: inout Candidates
  ) throws(CodecError) {
    guard let media = try boxes.first("mdia", in: track.content),
      let information = try boxes.first("minf", in: media.content),
      let table = try boxes.first("stbl", in: information.content),
      let sizes = try boxes.first("stsz", in: table.content), sizes.content.count >= 12
    else { return }
    var fields = try boxes.fields(of: sizes, atMost: 16)
    _ = try fields.version()
    var length = try fields.number(4)
    guard try fields.number(4) > 0 else { return }
    if length == 0, sizes.content.count >= 16 { length = try fields.number(4) }

    var offsets = try boxes.first("co64", in: table.content)
    if offsets == nil { offsets = try boxes.first("stco", in: table.content) }
    guard let chunks = offsets else { return }
    let offsetBytes = chunks.type == "co64" ? 8 : 4
    guard chunks.content.count >= 8 + offsetBytes else { return }
    fields = try boxes.fields(of: chunks, atMost: 8 + offsetBytes)
    _ = try fields.version()
    guard try fields.number(4) > 0 else { return }
    candidates.add(offset: Int64(try fields.number(offsetBytes)), length: length)
  }

  /// A box with a few fields, one of which is the JPEG's length, and the JPEG.
  private static func add(
    _ box: Box, lengthAt position: Int, _ boxes: inout BoxReader, _ candidates: inout Candidates
  ) throws(CodecError) {
    guard box.content.count > fieldBytes else { return }
    var fields = try boxes.fields(of: box, atMost: fieldBytes)
    _ = try fields.take(position)
    let length = try fields.number(4)
    guard length <= box.content.count - fieldBytes else { return }
    candidates.add(offset: box.content.lowerBound + Int64(fieldBytes), length: length)
  }
}
