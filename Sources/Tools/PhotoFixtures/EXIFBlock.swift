/// An EXIF block as a camera writes it (CIPA DC-008), for the APP1 segment of a JPEG: "Exif", two NULs, a TIFF.
package struct EXIFBlock: Sendable {
  package var isBigEndian = false
  package var orientation: Int?
  package var make: String?
  package var model: String?
  /// `2024:05:06 07:08:09`
  package var dateTimeOriginal: String?
  package var dateTimeDigitized: String?
  /// `+02:00`
  package var offsetTimeOriginal: String?
  package var subSecTimeOriginal: String?
  /// The f-number, the exposure as 1/n of a second, the ISO speed, and the focal length in millimetres.
  package var exposure: (aperture: Double, fraction: Int, iso: Int, focalLength: Int)?
  /// 1 is sRGB, 65535 is uncalibrated.
  package var colorSpace: Int?
  /// R98 is sRGB, R03 Adobe RGB.
  package var interoperabilityIndex: String?
  package var latitude: Double?
  package var longitude: Double?
  package var altitude: Double?
  /// See ``appleNote(burst:contentIdentifier:)``.
  package var makerNote: [UInt8]?
  /// A complete JPEG.
  package var thumbnail: [UInt8]?

  package init() {}

  package init(_ change: (inout EXIFBlock) -> Void) { change(&self) }

  private enum Value {
    case ascii(String)
    case short(Int)
    case long(Int)
    case rationals([(Int, Int)])
    case byte(UInt8)
    case undefined([UInt8])
  }

  package var bytes: [UInt8] {
    // IFD0, EXIF IFD, interoperability IFD, GPS IFD and IFD1, each followed by its larger values.
    var first: [(Int, Value)] = []
    if let make { first.append((0x010F, .ascii(make))) }
    if let model { first.append((0x0110, .ascii(model))) }
    if let orientation { first.append((0x0112, .short(orientation))) }
    var details: [(Int, Value)] = []
    if let exposure {
      details += [
        (0x829A, .rationals([(1, exposure.fraction)])), (0x829D, .rationals([(Int(exposure.aperture * 10), 10)])),
        (0x8827, .short(exposure.iso)),
      ]
    }
    if let dateTimeOriginal { details.append((0x9003, .ascii(dateTimeOriginal))) }
    if let dateTimeDigitized { details.append((0x9004, .ascii(dateTimeDigitized))) }
    if let offsetTimeOriginal { details.append((0x9011, .ascii(offsetTimeOriginal))) }
    if let subSecTimeOriginal { details.append((0x9291, .ascii(subSecTimeOriginal))) }
    if let exposure { details.append((0x920A, .rationals([(exposure.focalLength, 1)]))) }
    if let makerNote { details.append((0x927C, .undefined(makerNote))) }
    if let colorSpace { details.append((0xA001, .short(colorSpace))) }
    var interoperability: [(Int, Value)] = []
    if let interoperabilityIndex {
      interoperability = [(0x0001, .ascii(interoperabilityIndex))]
      details.append((0xA005, .long(0)))
    }
    var place: [(Int, Value)] = []
    if let latitude, let longitude {
      place += [
        (0x0001, .ascii(latitude < 0 ? "S" : "N")), (0x0002, Self.angle(abs(latitude))),
        (0x0003, .ascii(longitude < 0 ? "W" : "E")), (0x0004, Self.angle(abs(longitude))),
      ]
      if let altitude {
        place += [(0x0005, .byte(altitude < 0 ? 1 : 0)), (0x0006, .rationals([(Int(abs(altitude) * 100), 100)]))]
      }
    }
    if !details.isEmpty { first.append((0x8769, .long(0))) }
    if !place.isEmpty { first.append((0x8825, .long(0))) }
    var second: [(Int, Value)] = []
    if let thumbnail { second = [(0x0103, .short(6)), (0x0201, .long(0)), (0x0202, .long(thumbnail.count))] }

    let firstStart = 8
    // An IFD0 without entries is still written: its count and its pointer.
    let detailsStart = firstStart + max(size(first), 6)
    let interoperabilityStart = detailsStart + size(details)
    let placeStart = interoperabilityStart + size(interoperability)
    let secondStart = placeStart + size(place)
    let thumbnailStart = secondStart + size(second)
    func point(_ tag: Int, to offset: Int, in entries: inout [(Int, Value)]) {
      for i in entries.indices where entries[i].0 == tag { entries[i].1 = .long(offset) }
    }
    point(0x8769, to: detailsStart, in: &first)
    point(0x8825, to: placeStart, in: &first)
    point(0xA005, to: interoperabilityStart, in: &details)
    point(0x0201, to: thumbnailStart, in: &second)

    var tiff = isBigEndian ? Array("MM".utf8) : Array("II".utf8)
    tiff += number(42, 2) + number(firstStart, 4)
    tiff += ifd(first, at: firstStart, next: second.isEmpty ? 0 : secondStart)
    if !details.isEmpty { tiff += ifd(details, at: detailsStart, next: 0) }
    if !interoperability.isEmpty { tiff += ifd(interoperability, at: interoperabilityStart, next: 0) }
    if !place.isEmpty { tiff += ifd(place, at: placeStart, next: 0) }
    if !second.isEmpty { tiff += ifd(second, at: secondStart, next: 0) }
    return Array("Exif".utf8) + [0, 0] + tiff + (thumbnail ?? [])
  }

  /// Apple's maker note with the name of a burst and the content identifier of a live photo,
  /// of four bytes or more each.
  package static func appleNote(burst: String? = nil, contentIdentifier: String? = nil) -> [UInt8] {
    var texts: [(tag: Int, bytes: [UInt8])] = []
    if let burst { texts.append((tag: 11, bytes: Array(burst.utf8) + [0])) }
    if let contentIdentifier { texts.append((tag: 17, bytes: Array(contentIdentifier.utf8) + [0])) }
    var note = Array("Apple iOS".utf8) + [0, 0, 1] + Array("MM".utf8) + Boxes.number(texts.count, 2)
    var values: [UInt8] = []
    let start = note.count + 12 * texts.count + 4
    for text in texts {
      note += Boxes.number(text.tag, 2) + Boxes.number(2, 2) + Boxes.number(text.bytes.count, 4)
      note += Boxes.number(start + values.count, 4)
      values += text.bytes
    }
    return note + Boxes.number(0, 4) + values
  }

  private static func angle(_ degrees: Double) -> Value {
    let whole = Int(degrees)
    let minutes = (degrees - Double(whole)) * 60
    let seconds = (minutes - Double(Int(minutes))) * 60
    return .rationals([(whole, 1), (Int(minutes), 1), (Int((seconds * 10_000).rounded()), 10_000)])
  }

  private func number(_ value: Int, _ bytes: Int) -> [UInt8] {
    let little = (0..<bytes).map { UInt8(truncatingIfNeeded: value >> ($0 * 8)) }
    return isBigEndian ? little.reversed() : little
  }

  private func content(_ value: Value) -> (type: Int, count: Int, bytes: [UInt8]) {
    switch value {
    case .byte(let byte): (1, 1, [byte])
    case .undefined(let bytes): (7, bytes.count, bytes)
    case .ascii(let text): (2, text.utf8.count + 1, Array(text.utf8) + [0])
    case .short(let short): (3, 1, number(short, 2))
    case .long(let long): (4, 1, number(long, 4))
    case .rationals(let list): (5, list.count, list.flatMap { number($0.0, 4) + number($0.1, 4) })
    }
  }

  private func size(_ entries: [(Int, Value)]) -> Int {
    if entries.isEmpty { return 0 }
    return entries.reduce(2 + entries.count * 12 + 4) { sum, entry in
      let length = content(entry.1).bytes.count
      return sum + (length > 4 ? length + length % 2 : 0)
    }
  }

  private func ifd(_ entries: [(Int, Value)], at start: Int, next: Int) -> [UInt8] {
    var directory = number(entries.count, 2)
    var values: [UInt8] = []
    let valuesStart = start + 2 + entries.count * 12 + 4
    for (tag, value) in entries {
      let (type, count, bytes) = content(value)
      directory += number(tag, 2) + number(type, 2) + number(count, 4)
      if bytes.count > 4 {
        directory += number(valuesStart + values.count, 4)
        values += bytes + (bytes.count % 2 == 1 ? [0] : [])
      } else {
        directory += bytes + [UInt8](repeating: 0, count: 4 - bytes.count)
      }
    }
    return directory + number(next, 4) + values
  }
}
