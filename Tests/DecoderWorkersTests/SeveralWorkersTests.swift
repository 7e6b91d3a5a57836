import DecoderWorkers
import PhotoModel
import Synchronization
import Testing

@Suite("Decoder workers: several for one picture")
struct SeveralWorkersTests {
  private static let luma = DecodeRequest.Samples.planar(.none, bitDepth: 8, hasAlpha: false)

  /// Which worker of `workers` decoded each tile: the test codec's bytes say which of its own tiles it drew.
  private func ownNumbers(_ pool: DecoderPool, _ request: DecodeRequest, workers: Int) throws -> [Int?] {
    var collected = CollectedRows(request)
    var order: [Int] = []
    try pool.decode(request, of: .bytes([0]), workers: workers) { band, bytes in
      collected.add(band, bytes)
      if band.firstRow == 0 { order.append(band.tile) }
      return .more
    }
    #expect(order == Array(request.tiles.indices), "tiles come in their order")
    return collected.tiles.map { planes in
      (0..<request.tiles.count).first { own in
        planes[0]
          == (0..<30).flatMap { row in
            (0..<40).map { TestDecoders.sample(tile: own, plane: 0, row: row, byte: $0) }
          }
      }
    }
  }

  @Test("each worker decodes every nth tile, and all rows come in order", arguments: [1, 2, 3, 4, 9])
  func turns(_ workers: Int) throws {
    let pool = TestDecoders.pool(workers: 4)
    let request = TestDecoders.request("rows", Self.luma, tiles: 7)
    let used = min(workers, 4)
    #expect(try ownNumbers(pool, request, workers: workers) == (0..<7).map { $0 / used })
    #expect(pool.workerCount == 0)
  }

  @Test("a picture has no more workers than tiles")
  func fewTiles() throws {
    let pool = TestDecoders.pool(workers: 4)
    let request = TestDecoders.request("rows", Self.luma, tiles: 2)
    var most = 0
    try pool.decode(request, of: .bytes([0]), workers: 4) { _, _ in
      most = max(most, pool.workerCount)
      return .more
    }
    #expect(most == 2)
  }

  @Test("only idle workers help")
  func busy() throws {
    let pool = TestDecoders.pool(workers: 3)
    let request = TestDecoders.request("rows", Self.luma, tiles: 6)
    var helped: [Int?] = []
    try pool.decode(TestDecoders.request("rows"), of: .bytes([0])) { _, _ in
      helped = (try? ownNumbers(pool, request, workers: 3)) ?? []
      return .enough
    }
    #expect(helped == [0, 0, 1, 1, 2, 2])
    #expect(try ownNumbers(pool, request, workers: 3) == [0, 0, 0, 1, 1, 1])
  }

  @Test("all workers end when no more rows are wanted")
  func enough() throws {
    let pool = TestDecoders.pool(workers: 4)
    var bands = 0
    try pool.decode(TestDecoders.request("rows", tiles: 40), of: .bytes([0]), workers: 4) { _, _ in
      bands += 1
      return bands == 6 ? .enough : .more
    }
    #expect(bands == 6 && pool.workerCount == 0)
    _ = try pool.rows(TestDecoders.request("rows"))
  }

  @Test("a crash of one worker ends the decode, and is counted once")
  func crash() {
    let pool = TestDecoders.pool(workers: 4)
    let sound = DecodeRequest.Tile(picture: [ByteRange(offset: 0, length: 1)])
    let request = DecodeRequest(
      codec: .test, samples: Self.luma, codedSize: PixelSize(width: 40, height: 30),
      size: PixelSize(width: 40, height: 30),
      tiles: Array(repeating: sound, count: 5) + [DecodeRequest.Tile(picture: [])]
        + Array(repeating: sound, count: 5), parameters: Array("crash without an extent".utf8),
      memoryLimitBytes: 16 << 20, cpuSeconds: 5)
    var tiles: [Int] = []
    #expect(throws: DecoderError.failed(.test, .crashed)) {
      try pool.decode(request, of: .bytes([0]), workers: 3) { band, _ in
        if band.firstRow == 0 { tiles.append(band.tile) }
        return .more
      }
    }
    #expect(tiles == [0, 1, 2, 3, 4])
    #expect(pool.failures.count(.test, .crashed) == 1 && pool.workerCount == 0)
  }

  @Test("cancelling kills all workers")
  func cancellation() {
    let pool = TestDecoders.pool(workers: 3)
    let stop = StopFlag()
    #expect(throws: DecoderError.cancelled) {
      // The codec loops after its first tile.
      try pool.decode(
        TestDecoders.request("loop", tiles: 6, cpuSeconds: 100), of: .bytes([0]), workers: 3, stop: stop
      ) { band, _ in
        if band.tile == 2 { stop.raise() }
        return .more
      }
    }
    #expect(pool.workerCount == 0)
  }

  // MARK: Other codecs

  private static let missing = DecoderCodec(name: "missing", libraryPackage: "none")

  private func decode(
    _ action: String, of codec: DecoderCodec = .test, fallback: String, _ pool: DecoderPool, file: DecodedFile? = nil
  ) -> DecoderError? {
    let other = TestDecoders.request(action)
    let request = DecodeRequest(
      codec: codec, samples: other.samples, codedSize: other.codedSize, size: other.size, tiles: other.tiles,
      parameters: other.parameters, memoryLimitBytes: other.memoryLimitBytes, cpuSeconds: other.cpuSeconds)
    do throws(DecoderError) {
      try pool.decode(request, of: .bytes([0]), file: file, fallback: TestDecoders.request(fallback)) { _, _ in .more }
      return nil
    } catch {
      return error
    }
  }

  @Test("another codec decodes what the first one does not support, or where it is missing")
  func fallback() {
    let pool = TestDecoders.pool([.test, Self.missing])
    let file = DecodedFile(identity: FileIdentity(inode: 1, size: 1, modified: 1), epoch: 1)
    #expect(decode("unsupported", fallback: "rows", pool, file: file) == nil)
    let picture = DecodedPicture(TestDecoders.request("unsupported"), of: file)
    #expect(pool.failures.count(.test, .unsupported) == 0 && pool.failures.failure(of: picture) == nil)
    #expect(decode("rows", of: Self.missing, fallback: "rows", pool) == nil)
    #expect(decode("rows", of: Self.missing, fallback: "malformed", pool) == .failed(.test, .malformed))
  }

  @Test("a picture that made one codec fail is not given to another one", arguments: ["crash", "malformed"])
  func noFallback(_ action: String) {
    let pool = TestDecoders.pool()
    #expect(decode(action, fallback: "rows", pool) != nil)
  }

  @Test("the CPU time and the memory of workers are counted by codec")
  func usage() throws {
    let pool = TestDecoders.pool()
    #expect(pool.usage(of: .test).peakBytes == 0)
    #expect(pool.error(TestDecoders.request("loop", cpuSeconds: 1)) == .failed(.test, .time))
    let usage = pool.usage(of: .test)
    // The kernel's limit counts whole ticks, also of a core that is shared.
    #expect(usage.cpuTime > .milliseconds(50) && usage.cpuTime < .seconds(3))
    #expect(usage.peakBytes > 100_000 && usage.peakBytes < 64 << 20)
  }
}
