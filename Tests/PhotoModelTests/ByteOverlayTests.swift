import PhotoFixtures
import PhotoModel
import Testing

@Suite("Byte overlays")
struct ByteOverlayTests {
  @Test("patches are sorted and joined, and may overlap where they agree")
  func joining() throws {
    let overlay = try ByteOverlay([
      .init(offset: 20, bytes: [7]), .init(offset: 4, bytes: [1, 2, 3]), .init(offset: 6, bytes: [3, 4]),
      .init(offset: 8, bytes: [5]), .init(offset: 5, bytes: [2]), .init(offset: 30, bytes: []),
    ])
    #expect(overlay.patches == [.init(offset: 4, bytes: [1, 2, 3, 4, 5]), .init(offset: 20, bytes: [7])])
    #expect(overlay.byteCount == 6 && !overlay.isEmpty && ByteOverlay().isEmpty)
  }

  @Test("zeros are joined, take little memory, and replace the bytes of other patches that agree")
  func zeros() throws {
    let overlay = try ByteOverlay(
      [.init(zeros: 10..<20), .init(zeros: 20..<1 << 40), .init(offset: 8, bytes: [1, 2, 0, 0]), .init(zeros: 4..<4)],
      limit: 18)
    #expect(overlay.patches == [.init(offset: 8, bytes: [1, 2]), .init(zeros: 10..<1 << 40)])
    #expect(overlay.byteCount == 1 << 40 - 8 && overlay.storedBytes == 18)
    #expect(overlay.pieces(in: 9..<12) == [.bytes([2]), .zeros(2)])
    var window: [UInt8] = [5, 5, 5, 5]
    overlay.apply(to: &window, at: 7)
    #expect(window == [5, 1, 2, 0])
    #expect(throws: ByteOverlay.Failure.conflict(offset: 6)) {
      try ByteOverlay([.init(offset: 4, bytes: [1, 0, 3]), .init(zeros: 5..<9)])
    }
  }

  @Test("patches that want different bytes at one place are refused")
  func conflict() {
    #expect(throws: ByteOverlay.Failure.conflict(offset: 6)) {
      try ByteOverlay([.init(offset: 4, bytes: [1, 2, 3]), .init(offset: 5, bytes: [2, 9])])
    }
  }

  @Test("more bytes than the limit are refused, counted after joining")
  func limit() throws {
    let patches = [ByteOverlay.Patch(offset: 0, bytes: [1, 2, 3]), .init(offset: 1, bytes: [2, 3, 4])]
    #expect(try ByteOverlay(patches, limit: 4).byteCount == 4)
    #expect(throws: ByteOverlay.Failure.tooLarge(limit: 3, found: 4)) { try ByteOverlay(patches, limit: 3) }
  }

  @Test("the pieces of every range are the bytes of the patched file")
  func pieces() throws {
    var random = Sampling.generator("byte overlays")
    for round in 0..<50 {
      let file = (0..<60).map { _ in UInt8.random(in: 1..<100, using: &random) }
      var expected = file
      var patches: [ByteOverlay.Patch] = []
      var position = Int.random(in: 0..<5, using: &random)
      while position < 55 {
        var bytes = (0..<Int.random(in: 1...5, using: &random)).map { _ in UInt8.random(in: 100...255, using: &random) }
        if round % 2 == 0, Bool.random(using: &random) {
          bytes = [UInt8](repeating: 0, count: bytes.count)
          patches.append(.init(zeros: Int64(position)..<Int64(position + bytes.count)))
        } else {
          patches.append(.init(offset: Int64(position), bytes: bytes))
        }
        expected.replaceSubrange(position..<position + bytes.count, with: bytes)
        position += bytes.count + Int.random(in: 0..<9, using: &random)
      }
      let overlay = try ByteOverlay(patches.shuffled(using: &random))
      for start in 0...60 {
        for end in start...60 {
          var result: [UInt8] = []
          for piece in overlay.pieces(in: Int64(start)..<Int64(end)) {
            switch piece {
            case .file(let range):
              #expect(!range.isEmpty)
              result += file[Int(range.lowerBound)..<Int(range.upperBound)]
            case .bytes(let bytes):
              #expect(!bytes.isEmpty)
              result += bytes
            case .zeros(let count):
              #expect(count > 0)
              result += [UInt8](repeating: 0, count: count)
            }
          }
          guard result == Array(expected[start..<end]) else {
            Issue.record("\(start)..<\(end) of \(overlay.patches), \(Sampling.note)")
            return
          }
          let isChanged = result != Array(file[start..<end])
          #expect(overlay.changes(Int64(start)..<Int64(end)) == isChanged, "\(Sampling.note)")
          var window = Array(file[start..<end])
          overlay.apply(to: &window, at: Int64(start))
          #expect(window == result, "\(Sampling.note)")
        }
      }
    }
  }
}
