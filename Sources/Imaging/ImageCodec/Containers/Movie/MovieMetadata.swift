import MediaMetadata
import PhotoModel

/// A movie's metadata by name, in any of its three forms: QuickTime's user data (`udta`, types such as `©xyz`),
/// QuickTime's metadata (`meta` with `keys`), and iTunes' (`meta` in `udta`, types and no keys).
struct MovieMetadata {
  /// From this frame rate on, a video counts as slow motion.
  private static let highFramesPerSecond = 100.0

  /// Texts, and numbers as text, by key or by type; the first one with a name wins.
  private(set) var texts: [String: String] = [:]
  /// The position of an XMP packet in the file.
  private(set) var xmp: Range<Int64>?
  /// The position of a JPEG that represents the movie.
  private(set) var coverArt: Range<Int64>?

  mutating func readUserData(_ boxes: inout BoxReader, _ userData: Box) throws(CodecError) {
    var position = userData.content.lowerBound
    while let box = try boxes.next(&position, before: userData.content.upperBound) {
      switch box.type {
      case "meta": try readMetadata(&boxes, box)
      case "XMP_": xmp = xmp ?? box.content
      case "©xyz", "©day", "©mak", "©mod":
        // QuickTime File Format, "User Data Text Strings": a length, a language, and the text.
        var fields = try boxes.fields(of: box, atMost: 4 + ContainerLimits.valueBytes)
        let length = try fields.number(2)
        _ = try fields.take(2)
        let text = fields.remaining()
        keep(text.prefix(length), as: Self.name(of: box.type))
      default: break
      }
    }
  }

  mutating func readMetadata(_ boxes: inout BoxReader, _ metadata: Box) throws(CodecError) {
    var keys: [String] = []
    var position = metadata.content.lowerBound
    // In QuickTime this is a plain box whose first child is its handler; in MPEG-4 a version comes first (§8.11.1).
    let head = try boxes.reader.bytes(at: position, count: 8)
    if head.count == 8, FourCC(head.dropFirst(4)) != "hdlr" { position += 4 }
    while let box = try boxes.next(&position, before: metadata.content.upperBound) {
      switch box.type {
      case "keys": keys = try readKeys(boxes.fields(of: box))
      case "ilst": try readItems(&boxes, box, keys)
      default: break
      }
    }
  }

  /// QuickTime File Format, "Metadata Item Keys Atom".
  private func readKeys(_ fields: BoxFields) throws(CodecError) -> [String] {
    var fields = fields
    _ = try fields.version()
    let count = try fields.number(4)
    if count > ContainerLimits.keys {
      throw .limitExceeded("the number of a movie's metadata keys", limit: ContainerLimits.keys, found: count)
    }
    var keys: [String] = []
    for _ in 0..<count {
      let length = try fields.number(4)
      _ = try fields.take(4)
      keys.append(String(decoding: try fields.take(length - 8), as: UTF8.self))
    }
    return keys
  }

  /// "Metadata Item List Atom": an item's type is the number of its key, starting at 1, or is itself the name.
  private mutating func readItems(_ boxes: inout BoxReader, _ list: Box, _ keys: [String]) throws(CodecError) {
    var position = list.content.lowerBound
    while let item = try boxes.next(&position, before: list.content.upperBound) {
      if item.type == "covr" {
        try readCoverArt(&boxes, item)
        continue
      }
      let number = Int(item.type.rawValue)
      let name =
        (1...max(1, keys.count)).contains(number) && !keys.isEmpty ? keys[number - 1] : Self.name(of: item.type)
      guard Self.wanted.contains(name), texts[name] == nil, let data = try boxes.first("data", in: item.content) else {
        continue
      }
      // "Data Atom": a type, of which 1 is UTF-8, a locale, and the value.
      var fields = try boxes.fields(of: data, atMost: 8 + ContainerLimits.valueBytes)
      let type = try fields.number(4)
      _ = try fields.take(4)
      if type == 1 {
        keep(fields.remaining(), as: name)
      } else if Self.numbers.contains(name) {
        texts[name] = Self.number(fields.remaining(), type: type)
      }
    }
  }

  /// The first picture, if it is a JPEG: "Well-Known Types" 13.
  private mutating func readCoverArt(_ boxes: inout BoxReader, _ item: Box) throws(CodecError) {
    guard coverArt == nil, let data = try boxes.first("data", in: item.content) else { return }
    var fields = try boxes.fields(of: data, atMost: 8)
    if try fields.number(4) == 13, data.content.count > 8 {
      coverArt = data.content.lowerBound + 8..<data.content.upperBound
    }
  }

  /// A number of one of the "Well-Known Types" as text: big-endian integers of any length, and 32-bit floats.
  private static func number(_ bytes: ArraySlice<UInt8>, type: Int) -> String? {
    switch type {
    case 21, 22, 65...67, 74...78: String(bytes.prefix(8).reduce(0) { $0 << 8 | UInt64($1) })
    case 23: String(Float(bitPattern: bytes.prefix(4).reduce(0) { $0 << 8 | UInt32($1) }))
    default: nil
    }
  }

  private mutating func keep(_ bytes: ArraySlice<UInt8>, as name: String) {
    let text = String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
    if texts[name] == nil, !text.isEmpty { texts[name] = text }
  }

  private static func name(of type: FourCC) -> String {
    switch type {
    case "©xyz": Key.userPlace
    case "©day": Key.userDate
    case "©mak": Key.userMake
    case "©mod": Key.userModel
    default: ""
    }
  }

