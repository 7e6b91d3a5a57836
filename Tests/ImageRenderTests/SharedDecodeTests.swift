import ImageCodec
import MediaMetadata
import PhotoFixtures
import PhotoModel
import Testing

@testable import ImageRender

/// Each picture of a shared decode equals a picture rendered alone at the same DCT scale.
@Suite("Shared decodes")
struct SharedDecodeTests {
  struct Kind: CustomTestStringConvertible {
    let testDescription: String
    let file: [UInt8]
  }

  private static let scene = Scene(seed: 5, grain: 4).pixels(width: 803, height: 603)

  static let kinds: [Kind] = {
    func jpeg(_ name: String, _ change: (inout JPEGFile) -> Void) -> Kind {
      Kind(testDescription: name, file: JPEGFile(change).encoded(scene))
    }
    return [
      jpeg("4:2:0") { _ in }, jpeg("4:2:2") { $0.sampling = (2, 1) }, jpeg("4:4:0") { $0.sampling = (1, 2) },
      jpeg("4:1:1") { $0.sampling = (4, 1) }, jpeg("4:4:4") { $0.sampling = (1, 1) },
      jpeg("progressive") { $0.isProgressive = true }, jpeg("RGB") { $0.color = .rgb },
      jpeg("CMYK") { $0.color = .cmyk },
      jpeg("turned") { $0.exif = EXIFBlock { $0.orientation = 6 } },
      jpeg("with a profile") { $0.profile = ICCFile.displayP3 },
      Kind(testDescription: "PNG", file: PNGFile(.rgb(depth: 8)).encoded(scene)),
      Kind(testDescription: "PNG of 16 bits", file: PNGFile(.rgb(depth: 16)).encoded(scene)),
      Kind(testDescription: "PNG, interlaced", file: PNGFile(.rgb(depth: 8)) { $0.isInterlaced = true }.encoded(scene)),
    ]
  }()

  static let requests: [ImageRequest] = [
    request(60, 60, .aspectFill, .jpeg), request(130, 130, .aspectFit, .jpeg), request(500, 500, .aspectFit, .jpeg),
    request(60, 60, .aspectFill), request(130, 130), request(500, 500), ImageRequest(format: .jpeg, quality: 96),
    request(50, 50, crop: UnitRect(x: 0.31, y: 0.27, width: 0.4, height: 0.5)),
    request(70, 70, crop: UnitRect(x: 0.52, y: 0.4, width: 0.3, height: 0.3)),
    ImageRequest(targetSize: .size(PixelSize(width: 90, height: 90)), format: .jpeg, colorSpace: .srgb),
    ImageRequest(targetSize: .size(PixelSize(width: 200, height: 200)), format: .jpeg, colorSpace: .srgb),
    ImageRequest(targetSize: .size(PixelSize(width: 90, height: 90)), format: .png, colorSpace: .srgb),
  ]

  private static func header(_ file: [UInt8]) throws -> ImageHeader {
    try ImageHeader.read(from: MemoryByteSource(file), limits: CodecLimits())
  }

  private static func alone(_ plan: RenderPlan, _ file: [UInt8]) throws -> [UInt8] {
    let renderer = try Renderer(plan, source: MemoryByteSource(file), limits: CodecLimits(), stop: StopFlag())
    return try renderer.render().bytes
  }

  /// All pictures of a plan, in the order of delivery.
  private static func together(
    _ plan: SharedPlan, _ source: any ByteSource, stops: [StopFlag]? = nil
  ) throws -> [(member: Int, result: Result<RenderedImage, CodecError>)] {
    var delivered: [(Int, Result<RenderedImage, CodecError>)] = []
    let stops = stops ?? plan.members.map { _ in StopFlag() }
    let made = Result { () throws(CodecError) in
      try SharedRenderer(plan, source: source, limits: CodecLimits(), stops: stops)
    }
    if case .failure(.stopped) = made, stops.allSatisfy(\.isRaised) {
      return stops.indices.map { ($0, .failure(.stopped)) }
    }
    let renderer = try made.get()
    while !renderer.resume({ delivered.append(($0, $1)) }) {}
    #expect(Set(delivered.map(\.0)).count == plan.members.count && delivered.count == plan.members.count)
    return delivered
  }

