import ImageRender
import PhotoFixtures
import PhotoModel
import Synchronization
import Testing

@testable import ImageCodec

/// A source of which one read fails, by its number from 1 on.
private final class FailingSource: ByteSource {
  private let source: MemoryByteSource
  private let failing: Int
  private let count = Mutex(0)
  let canReturnNotYet = false

  init(_ bytes: [UInt8], failing: Int) {
    source = MemoryByteSource(bytes)
    self.failing = failing
  }

  var size: Int64 { source.size }
  var reads: Int { count.withLock { $0 } }

  func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws(ByteSourceError) -> ByteRead {
    let number = count.withLock {
      $0 += 1
      return $0
    }
    if number == failing { throw .readFailed(code: 5) }
    return source.read(into: buffer, at: offset)
  }
}

/// Smaller versions of a page in the same file, such as the levels of a pyramid.
@Suite("TIFF pyramids")
struct TIFFReductionTests {
  /// A page of one colour, which says which one was rendered.
  private static func page(
    _ width: Int, _ height: Int, _ color: Int, _ change: (inout CodedTIFFFile) -> Void = { _ in }
  ) -> CodedTIFFFile {
    CodedTIFFFile(
      width: width, height: height, samplesPerPixel: 3, samples: [Int](repeating: color, count: width * height * 3)
    ) {
      ($0.compression, $0.rowsPerStrip) = (.deflate, 16)
      if color > 0 { $0.entries = [CodedTIFFFile.Entry(254, type: 4, [1])] }
      change(&$0)
    }
  }

  private static let levels = [page(400, 300, 40), page(200, 150, 80), page(100, 75, 120)]

  private static func header(_ file: CodedTIFFFile) throws -> ImageHeader {
    try ImageHeader.read(from: MemoryByteSource(file.bytes), limits: CodecLimits())
  }

  private static func widths(_ file: CodedTIFFFile) throws -> [Int] {
    try header(file).thumbnails.map(\.storedSize.width)
  }

  @Test("levels are found as SubIFDs and as pages that follow", arguments: [false, true], [false, true])
  func layouts(_ isChain: Bool, _ isBigEndian: Bool) throws {
    func ordered(_ pages: [CodedTIFFFile]) -> [CodedTIFFFile] {
      pages.map { page in
        var page = page
        page.isBigEndian = isBigEndian
        return page
      }
    }
    let file = Self.page(800, 600, 0) {
      $0.isBigEndian = isBigEndian
      if isChain { $0.nextPages = ordered(Self.levels) } else { $0.subPages = ordered(Self.levels.reversed()) }
    }
    #expect(try Self.widths(file) == [100, 200, 400])
  }

  @Test("the smallest level with the requested pixels is the source of the final frame")
  func choice() throws {
    let file = Self.page(800, 600, 0) { $0.subPages = Self.levels }
    let header = try Self.header(file)
    let source = MemoryByteSource(file.bytes)
    for (side, color, level) in [(100, 120, 100), (101, 80, 200), (160, 80, 200), (400, 40, 400), (401, 0, 800)] {
      let wanted = header.sized(request(side, side, .aspectFit, .png))
      let plan = RenderPlanner().finalThumbnailPlan(header, wanted) ?? RenderPlanner().plan(header, wanted)
      #expect(plan.header.storedSize.width == level && plan.outputSize.width == side)
      let renderer = try Renderer(plan, source: source, limits: CodecLimits(), stop: StopFlag())
      let image = try renderer.render()
      let pixels = try #require(Pixels.decoded(image.bytes)).pixels
      let isColor = pixels.bytes.enumerated().allSatisfy { $0.offset % 4 == 3 || Int($0.element) == color }
      #expect(isColor, "\(side)")
    }
  }

  @Test("a crop needs the level whose part has the requested pixels")
  func crop() throws {
    let header = try Self.header(Self.page(800, 600, 0) { $0.subPages = Self.levels })
    let half = UnitRect(x: 0.5, y: 0.5, width: 0.5, height: 0.5)
    func level(_ side: Int) -> Int? {
      RenderPlanner().finalThumbnailPlan(header, header.sized(request(side, side, .aspectFit, .png, crop: half)))?
        .header.storedSize.width
    }
    #expect(level(48) == 100 && level(51) == 200 && level(200) == 400 && level(201) == nil)
  }

