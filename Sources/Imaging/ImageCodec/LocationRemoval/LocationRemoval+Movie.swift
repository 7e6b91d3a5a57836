import MediaMetadata

extension LocationRemoval {
  /// Boxes of a movie that hold structure (ISO/IEC 14496-12 §8.2; QuickTime File Format, "Movie Atoms").
  private static let movieBoxes: Set<FourCC> = ["mvhd", "iods", "mvex", "clip", "ctab", "rmra", "pssh", "prfl"]
  /// Boxes of a track that hold structure.
  private static let trackBoxes: Set<FourCC> = [
    "tkhd", "tref", "trgr", "edts", "load", "imap", "clip", "matt", "tapt", "txas", "strk", "msrc", "ludt",
  ]

  static func movie(
    _ movie: PlacedBox, _ file: BoxFile, _ context: inout LocationRemovalContext
  ) throws(LocationRemovalError) {
    for box in try context.boxes(in: movie.content) {
      switch box.type {
      case "trak": try track(box, file, &context)
      case "udta": try userData(box, file, &context)
      case "meta": try metadata(box, file, &context)
      case "uuid": try userBox(box, &context)
      case "cmov": throw .unsupported("a movie whose header is compressed")
      // Dash cameras: a table of positions in the samples.
      case "gps ": throw .unsupported("a movie of a dash camera with positions among its samples")
      case _ where movieBoxes.contains(box.type): break
      default: try context.erase(box)
      }
    }
  }

  /// A movie fragment (§8.8.4) and its tracks.
  static func fragment(
    _ fragment: PlacedBox, _ file: BoxFile, _ context: inout LocationRemovalContext
  ) throws(LocationRemovalError) {
    for box in try context.boxes(in: fragment.content) {
      switch box.type {
      case "udta": try userData(box, file, &context)
      case "meta": try metadata(box, file, &context)
      case "traf":
        for box in try context.boxes(in: box.content) {
          switch box.type {
          case "udta": try userData(box, file, &context)
          case "meta": try metadata(box, file, &context)
          default: break
          }
        }
      default: break
      }
    }
  }

  private static func track(
    _ track: PlacedBox, _ file: BoxFile, _ context: inout LocationRemovalContext
  ) throws(LocationRemovalError) {
    var medias: [PlacedBox] = []
    for box in try context.boxes(in: track.content) {
      switch box.type {
      case "mdia": medias.append(box)
      case "udta": try userData(box, file, &context)
      case "meta": try metadata(box, file, &context)
      case "uuid": try userBox(box, &context)
      case _ where trackBoxes.contains(box.type): break
      default: try context.erase(box)
      }
    }
    for media in medias { try self.media(media, file, &context) }
  }

  /// §8.4: the kind of a track, and the description of its samples.
  private static func media(
    _ media: PlacedBox, _ file: BoxFile, _ context: inout LocationRemovalContext
  ) throws(LocationRemovalError) {
    var handler: FourCC?
    var tables: [PlacedBox] = []
    for box in try context.boxes(in: media.content) {
      switch box.type {
      case "hdlr":
        let head = try context.head(of: box.content, count: 12)
        if head.count == 12, handler == nil { handler = FourCC(head.dropFirst(8)) }
      case "minf":
        for box in try context.boxes(in: box.content) {
          if box.type == "stbl" { tables.append(box) }
          if box.type == "free" || box.type == "skip" { try context.erase(box) }
        }
      case "udta": try userData(box, file, &context)
      case "meta": try metadata(box, file, &context)
      case "uuid": try userBox(box, &context)
      case "free", "skip": try context.erase(box)
      default: break
      }
    }
    for table in tables {
      let boxes = try context.boxes(in: table.content)
      // Free space may contain old data that another program has moved away.
      for box in boxes where box.type == "free" || box.type == "skip" { try context.erase(box) }
      for description in boxes where description.type == "stsd" {
        let entries = description.content.lowerBound + 8
        guard entries <= description.content.upperBound else { continue }
        let range = entries..<description.content.upperBound
        try timedMetadata(
          TrackSampleTable(boxes: boxes, entries: context.boxes(in: range), file: file), handler, &context)
      }
    }
  }
}