  private enum Key {
    static let date = "com.apple.quicktime.creationdate"
    static let place = "com.apple.quicktime.location.ISO6709"
    static let make = "com.apple.quicktime.make"
    static let model = "com.apple.quicktime.model"
    static let contentIdentifier = "com.apple.quicktime.content.identifier"
    /// 1: plays at its own rate, however high that is.
    static let fullRate = "com.apple.quicktime.full-frame-rate-playback-intent"
    static let captureMode = "com.apple.photos.captureMode"
    static let author = "com.apple.quicktime.author"
    static let spatial = "com.apple.quicktime.spatial.format-version"
    static let cinematic = "com.apple.quicktime.cinematic-video"
    static let cinematicIntent = "com.apple.quicktime.cinematic-video-intent"
    /// Frames per second of the camera, which differ from those of the track in slow motion and time-lapse.
    static let captureRate = "com.android.capture.fps"
    static let androidMake = "com.android.manufacturer"
    static let androidModel = "com.android.model"
    static let userPlace = "xyz"
    static let userDate = "day"
    static let userMake = "mak"
    static let userModel = "mod"
  }

  private static let wanted: Set<String> = [
    Key.date, Key.place, Key.make, Key.model, Key.contentIdentifier, Key.androidMake, Key.androidModel, Key.userPlace,
    Key.userDate, Key.userMake, Key.userModel, Key.fullRate, Key.captureMode, Key.author, Key.spatial, Key.cinematic,
    Key.cinematicIntent, Key.captureRate,
  ]

  /// Keys whose values may be numbers.
  private static let numbers: Set<String> = [Key.fullRate, Key.cinematic, Key.cinematicIntent, Key.captureRate]

  private func text(_ names: String...) -> String? { names.lazy.compactMap { texts[$0] }.first }

  var make: String? { text(Key.make, Key.androidMake, Key.userMake) }
  var model: String? { text(Key.model, Key.androidModel, Key.userModel) }
  var contentIdentifier: String? { texts[Key.contentIdentifier] }
  /// The creation date with its time of day; `nil` for a date without a time.
  var date: EXIFDate? {
    texts[Key.date].flatMap(EXIFDate.init(movieText:)) ?? texts[Key.userDate].flatMap(EXIFDate.init(movieText:))
  }
  /// The special kinds of a video, from its metadata and the frame rate of its track.
  func subtypes(framesPerSecond: Double) -> MediaSubtypes {
    var subtypes: MediaSubtypes = []
    let captured = texts[Key.captureRate].flatMap(Double.init) ?? framesPerSecond
    if max(captured, framesPerSecond) >= Self.highFramesPerSecond, texts[Key.fullRate] != "1" {
      subtypes.insert(.videoHighFrameRate)
    }
    // A camera that takes fewer than half of the frames that are shown each second speeds time up. Not fewer than all:
    // cameras take fewer frames in the dark.
    if texts[Key.captureMode] == "Time-lapse" || captured > 0 && captured * 2 < framesPerSecond {
      subtypes.insert(.videoTimelapse)
    }
    if texts[Key.author] == "ReplayKitRecording" { subtypes.insert(.videoScreenRecording) }
    if texts[Key.spatial] != nil { subtypes.insert(.spatialMedia) }
    if [Key.cinematic, Key.cinematicIntent].contains(where: { texts[$0].map { $0 != "0" } ?? false }) {
      subtypes.insert(.videoCinematic)
    }
    return subtypes
  }

  var location: Location? { text(Key.place, Key.userPlace).flatMap(Location.init(iso6709:)) }
}

extension Location {
  /// ISO 6709 annex H: `+48.2082+016.3738+171.000/`. The number of digits before the point distinguishes degrees from
  /// degrees and minutes, and from degrees, minutes and seconds.
  init?(iso6709 text: String) {
    let numbers = text.prefix { $0 != "/" && $0 != "C" }
    var parts: [Substring] = []
    var rest = numbers
    while let sign = rest.first, sign == "+" || sign == "-" {
      let part = rest.dropFirst().prefix { $0 != "+" && $0 != "-" }
      parts.append(rest.prefix(part.count + 1))
      rest = rest.dropFirst(part.count + 1)
    }
    guard rest.isEmpty, parts.count >= 2, let latitude = Self.angle(parts[0], degreeDigits: 2), abs(latitude) <= 90,
      let longitude = Self.angle(parts[1], degreeDigits: 3), abs(longitude) <= 180
    else { return nil }
    let altitude = parts.count > 2 ? Double(parts[2]) : nil
    self.init(latitude: latitude, longitude: longitude, altitude: altitude.flatMap { $0.isFinite ? $0 : nil })
  }

  private static func angle(_ text: Substring, degreeDigits: Int) -> Double? {
    let number = text.dropFirst()
    guard number.allSatisfy({ $0.isASCII && ($0.isNumber || $0 == ".") }) else { return nil }
    let whole = number.prefix { $0 != "." }.count
    var degrees: Double?
    switch whole {
    // Minutes and seconds have two digits each.
    case degreeDigits + 2, degreeDigits + 4:
      var sum = 0.0
      var scale = 1.0
      var rest = number
      var digits = degreeDigits
      while rest.prefix(while: { $0 != "." }).count > digits {
        guard let part = Double(rest.prefix(digits)) else { return nil }
        sum += part * scale
        scale /= 60
        rest = rest.dropFirst(digits)
        digits = 2
      }
      degrees = Double(rest).map { sum + $0 * scale }
    case 1...degreeDigits: degrees = Double(number)
    default: return nil
    }
    // Rounded to a millimetre, like EXIF's angles.
    let rounded = degrees.map { ($0 * 1e8).rounded() / 1e8 }
    return text.first == "-" ? rounded.map { -$0 } : rounded
  }
}
