// JPEGs with gain maps, written without any of photod's code, and a reader of such files for tests.

#if canImport(Glibc)
  import Glibc
#endif

/// A picture with a gain map, in each form that cameras and programs write.
package struct UltraHDRFile: Sendable {
  package enum Form: String, Sendable, CaseIterable {
    /// XMP with a multi-picture index and Google's directory, as Android's cameras write since version 14.
    case ultraHDR
    /// The same without the index.
    case directory
    /// ISO 21496-1 with a multi-picture index, without XMP.
    case iso
    /// Apple's XMP, a multi-picture index, and the headroom in the maker note.
    case apple
  }

  package var form = Form.ultraHDR
  /// RGB, or gray.
  package var picture: Pixels
  /// One or three channels.
  package var map: Pixels
  /// In stops; one number, or three for red, green and blue. Apple's have the headroom of the maker note instead.
  package var minimum = [0.0]
  package var maximum = [2.5]
  package var gamma = 1.0
  package var offset = 1.0 / 64
  package var orientation: Int?
  /// By a clock of two hours ahead of UTC. Apple's form has none.
  package var dateTimeOriginal: String?
  package var pictureQuality = 92
  package var profile: [UInt8]?
  package var isBaseHDR = false
  /// Segments before all others of the picture.
  package var leadingSegments: [JPEGSegment] = []

  package init(_ picture: Pixels, map: Pixels, _ change: (inout UltraHDRFile) -> Void = { _ in }) {
    self.picture = picture
    self.map = map
    change(&self)
  }

  /// A landscape in standard range, whose sun is `stops` brighter than white in the HDR rendition, and its gain map
  /// at 1/`reduction` of the size.
  package static func landscape(
    width: Int, height: Int, reduction: Int = 4, _ change: (inout UltraHDRFile) -> Void = { _ in }
  )
    -> UltraHDRFile
  {
    let map = glow(width: width / reduction, height: height / reduction)
    return UltraHDRFile(Scene(seed: 7, grain: 2).pixels(width: width, height: height), map: map, change)
  }

  /// A gray map: a bright disc left of the middle, a ramp to the right, and a dark bottom; it has no symmetry.
  package static func glow(width: Int, height: Int) -> Pixels {
    var map = Pixels(width: width, height: height, channels: 1)
    for y in 0..<height {
      for x in 0..<width {
        let (u, v) = ((Double(x) + 0.5) / Double(width), (Double(y) + 0.5) / Double(height))
        let disc = exp(-((u - 0.3) * (u - 0.3) + (v - 0.35) * (v - 0.35)) / 0.02)
        map.bytes[y * width + x] = UInt8((min(1, 0.75 * disc + 0.35 * u * (1 - v)) * 255).rounded())
      }
    }
    return map
  }

  // MARK: Writing

  package var encoded: [UInt8] {
    let mapFile = JPEGFile {
      $0.color = map.channels == 1 ? .gray : .ycbcr
      $0.sampling = (1, 1)
      $0.quality = 97
      $0.segments = mapSegments
    }.encoded(map)
    let picture = JPEGFile {
      $0.quality = pictureQuality
      if self.picture.channels == 1 { $0.color = .gray }
      $0.profile = profile
      $0.exif = exif
      $0.leadingSegments = leadingSegments
      if form == .apple {
        $0.leadingSegments.append(JPEGSegment(marker: 0xE1, content: Self.appleEXIF(orientation ?? 1)))
      }
      $0.segments = pictureSegments(mapBytes: mapFile.count)
    }.encoded(self.picture)
    return form == .directory
      ? picture + mapFile : MultiPictureFile(previews: [(type: 0, bytes: mapFile)]).encoded(picture)
  }

  private var exif: EXIFBlock? {
    guard form != .apple, orientation != nil || dateTimeOriginal != nil else { return nil }
    return EXIFBlock {
      $0.orientation = orientation
      $0.dateTimeOriginal = dateTimeOriginal
      $0.offsetTimeOriginal = dateTimeOriginal == nil ? nil : "+02:00"
    }
  }

  private func pictureSegments(mapBytes: Int) -> [JPEGSegment] {
    switch form {
    case .apple: []
    case .iso: [JPEGSegment(marker: 0xE2, content: Self.isoSignature + [0, 0, 0, 0])]
    case .ultraHDR, .directory:
      [
        .xmp(
          Self.packet(
            """
            <rdf:Description xmlns:c="http://ns.google.com/photos/1.0/container/" \
            xmlns:i="http://ns.google.com/photos/1.0/container/item/" xmlns:g="http://ns.adobe.com/hdr-gain-map/1.0/" \
            g:Version="1.0"><c:Directory><rdf:Seq><rdf:li rdf:parseType="Resource"><c:Item i:Semantic="Primary" \
            i:Mime="image/jpeg"/></rdf:li><rdf:li rdf:parseType="Resource"><c:Item i:Semantic="GainMap" \
            i:Mime="image/jpeg" i:Length="\(mapBytes)"/></rdf:li></rdf:Seq></c:Directory></rdf:Description>
            """))
      ]
    }
  }

  private var mapSegments: [JPEGSegment] {
    switch form {
    case .apple:
      return [
        .xmp(
          Self.packet(
            """
            <rdf:Description xmlns:a="http://ns.apple.com/pixeldatainfo/1.0/" \
            xmlns:h="http://ns.apple.com/HDRGainMap/1.0/" h:HDRGainMapVersion="65536" \
            a:AuxiliaryImageType="urn:com:apple:photo:2020:aux:hdrgainmap"/>
            """))
      ]
    case .iso: return [JPEGSegment(marker: 0xE2, content: Self.isoSignature + isoBlock)]
    case .ultraHDR, .directory:
      func numbers(_ name: String, _ values: [Double]) -> String {
        let items = values.map { "<rdf:li>\($0)</rdf:li>" }.joined()
        return "<g:\(name)>" + (values.count == 1 ? "\(values[0])" : "<rdf:Seq>\(items)</rdf:Seq>") + "</g:\(name)>"
      }
      return [
        .xmp(
          Self.packet(
            """
            <rdf:Description xmlns:g="http://ns.adobe.com/hdr-gain-map/1.0/" g:Version="1.0" g:Gamma="\(gamma)" \
            g:OffsetSDR="\(offset)" g:OffsetHDR="\(offset)" g:HDRCapacityMin="0" g:HDRCapacityMax="\(headroom)" \
            g:BaseRenditionIsHDR="\(isBaseHDR ? "True" : "False")">\(numbers("GainMapMin", minimum))\
            \(numbers("GainMapMax", maximum))</rdf:Description>
            """))
      ]
    }
  }

  private var headroom: Double { maximum.max() ?? 0 }

  private static let isoSignature = Array("urn:iso:std:iso:ts:21496:-1".utf8) + [0]

  /// ISO 21496-1 annex C.2: fractions of 10,000.
  private var isoBlock: [UInt8] {
    let count = max(minimum.count, maximum.count)
    var bytes: [UInt8] = [0, 0, 0, 0, (count == 3 ? 0x80 : 0) | 0x40]
    func fraction(_ value: Double) {
      let numerator = Int32((value * 10_000).rounded())
      bytes += Boxes.number(Int(UInt32(bitPattern: numerator)), 4) + Boxes.number(10_000, 4)
    }
    for value in isBaseHDR ? [headroom, 0] : [0, headroom] { fraction(value) }
    for i in 0..<count {
      for value in [minimum[i % minimum.count], maximum[i % maximum.count], gamma, offset, offset] { fraction(value) }
    }
    return bytes
  }

  private static func packet(_ description: String) -> String {
    """
    <x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">\
    \(description)</rdf:RDF></x:xmpmeta>
    """
  }

  /// The two numbers of Apple's maker note in ``appleEXIF(_:)``, and the linear headroom that follows from them: 2.303
  /// - 0.303 * 1 = 2 stops.
  package static let appleNumbers = (headroom: 1.01, gain: 1.0)
  package static let appleHeadroom = 4.0

  /// An EXIF block with a maker note of Apple's with two entries.
  private static func appleEXIF(_ orientation: Int) -> [UInt8] {
    func rational(_ value: Double) -> [UInt8] {
      Boxes.number(Int((value * 1000).rounded()), 4) + Boxes.number(1000, 4)
    }
    func entry(_ tag: Int, _ type: Int, _ count: Int, _ value: [UInt8]) -> [UInt8] {
      Boxes.number(tag, 2) + Boxes.number(type, 2) + Boxes.number(count, 4) + value
    }
    // Offsets count from the note's first byte; the values follow 14 + 2 + 2 * 12 + 4 bytes.
    let note =
      Array("Apple iOS\0".utf8) + [0, 1] + Array("MM".utf8) + Boxes.number(2, 2)
      + entry(0x0021, 10, 1, Boxes.number(44, 4)) + entry(0x0030, 10, 1, Boxes.number(52, 4)) + Boxes.number(0, 4)
      + rational(appleNumbers.headroom) + rational(appleNumbers.gain)
    // IFD0 with two entries at 8, the EXIF directory with one at 38, the note at 56.
    return Array("Exif\0\0MM".utf8) + Boxes.number(42, 2) + Boxes.number(8, 4) + Boxes.number(2, 2)
      + entry(0x0112, 3, 1, Boxes.number(orientation, 2) + [0, 0]) + entry(0x8769, 4, 1, Boxes.number(38, 4))
      + Boxes.number(0, 4) + Boxes.number(1, 2) + entry(0x927C, 7, note.count, Boxes.number(56, 4))
      + Boxes.number(0, 4) + note
  }

  // MARK: Reading

  /// The parts of a file that photod wrote.
  package struct Parts: Sendable {
    /// The picture without the bytes after it.
    package let picture: [UInt8]
    package let map: [UInt8]
    /// The contents of the APPn segments, with their markers.
    package let pictureSegments: [JPEGSegment]
    package let mapSegments: [JPEGSegment]

    /// The map's samples as gray or RGB.
    package var mapPixels: Pixels? {
      Pixels.decoded(map).map { $0.pixels.channels($0.fileChannels == 1 ? 1 : 3) }
    }

    package func segment(_ start: String, in segments: [JPEGSegment]) -> [UInt8]? {
      segments.first { $0.content.starts(with: Array(start.utf8)) }.map {
        Array($0.content.dropFirst(start.utf8.count))
      }
    }
  }

  /// `nil` unless the file has a multi-picture index that leads to a JPEG which ends with the file.
  package static func parts(_ file: [UInt8]) -> Parts? {
    let segments = segments(file)
    guard let place = segments.first(where: { $0.segment.content.starts(with: Array("MPF\0".utf8)) }) else {
      return nil
    }
    func number(_ position: Int) -> Int {
      place.segment.content[position..<position + 4].reduce(0) { $0 << 8 | Int($1) }
    }
    // The second entry, after the signature, the header, the directory and the first entry.
    let entry = 4 + 50 + 16
    let start = place.position + 4 + 4 + number(entry + 8)
    let pictureBytes = number(4 + 50 + 4)
    guard start == pictureBytes, start + number(entry + 4) == file.count, file[start...].starts(with: [0xFF, 0xD8]),
      file[..<start].suffix(2) == [0xFF, 0xD9], file.suffix(2) == [0xFF, 0xD9]
    else { return nil }
    let map = Array(file[start...])
    return Parts(
      picture: Array(file[..<start]), map: map, pictureSegments: segments.map { $0.segment },
      mapSegments: Self.segments(map).map { $0.segment })
  }

  private static func segments(_ file: [UInt8]) -> [(position: Int, segment: JPEGSegment)] {
    var found: [(position: Int, segment: JPEGSegment)] = []
    var position = 2
    while position + 4 <= file.count, file[position] == 0xFF, file[position + 1] != 0xDA {
      let length = Int(file[position + 2]) << 8 + Int(file[position + 3])
      if (0xE0...0xEF).contains(file[position + 1]) {
        found.append(
          (
            position,
            JPEGSegment(marker: file[position + 1], content: Array(file[position + 4..<position + 2 + length]))
          ))
      }
      position += 2 + length
    }
    return found
  }
}
