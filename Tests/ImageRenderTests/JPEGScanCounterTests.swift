import ImageCodec
import PhotoFixtures
import PhotoModel
import Synchronization
import Testing

@Suite("Counting the scans of a JPEG that arrives")
struct JPEGScanCounterTests {
  /// The first bytes of a file.
  private final class Beginning: ByteSource {
    private let bytes: MemoryByteSource
    private let available = Atomic(0)

    init(_ bytes: [UInt8]) { self.bytes = MemoryByteSource(bytes) }

    var size: Int64 { bytes.size }
    var canReturnNotYet: Bool { true }
    func arrive(_ count: Int) { available.store(count, ordering: .relaxed) }

    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) -> ByteRead {
      let count = available.load(ordering: .relaxed) - Int(offset)
      guard count > 0 else { return offset < size ? .notYet : .end }
      return bytes.read(into: UnsafeMutableRawBufferPointer(rebasing: buffer.prefix(count)), at: offset)
    }
  }

  @Test(arguments: [false, true])
  func `A scan is complete when the next one begins, wherever the bytes are split`(_ isProgressive: Bool) throws {
    let file = JPEGFile { $0.isProgressive = isProgressive }.encoded(Scene(seed: 1).pixels(width: 40, height: 30))
    // T.81 table B.1: SOS. In the data of scans, 0xFF is followed by a zero.
    let scans = (0..<file.count - 1).filter { file[$0] == 0xFF && file[$0 + 1] == 0xDA }
    try #require(isProgressive ? scans.count > 3 : scans.count == 1)
    let source = Beginning(file)
    var counter = JPEGScanCounter()
    for count in 0...file.count {
      source.arrive(count)
      try counter.advance(in: source)
      let begun = scans.count { $0 + 2 <= count }
      #expect(counter.completeScans == (count == file.count ? begun : max(0, begun - 1)), "\(count) bytes")
    }
  }
}
