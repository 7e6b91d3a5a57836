// One encode on the daemon's side: hands over rows, a slot at a time, and collects the coded bytes. Everything that the
// worker sends is checked against the request.

import CPhotodDecoder
import PhotoModel

/// Used by one thread, that of the encode.
struct EncodeSession {
  private let request: EncodeRequest
  private let layout: BandLayout
  private let slots: DecoderSlots
  /// Row y at `y * strideBytes`.
  private let rows: UnsafeRawBufferPointer
  private let strideBytes: Int
  private var nextRow: Int
  private var isSlotFree = Array(repeating: true, count: DecoderSlots.count)
  private var byteCount = 0
  /// The parts so far, in their order.
  private(set) var parts: [[UInt8]] = []

  /// - Parameter rows: all rows of the picture, without padding, if the request has rows; valid as long as this
  ///   session.
  init(_ request: EncodeRequest, _ layout: BandLayout, _ slots: DecoderSlots, rows: UnsafeRawBufferPointer) {
    self.request = request
    self.layout = layout
    self.slots = slots
    self.rows = rows
    strideBytes = rows.count / request.size.height
    nextRow = request.hasRows ? 0 : request.size.height
  }

  /// Sends all rows, and receives everything. Returns when the worker has ended.
  mutating func run(_ channel: WorkerChannel) -> WorkerChannel.Result {
    for slot in 0..<DecoderSlots.count { sendRows(slot, channel) }
    let outcome = channel.receive { message, bytes in received(message, bytes, channel) } ?? .complete
    channel.kill(after: outcome)
    return channel.finish(outcome)
  }

  private mutating func received(
    _ message: decoder_message, _ bytes: UnsafeRawBufferPointer, _ channel: WorkerChannel
  ) -> WorkerOutcome? {
    let codec = request.codec
    switch Int(message.kind) {
    case Int(ENCODER_RELEASED):
      let slot = Int(message.slot)
      guard bytes.isEmpty, slot < DecoderSlots.count, !isSlotFree[slot] else { break }
      isSlotFree[slot] = true
      sendRows(slot, channel)
      return nil
    case Int(ENCODER_BYTES):
      let part = Int(message.tile)
      guard hasSentAll || request.stripCount > 1, Int(message.row_count) == bytes.count,
        part < 2 * request.stripCount, part == parts.count || part == parts.count - 1
      else { break }
      byteCount += bytes.count
      // The worker keeps its output in memory too: a longer one would exceed its memory limit.
      guard byteCount <= request.maximumBytes else { return .failed(.failed(codec, .memory)) }
      if part == parts.count { parts.append([]) }
      parts[part] += bytes
      return nil
    case Int(DECODER_DONE) where bytes.isEmpty && hasSentAll && !parts.isEmpty: return .complete
    default: break
    }
    return .failed(.failed(codec, .protocolViolation))
  }

  /// Whether the worker has received all rows and released every slot.
  private var hasSentAll: Bool { nextRow == request.size.height && isSlotFree.allSatisfy(\.self) }

  private mutating func sendRows(_ slot: Int, _ channel: WorkerChannel) {
    let count = min(layout.bandRows, request.size.height - nextRow)
    guard count > 0 else { return }
    let bytes = UnsafeRawBufferPointer(rebasing: rows[nextRow * strideBytes..<(nextRow + count) * strideBytes])
    slots.write(bytes, to: slot, layout)
    isSlotFree[slot] = false
    channel.send(
      encoder_rows(slot: UInt32(slot), first_row: UInt32(nextRow), row_count: UInt32(count), reserved: 0))
    nextRow += count
  }
}
