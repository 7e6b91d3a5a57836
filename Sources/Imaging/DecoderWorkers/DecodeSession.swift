// One decode on the daemon's side: receives rows and copies them. Everything that the worker sends is checked against
// the request.
//
//   [ message -> check -> copy rows -> release the slot -> consumer ] ... -> outcome
//
// A picture that several workers decode has one session for each of them (DecodeGroup).

import CPhotodDecoder
import PhotoModel

/// Whether a consumer of rows wants more rows.
package enum RowDemand: Sendable, Hashable {
  case more
  /// No further row is needed: the worker is ended, and the decode succeeds.
  case enough
}

/// Used by one thread, that of the decode.
final class DecodeSession {
  let channel: WorkerChannel
  private let layout: BandLayout
  private let slots: DecoderSlots
  /// The next band that must come.
  private var tile = 0
  private var row = 0

  init(_ channel: WorkerChannel, _ layout: BandLayout, _ slots: DecoderSlots) {
    self.layout = layout
    self.slots = slots
    self.channel = channel
  }

  private var request: DecodeRequest { channel.request }

  /// Receives everything.
  func receive(_ rows: (RowBand, RawSpan) -> RowDemand) -> WorkerOutcome {
    receive(tiles: .max, rows) ?? .complete
  }

  /// Receives the first `tiles` tiles of the request, if it has that many, and then returns `nil`. Returns the outcome
  /// if the decode ends before that.
  func receive(tiles: Int, _ rows: (RowBand, RawSpan) -> RowDemand) -> WorkerOutcome? {
    channel.receive(while: { tile < tiles }) { message, bytes in
      let isViolation = !bytes.isEmpty
      switch Int(message.kind) {
      case Int(DECODER_ROWS) where !isViolation: return rowsArrived(message, rows)
      case Int(DECODER_DONE) where !isViolation && tile == request.pictureCount: return .complete
      default: return .failed(.failed(request.codec, .protocolViolation))
      }
    }
  }

  /// Accepts exactly the next band: the worker chooses only the slot.
  private func rowsArrived(_ message: decoder_message, _ rows: (RowBand, RawSpan) -> RowDemand) -> WorkerOutcome? {
    let slot = Int(message.slot)
    let expected = min(layout.bandRows, request.size.height - row)
    guard tile < request.pictureCount, slot < DecoderSlots.count, Int(message.tile) == tile,
      Int(message.first_row) == row, Int(message.row_count) == expected
    else { return .failed(.failed(request.codec, .protocolViolation)) }
    slots.copyBand(from: slot, rows: expected, layout)
    channel.send(decoder_release(slot: message.slot))
    let band = RowBand(tile: tile, firstRow: row, rowCount: expected, layout: layout)
    row += expected
    if row == request.size.height { (tile, row) = (tile + 1, 0) }
    return slots.withCopy { rows(band, $0) } == .enough ? .complete : nil
  }
}
