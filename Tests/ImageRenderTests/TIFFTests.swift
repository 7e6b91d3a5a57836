import ImageCodec
import ImageRender
import PhotoFixtures
import PhotoModel
import Testing

/// TIFFs by the fixtures' own writer, compared with the colours of their pixels.
@Suite("TIFF pictures")
struct TIFFTests {
  static let width = 52
  static let height = 36
  static let whole = ImageRequest(targetSize: .maximum, format: .png)

  /// Smooth on the left, and with details on the right.
  static func sample(_ x: Int, _ y: Int, _ c: Int, most: Int = 255) -> Int {
    let value = x < width / 2 ? x * 3 + y * 2 + c * 40 : (x * x * 7 + y * 31 + c * 77) ^ (x * y)
    return value * most / 255 & most
  }

  static func file(
    _ channels: Int, most: Int = 255, _ change: (inout CodedTIFFFile) -> Void = { _ in }
  ) -> CodedTIFFFile {
    let samples = (0..<width * height * channels).map {
      sample($0 / channels % width, $0 / channels / width, $0 % channels, most: most)
    }
    return CodedTIFFFile(width: width, height: height, samplesPerPixel: channels, samples: samples) {
      if channels < 3 { $0.interpretation = 1 }
      change(&$0)
    }
  }

  /// RGBA of a picture whose pixels are a function of their samples.
  static func picture(_ file: CodedTIFFFile, _ color: ([Int]) -> [Int]) -> Pixels {
    let count = file.samplesPerPixel
    return Pixels(
      width: file.width, height: file.height, channels: 4,
      bytes: (0..<file.width * file.height).flatMap { i in
        color(Array(file.samples[i * count..<(i + 1) * count])).map { UInt8($0) }
      })
  }

  static func check(_ file: CodedTIFFFile, _ expected: Pixels, _ name: String, tolerance: Int = 0) throws {
    func isEqual(_ pixels: Pixels, _ expected: Pixels) -> Bool {
      pixels.width == expected.width && pixels.height == expected.height
        && zip(pixels.bytes, expected.bytes).allSatisfy { abs(Int($0) - Int($1)) <= tolerance }
    }
    let bytes = file.bytes
    let (_, pixels, _) = try render(bytes, whole)
    let isWholeEqual = isEqual(pixels, expected)
    #expect(isWholeEqual, "\(name)")
    let (_, trickled, _) = try render(bytes, whole) { TrickleSource($0, headerBytes: 0, canReturnNotYet: false) }
    let isEqualInPieces = isEqual(trickled, expected)
    #expect(isEqualInPieces, "\(name) in pieces")
    let crop = UnitRect(x: 0.25, y: 0.5, width: 0.5, height: 0.25)
    let (_, part, _) = try render(bytes, request(file.width / 2, file.height / 4, .aspectFit, .png, crop: crop))
    let isPartEqual = isEqual(
      part, expected.cropped(x: file.width / 4, y: file.height / 2, width: file.width / 2, height: file.height / 4))
    #expect(isPartEqual, "a part of \(name)")
  }

  // MARK: Layouts

  struct Layout: Sendable, CustomTestStringConvertible {
    let name: String
    let change: @Sendable (inout CodedTIFFFile) -> Void
    var testDescription: String { name }
  }

  static let layouts: [Layout] = [
    Layout(name: "one strip") { _ in }, Layout(name: "strips of one row") { $0.rowsPerStrip = 1 },
    Layout(name: "strips of five rows") { $0.rowsPerStrip = 5 },
    Layout(name: "strips taller than the picture") { $0.rowsPerStrip = 60 },
    Layout(name: "tiles") { $0.tile = (16, 16) }, Layout(name: "wide tiles") { $0.tile = (32, 16) },
    Layout(name: "a tile larger than the picture") { $0.tile = (64, 48) },
    Layout(name: "tiles of the whole height") { $0.tile = (16, 48) },
  ]

  @Test(
    "RGB is read in every layout and compression",
    arguments: layouts.indices, CodedTIFFFile.Compression.allCases.filter { $0 != .jpeg })
  func rgb(_ layout: Int, _ compression: CodedTIFFFile.Compression) throws {
    for (isPlanar, isBigEndian, isBigTIFF, predictor) in [
      (false, false, false, 1), (true, true, false, 1), (false, true, true, 2), (true, false, true, 2),
    ] {
      let file = Self.file(3) {
        ($0.compression, $0.isPlanar, $0.isBigEndian) = (compression, isPlanar, isBigEndian)
        ($0.isBigTIFF, $0.predictor) = (isBigTIFF, compression == .none || compression == .packBits ? 1 : predictor)
        Self.layouts[layout].change(&$0)
      }
      try Self.check(file, Self.picture(file) { $0 + [255] }, "\(isPlanar), \(isBigEndian), \(isBigTIFF), \(predictor)")
    }
  }

