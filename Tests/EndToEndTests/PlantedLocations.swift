import Foundation
import PhotoFixtures

/// Files of each kind that contain one location in every known spelling; scripts/search-places searches for all of
/// them.
enum PlantedLocations {
  private static let (latitude, longitude) = (-41.292483, 174.778142)
  private static let scene = Pixels.orientationCard(width: 240, height: 180)
  /// Text that a camera's program may leave anywhere.
  private static let freeText = "lat=-41.292483;lon=174.778142;e7=-412924830,1747781420"

  static func files() throws -> [(name: String, bytes: [UInt8])] {
    var files: [(String, [UInt8])] = []
    for isBigEndian in [false, true] {
      files.append(("camera-\(isBigEndian ? "big" : "little").jpg", jpeg(isBigEndian)))
    }
    files.append(("chunks.png", png()))
    for isBigEndian in [false, true] {
      let page: [(Int, TIFFPicture.Value)] = [
        (256, .long([64])), (257, .long([48])), (700, .bytes(Array(xmp.utf8))), (33723, .undefined(iptc)),
        (34377, .bytes(resources)), (42112, .ascii(xmp)), (0xCD41, .undefined(Array(xmp.utf8))),
      ]
      files.append(
        ("scan-\(isBigEndian ? "big" : "little").tif", block(isBigEndian, "2024:05:06 10:00:00", page).bytes))
    }
    files.append(
      (
        "phone.heic",
        HEIFFile {
          $0.exifPrefix = Array("Exif\0\0".utf8)
          $0.exif = block(false, "2024:05:06 11:00:00").bytes
          $0.xmp = xmp
        }.bytes
      ))
    files.append(
      (
        "walk.mov",
        MovieFile {
          $0.keys = [
            ("com.apple.quicktime.location.ISO6709", "-41.292483+174.778142+021.000/"),
            ("com.apple.quicktime.location.name", "Quaxwellington"),
            ("com.apple.quicktime.creationdate", "2024-05-06T12:00:00+0000"),
          ]
          $0.userData = [("\u{A9}xyz", "-41.292483+174.778142/")]
          $0.xmp = xmp
        }.bytes
      ))
    let follower = JPEGFile {
      $0.exif = EXIFBlock { ($0.latitude, $0.longitude) = (latitude, longitude) }
      $0.segments = [.xmp(xmp)]
    }
    // Far from the others and soon after them: only moments that use places separate it from them. Another picture
    // follows in the file, without an index.
    files.append(
      (
        "far.jpg",
        JPEGFile {
          $0.exif = EXIFBlock {
            $0.dateTimeOriginal = "2024:05:06 08:30:00"
            ($0.latitude, $0.longitude) = (52.5, 13.4)
          }
          $0.segments = [.xmp(xmp)]
        }.encoded(scene) + follower.encoded(scene)
      ))
    // Outside of the album.
    files.append(("outside.jpg", jpeg(false, "2024:05:06 08:45:00")))
    return files
  }

  /// The data planted in comments, unknown entries and unknown segments.
  static var unstructured: [UInt8] { Array(freeText.utf8) + packed + Array("Venueville".utf8) }

  private static func jpeg(_ isBigEndian: Bool, _ date: String = "2024:05:06 08:00:00") -> [UInt8] {
    JPEGFile {
      $0.leadingSegments = [
        JPEGSegment(marker: 0xE1, content: Array("Exif\0\0".utf8) + block(isBigEndian, date).bytes), .xmp(xmp),
      ]
      $0.segments = [
        JPEGSegment(marker: 0xED, content: Array("Photoshop 3.0\0".utf8) + resources),
        JPEGSegment(marker: 0xFE, content: Array(freeText.utf8)),
        JPEGSegment(marker: 0xEB, content: Array(freeText.utf8) + packed),
        manifestSegment, thumbnailSegment,
        JPEGSegment(marker: 0xEC, content: Array("[picture info]\r\nGPSLatitude=41,17.54898S\r\n".utf8)),
      ]
    }.encoded(scene) + Array(freeText.utf8)
  }

