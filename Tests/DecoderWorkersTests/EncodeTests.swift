import DecoderWorkers
import PhotoModel
import Synchronization
import Testing

@Suite("Encoder workers")
struct EncodeTests {
  /// What the test codec does; its setting is the place in this list.
  enum Action: Int, CaseIterable {
    case echo, twoParts, endless, earlyBytes, secondPartOnly, thirdPart, wrongCount, freeSlot, noBytes, noRows
    case sendsRows, hangs
  }

  static func request(
    _ action: Action, _ samples: EncodeRequest.Samples = .rgb, width: Int = 40, height: Int = 30,
    maximumBytes: Int = 1 << 20
  ) -> EncodeRequest {
    EncodeRequest(
      codec: .test, size: PixelSize(width: width, height: height), samples: samples, setting: Double(action.rawValue),
      effort: 1, priceBytes: 16 << 20, maximumBytes: maximumBytes)
  }

  static func rows(_ request: EncodeRequest, channels: Int) -> [UInt8] {
    (0..<request.size.width * request.size.height * channels).map { UInt8(truncatingIfNeeded: $0 &* 7 &+ $0 >> 9) }
  }

  private func encode(
    _ request: EncodeRequest, channels: Int = 3, pool: DecoderPool = TestDecoders.pool(),
    cancellation: DecodeCancellation = DecodeCancellation()
  ) throws(DecoderError) -> [[UInt8]] {
    let rows = Self.rows(request, channels: channels)
    let result = rows.withUnsafeBytes { bytes in
      Result { () throws(DecoderError) in try pool.encode(request, rows: bytes, cancellation: cancellation) }
    }
    return try result.get()
  }

  private func error(_ action: Action, maximumBytes: Int = 1 << 20) -> DecoderError? {
    do throws(DecoderError) {
      _ = try encode(Self.request(action, maximumBytes: maximumBytes))
      return nil
    } catch {
      return error
    }
  }

  @Test(
    "every row reaches the encoder, and every byte comes back",
    arguments: [
      (EncodeRequest.Samples.gray, 1, 1), (.gray, 33, 21), (.rgb, 1, 700), (.rgba, 301, 3), (.rgb, 641, 480),
    ])
  func rows(_ samples: EncodeRequest.Samples, _ width: Int, _ height: Int) throws {
    let request = Self.request(.echo, samples, width: width, height: height)
    // In 64 KiB a picture of 640 x 480 has many bands; its bytes take many messages.
    let parts = try encode(request, channels: samples.channels)
    let isEqual = parts == [Self.rows(request, channels: samples.channels)]
    #expect(isEqual)
  }

  @Test("two parts stay apart")
  func parts() throws {
    let parts = try encode(Self.request(.twoParts))
    #expect(parts.count == 2 && parts[1].count == 4)
  }

  @Test(
    "messages that contradict the request end the encoder",
    arguments: [
      Action.earlyBytes, .secondPartOnly, .thirdPart, .wrongCount, .freeSlot, .noBytes, .noRows, .sendsRows,
    ])
  func lies(_ action: Action) { #expect(error(action) == .failed(.test, .protocolViolation)) }

  @Test("an encoder that sends more than the limit is ended, and fails for its memory")
  func endless() {
    #expect(error(.endless) == .failed(.test, .memory))
    #expect(error(.echo, maximumBytes: 3599) == .failed(.test, .memory))
    #expect(error(.echo, maximumBytes: 3600) == nil)
  }

  @Test("cancelling kills a running encoder")
  func cancelled() {
    let cancellation = DecodeCancellation()
    let flag = StopFlag()
    flag.raise()
    #expect(throws: DecoderError.cancelled) {
      _ = try encode(Self.request(.hangs), cancellation: DecodeCancellation(following: flag))
    }
    cancellation.cancel()
    #expect(throws: DecoderError.cancelled) { _ = try encode(Self.request(.hangs), cancellation: cancellation) }
  }

  @Test("an encoder waits for no decoder: a render may hold a decoder's place while it encodes")
  func places() throws {
    let pool = TestDecoders.pool(workers: 1)
    var parts: [[UInt8]] = []
    try pool.decode(TestDecoders.request("rows"), of: .bytes([0])) { _, _ in
      parts = (try? encode(Self.request(.echo), pool: pool)) ?? []
      return .enough
    }
    #expect(parts.count == 1)
  }

  @Test("failures of encoders are counted")
  func counted() {
    let pool = TestDecoders.pool()
    _ = try? encode(Self.request(.noBytes), pool: pool)
    #expect(pool.failures.count(.test, .protocolViolation) == 1)
  }
}
