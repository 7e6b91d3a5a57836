// Two stages of a render on two threads:
//
//     caller: rows -> block -> | -> block -> encoder : thread of the stage
//                              |
//            a ring of a few blocks; each belongs to one thread at a time

import Dispatch
import ImageCodec
import MediaMetadata
import Synchronization

/// Starts work that runs beside the caller, on a thread of its own, until it returns.
package typealias StageStarter = @Sendable (_ work: @escaping @Sendable () -> Void) -> Void

/// Passes rows to an encoder on another thread, so that the work before and after it uses two cores. One picture is
/// ready sooner, for slightly more CPU: use it where a client waits for a single picture, as for a preview.
final class StagedEncoder: RowEncoder {
  private static let rowsPerBlock = 16
  private static let blockCount = 4

  private let ring: Ring
  private let rowBytes: Int
  /// The block that is filled, counted from the first one, and its rows so far.
  private var number = 0
  private var rows = 0
  private var isOver = false

  /// - Parameters:
  ///   - encoder: used on the stage's thread only, until ``finish()`` has returned.
  ///   - rowBytes: length of a row.
  init(_ encoder: any RowEncoder, rowBytes: Int, start: StageStarter) {
    self.rowBytes = rowBytes
    let ring = Ring(encoder, rowBytes: rowBytes)
    self.ring = ring
    start { ring.run() }
  }

  /// Waits for the stage, whose memory is part of the render's.
  deinit {
    if !isOver { end(Ring.abandoned) }
  }

  /// Memory of a stage, without its encoder.
  static func byteCount(rowBytes: Int) -> Int { (rowsPerBlock * rowBytes + 64) * blockCount }

  var warnings: CodecWarnings? { isOver ? ring.encoder.warnings : nil }

  func write(_ rows: UnsafeRawPointer, strideBytes: Int, count: Int) throws(CodecError) {
    for i in 0..<count {
      if self.rows == 0 { ring.free.wait() }
      let place = UnsafeMutableRawPointer(ring.block(number)) + self.rows * rowBytes
      place.copyMemory(from: rows + i * strideBytes, byteCount: rowBytes)
      self.rows += 1
      if self.rows == Self.rowsPerBlock {
        pass()
        if let failure = ring.failure.withLock({ $0 }) { throw failure }
      }
    }
  }

  func finish() throws(CodecError) -> [UInt8] {
    if rows > 0 { pass() }
    end(Ring.finished)
    return try ring.result.get()
  }

  private func pass() {
    ring.counts.pointer[number % Self.blockCount] = rows
    rows = 0
    number += 1
    ring.filled.signal()
  }

  private func end(_ mark: Int) {
    // The block that was begun is not passed on.
    if rows == 0 { ring.free.wait() }
    rows = mark
    pass()
    ring.ended.wait()
    isOver = true
  }

  /// The state that both threads use.
  ///
  /// `@unchecked Sendable`, because `free` and `filled` hand over each block with its count, and `ended` hands over the
  /// encoder and the result.
  private final class Ring: @unchecked Sendable {
    /// Counts of rows that end the stage.
    static let (finished, abandoned) = (0, -1)

    let encoder: any RowEncoder
    let free = DispatchSemaphore(value: 0)
    let filled = DispatchSemaphore(value: 0)
    let ended = DispatchSemaphore(value: 0)
    /// Rows of each block.
    let counts = RowBuffer<Int>(count: StagedEncoder.blockCount, zero: 0)
    let failure = Mutex<CodecError?>(nil)
    /// Written before `ended`.
    private(set) var result: Result<[UInt8], CodecError> = .failure(.stopped)
    private let rowBytes: Int
    private let blocks: [RowBuffer<UInt8>]

    init(_ encoder: any RowEncoder, rowBytes: Int) {
      self.encoder = encoder
      self.rowBytes = rowBytes
      blocks = (0..<StagedEncoder.blockCount).map { _ in
        RowBuffer(count: StagedEncoder.rowsPerBlock * rowBytes, zero: 0)
      }
      // A semaphore may not end with a lower value than it began with.
      for _ in blocks { free.signal() }
    }

    func block(_ number: Int) -> UnsafeMutablePointer<UInt8> { blocks[number % blocks.count].pointer }

    /// The stage: encodes blocks until the last one, in the order in which they were filled.
    func run() {
      var number = 0
      while true {
        filled.wait()
        let count = counts.pointer[number % blocks.count]
        if count <= 0 {
          if count == Self.finished { finish() }
          ended.signal()
          return
        }
        encode(block(number), count)
        number += 1
        free.signal()
      }
    }

    private func encode(_ rows: UnsafeMutablePointer<UInt8>, _ count: Int) {
      guard failure.withLock({ $0 == nil }) else { return }
      do throws(CodecError) {
        try encoder.write(rows, strideBytes: rowBytes, count: count)
      } catch {
        failure.withLock { $0 = error }
      }
    }

    private func finish() {
      result = Result { () throws(CodecError) in
        if let failure = failure.withLock({ $0 }) { throw failure }
        return try encoder.finish()
      }
    }
  }
}
