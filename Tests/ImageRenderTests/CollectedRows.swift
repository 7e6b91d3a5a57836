import ImageCodec

/// Collects the rows of a decode.
final class CollectedRows: RowConsumer {
  let layout: RowLayout
  let limit: Int
  var rows: [Int: [UInt8]] = [:]
  var order: [Int] = []
  private let row: UnsafeMutableRawPointer

  init(_ layout: RowLayout, limit: Int = .max) {
    self.layout = layout
    self.limit = limit
    row = .allocate(byteCount: layout.rowBytes, alignment: 16)
  }

  deinit { row.deallocate() }

  func space(forRow y: Int) -> UnsafeMutableRawPointer { row }

  func rowArrived(_ y: Int) -> Bool {
    rows[y] = Array(UnsafeRawBufferPointer(start: row, count: layout.rowBytes))
    order.append(y)
    return order.count < limit
  }
}
