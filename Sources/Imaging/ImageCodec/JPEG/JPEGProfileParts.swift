import PhotoModel

/// The ICC profile of a JPEG, in APP2 segments of at most 65,519 bytes each (ICC.1 annex B.4).
package struct JPEGProfileParts {
  private static let signature: [UInt8] = Array("ICC_PROFILE".utf8) + [0]

  private var parts: [Int: ByteRange] = [:]
  private var count: Int?
  private var isInconsistent = false

  /// Adds an APP2 segment's content, if it is part of a profile.
  mutating func take(at content: Int64, length: Int, _ reader: inout HeaderReader) throws(CodecError) {
    // The signature, the number of this part starting at 1, the number of parts.
    let head = try reader.bytes(at: content, count: min(14, length))
    guard head.count == 14, head.starts(with: Self.signature) else { return }
    let total = head.bigEndian(at: 13, bytes: 1)
    let part = ByteRange(offset: content + 14, length: length - 14)
    if parts.updateValue(part, forKey: head.bigEndian(at: 12, bytes: 1)) != nil || (count ?? total) != total {
      isInconsistent = true
    }
    count = total
  }

  /// The profile that consists of the parts.
  var embeddedProfile: EmbeddedProfile? {
    guard let count else { return nil }
    if isInconsistent { return .damaged("the parts of the ICC profile contradict each other") }
    let ordered = (1...max(1, count)).compactMap { parts[$0] }
    guard ordered.count == count, parts.count == count else {
      return .damaged("of the \(count) parts of the ICC profile there are \(ordered.count)")
    }
    return .parts(ordered)
  }

  /// Inserts a profile into a JPEG, after a JFIF segment if it starts with one; the picture's bytes do not change.
  package static func insert(_ profile: [UInt8], into jpeg: [UInt8]) -> [UInt8] {
    var start = 2
    if jpeg.count >= 6, jpeg[2] == 0xFF, jpeg[3] == 0xE0 { start += 2 + Int(jpeg[4]) << 8 + Int(jpeg[5]) }
    guard start <= jpeg.count else { return jpeg }
    let capacity = 65_535 - 2 - 14
    let count = (profile.count + capacity - 1) / capacity
    var segments: [UInt8] = []
    for i in 0..<count {
      let part = profile[i * capacity..<min((i + 1) * capacity, profile.count)]
      let length = part.count + 16
      segments +=
        [0xFF, 0xE2, UInt8(length >> 8), UInt8(length & 255)] + signature + [UInt8(i + 1), UInt8(count)] + part
    }
    return jpeg[..<start] + segments + jpeg[start...]
  }
}
