import Foundation
import PhotoFixtures

/// Initial inputs, generated: every kind of file that takes a different path through the code.
enum Seeds {
  private static let scene = Scene(seed: 4).pixels(width: 64, height: 48)

  /// A valid JPEG, and a valid thumbnail of it.
  static let picture = JPEGFile { $0.sampling = (1, 1) }.encoded(scene)
  static let thumbnail = DemoLibrary.thumbnail(of: scene)

  static func write(to folder: String) throws {
    for (target, seeds) in [
      ("jpeg", jpegs), ("png", pngs), ("gif", gifs), ("bmp", bmps), ("tiff", tiffs), ("exif", exifs), ("xmp", packets),
      ("iptc", resources), ("mpf", multiPictures),
      ("container", containers), ("location", jpegs + pngs + bmps + tiffs + containers + located),
      ("locationblock", exifs + packets + resources + multiPictures),
      ("http", requests),
      ("multipart", forms),
      ("predicate", predicates), ("gainmap", gainMaps), ("store", storeAnswers), ("adjustments", adjustments),
    ] + DecoderSeeds.all.map({ ("decoder-\($0.codec)", $0.seeds) }) {
      let place = folder + "/" + target
      try FileManager.default.createDirectory(atPath: place, withIntermediateDirectories: true)
      for (i, seed) in seeds.enumerated() { try Data(seed).write(to: URL(filePath: "\(place)/seed-\(i)")) }
    }
  }

  private static var jpegs: [[UInt8]] {
    let exif = EXIFBlock {
      $0.orientation = 6
      $0.thumbnail = thumbnail
    }
    let gray = Pixels(width: 16, height: 16, channels: 1)
    var files = [
      JPEGFile { _ in }, JPEGFile { $0.sampling = (2, 1) }, JPEGFile { $0.sampling = (1, 2) },
      JPEGFile { $0.isProgressive = true }, JPEGFile { $0.isArithmetic = true },
      JPEGFile {
        $0.isArithmetic = true
        $0.isProgressive = true
      }, JPEGFile { $0.restartRows = 1 }, JPEGFile { $0.color = .rgb }, JPEGFile { $0.color = .cmyk },
      JPEGFile { $0.color = .ycck }, JPEGFile { $0.exif = exif }, JPEGFile { $0.profile = [UInt8](0...199) },
      JPEGFile {
        $0.isProgressive = true
        $0.restartRows = 1
        $0.sampling = (2, 2)
      },
    ].map { $0.encoded(scene) }
    files.append(JPEGFile { $0.color = .gray }.encoded(gray))
    files.append(MultiPictureFile(previews: [(type: 0x01_0001, bytes: thumbnail)]).encoded(picture))
    for form in UltraHDRFile.Form.allCases {
      files.append(UltraHDRFile.landscape(width: 256, height: 32) { $0.form = form }.encoded)
    }
    // Also truncated, at two thirds and just before the end.
    return files + files.map { Array($0.prefix($0.count * 2 / 3)) } + files.prefix(4).map { Array($0.dropLast(2)) }
  }

  private static var pngs: [[UInt8]] {
    let small = scene.cropped(x: 0, y: 0, width: 19, height: 13)
    let kinds: [PNGFile.Kind] = [
      .gray(depth: 1), .gray(depth: 4), .gray(depth: 16), .rgb(depth: 8), .rgb(depth: 16), .palette(depth: 2),
      .palette(depth: 8), .grayAlpha(depth: 8), .rgba(depth: 8), .rgba(depth: 16),
    ]
    var files: [[UInt8]] = []
    for kind in kinds {
      files.append(PNGFile(kind).encoded(small))
      files.append(PNGFile(kind) { $0.isInterlaced = true }.encoded(small))
    }
    files.append(PNGFile(.palette(depth: 8)) { $0.hasTransparentBlack = true }.encoded(small))
    files.append(PNGFile(.gray(depth: 8)) { $0.hasTransparentBlack = true }.encoded(small))
    files += files.prefix(6).map { Array($0.dropLast(30)) }
    // With text, EXIF and pixels stored without compression.
    let exif = Array(EXIFBlock { $0.thumbnail = thumbnail }.bytes.dropFirst(6))
    for (depth, type, rowBytes): (UInt8, UInt8, Int) in [(8, 2, 24), (8, 6, 32), (16, 0, 16), (2, 0, 2)] {
      files.append(storedPNG(depth: depth, colorType: type, rowBytes: rowBytes, exif: exif))
    }
    return files
  }

