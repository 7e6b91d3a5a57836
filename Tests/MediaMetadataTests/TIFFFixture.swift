/// A TIFF block for tests: directories with any entries, in either byte order.
struct TIFFFixture {
  enum Value {
    case ascii(String)
    case short(Int)
    case shorts([Int])
    case long(Int)
    case bytes([UInt8])
    case signed(Int)
    case rationals([(Int, Int)])
    case doubles([Double])
  }

  var isBigEndian = false
  var first: [(Int, Value)] = []
  var exif: [(Int, Value)] = []
  var gps: [(Int, Value)] = []

  /// The block, beginning with its TIFF header.
  var bytes: [UInt8] {
    var entries = first
    if !exif.isEmpty { entries.append((0x8769, .long(0))) }
    if !gps.isEmpty { entries.append((0x8825, .long(0))) }
    let exifStart = 8 + Self.size(entries)
    let gpsStart = exifStart + (exif.isEmpty ? 0 : Self.size(exif))
    entries = entries.map { tag, value in
      switch tag {
      case 0x8769: (tag, .long(exifStart))
      case 0x8825: (tag, .long(gpsStart))
      default: (tag, value)
      }
    }
    var block = Array((isBigEndian ? "MM" : "II").utf8) + number(42, 2) + number(8, 4)
    block += directory(entries, at: 8)
    if !exif.isEmpty { block += directory(exif, at: exifStart) }
    if !gps.isEmpty { block += directory(gps, at: gpsStart) }
    return block
  }

  /// A maker note in the format of iPhones: always big endian, offsets relative to its first byte.
  static func appleNote(_ entries: [(Int, Value)]) -> [UInt8] {
    let fixture = TIFFFixture(isBigEndian: true)
    return Array("Apple iOS".utf8) + [0, 0, 1] + Array("MM".utf8) + fixture.directory(entries, at: 14)
  }

  private static func size(_ entries: [(Int, Value)]) -> Int {
    TIFFFixture().directory(entries, at: 0).count
  }

  private func directory(_ entries: [(Int, Value)], at start: Int) -> [UInt8] {
    var directory = number(entries.count, 2)
    var values: [UInt8] = []
    for (tag, value) in entries {
      let (type, count, bytes) = content(value)
      directory += number(tag, 2) + number(type, 2) + number(count, 4)
      if bytes.count > 4 {
        directory += number(start + 2 + entries.count * 12 + 4 + values.count, 4)
        values += bytes + (bytes.count % 2 == 1 ? [0] : [])
      } else {
        directory += bytes + [UInt8](repeating: 0, count: 4 - bytes.count)
      }
    }
    return directory + number(0, 4) + values
  }

  private func content(_ value: Value) -> (type: Int, count: Int, bytes: [UInt8]) {
    switch value {
    case .ascii(let text): (2, text.utf8.count + 1, Array(text.utf8) + [0])
    case .short(let number): (3, 1, self.number(number, 2))
    case .shorts(let list): (3, list.count, list.flatMap { number($0, 2) })
    case .long(let number): (4, 1, self.number(number, 4))
    case .bytes(let bytes): (7, bytes.count, bytes)
    case .signed(let number): (9, 1, self.number(number, 4))
    case .rationals(let list): (5, list.count, list.flatMap { number($0.0, 4) + number($0.1, 4) })
    case .doubles(let list):
      (12, list.count, list.flatMap { number(Int(truncatingIfNeeded: $0.bitPattern), 8) })
    }
  }

  private func number(_ value: Int, _ count: Int) -> [UInt8] {
    let little = (0..<count).map { UInt8(truncatingIfNeeded: value >> ($0 * 8)) }
    return isBigEndian ? little.reversed() : little
  }
}

/// An XMP packet with one description: its attributes, and the elements inside it.
func xmpPacket(_ attributes: String = "", _ elements: String = "") -> [UInt8] {
  Array(
    """
    <?xpacket begin="\u{FEFF}" id="W5M0MpCehiHzreSzNTczkc9d"?>
    <x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">
    <rdf:Description rdf:about="" xmlns:xmp="http://ns.adobe.com/xap/1.0/" xmlns:dc="http://purl.org/dc/elements/1.1/"
     xmlns:exif="http://ns.adobe.com/exif/1.0/" xmlns:Iptc4xmpExt="http://iptc.org/std/Iptc4xmpExt/2008-02-29/"
     xmlns:photoshop="http://ns.adobe.com/photoshop/1.0/" xmlns:GPano="http://ns.google.com/photos/1.0/panorama/"
     xmlns:GCamera="http://ns.google.com/photos/1.0/camera/" xmlns:GDepth="http://ns.google.com/photos/1.0/depthmap/"
     xmlns:Container="http://ns.google.com/photos/1.0/container/" xmlns:Item="http://ns.google.com/photos/1.0/container/item/"
     xmlns:hdrgm="http://ns.adobe.com/hdr-gain-map/1.0/" xmlns:apdi="http://ns.apple.com/pixeldatainfo/1.0/"
     xmlns:HDRGainMap="http://ns.apple.com/HDRGainMap/1.0/" xmlns:my="http://example.com/my#"
     \(attributes)>\(elements)</rdf:Description></rdf:RDF></x:xmpmeta>
    <?xpacket end="w"?>
    """.utf8)
}
