import ImageCodec

/// Resamples the planes of a YCbCr picture, each on its own, to the sizes that the output stores them in.
final class PlaneResampler: PlaneConsumer {
  private let layouts: [PlaneLayout]
  private let scalers: [IntegerScaler]
  private let writer: PlaneWriter
  private(set) var resizeTime = Duration.zero

  init(layouts: [PlaneLayout], axes: [PlaneAxes], writer: PlaneWriter) {
    self.layouts = layouts
    self.writer = writer
    scalers = zip(layouts, axes).map { layout, axes in
      IntegerScaler(
        width: layout.size.width, channels: 1, rowBytes: layout.rowBytes, rowsAtOnce: layout.rowsPerGroup,
        horizontal: axes.horizontal, vertical: axes.vertical)
    }
  }

  func space(forRow y: Int, ofPlane plane: Int) -> UnsafeMutablePointer<UInt8> {
    scalers[plane].space(forRow: y).assumingMemoryBound(to: UInt8.self)
  }

  func groupArrived(_ group: Int) -> Bool {
    repeat {
      let started = ContinuousClock.now
      for (plane, scaler) in scalers.enumerated() {
        let last = min((group + 1) * layouts[plane].rowsPerGroup, layouts[plane].size.height) - 1
        while writer.hasRoom(inPlane: plane), scaler.canMakeRow(ofRowsUpTo: last) {
          scaler.makeRow(into: writer.rowSpace(ofPlane: plane))
          writer.rowArrived(inPlane: plane)
        }
      }
      resizeTime += ContinuousClock.now - started
    } while writer.writeGroup()
    return writer.failure == nil && !scalers.allSatisfy(\.isFinished)
  }
}
