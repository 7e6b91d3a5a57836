import MediaMetadata
import PhotoModel

extension LocationRemoval {
  /// User data without locations, besides texts whose type begins with ©: names, descriptions, dates, devices, rights,
  /// how to play (ISO/IEC 14496-12 §8.10; 3GPP TS 26.244 §8; QuickTime File Format, "User Data Atoms"; makers' own).
  private static let harmless: Set<FourCC> = [
    "name", "titl", "auth", "perf", "gnre", "dscp", "cprt", "albm", "yrrc", "rtng", "clsf", "kywd", "coll", "urat",
    "hnti", "hinf", "hinv", "tsel", "strk", "WLOC", "LOOP", "SelO", "AllF", "ptv ", "play", "tnam", "tagc", "date",
    "manu", "modl", "cver", "reel", "scen", "shot", "slno", "clfn", "clid", "cmid", "cmnm", "angl", "apmd", "kgtt",
    "chpl", "ludt", "kind", "cvru", "icnu", "infu", "cdis", "ccid", "albr", "lrcu", "Xtra", "vndr", "SDLN", "smta",
    "saut", "smrd", "vrot", "CNCV", "CNMN", "CNFV", "CNOP", "GoPr", "FIRM", "LENS", "CAME", "SETT", "MUID", "HMMT",
    "BCID", "GUMI", "SNum", "Lvlm", "lvlm", "st3d", "sv3d", "@mak", "@mod", "@swr", "@day",
  ]
  /// Texts of QuickTime without the ©.
  private static let harmlessTexts: Set<String> = [
    "cpy", "day", "ART", "alb", "arg", "ark", "cmt", "cok", "com", "dir", "ed1", "ed2", "ed3", "ed4", "ed5", "ed6",
    "ed7", "ed8", "ed9", "enc", "fmt", "gen", "grp", "hst", "inf", "isr", "key", "lab", "lal", "lyr", "mak", "mal",
    "mod", "mdl", "nam", "pdk", "phg", "prd", "prf", "prk", "prl", "req", "snk", "snm", "src", "swf", "swk", "swr",
    "too", "trk", "wrt", "aut", "des", "uid", "url", "wrn", "st3", "sne", "sol", "TSC", "TSZ", "TIM", "res", "con",
    "ope", "mvn", "mvi", "mvc", "nar", "pub", "wrk", "xpd", "ard",
  ]

  /// A list of user data. Entries of a kind that is not known become free boxes.
  ///
  /// - Parameter file: for items, whose offsets count from its start.
  static func userData(
    _ userData: PlacedBox, _ file: BoxFile, _ context: inout LocationRemovalContext
  ) throws(LocationRemovalError) {
    // User data may be in user data.
    try context.nested { context throws(LocationRemovalError) in try userEntries(userData, file, &context) }
  }

  private static func userEntries(
    _ userData: PlacedBox, _ file: BoxFile, _ context: inout LocationRemovalContext
  ) throws(LocationRemovalError) {
    let boxes: [PlacedBox]
    do throws(LocationRemovalError) {
      boxes = try context.boxes(in: userData.content)
    } catch {
      // Some cameras store something else than boxes.
      guard case .malformed = error else { throw error }
      return try context.erase(userData)
    }
    for box in boxes {
      switch box.type {
      case "meta": try metadata(box, file, &context)
      case "udta": try self.userData(box, file, &context)
      case "uuid": try userBox(box, &context)
      case "XMP_": if !box.content.isEmpty { try context.removeXMP(in: box.content) }
      case "GPMF": try telemetry(box.content, &context)
      case "CNTH":
        for picture in try context.boxes(in: box.content) { try embeddedPicture(picture.content, &context) }
      // Older cameras of many makers: exposure, lens, settings.
      case "TAGS":
        let text = try context.block(box.content)
        if LocationWords.areIn(text) || holdsMetadata(Array(text)) { try context.erase(box) }
      case _ where isHarmless(box.type): break
      default: try context.erase(box)
      }
    }
  }

