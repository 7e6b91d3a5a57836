// Tracks of metadata: positions that a camera records while it films. Where the format of the samples is known, only
// locations in them are replaced. Samples of a kind that is not known become zeros, as far as the limits allow; over a
// limit the file is refused. Renaming the track would not do: its samples would still be in the file.

import MediaMetadata

extension LocationRemoval {
  /// Handlers of tracks that are seen or heard, or say how others are sent (ISO/IEC 14496-12 §8.4.3, and QuickTime's).
  private static let media: Set<FourCC> = [
    "vide", "soun", "auxv", "pict", "tmcd", "hint", "clcp", "subp", "sdsm", "odsm", "musi", "sprt", "qd3d", "strm",
    "twen", "MPEG",
  ]
  /// Kinds of samples without locations: time codes, GoPro's data for recovery, Canon's exposures.
  private static let harmless: Set<FourCC> = ["tmcd", "fdsc", "CTMD", "c608", "c708"]
  /// Kinds that hold locations under any handler.
  private static let positions: Set<FourCC> = ["gpmd", "camm", "mebx", "rtmd", "djmd", "dbgi", "gps ", "RVMI", "marl"]

  static func timedMetadata(
    _ table: TrackSampleTable, _ handler: FourCC?, _ context: inout LocationRemovalContext
  ) throws(LocationRemovalError) {
    let types = Set(table.entries.map(\.type))
    if let handler, media.contains(handler), types.isDisjoint(with: positions) { return }
    if types.isSubset(of: harmless), !types.isEmpty { return }
    guard types.count <= 1 else { throw .unsupported("a track with several kinds of metadata") }
    guard let entry = table.entries.first else {
      // Samples without a description can't be played or read.
      for sample in try table.samples(&context) { try context.zero(sample) }
      return
    }
    if entry.type == "mett", try isHarmlessText(entry, &context) { return }
    let keys = entry.type == "mebx" ? try keysOfLocations(table.entries, &context) : []
    if entry.type == "mebx", keys.isEmpty { return }
    for sample in try table.samples(&context) {
      context.claim(sample, as: entry.type)
      switch entry.type {
      case "gpmd": try telemetry(sample, &context)
      case "camm": try cameraMotion(sample, &context)
      case "mebx": try values(sample, of: keys, &context)
      case "rtmd": try sony(sample, &context)
      case "text", "tx3g", "wvtt", "stpp", "sbtt", "stxt": try subtitle(sample, entry.type, &context)
      default: try context.zero(sample)
      }
    }
  }

  /// Text samples with a media type (§12.3.3.2): those of motion photos and of augmented reality hold no location.
  private static func isHarmlessText(
    _ entry: PlacedBox, _ context: inout LocationRemovalContext
  ) throws(LocationRemovalError) -> Bool {
    let content = try context.block(entry.content)
    guard content.count > 8 else { return false }
    var fields = ByteFields(content.dropFirst(8), at: entry.content.lowerBound)
    let types = [fields.text(), fields.text()]
    return types.contains { type in
      ["application/microvideo", "application/motionphoto", "application/motion-photo", "application/arcore"]
        .contains { type.hasPrefix($0) }
    }
  }

  // MARK: QuickTime

  /// QuickTime File Format, "Timed Metadata Media": the local numbers of keys that are locations.
  private static func keysOfLocations(
    _ entries: [PlacedBox], _ context: inout LocationRemovalContext
  ) throws(LocationRemovalError) -> Set<FourCC> {
    var keys: Set<FourCC> = []
    for entry in entries where entry.content.count > 8 {
      for box in try context.boxes(in: entry.content.lowerBound + 8..<entry.content.upperBound) where box.type == "keys"
      {
        for key in try context.boxes(in: box.content) {
          for box in try context.boxes(in: key.content) where box.type == "keyd" {
            // The name follows its namespace.
            let name = String(decoding: try context.block(box.content).dropFirst(4), as: UTF8.self)
            if LocationBlocks.isLocation(name: name) { keys.insert(key.type) }
          }
        }
      }
    }
    return keys
  }

  /// Values of a sample, each a box whose type is the number of its key. The number 0 means no key.
  private static func values(
    _ sample: Range<Int64>, of keys: Set<FourCC>, _ context: inout LocationRemovalContext
  ) throws(LocationRemovalError) {
    for box in try context.boxes(in: sample) where keys.contains(box.type) {
      try context.replace(at: box.whole.lowerBound + 4, with: [0, 0, 0, 0])
      try context.zero(box.content)
    }
  }

  // MARK: Subtitles

