// One decode on the daemon's side: receives rows and copies them. Everything that the worker sends is checked against
// the request.
//
//   [ message -> check -> copy rows -> release the slot -> consumer ] ... -> verdict

import CPhotodDecoder
import PhotoModel

/// What a consumer of rows wants next.
package enum RowDemand: Sendable, Hashable {
  case more
  /// The rest is not needed: the worker is ended, and the decode succeeds.
  case enough
}

/// The dialogue of a decode.
struct DecodeSession: WorkerDialogue {
  private let request: DecodeRequest
  private let layout: BandLayout
  private let slots: DecoderSlots
  private let rows: (RowBand, RawSpan) -> RowDemand
  /// The next band that must come.
  private var tile = 0
  private var row = 0
  private(set) var hasRows = false

  /// - Parameter request: valid.
  init(
    _ request: DecodeRequest, _ layout: BandLayout, _ slots: DecoderSlots,
    rows: @escaping (RowBand, RawSpan) -> RowDemand
  ) {
    self.request = request
    self.layout = layout
    self.slots = slots
    self.rows = rows
  }

  mutating func begin(_ channel: borrowing WorkerChannel) {}

  mutating func received(
    _ message: decoder_message, _ bytes: UnsafeRawBufferPointer, _ channel: borrowing WorkerChannel
  ) -> WorkerVerdict? {
    let isViolation = !bytes.isEmpty
    switch Int(message.kind) {
    case Int(DECODER_ROWS) where !isViolation: return rowsArrived(message, channel)
    case Int(DECODER_DONE) where !isViolation && tile == request.pictureCount: return .complete
    default: return .failed(.failed(request.codec, .protocolViolation))
    }
  }

  /// Accepts exactly the next band: the worker chooses only the slot.
  private mutating func rowsArrived(
    _ message: decoder_message, _ channel: borrowing WorkerChannel
  ) -> WorkerVerdict? {
    let slot = Int(message.slot)
    let expected = min(layout.bandRows, request.size.height - row)
    guard tile < request.pictureCount, slot < DecoderSlots.count, Int(message.tile) == tile,
      Int(message.first_row) == row, Int(message.row_count) == expected
    else { return .failed(.failed(request.codec, .protocolViolation)) }
    slots.copyBand(from: slot, rows: expected, layout)
    channel.send(decoder_release(slot: message.slot))
    hasRows = true
    let band = RowBand(tile: tile, firstRow: row, rowCount: expected, layout: layout)
    row += expected
    if row == request.size.height { (tile, row) = (tile + 1, 0) }
    return slots.withCopy { rows(band, $0) } == .enough ? .complete : nil
  }
}
