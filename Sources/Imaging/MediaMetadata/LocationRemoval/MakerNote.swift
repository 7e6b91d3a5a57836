// The maker notes that hold locations: names of cities, the pose of a drone, a compass. None of them is documented by
// its maker; formats and tags are ExifTool's (its MakerNotes.pm and the tables of each maker).

/// How to find the directory of a maker note, and which of its entries hold locations.
struct MakerNote {
  /// From where offsets in the note count.
  enum Base {
    /// From the TIFF header.
    case block
    /// From this byte of the note.
    case note(Int)
  }

  enum Removal {
    /// The bytes of the value from this one on become zero.
    case zero(from: Int)
    /// These bytes of the value become zero.
    case zeroBytes(Range<Int>)
    /// These bytes become 255, which means no city.
    case ones(Range<Int>)
    /// The value points to another directory, whose entry with this tag becomes zero.
    case inner(tag: Int)
    /// Nikon Capture's records, of which one has IPTC datasets.
    case captureRecords
  }

  /// The position of the directory in the note.
  let directory: Int
  /// In the order in which they are tried.
  let bases: [Base]
  /// `nil`: the one under which the number of entries is smaller.
  let isBigEndian: Bool?
  /// The entries that hold locations, by their tags.
  let locations: [Int: Removal]

  /// The format of a note; `nil` if it holds no locations that are known.
  ///
  /// - Parameters:
  ///   - head: the note's first bytes, 18 or all.
  ///   - make: EXIF's name of the maker, before the note.
  init?(_ head: ArraySlice<UInt8>, make: String, isBigEndian: Bool) {
    let head = Array(head)
    let make = make.lowercased()
    func starts(_ signature: String) -> Bool { head.starts(with: Array(signature.utf8)) }
    func order(at position: Int) -> Bool? {
      switch head.dropFirst(position).prefix(2).map({ $0 }) {
      case [0x4D, 0x4D]: true
      case [0x49, 0x49]: false
      default: nil
      }
    }
    if starts("Panasonic\0") {
      self.init(12, [.block, .note(12)], nil, Self.panasonic)
    } else if starts("LEICA CAMERA AG\0") {
      self.init(18, [.block], nil, Self.panasonic)
    } else if starts("LEICA\0\0\0") {
      self.init(8, [.block, .note(8), .note(0)], nil, Self.panasonic)
    } else if starts("Nikon\0\u{2}"), head.count >= 18, let order = order(at: 10) {
      let offset = head[14..<18].enumerated().reduce(0) {
        $0 | Int($1.element) << (8 * (order ? 3 - $1.offset : $1.offset))
      }
      self.init(10 + offset, [.note(10)], order, [0x0039: .zero(from: 5), 0x0E01: .captureRecords])
    } else if starts("AOC\0") {
      self.init(6, [.block, .note(0)], order(at: 4), Self.pentax)
    } else if starts("PENTAX \0") {
      self.init(10, [.note(0)], order(at: 8), Self.pentax)
    } else if starts("RICOH\0II") || starts("RICOH\0MM") {
      self.init(8, [.note(0)], order(at: 6), Self.pentax)
    } else if starts("QVC\0") || starts("DCI\0") {
      self.init(6, [.block, .note(0)], true, [0x3006: .zero(from: 0)])
    } else if make.hasPrefix("ricoh"), starts("Ricoh") || starts("RICOH") {
      self.init(8, [.block, .note(0)], nil, [0x4001: .inner(tag: 0x0004)])
    } else if make.hasPrefix("canon") {
      self.init(0, [.block], nil, Self.canon)
    } else if make == "dji", !head.dropFirst(3).starts(with: Array("@AMBA".utf8)), !starts("[") {
      self.init(
        0, [.note(0), .block], nil,
        Dictionary(uniqueKeysWithValues: (0x0003...0x000B).map { ($0, Removal.zero(from: 0)) }))
    } else if make == "samsung", head.count >= 14, head[10..<14].elementsEqual("0100".utf8) {
      self.init(
        0, [.note(0), .block], isBigEndian,
        Dictionary(uniqueKeysWithValues: (0x002F...0x0034).map { ($0, Removal.zero(from: 0)) }))
    } else {
      return nil
    }
  }

  private init(_ directory: Int, _ bases: [Base], _ isBigEndian: Bool?, _ locations: [Int: Removal]) {
    self.directory = directory
    self.bases = bases
    self.isBigEndian = isBigEndian
    self.locations = locations
  }

  /// The time zone's city.
  static let canon: [Int: Removal] = [0x0035: .zeroBytes(8..<12)]

  /// Location, country, state, city, landmark, and another city.
  private static let panasonic: [Int: Removal] = Dictionary(
    uniqueKeysWithValues: [0x0067, 0x0069, 0x006B, 0x006D, 0x006F, 0x0080].map { ($0, Removal.zero(from: 0)) })

  /// The cities of the home and of the destination, also within the time's settings.
  private static let pentax: [Int: Removal] = [
    0x0023: .ones(0..<2), 0x0024: .ones(0..<2), 0x006B: .ones(2..<4),
  ]
}
