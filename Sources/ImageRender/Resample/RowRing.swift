/// The last rows of a picture, a fixed number of them: row y at slot y mod capacity. Bytes belong to the ring.
final class RowRing {
  private let memory: UnsafeMutableRawPointer
  private let strideBytes: Int
  private let capacity: Int

  /// - Parameter slackBytes: what may be read behind a row's last byte. Memory starts out as zeros.
  init(rowBytes: Int, capacity: Int, slackBytes: Int) {
    strideBytes = (rowBytes + slackBytes + 63) / 64 * 64
    self.capacity = capacity
    memory = UnsafeMutableRawPointer.allocate(byteCount: strideBytes * capacity, alignment: 64)
    memory.initializeMemory(as: UInt8.self, repeating: 0, count: strideBytes * capacity)
  }

  deinit { memory.deallocate() }

  func row(_ y: Int) -> UnsafeMutableRawPointer { memory + y % capacity * strideBytes }

  static func byteCount(rowBytes: Int, capacity: Int) -> Int { (rowBytes + 127) / 64 * 64 * capacity }
}

/// A row that belongs to whoever made it; freed with it.
final class RowBuffer<Element: BitwiseCopyable> {
  let pointer: UnsafeMutablePointer<Element>

  init(count: Int, zero: Element) {
    pointer = .allocate(capacity: count)
    pointer.initialize(repeating: zero, count: count)
  }

  deinit { pointer.deallocate() }
}