  @Test("gray of each depth is scaled to eight bits", arguments: [1, 2, 4, 8, 16], layouts.indices)
  func gray(_ bits: Int, _ layout: Int) throws {
    let most = 1 << bits - 1
    for (interpretation, isReversed) in [(0, false), (1, false), (1, true)] {
      let file = Self.file(1, most: min(most, 255)) {
        ($0.bits, $0.interpretation, $0.isReversed) = (bits, interpretation, isReversed)
        // Equal bytes, so that the eight bits are exact.
        if bits == 16 { $0.samples = $0.samples.map { $0 * 257 } }
        $0.compression = isReversed ? .none : bits == 2 ? .packBits : .lzw
        Self.layouts[layout].change(&$0)
      }
      let expected = Self.picture(file) {
        let value = $0[0] * 255 / most
        return [Int](repeating: interpretation == 0 ? 255 - value : value, count: 3) + [255]
      }
      try Self.check(file, expected, "interpretation \(interpretation), \(isReversed)")
    }
  }

  @Test("palette pictures of 1 to 8 bits decode to their colour map", arguments: [1, 2, 4, 8], [255, 257])
  func palette(_ bits: Int, _ scale: Int) throws {
    let count = 1 << bits
    // Some writers use only eight bits of a colour.
    let colors = (0..<count).map { [$0 * 37 & 255, ($0 * 91 + 5) & 255, 255 - $0] }
    for layout in Self.layouts {
      let file = Self.file(1, most: count - 1) {
        ($0.bits, $0.interpretation, $0.compression) = (bits, 3, .deflate)
        $0.colorMap = (0..<3).flatMap { c in colors.map { $0[c] * (scale == 257 ? 257 : 1) } }
        layout.change(&$0)
      }
      try Self.check(file, Self.picture(file) { colors[$0[0]] + [255] }, layout.name)
    }
  }

  @Test("RGB with 1, 2, 4 and 16 bits is read", arguments: [1, 2, 4, 16], [false, true])
  func depths(_ bits: Int, _ isPlanar: Bool) throws {
    let most = 1 << bits - 1
    for predictor in bits == 16 ? [1, 2] : [1] {
      for (i, layout) in Self.layouts.enumerated() {
        let file = Self.file(3, most: min(most, 255)) {
          ($0.bits, $0.isPlanar, $0.predictor, $0.compression) = (bits, isPlanar, predictor, .deflate)
          $0.isBigEndian = i % 2 == 0
          if bits == 16 { $0.samples = $0.samples.map { $0 * 257 } }
          layout.change(&$0)
        }
        try Self.check(file, Self.picture(file) { $0.map { $0 * 255 / most } + [255] }, layout.name)
      }
    }
  }

  // MARK: Colours

  @Test("alpha is used if it is stated, and divided out if it is associated", arguments: [8, 16], [false, true])
  func alpha(_ bits: Int, _ isPlanar: Bool) throws {
    let unit = bits == 16 ? 257 : 1
    for (channels, extra) in [(2, [2]), (2, [1]), (4, [2]), (4, [1]), (5, [0, 2]), (4, [0]), (4, [])] {
      var file = Self.file(channels) {
        ($0.bits, $0.isPlanar, $0.extraSamples) = (bits, isPlanar, extra)
      }
      let colors = channels == 2 ? 1 : 3
      // Old writers do not say what a fourth sample is.
      let alpha = extra.isEmpty ? 3 : extra.firstIndex { $0 != 0 }.map { colors + $0 }
      for i in stride(from: 0, to: file.samples.count, by: channels) {
        // Transparent pixels of 16 bits lose their colour.
        if let alpha, bits == 16 { file.samples[i + alpha] = max(1, file.samples[i + alpha]) }
        if extra == [1] {
          for c in 0..<colors { file.samples[i + c] = min(file.samples[i + c], file.samples[i + colors]) }
        }
      }
      let expected = Self.picture(file) { pixel in
        let opacity = alpha.map { pixel[$0] } ?? 255
        let color = (0..<3).map { (c: Int) -> Int in
          let value = pixel[colors == 1 ? 0 : c]
          if extra != [1] { return value }
          return opacity == 0 ? 0 : (value * 255 + opacity / 2) / opacity
        }
        return color + [opacity]
      }
      file.samples = file.samples.map { $0 * unit }
      try Self.check(file, expected, "\(channels) samples, \(extra)", tolerance: bits == 16 && extra == [1] ? 1 : 0)
    }
  }

