import DecoderWorkers
import PhotoFixtures
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
      effort: 1, memoryLimitBytes: 16 << 20, maximumBytes: maximumBytes)
  }

  static func rows(_ request: EncodeRequest, channels: Int) -> [UInt8] {
    (0..<request.size.width * request.size.height * channels).map { UInt8(truncatingIfNeeded: $0 &* 7 &+ $0 >> 9) }
  }

  private func encode(
    _ request: EncodeRequest, channels: Int = 3, pool: DecoderPool = TestDecoders.pool(),
    stop: StopFlag? = nil
  ) throws(DecoderError) -> [[UInt8]] {
    let rows = Self.rows(request, channels: channels)
    let result = rows.withUnsafeBytes { bytes in
      Result { () throws(DecoderError) in try pool.encode(request, rows: bytes, stop: stop) }
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
      (.deepRGB, 61, 47), (.deepRGBA, 301, 5),
    ])
  func rows(_ samples: EncodeRequest.Samples, _ width: Int, _ height: Int) throws {
    let request = Self.request(.echo, samples, width: width, height: height)
    // In 64 KiB a picture of 640 x 480 has many bands; its bytes take many messages.
    let pixelBytes = samples.channels * samples.bytesPerSample
    let parts = try encode(request, channels: pixelBytes)
    let isEqual = parts == [Self.rows(request, channels: pixelBytes)]
    #expect(isEqual)
  }

  @Test("an encoding of two parts is returned as two byte arrays")
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
    let stop = StopFlag()
    stop.raise()
    #expect(throws: DecoderError.cancelled) { _ = try encode(Self.request(.hangs), stop: stop) }
  }

  @Test("cancelling kills an encoder that transcodes")
  func cancelledTranscoding() {
    let size = PixelSize(width: 40, height: 30)
    // The test codec waits for rows, which don't come.
    let request = EncodeRequest(
      transcoding: ByteRange(offset: 0, length: 4), size: size, by: .test, effort: 1, keepsReconstruction: false,
      memoryLimitBytes: 16 << 20, maximumBytes: 100)
    let pool = TestDecoders.pool()
    let stop = StopFlag()
    stop.raise()
    #expect(throws: DecoderError.cancelled) {
      _ = try pool.transcode(request, of: .bytes([1, 2, 3, 4]), stop: stop)
    }
    #expect(pool.workerCount == 0)
  }

  @Test(
    "a JPEG that is damaged, has another size or needs more memory than its limit fails alone",
    .enabled(if: TestDecoders.isBuilt(.jxlEncoder)))
  func transcoding() throws {
    let file = JPEGFile { _ in }.encoded(Scene(seed: 1).pixels(width: 64, height: 48))
    func result(
      _ bytes: [UInt8], width: Int = 64, memoryLimitBytes: Int = 64 << 20, maximumBytes: Int = 1 << 20
    ) -> Result<Int, DecoderError> {
      let request = EncodeRequest(
        transcoding: ByteRange(offset: 0, length: bytes.count), size: PixelSize(width: width, height: 48), effort: 3,
        keepsReconstruction: false, memoryLimitBytes: memoryLimitBytes, maximumBytes: maximumBytes)
      return Result { () throws(DecoderError) in
        try TestDecoders.pool([.jxlEncoder]).transcode(request, of: .bytes(bytes)).count
      }
    }
    func failed(_ failure: DecoderFailure) -> Result<Int, DecoderError> { .failure(.failed(.jxlEncoder, failure)) }
    let bytes = try result(file).get()
    #expect(bytes > 100 && bytes < file.count)
    // Whatever is no part of the picture changes nothing.
    #expect(result(file + [1, 2, 3]) == .success(bytes))
    #expect(result(file, width: 63) == failed(.malformed))
    #expect(result(file, memoryLimitBytes: 1 << 16) == failed(.memory))
    #expect(result(file, maximumBytes: bytes - 1) == failed(.memory))
    for end in [0, 1, 2, 3, 4, 20, file.count / 2, file.count - 1] {
      #expect(result(Array(file.prefix(end))) == failed(.malformed), "\(end)")
    }
    for seed in 0..<60 {
      var damaged = file
      damaged[(seed * 7919 + 2) % file.count] ^= UInt8(1 + seed * 37 % 255)
      switch result(damaged) {
      case .success, .failure(.failed(_, .malformed)), .failure(.failed(_, .unsupported)): break
      case .failure(let error): Issue.record("\(seed): \(error)")
      }
    }
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
