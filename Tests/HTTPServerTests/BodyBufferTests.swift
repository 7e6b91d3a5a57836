import Testing

@testable import HTTPServer

@Suite("Body buffer")
struct BodyBufferTests {
  /// The results of reading until nothing is buffered: sizes of pieces, `end`, or the failure.
  private static func drain(_ buffer: inout BodyBuffer, reads: Int = 10) -> [String] {
    var results: [String] = []
    for _ in 0..<reads {
      switch buffer.next() {
      case .piece(let piece): results.append("\(piece.count)")
      case .end: results.append("end")
      case .failed(let failure): results.append("\(failure)")
      case nil: return results
      }
    }
    return results
  }

  @Test(
    "small pieces are merged up to 64 KiB, larger ones stay as they are",
    arguments: [
      ([], []), ([1, 2, 3], ["6"]), ([65_535, 1, 1], ["65536", "1"]), ([70_000, 1], ["70000", "1"]),
      ([1, 65_536, 2], ["1", "65536", "2"]),
    ] as [([Int], [String])])
  func merging(_ sizes: [Int], _ pieces: [String]) {
    var buffer = BodyBuffer()
    for size in sizes { buffer.append([UInt8](repeating: 1, count: size)) }
    #expect(buffer.byteCount == sizes.reduce(0, +))
    let results = Self.drain(&buffer)
    #expect(results == pieces)
    #expect(buffer.byteCount == 0 && !buffer.hasEnded)
  }

  @Test("the end comes after the buffered pieces and is returned again by every further read")
  func end() {
    var buffer = BodyBuffer()
    buffer.append([1, 2])
    buffer.end(.end)
    buffer.end(.failed(.closed))
    let results = Self.drain(&buffer, reads: 3)
    #expect(results == ["2", "end", "end"])
  }

  @Test("a failure is returned at once and discards the buffered pieces")
  func failure() {
    var buffer = BodyBuffer()
    buffer.append([1, 2])
    buffer.end(.failed(.timedOut))
    let results = Self.drain(&buffer, reads: 2)
    #expect(results == ["timedOut", "timedOut"])
    #expect(buffer.byteCount == 0)
  }
}
