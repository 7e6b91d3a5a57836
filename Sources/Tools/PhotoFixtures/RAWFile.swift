extension TIFFPicture {
  /// A NEF, PEF or DNG-like file with these JPEGs: in the first directory's sub-directories, in the next directory, and
  /// as a strip in the one after it.
  package static func withPreviews(
    _ details: Details, inside: [[UInt8]], next: [UInt8]? = nil, strip: [UInt8]? = nil, isBigEndian: Bool = false
  ) -> TIFFPicture {
    var file = TIFFPicture()
    file.isBigEndian = isBigEndian
    let previews = inside.map { Directory([(254, .long([1])), (513, .data($0)), (514, .long([$0.count]))]) }
    let main = Directory(size(4310, 2868) + [(254, .long([0])), (262, .short([32_803]))])
    file.chain = [
      Directory(
        details.entries + size(160, 120) + [
          (254, .long([1])), (262, .short([2])), (330, .directories(previews + [main])),
        ])
    ]
    if let next { file.chain.append(Directory([(513, .data(next)), (514, .long([next.count]))])) }
    if let strip {
      file.chain.append(Directory([(259, .short([6])), (273, .data(strip)), (279, .long([strip.count]))]))
    }
    return file
  }

  /// The generations of Olympus' maker notes. Offsets count from the note, in the oldest from the file.
  package enum OlympusNote: String, Sendable, CaseIterable {
    case olympus = "OLYMPUS\0II"
    case omSystem = "OM SYSTEM\0\0\0II"
    case olymp = "OLYMP\0"
  }

  /// An Olympus ORF; its maker note refers to the preview.
  package static func orf(
    _ details: Details, preview: [UInt8]?, note: OlympusNote = .olympus, isBigEndian: Bool = false
  ) -> TIFFPicture {
    func file(noteAt position: Int) -> TIFFPicture {
      var file = TIFFPicture()
      file.isBigEndian = isBigEndian
      // "IIRO" or "MMOR".
      file.version = 0x4F52
      var details = details
      if let preview { details.makerNote = note.bytes(preview, at: position, isBigEndian) }
      file.chain = [Directory(details.entries + size(4640, 3472) + [(259, .short([1]))])]
      return file
    }
    // The note's position does not depend on its content, so a draft gives it.
    let draft = file(noteAt: 0)
    guard note == .olymp, let place = draft.bytes.firstRange(of: Array("OLYMP\0".utf8)) else { return draft }
    return file(noteAt: place.lowerBound)
  }

  /// A Panasonic RW2: the borders of its picture are 8 and 6, 3656 and 2742.
  package static func rw2(_ details: Details, preview: [UInt8]?) -> TIFFPicture {
    var file = TIFFPicture()
    file.version = 0x55
    var entries =
      details.entries + [
        (2, .short([3724])), (3, .short([2754])), (4, .short([6])), (5, .short([8])), (6, .short([2742])),
        (7, .short([3656])),
      ]
    if let preview { entries.append((46, .undefined(preview))) }
    file.chain = [Directory(entries)]
    return file
  }
}

extension TIFFPicture.OlympusNote {
  /// A directory, the directory of camera settings, the preview.
  ///
  /// - Parameter position: of the note in the file.
  fileprivate func bytes(_ preview: [UInt8], at position: Int, _ isBigEndian: Bool) -> [UInt8] {
    let order = isBigEndian && self == .olymp
    func number(_ value: Int, _ bytes: Int) -> [UInt8] {
      order ? Boxes.number(value, bytes) : Boxes.number(value, bytes).reversed()
    }
    func entry(_ tag: Int, _ type: Int, _ value: Int) -> [UInt8] {
      number(tag, 2) + number(type, 2) + number(1, 4) + number(value, 4)
    }
    let head = Array(rawValue.utf8) + number(3, 2)
    let base = self == .olymp ? position : 0
    let settings = base + head.count + 2 + 12 + 4
    if self == .olymp {
      // The entries of the preview are in the first directory.
      let data = base + head.count + 2 + 2 * 12 + 4
      return head + number(2, 2) + entry(0x0088, 4, data) + entry(0x0089, 4, preview.count) + number(0, 4) + preview
    }
    let data = settings + 2 + 2 * 12 + 4
    return head + number(1, 2) + entry(0x2020, 13, settings) + number(0, 4)
      + number(2, 2) + entry(0x0101, 4, data) + entry(0x0102, 4, preview.count) + number(0, 4) + preview
  }
}

