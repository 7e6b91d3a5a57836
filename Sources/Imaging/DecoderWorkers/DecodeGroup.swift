// One picture decoded by several workers: each of n workers gets every nth tile, and the rows are received in the order
// of the picture's tiles. A worker is at most two bands ahead, because it has two slots.

/// The sessions of one decode. Used by one thread.
struct DecodeGroup {
  private let sessions: [DecodeSession]
  private let request: DecodeRequest
  private var outcomes: [WorkerOutcome?]

  /// - Parameter sessions: those of `request.parts(sessions.count)`, in that order.
  init(_ sessions: [DecodeSession], of request: DecodeRequest) {
    self.sessions = sessions
    self.request = request
    outcomes = Array(repeating: nil, count: sessions.count)
  }

  /// Receives everything. Returns when all workers have ended.
  mutating func run(_ rows: (RowBand, RawSpan) -> RowDemand) -> [WorkerChannel.Result] {
    receive(rows)
    // Workers without an outcome have rows that are no longer wanted: they are killed too.
    let outcomes = outcomes.map { $0 ?? .complete }
    for (session, outcome) in zip(sessions, outcomes) { session.channel.kill(after: outcome) }
    return zip(sessions, outcomes).map { $0.channel.finish($1) }
  }

  private mutating func receive(_ rows: (RowBand, RawSpan) -> RowDemand) {
    guard sessions.count > 1 else { return outcomes[0] = sessions[0].receive(rows) }
    for tile in request.tiles.indices {
      let (worker, index) = (tile % sessions.count, tile / sessions.count)
      let outcome = sessions[worker].receive(tiles: index + 1) { band, bytes in
        rows(RowBand(tile: tile, firstRow: band.firstRow, rowCount: band.rowCount, layout: band.layout), bytes)
      }
      if let outcome { return outcomes[worker] = outcome }
    }
    // All rows are there; each worker must still report that it is done.
    for (worker, session) in sessions.enumerated() {
      outcomes[worker] = session.receive { _, _ in .enough }
    }
  }
}

extension DecodeRequest {
  /// The request for each of several workers: every nth tile. Each part has the memory and time limits of the whole.
  func parts(_ count: Int) -> [DecodeRequest] {
    guard count > 1 else { return [self] }
    return (0..<count).map { first in
      var part = self
      part.tiles = stride(from: first, to: tiles.count, by: count).map { tiles[$0] }
      return part
    }
  }
}
