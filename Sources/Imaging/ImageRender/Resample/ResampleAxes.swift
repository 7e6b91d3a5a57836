import Primitives
import Synchronization

/// The axes that plans share: the most recently used, within a limit of bytes.
///
/// A library has pictures of few sizes and clients request few sizes, and the weights of a picture's axes take a
/// twentieth of a small render.
package final class ResampleAxes: Sendable {
  /// The parameters of ``ResampleAxis``.
  private struct Key: Hashable, Sendable {
    let inputLength: Int
    let bounds: Range<Int>?
    let position: Double
    let length: Double
    let outputLength: Int
  }

  private let axes: Mutex<LRUCache<Key, ResampleAxis>>

  /// - Parameter capacityBytes: maximum bytes of kept axes; 0 keeps none.
  package init(capacityBytes: Int) {
    axes = Mutex(LRUCache(capacityBytes: capacityBytes))
  }

  /// Bytes of kept axes now.
  package var bytesInUse: Int { axes.withLock { $0.bytes } }

  /// An axis that gives no weight to what is outside of a part: see
  /// ``ResampleAxis/samples(in:inputLength:position:length:outputLength:)``.
  func axis(
    inputLength: Int, within part: ClosedRange<Double>, position: Double, length: Double, outputLength: Int
  ) -> ResampleAxis {
    let bounds = ResampleAxis.samples(
      in: part, inputLength: inputLength, position: position, length: length, outputLength: outputLength)
    return axis(
      inputLength: inputLength, bounds: bounds == 0..<inputLength ? nil : bounds, position: position, length: length,
      outputLength: outputLength)
  }

  /// The same as the initializer of ``ResampleAxis`` with these parameters.
  func axis(
    inputLength: Int, bounds: Range<Int>? = nil, position: Double, length: Double, outputLength: Int
  ) -> ResampleAxis {
    let key = Key(
      inputLength: inputLength, bounds: bounds, position: position, length: length, outputLength: outputLength)
    if let known = axes.withLock({ $0.value(for: key) }) { return known }
    // Outside the lock: two plans may compute the same axis; the later one is kept.
    let axis = ResampleAxis(
      inputLength: inputLength, bounds: bounds, position: position, length: length, outputLength: outputLength)
    _ = axes.withLock { $0.keep(axis, for: key, bytes: axis.byteCount) }
    return axis
  }
}