  @Test("alpha of a palette, of inks, of YCbCr and of L*a*b* is left out", arguments: [3, 5, 6, 8], [1, 2])
  func otherAlpha(_ interpretation: Int, _ extra: Int) throws {
    let colors = interpretation == 3 ? 1 : interpretation == 5 ? 4 : 3
    let file = Self.file(colors + 1) {
      ($0.interpretation, $0.extraSamples) = (interpretation, [extra])
      if interpretation == 3 { $0.colorMap = [Int](repeating: 257, count: 768) }
    }
    let (_, pixels, _) = try render(file.bytes, Self.whole)
    let isOpaque = stride(from: 3, to: pixels.bytes.count, by: 4).allSatisfy { pixels.bytes[$0] == 255 }
    #expect(isOpaque)
  }

  @Test("inks are shown as the light that they leave", arguments: [8, 16], [false, true])
  func inks(_ bits: Int, _ isPlanar: Bool) throws {
    for channels in [4, 5] {
      var file = Self.file(channels) { ($0.bits, $0.isPlanar, $0.interpretation) = (bits, isPlanar, 5) }
      file.extraSamples = channels == 5 ? [0] : []
      let expected = Self.picture(file) { inks in
        (0..<3).map { ((255 - inks[$0]) * (255 - inks[3]) + 127) / 255 } + [255]
      }
      if bits == 16 { file.samples = file.samples.map { $0 * 257 } }
      try Self.check(file, expected, "\(channels) samples")
    }
  }

  @Test(
    "YCbCr becomes the RGB of TIFF 6.0 §21, with each subsampling",
    arguments: [(1, 1), (2, 1), (1, 2), (2, 2), (4, 1), (4, 2)])
  func yCbCr(_ across: Int, _ down: Int) throws {
    for (i, layout) in Self.layouts.enumerated() {
      var file = Self.file(3) {
        ($0.interpretation, $0.subsampling) = (6, (across, down))
        $0.compression = i % 2 == 0 ? .lzw : .none
        layout.change(&$0)
      }
      // Strips begin with a row that has chroma, except the last.
      if file.tile == nil, let rows = file.rowsPerStrip { file.rowsPerStrip = (rows + down - 1) / down * down }
      let stored = file.samples
      let expected = Pixels(
        width: Self.width, height: Self.height, channels: 4,
        bytes: (0..<Self.width * Self.height).flatMap { i -> [UInt8] in
          let (x, y) = (i % Self.width, i / Self.width)
          let chroma = (y / down * down * Self.width + x / across * across) * 3
          let luma = Double(stored[i * 3])
          let (cb, cr) = (Double(stored[chroma + 1] - 128), Double(stored[chroma + 2] - 128))
          let (red, blue) = (luma + 1.402 * cr, luma + 1.772 * cb)
          let green = (luma - 0.114 * blue - 0.299 * red) / 0.587
          return [red, green, blue, 255].map { (value: Double) -> UInt8 in UInt8(max(0, min(255, value.rounded()))) }
        })
      try Self.check(file, expected, layout.name, tolerance: 1)
    }
  }

  @Test("black, white and the shares of luma may differ from the usual ones")
  func levels() throws {
    let file = CodedTIFFFile(width: 2, height: 1, samplesPerPixel: 3, samples: [16, 128, 128, 235, 128, 240]) {
      $0.interpretation = 6
      // In thousandths: the levels of video, and the shares of BT.709.
      $0.entries = [
        .init(532, type: 5, [16, 235, 128, 240, 128, 240].map { $0 * 1000 }), .init(529, type: 5, [213, 715, 72]),
      ]
    }
    let (_, pixels, _) = try render(file.bytes, Self.whole)
    #expect(pixels.bytes == [0, 0, 0, 255, 255, 195, 255, 255])
  }