  private static var gifs: [[UInt8]] {
    let indexes = (0..<40 * 30).map { (i: Int) -> UInt8 in UInt8((i * i / 7) & 15) }
    let colors = sixteenColors
    let changes: [(inout CodedGIFFile) -> Void] = [
      { _ in }, { $0.isInterlaced = true }, { $0.codesBetweenClears = 9 }, { $0.transparentIndex = 3 },
      { ($0.canvas, $0.origin, $0.blockBytes) = ((50, 25), (12, 9), 7) },
      { ($0.indexBits, $0.localColors, $0.globalColors) = (8, $0.globalColors, nil) },
    ]
    let files = changes.map { change in
      CodedGIFFile(width: 40, height: 30, indexes: indexes) {
        ($0.indexBits, $0.globalColors) = (4, colors)
        change(&$0)
      }.bytes
    }
    return files + files.map { Array($0.prefix($0.count * 2 / 3)) }
  }

  private static var sixteenColors: [[UInt8]] { (0..<16).map { (i: UInt8) -> [UInt8] in [i * 15, i * 3, 200] } }

  private static var tiffs: [[UInt8]] {
    func file(_ channels: Int, _ change: (inout CodedTIFFFile) -> Void) -> [UInt8] {
      let samples = (0..<24 * 18 * channels).map { ($0 * $0 / 5 + $0) & 255 }
      return CodedTIFFFile(width: 24, height: 18, samplesPerPixel: channels, samples: samples) {
        if channels < 3 { $0.interpretation = 1 }
        change(&$0)
      }.bytes
    }
    let coded = CodedTIFFFile.Compression.allCases.flatMap { compression in
      [
        file(3) { ($0.compression, $0.rowsPerStrip) = (compression, 8) },
        file(1) { ($0.compression, $0.tile, $0.isBigTIFF, $0.jpeg.color) = (compression, (16, 16), true, .gray) },
      ]
    }
    return coded + [
      file(3) { ($0.compression, $0.predictor, $0.isPlanar, $0.isBigEndian) = (.lzw, 2, true, true) },
      file(3) { ($0.compression, $0.bits, $0.predictor, $0.isBigEndian) = (.deflate, 16, 2, true) },
      file(3) { ($0.interpretation, $0.subsampling) = (6, (2, 2)) },
      file(3) { ($0.compression, $0.interpretation) = (.jpeg, 6) }, file(3) { $0.interpretation = 8 },
      file(4) { $0.extraSamples = [1] }, file(2) { ($0.extraSamples, $0.bits) = ([2], 16) },
      file(4) { $0.interpretation = 5 },
      file(1) { ($0.bits, $0.isReversed, $0.samples) = (1, true, $0.samples.map { $0 & 1 }) },
      file(1) {
        ($0.bits, $0.interpretation, $0.samples) = (4, 3, $0.samples.map { $0 & 15 })
        $0.colorMap = (0..<48).map { $0 * 1300 }
      },
    ]
  }

  private static var bmps: [[UInt8]] {
    let colors = sixteenColors
    func file(_ bits: Int, _ change: (inout BMPFile) -> Void) -> [UInt8] {
      BMPFile(width: 21, height: 9, bitsPerPixel: bits) {
        change(&$0)
        let count = min(256, 1 << bits)
        if $0.pixels.isEmpty { $0.store { x, y in UInt32((x * 5 + y) % count) } }
      }.bytes
    }
    let plain = [
      file(1) { ($0.header, $0.colors) = (.core, Array(colors.prefix(2))) },
      file(4) { $0.colors = colors },
      file(8) { ($0.colors, $0.statedColors, $0.isTopDown) = (colors, 16, true) },
      file(16) { _ in }, file(24) { _ in }, file(32) { $0.header = .v4 },
    ]
    let masked = [
      file(32) { ($0.header, $0.compression, $0.masks) = (.v5, 3, [0xFF, 0xFF00, 0xFF_0000, 0xFF00_0000]) },
      file(16) { ($0.compression, $0.masks) = (3, [0xF800, 0x07E0, 0x1F]) },
    ]
    let runs = [4, 8].map { bits in
      file(bits) {
        ($0.compression, $0.colors, $0.statedColors) = (bits == 8 ? 1 : 2, colors, 16)
        $0.storeRuns { x, y in UInt8((x / 4 * y) & 15) }
      }
    }
    return plain + masked + runs
  }

