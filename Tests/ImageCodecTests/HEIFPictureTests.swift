import ImageCodec
import PhotoFixtures
import PhotoModel
import Testing

@Suite("How HEIF pictures are coded")
struct HEIFPictureTests {
  typealias File = CodedHEIFFile

  func picture(_ items: [File.Item], _ limits: CodecLimits = CodecLimits()) throws(CodecError) -> HEIFPicture {
    try picture(File(items).bytes, limits)
  }

  func picture(_ bytes: [UInt8], _ limits: CodecLimits = CodecLimits()) throws(CodecError) -> HEIFPicture {
    let header = try ImageHeader.read(from: MemoryByteSource(bytes), limits: limits)
    guard case .heif(let picture) = header.coded else { throw .unsupported("no HEIF") }
    return picture
  }

  func single(_ properties: [[UInt8]] = [], configuration: [UInt8] = File.hvcC()) -> File.Item {
    File.Item(1, "hvc1", [1, 2, 3, 4, 5, 6], properties: [configuration, File.ispe(60, 40)] + properties)
  }

  func grid(_ properties: [[UInt8]] = []) -> [File.Item] {
    File.grid(columns: 3, rows: 2, tile: (32, 16), size: (90, 30), properties: properties) { [UInt8($0), 1, 2, 3] }
  }

  func bytes(_ ranges: [ByteRange], of file: [UInt8]) -> [UInt8] { ranges.flatMap { part($0, of: file) ?? [] } }

  @Test("tiles are found in the order of the grid, also in several extents", arguments: [1, 3], [false, true])
  func tiles(_ extents: Int, _ isWide: Bool) throws {
    var items = File.grid(columns: 3, rows: 2, tile: (32, 16), size: (90, 30), isWide: isWide) {
      [UInt8($0), 1, 2, 3, 4]
    }
    for i in items.indices.dropFirst() { items[i].extents = extents }
    let file = File(items).bytes
    let color = try picture(file).color
    #expect(color.columns == 3 && color.rows == 2 && color.size == PixelSize(width: 90, height: 30))
    #expect(color.tileSize == PixelSize(width: 32, height: 16))
    #expect(color.tiles.map { bytes($0, of: file) } == (0..<6).map { [UInt8($0), 1, 2, 3, 4] })
    #expect(color.tiles.allSatisfy { $0.count == extents })
  }

  @Test("the codec's configuration is read", arguments: [0, 1, 2, 3], [8, 10])
  func configuration(_ chroma: Int, _ depth: Int) throws {
    let sets: [[UInt8]] = [[0x40, 1, 7], [0x42, 1, 8], [0x44, 1, 9], [0x4E, 1, 5]]
    let box = File.hvcC(chroma: chroma, bitDepth: depth, lengthBytes: 2, sets: sets)
    let file = File([single(configuration: box)]).bytes
    guard case .hevc(let read) = try picture(file).color.configuration else {
      Issue.record("another codec")
      return
    }
    // The last one is a message, which no decoder needs.
    #expect(read.parameterSets == Array(sets.prefix(3)))
    #expect(read.chroma.rawValue == chroma && read.bitDepth == depth && read.nalLengthBytes == 2)
    let header = try ImageHeader.read(from: MemoryByteSource(file), limits: CodecLimits())
    #expect(header.colorChannels == (chroma == 0 ? 1 : 3) && header.bitsPerChannel == (depth == 8 ? 8 : 16))
    #expect(header.format == .heic && header.storedSize == PixelSize(width: 60, height: 40))
  }