  /// A small picture with its own locations.
  private static var thumbnail: [UInt8] {
    JPEGFile {
      $0.exif = EXIFBlock { ($0.latitude, $0.longitude) = (latitude, longitude) }
      $0.segments = [.xmp(xmp)]
    }.encoded(Pixels.orientationCard(width: 80, height: 60))
  }

  /// A signed manifest with a thumbnail.
  private static var manifest: [UInt8] { Array("jumbc2pa.thumbnail.claim.jpeg\0".utf8) + thumbnail }

  private static var manifestSegment: JPEGSegment {
    let head: [UInt8] = [0x4A, 0x50, 0, 1, 0, 0, 0, 1]
    return JPEGSegment(marker: 0xEB, content: head + manifest)
  }

  private static var thumbnailSegment: JPEGSegment {
    let head = Array("JFXX\0\u{10}".utf8)
    return JPEGSegment(marker: 0xE0, content: head + thumbnail)
  }

  private static var compressedEXIF: [UInt8] {
    let head: [UInt8] = [0, 0, 0, 1, 0]
    return head + PNGChunks.stored(block(true, "2024:05:06 09:00:00").bytes)
  }

  private static func png() -> [UInt8] {
    func text(_ keyword: String, _ text: String) -> PNGChunk { PNGChunk("tEXt", Array("\(keyword)\0\(text)".utf8)) }
    return PNGFile(.rgb(depth: 8)) {
      $0.chunks = [
        PNGChunk("eXIf", block(true, "2024:05:06 09:00:00").bytes), text("Location", "Quaxwellington"),
        text("GPS", freeText),
        PNGChunk("iTXt", Array("XML:com.adobe.xmp\0\0\0\0\0\(xmp)".utf8)),
        PNGChunk("zTXt", Array("Raw profile type iptc\0\0".utf8) + PNGChunks.stored(hexProfile(resources))),
        PNGChunk("prVt", packed), PNGChunk("meTa", Array(xmp.utf8)), PNGChunk("caBX", manifest),
        PNGChunk("gdAT", thumbnail), PNGChunk("zxIf", compressedEXIF),
      ]
    }.encoded(scene)
  }

  /// As ImageMagick writes a profile into a text chunk.
  private static func hexProfile(_ bytes: [UInt8]) -> [UInt8] {
    let digits = bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    return Array("\niptc\n\(bytes.count)\n\(digits)\n".utf8)
  }

  /// The coordinates as programs store them in binary: doubles, and integers of 1e-7 degrees, in both byte orders.
  private static var packed: [UInt8] {
    var bytes: [UInt8] = []
    for value in [latitude, longitude, -latitude] {
      withUnsafeBytes(of: value.bitPattern.littleEndian) { bytes += $0 }
      withUnsafeBytes(of: value.bitPattern.bigEndian) { bytes += $0 }
      let e7 = Int32((value * 1e7).rounded())
      for _ in 0..<2 { withUnsafeBytes(of: e7.littleEndian) { bytes += $0 } }
      for _ in 0..<2 { withUnsafeBytes(of: e7.bigEndian) { bytes += $0 } }
    }
    return bytes
  }