  /// An 8x8 PNG with a chunk of each kind that photod reads.
  private static func storedPNG(depth: UInt8, colorType: UInt8, rowBytes: Int, exif: [UInt8]) -> [UInt8] {
    var rows: [UInt8] = []
    for y in 0..<8 {
      // The filter type (each of the five in turn) and the pixels.
      rows.append(UInt8(y % 5))
      for x in 0..<rowBytes { rows.append(UInt8((x * 7 + y) & 255)) }
    }
    let hello = PNGChunks.stored(Array("hello".utf8))
    var file = PNGChunks.signature
    let size: [UInt8] = [0, 0, 0, 8, 0, 0, 0, 8]
    file += PNGChunks.chunk("IHDR", size + [depth, colorType, 0, 0, 0])
    file += PNGChunks.chunk("zTXt", Array("Comment".utf8) + [0, 0] + hello)
    file += PNGChunks.chunk("iTXt", Array("Title".utf8) + [0, 1, 0, 0, 0] + hello)
    file += PNGChunks.chunk("iCCP", Array("icc".utf8) + [0, 0] + PNGChunks.stored([UInt8](repeating: 0, count: 132)))
    file += PNGChunks.chunk("gAMA", PNGChunks.bigEndian(45_455))
    file += PNGChunks.chunk("eXIf", exif)
    file += PNGChunks.chunk("IDAT", PNGChunks.stored(rows))
    return file + PNGChunks.chunk("IEND", [])
  }

  private static var exifs: [[UInt8]] {
    [false, true].flatMap { isBigEndian in
      let full = EXIFBlock {
        $0.isBigEndian = isBigEndian
        $0.orientation = 8
        $0.make = "Maker"
        $0.model = "Model 1 "
        $0.dateTimeOriginal = "2024:05:06 07:08:09"
        $0.offsetTimeOriginal = "-03:30"
        $0.subSecTimeOriginal = "5"
        $0.latitude = -33.9628
        $0.longitude = 18.4098
        $0.altitude = -12.5
      }
      let small = EXIFBlock {
        $0.isBigEndian = isBigEndian
        $0.orientation = 6
        $0.thumbnail = thumbnail
      }
      return [full, small].map { Array($0.bytes.dropFirst(6)) }
    }
  }

  private static var packets: [[UInt8]] {
    let namespaces =
      "xmlns:x=\"adobe:ns:meta/\" xmlns:rdf=\"http://www.w3.org/1999/02/22-rdf-syntax-ns#\" "
      + "xmlns:xmp=\"http://ns.adobe.com/xap/1.0/\" xmlns:dc=\"http://purl.org/dc/elements/1.1/\" "
      + "xmlns:GPano=\"http://ns.google.com/photos/1.0/panorama/\" xmlns:my=\"http://example.com/my#\""
    return [
      "xmp:Rating=\"3\" GPano:ProjectionType=\"equirectangular\">",
      "><dc:title><rdf:Alt><rdf:li xml:lang=\"x-default\">A</rdf:li><rdf:li xml:lang=\"de\">B</rdf:li></rdf:Alt></dc:title>",
      "><dc:subject><rdf:Bag><rdf:li>a</rdf:li><rdf:li my:City=\"c\"/></rdf:Bag></dc:subject>",
      "><my:a rdf:parseType=\"Resource\"><rdf:value>v</rdf:value><my:q xml:lang=\"fr\">&#228;&lt;</my:q></my:a>",
      "><my:a><rdf:Description my:b=\"1\"><my:c rdf:resource=\"u\"/></rdf:Description></my:a>",
    ].map { inside in
      let packet =
        "<?xpacket begin=\"\" id=\"W5M0\"?><x:xmpmeta \(namespaces) x:xmptk=\"t\"><rdf:RDF><rdf:Description rdf:about=\"\" "
      return Array("\(packet)\(inside)</rdf:Description></rdf:RDF></x:xmpmeta><?xpacket end=\"w\"?>".utf8)
    }
  }