  @Test("each picture has the same bytes as when rendered alone at that scale", arguments: kinds, [false, true])
  func sameBytes(_ kind: Kind, _ trickles: Bool) throws {
    let header = try Self.header(kind.file)
    var left = Array(Self.requests.indices)
    var shared = 0
    while !left.isEmpty {
      let plan = RenderPlanner().sharedPlan(header, left.map { header.sized(Self.requests[$0]) })
      let file = MemoryByteSource(kind.file)
      let source: any ByteSource =
        trickles ? TrickleSource(file, headerBytes: 8192, canReturnNotYet: header.format == .jpeg) : file
      for (member, result) in try Self.together(plan, source) {
        let (image, own) = (try result.get(), plan.members[member].plan)
        let request = Self.requests[left[plan.members[member].requestIndex]]
        #expect(image.bytes == (try Self.alone(own, kind.file)), "\(request), at \(own.eighths)/8")
        #expect(image.size == SizeRules(request, upright: header.uprightSize).output)
        #expect(image.decodedEighths == plan.eighths)
        let lone = RenderPlanner().plan(header, request)
        #expect(plan.eighths >= lone.eighths && lone.planes.isEmpty == own.planes.isEmpty)
      }
      shared += plan.members.count > 1 ? 1 : 0
      left = left.enumerated().filter { i, _ in !plan.members.contains { $0.requestIndex == i } }.map(\.element)
    }
    #expect(shared > 0)
  }

  @Test("a plan uses the header's size if the request was sized for another one")
  func otherSize() throws {
    let header = try Self.header(Self.kinds[0].file)
    let asked = request(100, 100)
    let sized = SizedRequest(asked, upright: PixelSize(width: 10, height: 20))
    #expect(RenderPlanner().plan(header, sized) == RenderPlanner().plan(header, asked))
  }

