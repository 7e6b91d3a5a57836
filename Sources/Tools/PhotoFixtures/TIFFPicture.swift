/// A TIFF that consists of directories without pixels (TIFF 6.0 §2), and the RAW formats based on it.
package struct TIFFPicture: Sendable {
  package indirect enum Value: Sendable {
    case ascii(String)
    case bytes([UInt8])
    case short([Int])
    case long([Int])
    case rationals([(Int, Int)])
    case signedRationals([(Int, Int)])
    case undefined([UInt8])
    /// The offsets of these directories.
    case directories([Directory])
    /// The offset of these bytes.
    case data([UInt8])
  }

  package struct Directory: Sendable {
    package var entries: [(tag: Int, value: Value)]

    package init(_ entries: [(Int, Value)]) { self.entries = entries }
  }

  package var isBigEndian = false
  /// The bytes after the header.
  package var signature: [UInt8] = []
  /// Directories that are linked one after the other.
  package var chain: [Directory] = []
  /// Bytes between the header and the first directory, to place directories far from the start.
  package var padding = 0
  package var version = 42

  package init() {}

  package init(_ change: (inout TIFFPicture) -> Void) { change(&self) }

  package var bytes: [UInt8] {
    let start = 8 + signature.count + padding
    var file = isBigEndian ? Array("MM".utf8) : Array("II".utf8)
    file += number(version, 2) + number(start, 4) + signature + [UInt8](repeating: 0xAA, count: padding)
    for (i, directory) in chain.enumerated() {
      file += encoded(directory, at: file.count, isLast: i == chain.count - 1)
    }
    return file
  }

  /// Encodes a directory and its values; the next directory follows directly.
  private func encoded(_ directory: Directory, at start: Int, isLast: Bool) -> [UInt8] {
    var entries = number(directory.entries.count, 2)
    var data: [UInt8] = []
    let dataStart = start + 2 + 12 * directory.entries.count + 4
    func place(_ bytes: [UInt8]) -> Int {
      defer { data += bytes + (bytes.count % 2 == 1 ? [0] : []) }
      return dataStart + data.count
    }
    for (tag, value) in directory.entries.sorted(by: { $0.tag < $1.tag }) {
      let type: Int
      let count: Int
      let content: [UInt8]
      switch value {
      case .ascii(let text): (type, count, content) = (2, text.utf8.count + 1, Array(text.utf8) + [0])
      case .bytes(let bytes): (type, count, content) = (1, bytes.count, bytes)
      case .undefined(let bytes): (type, count, content) = (7, bytes.count, bytes)
      case .short(let list): (type, count, content) = (3, list.count, list.flatMap { number($0, 2) })
      case .long(let list): (type, count, content) = (4, list.count, list.flatMap { number($0, 4) })
      case .rationals(let list):
        (type, count, content) = (5, list.count, list.flatMap { number($0.0, 4) + number($0.1, 4) })
      case .signedRationals(let list):
        (type, count, content) = (10, list.count, list.flatMap { number($0.0, 4) + number($0.1, 4) })
      case .directories(let list):
        let offsets = list.map { place(encoded($0, at: dataStart + data.count, isLast: true)) }
        (type, count, content) = (4, list.count, offsets.flatMap { number($0, 4) })
      case .data(let bytes): (type, count, content) = (4, 1, number(place(bytes), 4))
      }
      entries += number(tag, 2) + number(type, 2) + number(count, 4)
      entries +=
        content.count > 4 ? number(place(content), 4) : content + [UInt8](repeating: 0, count: 4 - content.count)
    }
    return entries + number(isLast ? 0 : dataStart + data.count, 4) + data
  }

  private func number(_ value: Int, _ bytes: Int) -> [UInt8] {
    let little = (0..<bytes).map { UInt8(truncatingIfNeeded: value >> ($0 * 8)) }
    return isBigEndian ? little.reversed() : little
  }
}