  @Test("L*a*b* becomes sRGB", arguments: [8, 16], [8, 9])
  func lab(_ bits: Int, _ interpretation: Int) throws {
    // L* as a percentage, a* and b*; the colours are those of the ICC's D50.
    let colors: [([Double], [UInt8])] = [
      ([100, 0, 0], [255, 255, 255]), ([0, 0, 0], [0, 0, 0]), ([53.6, 0, 0], [128, 128, 128]),
      ([54.29, 80.8, 69.89], [255, 0, 0]), ([87.82, -79.27, 80.99], [0, 255, 0]),
      ([29.57, 68.3, -112.03], [0, 0, 255]),
    ]
    let samples = colors.flatMap { color, _ -> [Int] in
      let steps = bits == 16 ? 256.0 : 1
      let most = bits == 8 ? 255.0 : interpretation == 8 ? 65535 : 65280
      let offset = interpretation == 9 ? 128.0 : 0
      let chroma = color[1...].map { (value: Double) -> Int in
        let code = Int(((value + offset) * steps).rounded())
        return code & (1 << bits - 1)
      }
      return [Int((color[0] / 100 * most).rounded())] + chroma
    }
    let file = CodedTIFFFile(width: 6, height: 1, samplesPerPixel: 3, samples: samples) {
      ($0.bits, $0.interpretation) = (bits, interpretation)
    }
    let (_, pixels, _) = try render(file.bytes, Self.whole)
    let expected: [UInt8] = colors.flatMap { (color: ([Double], [UInt8])) -> [UInt8] in color.1 + [255] }
    // A step of 8 bits is large for dark colours.
    let tolerance = bits == 8 ? 24 : 3
    let differences = zip(pixels.bytes, expected).map { abs(Int($0) - Int($1)) }
    #expect(differences.allSatisfy { $0 <= tolerance }, "\(pixels.bytes)")
  }

  // MARK: JPEG

  struct JPEGKind: Sendable, CustomTestStringConvertible {
    let name: String
    let channels: Int
    let interpretation: Int
    var isPlanar = false
    let change: @Sendable (inout JPEGFile) -> Void
    var testDescription: String { name }
  }

  static let jpegs: [JPEGKind] = [
    JPEGKind(name: "gray", channels: 1, interpretation: 1) { $0.color = .gray },
    JPEGKind(name: "YCbCr", channels: 3, interpretation: 6) { $0.sampling = (1, 1) },
    JPEGKind(name: "YCbCr, 4:2:0", channels: 3, interpretation: 6) { $0.sampling = (2, 2) },
    JPEGKind(name: "RGB", channels: 3, interpretation: 2) { ($0.color, $0.sampling) = (.rgb, (1, 1)) },
    JPEGKind(name: "planes", channels: 3, interpretation: 2, isPlanar: true) { $0.color = .gray },
  ]