  private static var resources: [[UInt8]] {
    let datasets: [UInt8] =
      [0x1C, 1, 90, 0, 3, 0x1B, 0x25, 0x47, 0x1C, 2, 0, 0, 2, 0, 4, 0x1C, 2, 25, 0, 3, 0xC3, 0x96, 0x6C]
      + [0x1C, 2, 90, 0x80, 4, 0, 0, 0, 2, 0x41, 0x42]
    let resource = Array("8BIM".utf8) + [4, 4, 1, 65, 0, 0, 0, UInt8(datasets.count)] + datasets
    let profile = datasets.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
    return [datasets, resource + resource, Array("\niptc\n  \(datasets.count)\n\(profile)\n".utf8)]
  }

  private static var gainMaps: [[UInt8]] {
    UltraHDRFile.Form.allCases.flatMap { form in
      UltraHDRFile.parts(UltraHDRFile.landscape(width: 256, height: 32) { $0.form = form }.encoded)?.mapSegments
        .map { segment in segment.content.drop { $0 != 0 }.dropFirst() }.map { Array($0) } ?? []
    }
  }

  private static var multiPictures: [[UInt8]] {
    [1, 2].flatMap { count in
      [false, true].map { isBigEndian in
        var file = MultiPictureFile(previews: (0..<count).map { (type: 0x01_0001 + $0, bytes: thumbnail) })
        file.isBigEndian = isBigEndian
        let index = file.index(pictureBytes: 0, firstOffset: 0)
        // The layout that MetadataTarget builds: the index, the rest of the picture, the thumbnail.
        return file.index(pictureBytes: picture.count, firstOffset: index.count + picture.count - 2)
      }
    }
  }

  /// Files with places in every kind of block.
  private static var located: [[UInt8]] {
    let exif = EXIFBlock {
      $0.make = "Panasonic"
      ($0.latitude, $0.longitude, $0.thumbnail) = (48.2, 16.3, thumbnail)
    }
    let jpeg = JPEGFile {
      $0.exif = exif
      $0.segments = packets.map { JPEGSegment.xmp(String(decoding: $0, as: UTF8.self)) }
      $0.segments += resources.prefix(2).map { JPEGSegment(marker: 0xED, content: Array("Photoshop 3.0\0".utf8) + $0) }
      $0.segments.append(JPEGSegment(marker: 0xE1, content: Array("FLIR\0".utf8) + [1, 0, 0] + Array("FFF\0".utf8)))
    }.encoded(scene)
    let text = PNGChunks.chunk("tEXt", Array("exif:GPSLatitude\0".utf8) + Array("48".utf8))
    let png = storedPNG(depth: 8, colorType: 2, rowBytes: 24, exif: Array(exif.bytes.dropFirst(6)))
    return [
      jpeg, MultiPictureFile(previews: [(type: 0x01_0001, bytes: jpeg)]).encoded(jpeg),
      png.prefix(33) + text + png[33...],
    ]
  }

