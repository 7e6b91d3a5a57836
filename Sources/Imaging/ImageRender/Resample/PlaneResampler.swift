import ImageCodec

/// Resamples each plane of a YCbCr picture to the size in which the output stores it.
final class PlaneResampler: PlaneConsumer {
  private let layouts: [PlaneLayout]
  private let scalers: [PlaneScaler]
  private let writer: PlaneWriter
  private(set) var resizeTime = Duration.zero

  init(layouts: [PlaneLayout], axes: [PlaneAxes], writer: PlaneWriter) {
    self.layouts = layouts
    self.writer = writer
    scalers = zip(layouts, axes).map { PlaneScaler(layout: $0, axes: $1) }
  }

  func space(forRow y: Int, ofPlane plane: Int) -> UnsafeMutablePointer<UInt8> { scalers[plane].space(forRow: y) }

  func groupArrived(_ group: Int) -> Bool {
    repeat {
      let started = ContinuousClock.now
      for (plane, scaler) in scalers.enumerated() {
        let last = min((group + 1) * layouts[plane].rowsPerGroup, layouts[plane].size.height) - 1
        while writer.hasRoom(forRows: PlaneScaler.bandRows, inPlane: plane) {
          let count = scaler.fillBand(ofRowsUpTo: last)
          if count == 0 { break }
          writer.withRowSpace(forRows: count, ofPlane: plane, scaler.fetchBand)
        }
      }
      resizeTime += ContinuousClock.now - started
    } while writer.writeGroup()
    return writer.failure == nil && !scalers.allSatisfy(\.isFinished)
  }
}