  @Test("JPEGs with and without their tables are decoded as libjpeg does", arguments: jpegs.indices, [false, true])
  func jpeg(_ kind: Int, _ sharesTables: Bool) throws {
    let kind = Self.jpegs[kind]
    for layout in Self.layouts where !layout.name.contains("one row") {
      let file = Self.file(kind.channels) {
        ($0.compression, $0.interpretation, $0.sharesTables) = (.jpeg, kind.interpretation, sharesTables)
        ($0.isPlanar, $0.jpeg) = (kind.isPlanar, JPEGFile(kind.change))
        if let rows = $0.rowsPerStrip { $0.rowsPerStrip = rows }
        layout.change(&$0)
      }
      var decoded = file
      let tiles = try file.jpegs.map { try #require(Pixels.decoded($0)).pixels }
      let size = file.tile ?? (Self.width, min(Self.height, file.rowsPerStrip ?? Self.height))
      let across = (Self.width + size.width - 1) / size.width
      let count = across * ((Self.height + size.height - 1) / size.height)
      let channels = kind.channels
      (decoded.samplesPerPixel, decoded.samples) = (channels, [])
      for i in 0..<Self.width * Self.height {
        let (x, y) = (i % Self.width, i / Self.width)
        let tile = y / size.height * across + x / size.width
        for c in 0..<channels {
          let pixels = tiles[kind.isPlanar ? c * count + tile : tile]
          let place = (y % size.height * pixels.width + x % size.width) * pixels.channels
          decoded.samples.append(Int(pixels.bytes[place + (kind.isPlanar ? 0 : c)]))
        }
      }
      let expected = Self.picture(decoded) { (channels == 1 ? [$0[0], $0[0], $0[0]] : $0) + [255] }
      try Self.check(file, expected, layout.name)
    }
  }

  @Test("a JPEG of four samples is RGB with alpha, or inks of which 0 is none")
  func jpegOfFourSamples() throws {
    let color = [200, 100, 50, 128]
    var file = CodedTIFFFile(width: 20, height: 20, samplesPerPixel: 4, samples: (0..<1600).map { color[$0 % 4] }) {
      ($0.compression, $0.extraSamples, $0.jpeg.color, $0.tile) = (.jpeg, [2], .cmyk, (16, 16))
    }
    try Self.check(file, Self.picture(file) { $0 }, "RGB", tolerance: 2)
    (file.interpretation, file.extraSamples) = (5, [])
    let light = Self.picture(file) { inks in (0..<3).map { (255 - inks[$0]) * (255 - inks[3]) / 255 } + [255] }
    try Self.check(file, light, "inks", tolerance: 2)
  }

  // MARK: Pages

  @Test("the first page that is neither a small version nor a mask is shown")
  func pages() throws {
    func page(_ kind: Int, _ value: UInt8) -> TIFFPicture.Directory {
      TIFFPicture.Directory([
        (254, .long([kind])), (256, .short([2])), (257, .short([1])), (258, .short([8])), (259, .short([1])),
        (262, .short([1])), (273, .data([value, value])), (279, .long([2])),
      ])
    }
    var file = TIFFPicture()
    file.chain = [page(1, 10), page(4, 20), page(0, 30), page(0, 40)]
    #expect(try render(file.bytes, Self.whole).pixels.bytes == [30, 30, 30, 255, 30, 30, 30, 255])
    // A file of small versions only shows the first.
    file.chain = [page(1, 10), page(1, 20)]
    #expect(try render(file.bytes, Self.whole).pixels.bytes.first == 10)
    // Another program's small version comes first, and the picture is its SubIFD.
    var first = page(1, 10)
    first.entries.append((330, .directories([page(0, 50)])))
    file.chain = [first, page(0, 60)]
    #expect(try render(file.bytes, Self.whole).pixels.bytes.first == 50)
  }

  @Test("a picture is shown upright, and a profile is kept", arguments: 1...8)
  func orientation(_ number: Int) throws {
    let upright = Pixels.orientationCard(width: 320, height: 240)
    let file = CodedTIFFFile(upright.stored(orientation: number)) {
      ($0.orientation, $0.profile, $0.rowsPerStrip, $0.compression) = (number, ICCFile.displayP3, 16, .deflate)
    }
    let (image, pixels, _) = try render(file.bytes, request(80, 80))
    let difference = try #require(pixels.channels(3).meanDifference(from: upright.averaged(width: 80, height: 60)))
    #expect(difference < 3)
    let header = try ImageHeader.read(from: MemoryByteSource(image.bytes), limits: CodecLimits())
    #expect(header.embeddedProfile != nil)
  }

  @Test("lengths of strips may be missing, or wrong if rows are not compressed")
  func lengths() throws {
    let plain = Self.file(3) { $0.entries = [.init(279, type: 4, [7])] }
    try Self.check(plain, Self.picture(plain) { $0 + [255] }, "a wrong length")
    let deflated = Self.file(3) { ($0.compression, $0.entries) = (.deflate, [.init(279, type: 4, [0])]) }
    try Self.check(deflated, Self.picture(deflated) { $0 + [255] }, "no length")
  }

  @Test("a picture in one strip is never held, and tiles are held one row at a time")
  func memory() throws {
    func price(_ change: (inout CodedTIFFFile) -> Void) throws -> Int {
      let file = CodedTIFFFile(width: 6000, height: 4000, samplesPerPixel: 3, samples: []) {
        $0.data = [[1, 2, 3, 4]]
        change(&$0)
      }
      return try ImageHeader.read(from: MemoryByteSource(file.bytes), limits: CodecLimits())
        .decoderBytes(eighths: 8, inPlanes: false)
    }
    for compression in CodedTIFFFile.Compression.allCases {
      #expect(try price { $0.compression = compression } < 2 << 20)
    }
    let tiles = try price {
      $0.tile = (256, 256)
      $0.data = (0..<24 * 16).map { _ in [1, 2] }
    }
    #expect(tiles > 6000 * 256 * 3 && tiles < 6000 * 256 * 3 + 1 << 19)
  }
}