  struct Difference: Sendable, CustomTestStringConvertible {
    let name: String
    let change: @Sendable (inout CodedTIFFFile) -> Void
    var testDescription: String { name }
  }

  static let differences = [
    Difference(name: "a page") { $0.entries = [] },
    Difference(name: "a mask") { $0.entries = [CodedTIFFFile.Entry(254, type: 4, [5])] },
    Difference(name: "another aspect ratio") { $0.entries.append(CodedTIFFFile.Entry(257, type: 4, [140])) },
    Difference(name: "another orientation") { $0.orientation = 6 },
    Difference(name: "as large as the page") {
      $0 = page(800, 600, 80)
    },
    Difference(name: "gray") {
      $0 = CodedTIFFFile(
        width: 200, height: 150, samplesPerPixel: 1, samples: [Int](repeating: 9, count: 30_000)
      ) {
        $0.interpretation = 1
        $0.entries = [CodedTIFFFile.Entry(254, type: 4, [1])]
      }
    },
    Difference(name: "an unknown compression") { $0.entries.append(CodedTIFFFile.Entry(259, type: 3, [34_712])) },
  ]

  @Test("a subfile that does not show the same in the same way is no level", arguments: differences)
  func others(_ difference: Difference) throws {
    var other = Self.levels[1]
    difference.change(&other)
    let children = Self.page(800, 600, 0) { $0.subPages = [Self.levels[0], other, Self.levels[2]] }
    #expect(try Self.widths(children) == [100, 400])
  }

  @Test("a level that can't be read is an error, not a page without that level")
  func failedReads() throws {
    // Each directory is in another part of the file.
    let levels = Self.levels.map { level in
      var level = level
      level.compression = .none
      return level
    }
    let bytes = Self.page(800, 600, 0) { $0.subPages = levels }.bytes
    func page(_ source: FailingSource) throws -> TIFFPage {
      var reader = HeaderReader(source: source)
      return try TIFFPage.read(&reader, limits: CodecLimits())
    }
    let sound = FailingSource(bytes, failing: 0)
    #expect(try page(sound).reductions.count == levels.count)
    try #require(sound.reads > levels.count)
    for number in 1...sound.reads {
      #expect(throws: CodecError.readFailed(code: 5), "read \(number)") {
        try page(FailingSource(bytes, failing: number))
      }
    }
  }

  @Test("a page of its own ends the levels of the first one")
  func pages() throws {
    let other = Self.page(800, 600, 0)
    let chain = Self.page(800, 600, 0) { $0.nextPages = [Self.levels[0], other, Self.levels[1]] }
    #expect(try Self.widths(chain) == [400])
  }

  @Test("no more levels are read than the limit, and a chain that leads back ends")
  func limits() throws {
    let many = Self.page(800, 600, 0) { file in
      file.nextPages = (0..<40).map { Self.page(4 * (60 - $0), 3 * (60 - $0), 9) }
    }
    #expect(try Self.widths(many).count == 16)
    var bytes = Self.page(800, 600, 0) { $0.nextPages = Self.levels }.bytes
    // The last directory leads to the second page's.
    let first = bytes.withUnsafeBytes { Int($0.loadUnaligned(fromByteOffset: 4, as: UInt32.self)) }
    func next(_ offset: Int) -> Int {
      offset + 2 + bytes.withUnsafeBytes { Int($0.loadUnaligned(fromByteOffset: offset, as: UInt16.self)) } * 12
    }
    func value(_ place: Int) -> Int {
      bytes.withUnsafeBytes { Int($0.loadUnaligned(fromByteOffset: place, as: UInt32.self)) }
    }
    let second = value(next(first))
    let last = value(next(value(next(second))))
    bytes.replaceSubrange(
      next(last)..<next(last) + 4, with: withUnsafeBytes(of: UInt32(second).littleEndian) { Array($0) })
    let header = try ImageHeader.read(from: MemoryByteSource(bytes), limits: CodecLimits())
    #expect(header.thumbnails.count == 3)
  }
}