extension TIFFPicture {
  /// The metadata that a camera writes with the picture.
  package struct Details: Sendable {
    package var make = "Maker"
    package var model = "Model 1"
    package var orientation = 6
    package var dateTimeOriginal = "2024:05:06 07:08:09"
    package var offsetTimeOriginal: String? = "-03:30"
    package var pixelSize: (width: Int, height: Int)?
    package var makerNote: [UInt8]?
    /// EXIF's ColorSpace, and the interoperability index of DCF: R98 is sRGB, R03 Adobe RGB.
    package var colorSpace: Int?
    package var interoperabilityIndex: String?
    package var hasLocation = true

    package init() {}
    package init(_ change: (inout Details) -> Void) { change(&self) }

    /// Entries of the first directory, which refers to the EXIF and GPS directories.
    package var entries: [(Int, Value)] {
      var entries: [(Int, Value)] = [
        (271, .ascii(make)), (272, .ascii(model)), (274, .short([orientation])), (34_665, .directories([exif])),
      ]
      if hasLocation { entries.append((34_853, .directories([Self.place]))) }
      return entries
    }

    package var exif: Directory {
      var entries: [(Int, Value)] = [(0x9003, .ascii(dateTimeOriginal)), (0x9291, .ascii("25"))]
      if let offsetTimeOriginal { entries.append((0x9011, .ascii(offsetTimeOriginal))) }
      if let pixelSize {
        entries += [(0xA002, .short([pixelSize.width])), (0xA003, .long([pixelSize.height]))]
      }
      if let makerNote { entries.append((0x927C, .undefined(makerNote))) }
      if let colorSpace { entries.append((0xA001, .short([colorSpace]))) }
      if let interoperabilityIndex {
        entries.append((0xA005, .directories([Directory([(1, .ascii(interoperabilityIndex))])])))
      }
      return Directory(entries)
    }

    /// Latitude -33.5, longitude 18.25, 12.5 m below sea level.
    package static var place: Directory {
      Directory([
        (1, .ascii("S")), (2, .rationals([(33, 1), (30, 1), (0, 1)])), (3, .ascii("E")),
        (4, .rationals([(18, 1), (15, 1), (0, 1)])), (5, .bytes([1])), (6, .rationals([(125, 10)])),
      ])
    }
  }

  static func size(_ width: Int, _ height: Int) -> [(Int, Value)] {
    [(256, .long([width])), (257, .short([height]))]
  }

  /// A plain TIFF.
  package static func tiff(_ details: Details, _ change: (inout TIFFPicture) -> Void = { _ in }) -> TIFFPicture {
    var file = TIFFPicture()
    file.chain = [Directory(details.entries + size(300, 200) + [(262, .short([2]))])]
    change(&file)
    return file
  }

  /// A DNG as cameras and converters write it: first a small picture, the main one in a sub-directory.
  package static func dng(_ details: Details, _ change: (inout TIFFPicture) -> Void = { _ in }) -> TIFFPicture {
    var file = TIFFPicture()
    let main = Directory(
      size(4032, 3024) + [(254, .long([0])), (262, .short([32_803])), (50_720, .rationals([(4000, 1), (6000, 2)]))])
    let preview = Directory(
      size(1024, 768) + [
        (254, .long([1])), (259, .short([7])), (262, .short([6])), (273, .data(jpeg)), (279, .long([jpeg.count])),
      ])
    file.chain = [
      Directory(
        details.entries + size(256, 192) + [
          (254, .long([1])), (50_706, .bytes([1, 4, 0, 0])), (330, .directories([preview, main])),
        ])
    ]
    change(&file)
    return file
  }

  package static func cr2(_ details: Details) -> TIFFPicture {
    var file = TIFFPicture()
    file.signature = Array("CR".utf8) + [2, 0, 0, 0, 0, 0]
    file.chain = [
      Directory(details.entries + size(1536, 1024) + [(259, .short([6]))]),
      Directory([(513, .data(jpeg)), (514, .long([jpeg.count]))]), Directory(size(384, 256)),
      Directory([(259, .short([6])), (273, .long([8])), (279, .long([4]))]),
    ]
    return file
  }

  package static func nef(_ details: Details) -> TIFFPicture {
    var file = TIFFPicture()
    file.isBigEndian = true
    let preview = Directory([(254, .long([1])), (513, .data(jpeg)), (514, .long([jpeg.count]))])
    let main = Directory(size(4310, 2868) + [(254, .long([0])), (262, .short([32_803]))])
    file.chain = [
      Directory(
        details.entries + size(160, 120) + [
          (254, .long([1])), (262, .short([2])), (330, .directories([preview, main])),
        ])
    ]
    return file
  }

