/// A ring buffer with the last rows of a picture: row y is in slot y mod capacity. The ring owns the bytes.
final class RowRing {
  private let memory: UnsafeMutableRawPointer
  private let strideBytes: Int
  private let capacity: Int

  /// - Parameter slackBytes: bytes after a row's last byte that may be read. Memory is initialised with zeros.
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

/// A row buffer, freed together with this object.
final class RowBuffer<Element: BitwiseCopyable> {
  let pointer: UnsafeMutablePointer<Element>

  init(count: Int, zero: Element) {
    pointer = .allocate(capacity: count)
    pointer.initialize(repeating: zero, count: count)
  }

  deinit { pointer.deallocate() }
}