  private static func block(
    _ isBigEndian: Bool, _ date: String, _ page: [(Int, TIFFPicture.Value)] = []
  ) -> TIFFPicture {
    let thumbnail = JPEGFile {
      $0.leadingSegments = [.xmp(xmp), JPEGSegment(marker: 0xFE, content: Array(freeText.utf8))]
      $0.exif = EXIFBlock { ($0.latitude, $0.longitude) = (latitude, longitude) }
    }.encoded(Pixels.orientationCard(width: 160, height: 120))
    // Of an unknown maker.
    let note: [UInt8] = Array("NOBODY\0\0".utf8) + packed + Array(freeText.utf8)
    let method: [UInt8] = Array("ASCII\0\0\0Quaxwellington".utf8)
    var area: [UInt8] = Array("UNICODE\0".utf8)
    for unit in "Pierelbow".utf16 { area += [UInt8(unit & 255), UInt8(unit >> 8)] }
    let exif = TIFFPicture.Directory([
      (0x9003, .ascii(date)), (0x927C, .undefined(note)),
      // Entries without a name.
      (0xFDE8, .ascii(freeText)), (0xFDE9, .undefined(packed)),
    ])
    let place = TIFFPicture.Directory([
      (0x0001, .ascii("S")), (0x0002, .rationals([(41, 1), (17, 1), (329_388, 10_000)])), (0x0003, .ascii("E")),
      (0x0004, .rationals([(174, 1), (46, 1), (413_112, 10_000)])), (0x0005, .bytes([0])),
      (0x0006, .rationals([(2100, 100)])), (0x001B, .undefined(method)), (0x001C, .undefined(area)),
    ])
    let first: [(Int, TIFFPicture.Value)] = [
      (0x010F, .ascii("Maker")), (0x0110, .ascii("Model")), (0x0112, .short([1])), (0x8769, .directories([exif])),
      (0x8825, .directories([place])), (0xFDEA, .ascii("Venueville")),
    ]
    let second: [(Int, TIFFPicture.Value)] = [
      (0x0103, .short([6])), (0x0201, .data(thumbnail)), (0x0202, .long([thumbnail.count])),
    ]
    return TIFFPicture {
      $0.isBigEndian = isBigEndian
      $0.chain = [TIFFPicture.Directory(first + page), TIFFPicture.Directory(second)]
    }
  }

  /// IPTC's datasets (IIM 4.2 §6), and the resource of Photoshop that they are in.
  private static var iptc: [UInt8] {
    func dataset(_ number: UInt8, _ text: String) -> [UInt8] {
      [0x1C, 2, number, 0, UInt8(text.utf8.count)] + Array(text.utf8)
    }
    return dataset(25, "geo:lat=-41.292483") + dataset(25, "geo:lon=174.778142") + dataset(26, "Kontinentia")
      + dataset(27, "Venueville") + dataset(90, "Quaxwellington") + dataset(92, "Pierelbow")
      + dataset(95, "Zugspitzwaikato") + dataset(101, "Ruritanzealand")
  }

  private static var resources: [UInt8] {
    let iptc = Self.iptc
    let padding: [UInt8] = iptc.count % 2 == 1 ? [0] : []
    return Array("8BIM".utf8) + [4, 4, 0, 0] + PNGChunks.bigEndian(UInt32(iptc.count)) + iptc + padding
  }

  private static let xmp = """
    <?xpacket begin="" id="W5M0MpCehiHzreSzNTczkc9d"?><x:xmpmeta xmlns:x="adobe:ns:meta/">
    <rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"><rdf:Description rdf:about=""
      xmlns:exif="http://ns.adobe.com/exif/1.0/" xmlns:photoshop="http://ns.adobe.com/photoshop/1.0/"
      xmlns:Iptc4xmpCore="http://iptc.org/std/Iptc4xmpCore/1.0/xmlns/" xmlns:dc="http://purl.org/dc/elements/1.1/"
      xmlns:Iptc4xmpExt="http://iptc.org/std/Iptc4xmpExt/2008-02-29/" xmlns:geo="http://www.w3.org/2003/01/geo/wgs84_pos#"
      exif:GPSLatitude="41,17.54898S" exif:GPSLongitude="174,46.68852E" exif:GPSAltitude="21/1"
      geo:lat="-41.292483" geo:long="174.778142" photoshop:City="Quaxwellington" photoshop:State="Zugspitzwaikato"
      photoshop:Country="Ruritanzealand" Iptc4xmpCore:Location="Pierelbow">
      <dc:subject><rdf:Bag><rdf:li>geo:lat=-41.292483</rdf:li><rdf:li>geo:-41.292483,174.778142</rdf:li></rdf:Bag></dc:subject>
      <Iptc4xmpExt:LocationCreated><rdf:Bag><rdf:li rdf:parseType="Resource">
        <Iptc4xmpExt:City>Quaxwellington</Iptc4xmpExt:City><Iptc4xmpExt:WorldRegion>Kontinentia</Iptc4xmpExt:WorldRegion>
        <exif:GPSLatitude>41,17.54898S</exif:GPSLatitude></rdf:li></rdf:Bag></Iptc4xmpExt:LocationCreated>
    </rdf:Description></rdf:RDF></x:xmpmeta><?xpacket end="w"?>
    """
}
