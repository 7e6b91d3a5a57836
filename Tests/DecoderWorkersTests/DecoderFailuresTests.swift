import DecoderWorkers
import Logging
import PhotoModel
import Synchronization
import Testing

@Suite("Decoder workers: remembered failures")
struct DecoderFailuresTests {
  private static func file(_ inode: UInt64, modified: Int64 = 1, epoch: Int = 1) -> DecodedFile {
    DecodedFile(identity: FileIdentity(inode: inode, size: 10, modified: modified), epoch: epoch)
  }

  /// A request for data at these positions of a file.
  private static func request(_ action: String, cpuSeconds: Int = 5, at offsets: Int64...) -> DecodeRequest {
    TestDecoders.request(action, payload: offsets.map { ByteRange(offset: $0, length: 1) }, cpuSeconds: cpuSeconds)
  }

  @Test("a file that failed is not decoded again until it changes, or a newer renderer tries it")
  func remembered() {
    let pool = TestDecoders.pool()
    let crash = TestDecoders.request("crash")
    #expect(pool.error(crash, file: Self.file(1)) == .failed(.test, .crashed))
    #expect(pool.error(TestDecoders.request("rows"), file: Self.file(1)) == .failed(.test, .crashed))
    #expect(pool.failures.count(.test, .crashed) == 1, "a remembered failure is not counted again")
    #expect(pool.error(TestDecoders.request("rows"), file: Self.file(1, modified: 2)) == nil)
    #expect(pool.error(TestDecoders.request("rows"), file: Self.file(1, epoch: 2)) == nil)
    #expect(pool.error(TestDecoders.request("rows"), file: Self.file(2)) == nil)
  }

  @Test("a frame that failed says nothing about the other frames of its file")
  func frames() {
    let pool = TestDecoders.pool()
    let file = Self.file(1)
    #expect(pool.error(Self.request("malformed", at: 20), file: file) == .failed(.test, .malformed))
    #expect(pool.error(Self.request("rows", at: 20), file: file) == .failed(.test, .malformed), "it is remembered")
    #expect(pool.error(Self.request("rows", at: 10), file: file) == nil, "the frame before it")
    #expect(pool.error(Self.request("rows", at: 30), file: file) == nil, "the frame after it")
    // A choice of frames, and its first frame.
    #expect(pool.error(Self.request("malformed", at: 10, 20), file: file) == .failed(.test, .malformed))
    #expect(pool.error(Self.request("rows", at: 10), file: file) == nil, "the first of a choice")
  }

  @Test("a frame that takes too long stands for all frames of its file")
  func slowFrame() {
    let pool = TestDecoders.pool()
    #expect(pool.error(Self.request("loop", cpuSeconds: 1, at: 20), file: Self.file(1)) == .failed(.test, .time))
    #expect(pool.error(Self.request("rows", at: 10), file: Self.file(1)) == .failed(.test, .time))
    #expect(pool.error(Self.request("rows", at: 10), file: Self.file(2)) == nil)
  }

  @Test("a failing file is logged once, with its codec and reason")
  func logged() {
    let handler = CountingLogHandler()
    let pool = TestDecoders.pool(logger: Logger(label: "test") { _ in handler })
    for _ in 0..<3 { _ = pool.error(TestDecoders.request("crash"), file: Self.file(1)) }
    _ = pool.error(TestDecoders.request("malformed"), file: Self.file(2))
    #expect(handler.lines == ["picture not decoded: test crashed 1", "picture not decoded: test malformed 2"])
  }

  @Test("no more files are remembered than the limit")
  func limit() {
    let pool = TestDecoders.pool(rememberedFailures: 4)
    for inode in 1...20 as ClosedRange<UInt64> {
      #expect(pool.error(TestDecoders.request("malformed"), file: Self.file(inode)) == .failed(.test, .malformed))
    }
    let remembered = (1...20 as ClosedRange<UInt64>).filter {
      pool.failures.failure(of: DecodedPicture(TestDecoders.request("malformed"), of: Self.file($0))) != nil
    }
    #expect(remembered.count <= 4 && remembered.contains(20), "\(remembered)")
    #expect(pool.failures.count(.test, .malformed) == 20)
  }

  @Test("an interrupted or cancelled decode says nothing about the file")
  func notRemembered() {
    let pool = TestDecoders.pool()
    let request = TestDecoders.request("input", payload: [ByteRange(offset: 0, length: 100)])
    #expect(pool.error(request, of: .bytes([1]), file: Self.file(1)) == .inputChanged)
    #expect(pool.failures.failure(of: DecodedPicture(request, of: Self.file(1))) == nil)
  }
}

/// Keeps what is logged: the message, and the metadata that names a failure.
final class CountingLogHandler: LogHandler {
  private let kept = Mutex<[String]>([])

  var lines: [String] { kept.withLock { $0 } }

  subscript(metadataKey _: String) -> Logger.Metadata.Value? {
    get { nil }
    set {}
  }
  var metadata: Logger.Metadata {
    get { [:] }
    set {}
  }
  var logLevel: Logger.Level {
    get { .notice }
    set {}
  }

  func log(event: LogEvent) {
    let details = ["codec", "reason", "inode"].compactMap { event.metadata?[$0].map { "\($0)" } }
    kept.withLock { $0.append("\(event.message): \(details.joined(separator: " "))") }
  }
}