  @Test("AV1's configuration is read", arguments: [0, 1, 2, 3], [8, 10, 12])
  func av1(_ chroma: Int, _ depth: Int) throws {
    var item = single(configuration: File.av1C(chroma: chroma, bitDepth: depth))
    item.type = "av01"
    let file = File([item]).bytes
    let picture = try picture(file)
    #expect(
      picture.color.configuration
        == .av1(AV1Configuration(chroma: try #require(.init(rawValue: chroma)), bitDepth: depth)))
    let header = try ImageHeader.read(from: MemoryByteSource(file), limits: CodecLimits())
    #expect(header.colorChannels == (chroma == 0 ? 1 : 3) && header.bitsPerChannel == (depth == 8 ? 8 : 16))
    #expect(header.format == .avif && header.storedSize == PixelSize(width: 60, height: 40))
    #expect(bytes(picture.color.tiles[0], of: file) == [1, 2, 3, 4, 5, 6])
  }

  @Test("a crop has a place, which turns before it move", arguments: HEIFHeaderTests.turns)
  func crops(_ turns: Int, _ axis: Int?, _ orientation: Orientation) throws {
    // 20 x 10 pixels, 5 to the right of the centre and 3 above it, of the turned picture.
    let crop = File.clap([20, 1, 10, 1, 5, 1, -3, 1])
    let turn = (turns > 0 ? [File.irot(turns)] : []) + (axis.map { [File.imir($0)] } ?? [])
    let upright = orientation.apply(to: PixelSize(width: 60, height: 40))
    let read = try picture([single(turn + [crop])])
    #expect(read.orientation == orientation)
    let region = PixelRegion(
      x: Double((upright.width - 20) / 2 + 5), y: Double((upright.height - 10) / 2 - 3), width: 20, height: 10)
    let stored = orientation.stored(region, ofUpright: upright)
    #expect(
      read.crop
        == PixelRect(x: Int(stored.x), y: Int(stored.y), width: Int(stored.width), height: Int(stored.height)))
  }

  static let cropCases: [(String, [Int], PixelRect)] = [
    ("in the middle", [20, 1, 10, 1, 0, 1, 0, 1], PixelRect(x: 20, y: 15, width: 20, height: 10)),
    ("odd, between pixels", [21, 1, 11, 1, 0, 1, 0, 1], PixelRect(x: 19, y: 14, width: 21, height: 11)),
    ("with fractions", [41, 2, 21, 2, 3, 2, 0, 1], PixelRect(x: 21, y: 14, width: 21, height: 11)),
    ("over the edge", [20, 1, 10, 1, 100, 1, -100, 1], PixelRect(x: 40, y: 0, width: 20, height: 10)),
    ("too large", [61, 1, 10, 1, 0, 1, 0, 1], PixelRect(x: 0, y: 0, width: 60, height: 40)),
    ("empty", [0, 1, 10, 1, 0, 1, 0, 1], PixelRect(x: 0, y: 0, width: 60, height: 40)),
    ("without a denominator", [20, 0, 10, 1, 0, 1, 0, 1], PixelRect(x: 0, y: 0, width: 60, height: 40)),
  ]

  @Test(
    "a clean aperture beyond the edge is moved into the picture, and an invalid one is ignored", arguments: cropCases)
  func cropPlaces(_ name: String, _ numbers: [Int], _ crop: PixelRect) throws {
    #expect(try picture([single([File.clap(numbers)])]).crop == crop)
  }

  @Test("catalogue and decoder agree on size and orientation", arguments: HEIFHeaderTests.turns)
  func agreement(_ turns: Int, _ axis: Int?, _ orientation: Orientation) throws {
    let properties =
      [File.clap([80, 1, 21, 1, 0, 1, 0, 1])] + [File.irot(turns)] + (axis.map { [File.imir($0)] } ?? [])
    let file = File(grid(properties)).bytes
    let (media, image) = (
      try header(file), try ImageHeader.read(from: MemoryByteSource(file), limits: CodecLimits())
    )
    #expect(media.storedSize == image.storedSize && media.orientation == image.orientation)
    #expect(image.orientation == orientation && image.storedSize == PixelSize(width: 80, height: 21))
  }

  @Test("EXIF's orientation does not count beside the container's")
  func exifOrientation() throws {
    let exif = Boxes.number(0, 4) + exifBlock { $0.orientation = 8 }
    let items = grid([File.irot(3)]) + [File.Item(40, "Exif", exif, references: [("cdsc", [1])])]
    let image = try ImageHeader.read(from: MemoryByteSource(File(items).bytes), limits: CodecLimits())
    #expect(image.orientation == .rightTop && image.metadata.orientation == .leftBottom)
    #expect(image.uprightSize == PixelSize(width: 30, height: 90))
  }

  @Test("an alpha of the same size and thumbnails of the same shape are found")
  func companions() throws {
    let alpha = "urn:mpeg:mpegB:cicp:systems:auxiliary:alpha"
    let mono = File.hvcC(chroma: 0)
    func auxiliary(_ width: Int) -> File.Item {
      File.Item(
        20, "hvc1", [7], properties: [mono, File.ispe(width, 30), File.auxiliary(alpha)], references: [("auxl", [1])])
    }
    func thumbnail(_ id: Int, _ width: Int, _ height: Int) -> File.Item {
      File.Item(
        id, "hvc1", [8], properties: [File.hvcC(), File.ispe(width, height)], references: [("thmb", [1])])
    }
    let items =
      grid() + [auxiliary(90), thumbnail(30, 45, 15), thumbnail(31, 30, 10), thumbnail(32, 40, 40)]
    let read = try picture(items)
    #expect(read.alpha?.size == read.color.size && read.alpha?.configuration.chroma == ChromaSampling.none)
    #expect(read.thumbnails.map(\.crop.width) == [30, 45])
    #expect(try picture(grid() + [auxiliary(88)]).alpha == nil)
    let file = File(items).bytes
    let image = try ImageHeader.read(from: MemoryByteSource(file), limits: CodecLimits())
    #expect(image.hasAlpha && image.thumbnails.map(\.storedSize.height) == [10, 15])
    #expect(image.thumbnails.allSatisfy { !$0.hasAlpha && $0.orientation == image.orientation })
  }

  @Test("colours are multiplied by alpha if the picture refers to its alpha with prem")
  func premultiplied() throws {
    let name = "urn:mpeg:mpegB:cicp:systems:auxiliary:alpha"
    let alpha = File.Item(
      20, "hvc1", [7], properties: [File.hvcC(chroma: 0), File.ispe(90, 30), File.auxiliary(name)],
      references: [("auxl", [1])])
    func isPremultiplied(_ references: [(type: String, to: [Int])]) throws -> Bool {
      var items = grid() + [alpha]
      items[0].references += references
      let read = try picture(items)
      #expect(read.alpha != nil)
      return read.isPremultiplied
    }
    #expect(try isPremultiplied([("prem", [20])]))
    #expect(try !isPremultiplied([]))
    #expect(try !isPremultiplied([("prem", [100])]))
    // An alpha that is ignored divides nothing.
    var items = grid() + [alpha]
    items[0].references.append(("prem", [20]))
    items[items.count - 1].properties[1] = File.ispe(88, 30)
    let read = try picture(items)
    #expect(read.alpha == nil && !read.isPremultiplied)
  }

  static let refused: [(String, @Sendable (inout [File.Item]) -> Void)] = [
    ("a tile less than the grid has", { $0[0].references[0].to.removeLast() }),
    ("a tile more", { $0[0].references[0].to.append(100) }),
    ("a grid that ends early", { $0[0].content.removeLast(3) }),
    ("a grid larger than its tiles", { $0[0].content[5] = 97 }),
    ("a grid that needs fewer columns", { $0[0].content[5] = 64 }),
    ("a grid that needs fewer rows", { $0[0].content[7] = 16 }),
    ("a tile of another size", { $0[2].properties[1] = File.ispe(32, 17) }),
    ("tiles of an odd size", { for i in 1..<$0.count { $0[i].properties[1] = File.ispe(31, 16) } }),
    ("a tile without a size", { $0[2].properties.remove(at: 1) }),
    ("a tile of another depth", { $0[2].properties[0] = File.hvcC(bitDepth: 10) }),
    ("a tile of another codec", { $0[2].type = "av01" }),
    ("a tile that is a grid", { $0[2].type = "grid" }),
    ("tiles without a configuration", { for i in 1..<$0.count { $0[i].properties.remove(at: 0) } }),
    ("another version of the configuration", { for i in 1..<$0.count { $0[i].properties[0] = File.hvcC(version: 2) } }),
    ("chroma of another depth", { for i in 1..<$0.count { $0[i].properties[0] = File.hvcC(chromaDepth: 10) } }),
    (
      "parameter sets without end",
      {
        let set = [0x42, 1] + [UInt8](repeating: 9, count: 9000)
        for i in 1..<$0.count { $0[i].properties[0] = File.hvcC(sets: [set, set]) }
      }
    ),
    ("an overlay", { $0[0].type = "iovl" }),
    ("a grid of itself", { $0[0].references[0].to = Array(repeating: 1, count: 6) }),
  ]

  @Test("a picture that can't be decoded as declared is refused", arguments: refused.indices)
  func refusals(_ index: Int) {
    var items = grid()
    Self.refused[index].1(&items)
    #expect(throws: CodecError.self, "\(Self.refused[index].0)") { try picture(items) }
  }

  @Test("a picture larger than the limits is refused, whatever the item's size says")
  func limits() {
    let items = File.grid(columns: 2, rows: 2, tile: (64, 64), size: (128, 128)) { _ in [1] }
    #expect(throws: CodecError.self) { try picture(items, CodecLimits(sourcePixels: 16_000)) }
    #expect(throws: CodecError.self) { try picture(items, CodecLimits(sourceSide: 100)) }
  }

  @Test("damaged files give an error or a picture whose tiles are in the file")
  func mutations() {
    var random = Sampling.generator("damaged HEIF pictures")
    let exif = Boxes.number(0, 4) + exifBlock { $0.orientation = 8 }
    let file = File(
      grid([File.irot(1), File.clap([60, 1, 20, 1, 0, 1, 0, 1]), File.nclx(1, 13, 6, isFullRange: true)]) + [
        File.Item(40, "Exif", exif, references: [("cdsc", [1])]),
        File.Item(30, "hvc1", [8], properties: [File.hvcC(), File.ispe(45, 15)], references: [("thmb", [1])]),
      ]
    ).bytes
    for _ in 0..<4000 {
      var bytes = file
      for _ in 0..<Int.random(in: 1...3, using: &random) {
        bytes[Int.random(in: 0..<bytes.count, using: &random)] = UInt8.random(in: 0...255, using: &random)
      }
      if Int.random(in: 0...9, using: &random) == 0 {
        bytes.removeLast(Int.random(in: 0..<bytes.count, using: &random))
      }
      guard let read = try? picture(bytes, CodecLimits(sourcePixels: 100_000)) else { continue }
      let size = Int64(bytes.count)
      for tiles in [read.color] + [read.alpha].compactMap(\.self) + read.thumbnails.map(\.color) {
        #expect(tiles.tiles.count == tiles.columns * tiles.rows && tiles.size.pixelCount <= 100_000)
        #expect(
          tiles.tiles.joined().allSatisfy { $0.offset >= 0 && $0.length >= 0 && $0.offset + Int64($0.length) <= size })
      }
      #expect(read.crop.x >= 0 && read.crop.x + read.crop.width <= read.color.size.width)
      #expect(read.crop.y >= 0 && read.crop.y + read.crop.height <= read.color.size.height)
    }
  }
}