  package static func arw(_ details: Details) -> TIFFPicture {
    var file = TIFFPicture()
    let main = Directory(size(6048, 4024) + [(254, .long([0])), (262, .short([32_803]))])
    file.chain = [
      Directory(
        details.entries + [
          (254, .long([1])), (513, .data(jpeg + [0, 0])), (514, .long([jpeg.count + 2])), (330, .directories([main])),
        ]), Directory([(254, .long([1])), (513, .data(jpeg)), (514, .long([jpeg.count]))]),
    ]
    return file
  }

  /// Bytes that begin like a JPEG.
  package static let jpeg: [UInt8] = [0xFF, 0xD8, 0xFF, 0xD9]
}

/// Canon's CR3: boxes that contain TIFFs.
package struct CR3File: Sendable {
  package var details = TIFFPicture.Details()
  package var isBigEndian = false
  package var width = 6000
  package var height = 4000
  package var xmp: String?
  /// The JPEG of the thumbnail box.
  package var thumbnail = TIFFPicture.jpeg
  /// The JPEG of the preview box; `nil` leaves the box out.
  package var preview: [UInt8]?
  /// The JPEG that is the only sample of a track; `nil` leaves the track out.
  package var sample: [UInt8]?
  /// Whether the track's offset has 64 bits.
  package var isWide = true

  package init() {}

  package init(_ change: (inout CR3File) -> Void) { change(&self) }

  package var bytes: [UInt8] {
    func tiff(_ entries: [(Int, TIFFPicture.Value)]) -> [UInt8] {
      TIFFPicture {
        $0.isBigEndian = isBigEndian
        $0.chain = [TIFFPicture.Directory(entries)]
      }.bytes
    }
    let own = details.entries.filter { $0.0 < 34_000 } + [(256, .short([width])), (257, .short([height]))]
    let canon = Boxes.userBox(
      [0x85, 0xC0, 0xB6, 0x87, 0x82, 0x0F, 0x11, 0xE0, 0x81, 0x11, 0xF4, 0xCE, 0x46, 0x2B, 0x6A, 0x48],
      Boxes.box("CNCV", Boxes.text("CanonCR3_001")) + Boxes.box("CMT1", tiff(own))
        + Boxes.box("CMT2", tiff(details.exif.entries.map { ($0.tag, $0.value) })) + Boxes.box("CMT3", tiff([]))
        + Boxes.box("CMT4", tiff(TIFFPicture.Details.place.entries.map { ($0.tag, $0.value) }))
        + Boxes.fullBox(
          "THMB", Boxes.number(160, 2), Boxes.number(120, 2), Boxes.number(thumbnail.count, 4), Boxes.number(1, 4),
          thumbnail))
    let type = Boxes.fileType("crx ", ["crx ", "isom"])
    var rest: [UInt8] = []
    if let xmp { rest += Boxes.userBox(Boxes.xmpType, Array(xmp.utf8)) }
    if let preview {
      let fields = Boxes.number(0, 4) + Boxes.number(1, 2) + Boxes.number(1620, 2) + Boxes.number(1080, 2)
      rest += Boxes.userBox(
        [0xEA, 0xF4, 0x2B, 0x5E, 0x1C, 0x98, 0x4B, 0x88, 0xB9, 0xFB, 0xB7, 0xDC, 0x40, 0x6E, 0x4D, 0x16],
        Boxes.number(0, 8) + Boxes.box("PRVW", fields, Boxes.number(1, 2), Boxes.number(preview.count, 4), preview))
    }
    // The movie box is as long whatever the offset of the sample is.
    func movie(_ offset: Int) -> [UInt8] { Boxes.box("moov", canon + (sample.map { track($0, at: offset) } ?? [])) }
    let offset = type.count + movie(0).count + rest.count + 8
    return type + movie(offset) + rest + Boxes.box("mdat", sample ?? [0, 0, 0, 0])
  }

  private func track(_ sample: [UInt8], at offset: Int) -> [UInt8] {
    let table = Boxes.box(
      "stbl", Boxes.fullBox("stsz", Boxes.number(0, 4), Boxes.number(1, 4), Boxes.number(sample.count, 4)),
      Boxes.fullBox(isWide ? "co64" : "stco", Boxes.number(1, 4), Boxes.number(offset, isWide ? 8 : 4)))
    return Boxes.box("trak", Boxes.box("mdia", Boxes.box("minf", table)))
  }
}