  private static func isHarmless(_ type: FourCC) -> Bool {
    if harmless.contains(type) { return true }
    guard type.rawValue >> 24 == 0xA9 else { return false }
    return harmlessTexts.contains(String(type.description.dropFirst()))
  }

  /// A `meta` box in any of its forms: QuickTime's with keys, iTunes' with types, a list of items, or XML.
  static func metadata(
    _ metadata: PlacedBox, _ file: BoxFile, _ context: inout LocationRemovalContext
  ) throws(LocationRemovalError) {
    try context.nested { context throws(LocationRemovalError) in try metadataEntries(metadata, file, &context) }
  }

  private static func metadataEntries(
    _ metadata: PlacedBox, _ file: BoxFile, _ context: inout LocationRemovalContext
  ) throws(LocationRemovalError) {
    var start = metadata.content.lowerBound
    // In QuickTime this is a plain box whose first child is its handler; in MPEG-4 a version comes first (§8.11.1).
    let head = try context.head(of: metadata.content, count: 8)
    if head.count == 8, FourCC(head.dropFirst(4)) != "hdlr" { start += 4 }
    guard start <= metadata.content.upperBound else { return }
    let boxes = try context.boxes(in: start..<metadata.content.upperBound)
    try items(boxes, file, &context)
    var keys: [String] = []
    for box in boxes where box.type == "keys" { keys += try self.keys(box, &context) }
    for box in boxes {
      switch box.type {
      case "hdlr", "keys", "pitm", "iinf", "iloc", "iref", "iprp", "idat", "ipro", "grpl", "dinf", "mhdr", "lang": break
      case "ilst": try list(box, keys, &context)
      case "xml ": try xml(box, &context)
      case "meta": try self.metadata(box, file, &context)
      case "udta": try userData(box, file, &context)
      case "uuid": try userBox(box, &context)
      default: try context.erase(box)
      }
    }
  }

  /// QuickTime File Format, "Metadata Item Keys Atom".
  private static func keys(
    _ box: PlacedBox, _ context: inout LocationRemovalContext
  ) throws(LocationRemovalError) -> [String] {
    var fields = ByteFields(try context.block(box.content), at: box.content.lowerBound)
    _ = try fields.number(4)
    var keys: [String] = []
    for _ in 0..<(try fields.number(4)) {
      let length = try fields.number(4)
      _ = try fields.take(4)
      keys.append(String(decoding: try fields.take(length - 8), as: UTF8.self))
    }
    return keys
  }

  /// "Metadata Item List Atom": an item's type is the number of its key, starting at 1, or is itself the name; the
  /// name of a free-form item (`----`) is inside of it.
  private static func list(
    _ list: PlacedBox, _ keys: [String], _ context: inout LocationRemovalContext
  ) throws(LocationRemovalError) {
    for item in try context.boxes(in: list.content) {
      let number = Int(item.type.rawValue)
      if (1...max(1, keys.count)).contains(number), !keys.isEmpty {
        if LocationBlocks.isLocation(name: keys[number - 1]) { try context.erase(item) }
      } else if item.type == "----" {
        for part in try context.boxes(in: item.content) where part.type == "name" {
          let name = try context.block(part.content).dropFirst(4)
          if LocationBlocks.isLocation(name: String(decoding: name, as: UTF8.self)) {
            try context.erase(item)
            break
          }
        }
      } else if ["©xyz", "loci", "free", "skip"].contains(item.type) || item.type.rawValue < 0x100_0000 {
        // A number without a key may be a location.
        try context.erase(item)
      }
    }
  }

  /// Sony's description of a recording, and others. One with coordinates becomes spaces.
  private static func xml(
    _ box: PlacedBox, _ context: inout LocationRemovalContext
  ) throws(LocationRemovalError) {
    let content = min(box.content.lowerBound + 4, box.content.upperBound)..<box.content.upperBound
    let old = try context.block(content)
    if LocationWords.areIn(old) {
      try context.replace(old, at: content.lowerBound, by: [UInt8](repeating: 0x20, count: old.count))
    }
  }
}