  /// A text that names coordinates becomes spaces.
  private static func subtitle(
    _ sample: Range<Int64>, _ type: FourCC, _ context: inout LocationRemovalContext
  ) throws(LocationRemovalError) {
    let old = try context.block(sample)
    guard LocationWords.areIn(old) else { return }
    var new = [UInt8](repeating: 0x20, count: old.count)
    switch type {
    case "text", "tx3g":
      // The length of the text, the text, and boxes that say how it looks.
      guard old.count >= 2 else { break }
      let end = min(old.count, 2 + old.bigEndian(at: 0, bytes: 2))
      new.replaceSubrange(0..<2, with: old.prefix(2))
      new.replaceSubrange(end..<new.count, with: old.dropFirst(end))
      // Boxes may hold texts too.
      if LocationWords.areIn(old.dropFirst(end)) {
        new.replaceSubrange(end..., with: [UInt8](repeating: 0, count: old.count - end))
      }
    // ISO/IEC 14496-30 §7.4: an empty cue.
    case "wvtt" where old.count >= 8:
      new = [UInt8](repeating: 0, count: old.count)
      let count = UInt32(clamping: old.count)
      new.replaceSubrange(
        0..<8, with: (0..<4).map { UInt8(truncatingIfNeeded: count >> (24 - 8 * $0)) } + Array("vtte".utf8))
    default: break
    }
    try context.replace(old, at: sample.lowerBound, by: new)
  }

  // MARK: Other makers

  /// Bytes of a Camera Motion packet's values, by its type.
  private static let motionLengths = [12, 8, 12, 12, 12, 24, 56, 12]

  /// Camera Motion Metadata: little-endian packets, each with a type and values of a fixed length. Types 5 and 6 are
  /// positions; they get types that do not exist, 0xFFFD and 0xFFFE. Nothing is known after a packet of another type.
  private static func cameraMotion(
    _ sample: Range<Int64>, _ context: inout LocationRemovalContext
  ) throws(LocationRemovalError) {
    let old = try context.block(sample)
    var new = Array(old)
    var position = 0
    while position + 4 <= new.count {
      let type = old.littleEndian(at: position + 2, bytes: 2)
      let known = type >= 0xFFFD ? type - 0xFFF8 : type
      let length = known < motionLengths.count ? motionLengths[known] : new.count
      let end = min(new.count, position + 4 + length)
      if known >= 5, known != 7 {
        let erased = UInt8(truncatingIfNeeded: known < motionLengths.count ? known + 0xF8 : 0xFF)
        new.replaceSubrange(
          position..<end, with: [0, 0, erased, 0xFF] + [UInt8](repeating: 0, count: end - position - 4))
      }
      position = end
    }
    try context.replace(old, at: sample.lowerBound, by: new)
  }

  /// Sony's real-time metadata: after a header whose length comes first, tags and lengths of 16 bits each. The tags of
  /// positions become 0.
  private static func sony(
    _ sample: Range<Int64>, _ context: inout LocationRemovalContext
  ) throws(LocationRemovalError) {
    let old = try context.block(sample)
    var new = Array(old)
    guard old.count >= 2 else { return }
    var position = old.bigEndian(at: 0, bytes: 2)
    while position + 4 <= old.count {
      let tag = old.bigEndian(at: position, bytes: 2)
      // The key of a set has 16 bytes; the set's contents are tags too.
      if tag == 0x060E || tag == 0x8300 {
        position += tag == 0x8300 ? 4 : 16
        continue
      }
      if tag == 0 { break }
      let end = position + 4 + old.bigEndian(at: position + 2, bytes: 2)
      guard end <= old.count else {
        // The structure is unknown.
        return try context.zero(sample)
      }
      if tag >> 8 == 0x85 {
        new.replaceSubrange(position + 4..<end, with: [UInt8](repeating: 0, count: end - position - 4))
        new.replaceSubrange(position..<position + 2, with: [0xFF, 0xFF])
      }
      position = end
    }
    // Nothing but padding follows the last tag.
    if position < old.count {
      new.replaceSubrange(position..., with: [UInt8](repeating: 0, count: old.count - position))
    }
    try context.replace(old, at: sample.lowerBound, by: new)
  }

  // MARK: GoPro

  /// GoPro's telemetry: keys with a type and a length, nested. Positions become an empty stream of the same length.
  /// Bytes of another structure become zeros.
  static func telemetry(
    _ range: Range<Int64>, _ context: inout LocationRemovalContext
  ) throws(LocationRemovalError) {
    let old = try context.block(range)
    var new = Array(old)
    // The ends of the lists that contain the position, outermost first.
    var ends = [old.count]
    var position = 0
    while let end = ends.last {
      guard position + 8 <= end else {
        position = end
        ends.removeLast()
        continue
      }
      let key = Array(old.dropFirst(position).prefix(4))
      let type = old.bigEndian(at: position + 4, bytes: 1)
      let length = old.bigEndian(at: position + 5, bytes: 1) * old.bigEndian(at: position + 6, bytes: 2)
      let content = position + 8..<position + 8 + (length + 3) / 4 * 4
      // The end of a list may be padded with zeros.
      if key == [0, 0, 0, 0] {
        position = end
        continue
      }
      guard content.upperBound <= end, key.allSatisfy({ (0x20...0x7E).contains($0) }), ends.count <= 8 else {
        return try context.zero(range)
      }
      if key.starts(with: Array("GPS".utf8)) {
        new.replaceSubrange(position..<position + 4, with: Array("EMPT".utf8))
        new.replaceSubrange(content, with: [UInt8](repeating: 0, count: content.count))
        position = content.upperBound
      } else if type == 0 {
        position = content.lowerBound
        ends.append(content.upperBound)
      } else {
        position = content.upperBound
      }
    }
    try context.replace(old, at: range.lowerBound, by: new)
  }
}
