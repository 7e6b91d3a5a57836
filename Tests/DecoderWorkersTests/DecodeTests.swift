import DecoderWorkers
import Foundation
import PhotoModel
import Testing

@Suite("Decoder workers: rows")
struct DecodeTests {
  struct Shape: Sendable, CustomTestStringConvertible {
    let name: String
    let samples: DecodeRequest.Samples
    var width = 40
    var height = 30
    var tiles = 1
    var testDescription: String { name }
  }

  static let shapes: [Shape] = [
    Shape(name: "RGB", samples: .rgb),
    Shape(name: "RGBA, one pixel", samples: .rgba, width: 1, height: 1),
    Shape(name: "4:2:0 with odd sides", samples: .planar(.half, bitDepth: 8, hasAlpha: false), width: 33, height: 21),
    Shape(name: "4:2:2 with 10 bits", samples: .planar(.halfWidth, bitDepth: 10, hasAlpha: false), width: 17),
    Shape(name: "4:4:4 with alpha", samples: .planar(.full, bitDepth: 8, hasAlpha: true)),
    Shape(name: "luma only", samples: .planar(.none, bitDepth: 16, hasAlpha: false)),
    Shape(name: "12 tiles", samples: .planar(.half, bitDepth: 8, hasAlpha: false), tiles: 12),
    Shape(name: "many bands", samples: .rgb, width: 600, height: 301, tiles: 2),
  ]

  @Test("every row of every tile arrives as the codec made it", arguments: shapes)
  func rows(_ shape: Shape) throws {
    let request = TestDecoders.request(
      "rows", shape.samples, width: shape.width, height: shape.height, tiles: shape.tiles)
    let collected = try TestDecoders.pool().rows(request)
    for tile in 0..<shape.tiles {
      for (plane, bytes) in collected.tiles[tile].enumerated() {
        let rowBytes = Self.rowBytes(shape, plane)
        let rows = bytes.count / rowBytes
        #expect(rows == Self.rows(shape, plane) && bytes.count == rows * rowBytes)
        let expected = (0..<rows).flatMap { row in
          (0..<rowBytes).map { TestDecoders.sample(tile: tile, plane: plane, row: row, byte: $0) }
        }
        let isEqual = bytes == expected
        #expect(isEqual, "tile \(tile), plane \(plane)")
      }
    }
    if shape.name == "many bands" { #expect(collected.bands > 10) }
  }

  @Test("a worker reads the payload of a file at the ranges of the request, and no others")
  func payload() throws {
    let bytes = (0..<5000).map { UInt8(truncatingIfNeeded: $0 * 31) }
    let ranges = [ByteRange(offset: 4000, length: 10), ByteRange(offset: 7, length: 5)]
    let request = TestDecoders.request(
      "payload", .planar(.none, bitDepth: 8, hasAlpha: false), width: 15, height: 1, payload: ranges)
    let collected = CollectedPayload()
    // The codec sends one row with the bytes of all ranges.
    try TestDecoders.pool().decode(request, of: .bytes(bytes)) { band, span in
      span.withUnsafeBytes { collected.bytes = Array($0.prefix(15)) }
      return .enough
    }
    #expect(collected.bytes == Array(bytes[4000..<4010]) + Array(bytes[7..<12]))
  }

  @Test("a payload that ends before its ranges is a changed original, not a damaged picture")
  func shortPayload() {
    let request = TestDecoders.request("input", payload: [ByteRange(offset: 90, length: 20)])
    let pool = TestDecoders.pool()
    #expect(pool.error(request, of: .bytes(Array(repeating: 1, count: 100))) == .inputChanged)
    #expect(DecoderFailure.allCases.allSatisfy { pool.failures.count(.test, $0) == 0 })
  }

  @Test("a consumer that has enough rows ends the worker, and the decode succeeds")
  func enough() throws {
    let pool = TestDecoders.pool()
    let request = TestDecoders.request("rows", width: 600, height: 3000, memoryLimitBytes: 64 << 20)
    let count = CollectedPayload()
    try pool.decode(request, of: .bytes([0])) { _, _ in
      count.bands += 1
      return count.bands == 3 ? .enough : .more
    }
    #expect(count.bands == 3 && pool.workerCount == 0)
  }

  @Test("requests beyond the limits of the protocol are refused before a worker starts")
  func limits() {
    let pool = TestDecoders.pool(slotBytes: 1000)
    func limit(_ request: DecodeRequest) -> DecodeLimit? {
      if case .requestTooLarge(let limit, _, _)? = pool.error(request) { limit } else { nil }
    }
    #expect(limit(TestDecoders.request("rows", tiles: 2049)) == .tiles)
    #expect(
      limit(TestDecoders.request("rows", payload: Array(repeating: ByteRange(offset: 0, length: 1), count: 4097)))
        == .extents)
    #expect(limit(TestDecoders.request(String(repeating: "x", count: 16385))) == .parameterBytes)
    #expect(limit(TestDecoders.request("rows", width: 0)) == .side)
    #expect(limit(TestDecoders.request("rows", width: 65536)) == .side)
    #expect(limit(TestDecoders.request("rows", width: 167)) == .rowBytes)
    #expect(limit(TestDecoders.request("rows", width: 166)) == nil)
  }

  @Test("two hundred decodes leave no descriptor and no worker")
  func leaks() throws {
    let pool = TestDecoders.pool()
    let request = TestDecoders.request("rows")
    _ = try pool.rows(request)
    let before = try Self.descriptors()
    for turn in 0..<200 {
      if turn % 4 == 3 {
        #expect(pool.error(TestDecoders.request("crash")) == .failed(.test, .crashed))
      } else {
        _ = try pool.rows(request)
      }
    }
    // Other suites of this process open and close descriptors too.
    #expect(try Self.descriptors() < before + 100)
    #expect(pool.workerCount == 0)
  }

  private static func descriptors() throws -> Int {
    try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count
  }

  private static func rowBytes(_ shape: Shape, _ plane: Int) -> Int {
    switch shape.samples {
    case .rgb: shape.width * 3
    case .rgba: shape.width * 4
    case .deepRGB: shape.width * 6
    case .deepRGBA: shape.width * 8
    case .planar(let chroma, let depth, _):
      (plane == 1 || plane == 2 ? (shape.width + chroma.horizontal - 1) / chroma.horizontal : shape.width)
        * (depth > 8 ? 2 : 1)
    }
  }

  private static func rows(_ shape: Shape, _ plane: Int) -> Int {
    guard case .planar(.half, _, _) = shape.samples, plane == 1 || plane == 2 else { return shape.height }
    return (shape.height + 1) / 2
  }
}

/// What the consumer of one decode has seen, on the decoding thread.
final class CollectedPayload {
  var bytes: [UInt8] = []
  var bands = 0
}