/// Fujifilm's RAF: a header, a JPEG, and a directory with the size of the picture.
package struct RAFFile: Sendable {
  package var jpeg: [UInt8] = []
  /// Width and height without the sensor's borders; `nil` leaves the entry out.
  package var croppedSize: (width: Int, height: Int)? = (6000, 4000)
  /// Added to the offset and to the length of the JPEG.
  package var error = (offset: 0, length: 0)

  package init(_ change: (inout RAFFile) -> Void) { change(&self) }

  package var bytes: [UInt8] {
    let start = 148
    var file = Array("FUJIFILMCCD-RAW 0201FF392201Model 1".utf8)
    file += [UInt8](repeating: 0, count: 84 - file.count)
    file += Boxes.number(start + error.offset, 4) + Boxes.number(jpeg.count + error.length, 4)
    var entries = Boxes.number(0x100, 2) + Boxes.number(4, 2) + Boxes.number(4032, 2) + Boxes.number(6048, 2)
    if let croppedSize {
      entries += Boxes.number(0x111, 2) + Boxes.number(4, 2)
      entries += Boxes.number(croppedSize.height, 2) + Boxes.number(croppedSize.width, 2)
    }
    let directory = Boxes.number(croppedSize == nil ? 1 : 2, 4) + entries
    file += Boxes.number(start + jpeg.count, 4) + Boxes.number(directory.count, 4)
    file += [UInt8](repeating: 0, count: start - file.count)
    return file + jpeg + directory
  }
}

/// RAW files of every format that is known, with previews of a test's own.
package enum RAWSamples {
  /// The formats, by their usual file name extension.
  package static let names = ["dng", "cr2", "cr3", "nef", "arw", "raf", "orf", "rw2", "pef"]

  /// A RAW file with these JPEGs as far as the format has room: three in a CR3, one in RAF, ORF and RW2. The developed
  /// picture has the size of ``developedSize(_:)``, and the orientation of the details.
  ///
  /// - Parameters:
  ///   - name: one of ``names``.
  ///   - previews: the last one is the most important.
  package static func file(_ name: String, _ details: TIFFPicture.Details, previews: [[UInt8]]) -> [UInt8] {
    var details = details
    switch name {
    case "cr3":
      return CR3File {
        $0.details = details
        $0.sample = previews.last
        $0.preview = previews.dropLast().last
        if let first = previews.dropLast(2).last { $0.thumbnail = first }
      }.bytes
    case "raf": return RAFFile { $0.jpeg = previews.last ?? [] }.bytes
    case "orf": return TIFFPicture.orf(details, preview: previews.last).bytes
    case "rw2": return TIFFPicture.rw2(details, preview: previews.last).bytes
    default: break
    }
    details.make = ["nef": "NIKON", "arw": "SONY", "pef": "PENTAX"][name] ?? "Maker"
    var file = TIFFPicture.withPreviews(details, inside: previews)
    if name == "cr2" { file.signature = Array("CR".utf8) + [2, 0, 0, 0, 0, 0] }
    if name == "dng" { file.chain[0].entries.append((50_706, .bytes([1, 4, 0, 0]))) }
    return file.bytes
  }

  /// The size of the developed picture, as stored.
  package static func developedSize(_ name: String) -> (width: Int, height: Int) {
    switch name {
    case "cr3", "raf": (6000, 4000)
    case "orf": (4640, 3472)
    case "rw2": (3648, 2736)
    default: (4310, 2868)
    }
  }
}