  @Test("the unshared DCT scale of a whole picture follows from the size rules")
  func loneScale() throws {
    let header = try Self.header(Self.kinds[8].file)
    for request in Self.requests where request.normalizedCropRect == nil {
      let rules = SizeRules(request, upright: header.uprightSize)
      #expect(
        RenderPlanner.eighths(rules, scalesDecodes: header.scalesDecodes)
          == RenderPlanner().plan(header, request).eighths)
      #expect(RenderPlanner.eighths(rules, scalesDecodes: false) == 8)
    }
  }

  struct Grouping: CustomTestStringConvertible {
    let testDescription: String
    var file = kinds[0].file
    let requests: [ImageRequest]
    var extras: [ImageRequest] = []
    let members: [Int]
    let eighths: Int
  }

  static let groupings = [
    Grouping(testDescription: "one picture", requests: [request(60, 60)], members: [0], eighths: 1),
    Grouping(
      testDescription: "JPEGs of several sizes, at the largest scale",
      requests: [
        request(60, 60, .aspectFit, .jpeg), request(100, 100, .aspectFill, .jpeg), request(200, 200, .aspectFit, .jpeg),
      ],
      members: [0, 1, 2], eighths: 4),
    Grouping(
      testDescription: "pictures in rows and in planes do not share a decode",
      requests: [
        request(60, 60), request(60, 60, .aspectFit, .jpeg), request(80, 80), request(90, 90, .aspectFit, .jpeg),
      ],
      members: [0, 2], eighths: 2),
    Grouping(
      testDescription: "a small crop is not shared: the whole picture would cost more at its scale",
      requests: [request(60, 60), request(100, 100, crop: UnitRect(x: 0, y: 0, width: 0.2, height: 0.2))],
      members: [0], eighths: 1),
    Grouping(
      testDescription: "crops of the same part",
      requests: [30, 60, 100].map { request($0, $0, crop: UnitRect(x: 0.1, y: 0.1, width: 0.2, height: 0.2)) },
      members: [0, 1, 2], eighths: 8),
    Grouping(
      testDescription: "a small crop of a progressive file is shared", file: kinds[5].file,
      requests: [request(60, 60), request(100, 100, crop: UnitRect(x: 0, y: 0, width: 0.2, height: 0.2))],
      members: [0, 1], eighths: 8),
    Grouping(
      testDescription: "only converted pictures share with converted ones", file: kinds[9].file,
      requests: [Self.requests[9], Self.requests[1], Self.requests[10]], members: [0, 2], eighths: 4),
    Grouping(
      testDescription: "without a profile nothing needs converting", requests: [Self.requests[9], Self.requests[1]],
      members: [0, 1], eighths: 2),
    Grouping(
      testDescription: "an extra is added only if it raises no scale",
      requests: [request(100, 100, .aspectFit, .jpeg)],
      extras: [request(300, 300, .aspectFit, .jpeg), request(90, 90, .aspectFit, .jpeg), request(80, 80)],
      members: [0, 2], eighths: 2),
    Grouping(
      testDescription: "at most the maximum number of members", requests: (1...12).map { request(10 * $0, 10 * $0) },
      members: [0, 1, 2, 3, 4, 5, 6, 7], eighths: 8),
  ]

  @Test("pictures share a decode when that is cheaper, at the largest scale they need", arguments: groupings)
  func grouping(_ one: Grouping) throws {
    let header = try Self.header(one.file)
    let plan = RenderPlanner().sharedPlan(
      header, one.requests.map(header.sized), extras: one.extras.map(header.sized))
    if one.members.count == SharedPlan.maximumMembers {
      #expect(plan.members.count == SharedPlan.maximumMembers && plan.members[0].requestIndex == 0)
    } else {
      #expect(plan.members.map(\.requestIndex) == one.members)
      #expect(plan.eighths == one.eighths)
    }
    #expect(plan.members.allSatisfy { $0.plan.eighths == plan.eighths })
    #expect(plan.peakBytes <= plan.members.reduce(0) { $0 + $1.plan.peakBytes })
  }

  @Test(
    "a raised flag drops its picture only; when all flags are raised, the decode ends",
    arguments: [0, 5, 10],
    [1, 40])
  func stopping(_ kind: Int, _ gate: Int) throws {
    let file = Self.kinds[kind].file
    let format: OutputFormat = kind == 10 ? .png : .jpeg
    let requests = [100, 200, 300].map { request($0, $0, .aspectFit, format) }
    let header = try Self.header(file)
    let plan = RenderPlanner().sharedPlan(header, requests.map(header.sized))
    #expect(plan.members.count == 3)
    for dropped in [[0], [1], [0, 2], [0, 1, 2]] {
      let stops = plan.members.map { _ in StopFlag() }
      let source = GatedSource(file, raising: dropped.map { stops[$0] }, atRead: gate)
      for (member, result) in try Self.together(plan, source, stops: stops) {
        if dropped.contains(member) {
          #expect(throws: CodecError.stopped) { try result.get() }
        } else {
          #expect(try result.get().bytes == Self.alone(plan.members[member].plan, file))
        }
      }
      if dropped.count == 3 { #expect(source.readsAfterwards <= 8) }
    }
  }

  @Test("a finished picture is delivered before the last row is read")
  func oneByOne() throws {
    let file = Self.kinds[0].file
    let upper = request(50, 50, crop: UnitRect(x: 0, y: 0, width: 0.5, height: 0.3))
    let header = try Self.header(file)
    let plan = RenderPlanner().sharedPlan(header, [request(400, 400), upper].map(header.sized))
    try #require(plan.members.count == 2)
    let source = GatedSource(file, raising: [], atRead: .max)
    let renderer = try SharedRenderer(plan, source: source, limits: CodecLimits(), stops: [StopFlag(), StopFlag()])
    var order: [Int] = []
    #expect(renderer.resume { member, _ in order.append(member) })
    #expect(order == [1, 0])
  }

  @Test("an error of the decode fails the unfinished pictures only")
  func brokenOriginal() throws {
    var file = PNGFile(.rgb(depth: 8)).encoded(Self.scene)
    file.removeLast(file.count / 3)
    let upper = request(50, 50, crop: UnitRect(x: 0, y: 0, width: 0.5, height: 0.3))
    let header = try Self.header(file)
    let plan = RenderPlanner().sharedPlan(header, [request(400, 400), upper, request(30, 30)].map(header.sized))
    try #require(plan.members.count == 3)
    let results = try Self.together(plan, MemoryByteSource(file))
    #expect(results.map(\.member).first == 1)
    for (member, result) in results {
      if member == 1 {
        #expect(throws: Never.self) { try result.get() }
      } else {
        #expect(throws: CodecError.self) { try result.get() }
      }
    }
  }

  /// Fails at one of its rows, or accepts a number of rows and no more.
  private final class CountingOutput: RenderOutput {
    let failsAt: Int?
    let wants: Int
    private(set) var rows = 0
    private(set) var failure: CodecError?
    let warnings: CodecWarnings? = nil
    let resizeTime = Duration.zero
    let encodeTime = Duration.zero

    init(wants: Int, failsAt: Int? = nil) {
      self.wants = wants
      self.failsAt = failsAt
    }

    func take() -> Bool {
      rows += 1
      if rows == failsAt { failure = .encodingFailed("as it was told") }
      return failure == nil && rows < wants
    }

    func finish() -> [UInt8] { [] }
  }

  @Test("outputs that may need a decoder worker leave after the decode, which occupies one")
  func lateLeaving() throws {
    let outputs = [CountingOutput(wants: 5), CountingOutput(wants: 9)]
    let fanOut = DecodedRowDistributor(
      outputs.enumerated().map {
        DecodedRowDistributor<CountingOutput>.Branch(member: $0, output: $1, stop: StopFlag())
      }, leavesEarly: false)
    var (left, isDecoding): ([Int], Bool) = ([], true)
    let outcome = fanOut.run({ member, _, failure in
      #expect(!isDecoding && failure == nil)
      left.append(member)
    }) {
      for _ in 0..<20 where !fanOut.advance({ $0.take() }) { break }
      isDecoding = false
      return .finished
    }
    #expect(outcome == .finished && left == [0, 1] && outputs.map(\.rows) == [5, 9])
  }

  @Test("an output that waits for the end of the decode does not fail by an error after its rows")
  func lateError() throws {
    let outputs = [CountingOutput(wants: 5), CountingOutput(wants: 9)]
    let fanOut = DecodedRowDistributor(
      outputs.enumerated().map {
        DecodedRowDistributor<CountingOutput>.Branch(member: $0, output: $1, stop: StopFlag())
      }, leavesEarly: false)
    var left: [CodecError?] = []
    let outcome = fanOut.run({ left.append($2) }) { () throws(CodecError) in
      for _ in 0..<7 where !fanOut.advance({ $0.take() }) { break }
      throw .truncated(offset: 7)
    }
    #expect(outcome == .finished && left == [nil, .truncated(offset: 7)])
  }

  @Test("a failing encoder fails its own picture only")
  func failingEncoder() throws {
    let outputs = [CountingOutput(wants: 5), CountingOutput(wants: 9, failsAt: 3), CountingOutput(wants: 9)]
    let fanOut = DecodedRowDistributor(
      outputs.enumerated().map {
        DecodedRowDistributor<CountingOutput>.Branch(member: $0, output: $1, stop: StopFlag())
      }, leavesEarly: true)
    var left: [(Int, CodecError?)] = []
    let outcome = fanOut.run({ left.append(($0, $2)) }) {
      for _ in 0..<20 where !fanOut.advance({ $0.take() }) { break }
      return .finished
    }
    #expect(outcome == .finished)
    #expect(left.map(\.0) == [1, 0, 2])
    #expect(left.map(\.1) == [.encodingFailed("as it was told"), nil, nil])
    #expect(fanOut.branches.isEmpty)
    #expect(outputs.map(\.rows) == [5, 3, 9])
  }
}