  private static var containers: [[UInt8]] {
    let exif = Array(EXIFBlock { $0.orientation = 6 }.bytes.dropFirst(6))
    let xmp = "<x:xmpmeta xmlns:x='adobe:ns:meta/'/>"
    let details = TIFFPicture.Details { $0.pixelSize = (3504, 2336) }
    let nikon = TIFFPicture.Details { $0.make = "NIKON" }
    let sony = TIFFPicture.Details { $0.make = "SONY" }
    return [
      CodedSamples.heic([CodedHEIFFile.irot(1), CodedHEIFFile.clap([31, 1, 12, 1, 2, 1, 1, 1])]),
      CodedSamples.avif(hasAlpha: true),
      CodedSamples.LosslessPicture(width: 60, height: 40, hasAlpha: true).file,
      JXLSamples.rgba, JXLSamples.gray, JXLSamples.profile, JXLSamples.animation,
      JXLSamples.file(
        JXLSamples.exif(exif, distance: 2), JXLSamples.parts(JXLSamples.pq, of: 100),
        Boxes.box("xml ", Array(xmp.utf8))),
      JXLSamples.file(
        Boxes.box("jbrd", JXLSamples.jpegReconstruction), Boxes.box("jxlc", JXLSamples.jpeg),
        Boxes.box("brob", Array("Exif".utf8), [1, 2])),
      JXLSamples.file(Boxes.box("jxlc", JXLSamples.lossy), Boxes.box("brob", [1])),
      JXLSamples.file(
        Boxes.box("jxlc", JXLSamples.lossy),
        JXLSamples.compressed("Exif", [0, 0, 0, 0] + EXIFBlock { $0.orientation = 6 }.bytes.dropFirst(6))),
      HEIFFile {
        $0.exif = exif
        $0.xmp = xmp
        $0.thumbnail = TIFFPicture.jpeg
        $0.auxiliaries = ["urn:mpeg:hevc:2015:auxid:1"]
        $0.transformations = [.crop(width: 60, height: 40), .rotation(1), .mirror(axis: 0)]
        $0.tiles = 3
        $0.hasToneMap = true
      }.bytes,
      HEIFFile {
        ($0.major, $0.compatible, $0.itemType) = ("mif1", ["mif1"], "av01")
        ($0.isWide, $0.usesItemData, $0.hasSize, $0.tiles) = (true, true, false, 1)
        $0.exif = exif
      }.bytes,
      CodedMovieSamples.avc().bytes,
      CodedMovieSamples.avc { ($0.framesPerFragment, $0.matrix) = (2, (0, 1, -1, 0)) }.bytes,
      CodedMovieSamples.avc { movie in
        (movie.hasWideOffsets, movie.edits, movie.coverArt) = (true, [(1, nil), (5, 10)], thumbnail)
        for i in movie.frames.indices { (movie.frames[i].isKey, movie.frames[i].shift) = (i != 1, 20) }
      }.bytes,
      CodedMovieFile(
        CodedMovieFile.entry(
          "hvc1", 40, 24, CodedHEIFFile.hvcC(sets: CodedSamples.parameterSets), CodedMovieSamples.colors),
        [CodedMovieFile.Frame([0, 0, 0, 1, 9])]
      ).bytes,
      CodedMovieFile(CodedMovieFile.entry("jpeg", 64, 48), [CodedMovieFile.Frame(picture)]).bytes,
      MovieFile {
        ($0.samplesFirst, $0.isLong, $0.created) = (64, true, 3_600_000_000)
        $0.keys = [("com.apple.quicktime.make", "A"), ("com.apple.quicktime.creationdate", "2019-08-13T14:05:06+0200")]
        $0.userData = [("©xyz", "+48.2-016.3/")]
        $0.xmp = xmp
      }.bytes,
      MovieFile {
        ($0.major, $0.duration, $0.fragmentDuration, $0.xmp, $0.xmpIsInBox) = ("isom", 0, 600, xmp, true)
        $0.items = [("©day", "2013-05-04T03:02:01Z")]
      }.bytes,
      CR3File { $0.xmp = xmp }.bytes, TIFFPicture.tiff(details).bytes, TIFFPicture.dng(details).bytes,
      TIFFPicture.dng(details) { $0.isBigEndian = true }.bytes, TIFFPicture.cr2(details).bytes,
      TIFFPicture.nef(nikon).bytes, TIFFPicture.arw(sony).bytes,
      TIFFPicture.withPreviews(nikon, inside: [thumbnail], strip: thumbnail).bytes,
      TIFFPicture.orf(details, preview: thumbnail).bytes, TIFFPicture.rw2(details, preview: thumbnail).bytes,
      RAFFile { $0.jpeg = thumbnail }.bytes,
      CR3File { ($0.thumbnail, $0.preview, $0.sample) = (thumbnail, thumbnail, thumbnail) }.bytes,
      WebPFile(.extended) { ($0.exif, $0.xmp) = (exif, xmp) }.bytes, WebPFile(.lossy).bytes, WebPFile(.lossless).bytes,
      GIFFile { ($0.comment, $0.xmp) = ("by hand", xmp) }.bytes,
    ]
  }
}
