/// Removes the locations in IPTC-IIM datasets (IIM 4.2 §1.6): their content becomes spaces, their headers stay. Bytes
/// after the last dataset that is understood become zeros if they may hold a dataset.
enum IPTCLocations {
  private static let marker: UInt8 = 0x1C

  static func patches(_ datasets: ArraySlice<UInt8>) -> [BlockPatch] {
    let old = Array(datasets)
    // Some TIFF writers store the datasets as numbers of four bytes in the wrong byte order.
    if old.count >= 4, old.count % 4 == 0, old[0] != marker, old[3] == marker {
      return BlockPatch.differences(from: datasets, to: swapped(withoutLocations(swapped(old))))
    }
    return BlockPatch.differences(from: datasets, to: withoutLocations(old))
  }

  private static func withoutLocations(_ old: [UInt8]) -> [UInt8] {
    var bytes = old
    var position = 0
    while let dataset = next(old, at: position) {
      let isCoordinate = LocationFilter.isLocation(
        text: MetadataText.trimmed(String(decoding: old[dataset.content].prefix(64), as: UTF8.self)))
      if isCoordinate || LocationFilter.isLocation(dataset: dataset.number, of: dataset.record) {
        for i in dataset.content { bytes[i] = UInt8(ascii: " ") }
      }
      position = dataset.content.upperBound
    }
    // Padding, or datasets that another reader may understand.
    if old[position...].contains(marker) { for i in position..<bytes.count { bytes[i] = 0 } }
    return bytes
  }

  private static func next(_ bytes: [UInt8], at start: Int) -> (record: Int, number: Int, content: Range<Int>)? {
    guard start + 5 <= bytes.count, bytes[start] == marker else { return nil }
    var length = Int(bytes[start + 3]) << 8 | Int(bytes[start + 4])
    var content = start + 5
    if length >= 0x8000 {
      let digits = length & 0x7FFF
      guard digits <= 4, content + digits <= bytes.count else { return nil }
      length = bytes[content..<content + digits].reduce(0) { $0 << 8 | Int($1) }
      content += digits
    }
    guard length <= bytes.count - content else { return nil }
    return (Int(bytes[start + 1]), Int(bytes[start + 2]), content..<content + length)
  }

  private static func swapped(_ bytes: [UInt8]) -> [UInt8] {
    bytes.indices.map { bytes[$0 ^ 3] }
  }
}
