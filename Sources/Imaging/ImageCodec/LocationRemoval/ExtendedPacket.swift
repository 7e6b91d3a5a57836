import MediaMetadata
import PhotoModel

/// Edits of XMP packets in memory.
enum XMPEdit {
  /// The packet without the facts, as long as it was.
  static func edited(
    _ packet: ArraySlice<UInt8>, removing facts: PrivateFacts
  ) throws(LocationRemovalError) -> [UInt8] {
    var bytes = Array(packet)
    for patch in try LocationBlocks.xmp(packet, removing: facts) {
      bytes.replaceSubrange(patch.offset..<patch.offset + patch.bytes.count, with: patch.bytes)
    }
    return bytes
  }

  /// Replaces every occurrence of a text by another one of the same length.
  static func replace(_ old: [UInt8], by new: [UInt8], in bytes: inout [UInt8]) {
    precondition(old.count == new.count && !old.isEmpty, "a replacement of another length")
    var position = 0
    while let start = bytes[position...].firstIndex(of: old[0]) {
      if bytes[start...].starts(with: old) {
        bytes.replaceSubrange(start..<start + old.count, with: new)
        position = start + old.count
      } else {
        position = start + 1
      }
    }
  }
}

/// The parts of an extended XMP packet with one digest (XMP specification part 3 §1.1.3.1).
struct ExtendedPacket {
  private struct Part {
    /// The position of the digest in the file; the length, the offset and the content follow it.
    let start: Int64
    let offset: Int
    let content: ArraySlice<UInt8>
  }

  private static let headerBytes = 40
  static let digestBytes = 32

  /// The digest as the file has it.
  let digits: [UInt8]
  private var parts: [Part] = []
  private var length = 0
  /// The whole packet; empty if parts are missing or contradict each other.
  private(set) var bytes: [UInt8] = []
  /// Without a whole packet, the parts become spaces.
  private(set) var isComplete = false

  private init(digits: [UInt8]) { self.digits = digits }

  /// - Parameter segments: each from its digest, with its position in the file.
  static func groups(_ segments: [(part: ArraySlice<UInt8>, start: Int64)]) -> [ExtendedPacket] {
    var groups: [[UInt8]: ExtendedPacket] = [:]
    for (part, start) in segments where part.count > headerBytes {
      let digits = Array(part.prefix(digestBytes))
      groups[digits, default: ExtendedPacket(digits: digits)].length = part.bigEndian(at: 32, bytes: 4)
      groups[digits, default: ExtendedPacket(digits: digits)].parts.append(
        Part(start: start, offset: part.bigEndian(at: 36, bytes: 4), content: part.dropFirst(headerBytes)))
    }
    return groups.values.map { group in
      var group = group
      group.join()
      return group
    }
  }

  private mutating func join() {
    parts.sort { ($0.offset, $0.start) < ($1.offset, $1.start) }
    for part in parts {
      // A part may be in the file twice.
      if part.offset < bytes.count, bytes[part.offset...].starts(with: part.content) { continue }
      guard part.offset == bytes.count else {
        bytes = []
        return
      }
      bytes += part.content
    }
    isComplete = bytes.count == length
    if !isComplete { bytes = [] }
  }

  /// The packet without the facts; empty like `bytes` if there is no whole packet.
  func edited(removing facts: PrivateFacts) throws(LocationRemovalError) -> [UInt8] {
    isComplete ? try XMPEdit.edited(bytes[...], removing: facts) : []
  }

  /// Writes the packet and its digest into all parts; parts without a whole packet become spaces.
  func replace(_ new: [UInt8], _ context: inout LocationRemovalContext) throws(LocationRemovalError) {
    let digest = MD5.digits(new)
    for part in parts {
      let content =
        isComplete
        ? Array(new[part.offset..<part.offset + part.content.count])
        : [UInt8](repeating: UInt8(ascii: " "), count: part.content.count)
      if isComplete { try context.replace(BlockPatch.differences(from: digits[...], to: digest), in: part.start) }
      try context.replace(
        BlockPatch.differences(from: part.content, to: content), in: part.start + Int64(Self.headerBytes))
    }
  }
}
