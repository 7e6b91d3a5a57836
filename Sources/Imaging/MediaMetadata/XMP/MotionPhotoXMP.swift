// Reads where an XMP packet says that the video of a motion photo and the gain map are: Google's Container:Directory
// (Motion Photo format 1.0, Ultra HDR Image Format 1.1), or the older GCamera:MicroVideoOffset.

/// The positions of further parts of a photo's file according to its XMP packet.
package struct MotionPhotoXMP: Sendable, Hashable {
  /// A stated position, counted from the end of the file.
  package struct Position: Sendable, Hashable {
    /// Bytes from the first byte of the video to the end of the file.
    package let distance: Int
    /// Bytes of the video, at most `distance`.
    package let length: Int

    package init(distance: Int, length: Int) {
      self.distance = distance
      self.length = length
    }
  }

  /// The video of a motion photo, most likely position first.
  package let positions: [Position]
  /// The JPEG with the gain map.
  package let gainMap: Position?

  /// - Parameter packet: as stored in the file; a damaged packet is read as far as possible.
  package init(_ packet: ArraySlice<UInt8>) {
    let reader = MotionPhotoReader()
    _ = XMLReader.read(packet.prefix(XMPPacket.maximumBytes), isWhole: false, reader)
    positions = reader.positions
    gainMap = reader.position(Self.gainMapSemantic)
  }

  private static let gainMapSemantic = "GainMap"

  /// Whether a packet may say where a gain map is. No program writes the word with character references.
  package static func mayNameGainMap(_ packet: [UInt8]) -> Bool {
    XMPPacket.contains(Array(gainMapSemantic.utf8), in: packet[...])
  }
}

private final class MotionPhotoReader: XMLHandler {
  /// An entry of the directory. The items follow each other up to the end of the file.
  private struct Item {
    var semantic = ""
    var length = 0
    var padding = 0
  }

  private enum Property { case semantic, length, padding, offset }

  private static let maximumItems = 100
  private static let textBytes = 64
  private static let google = Array("http://ns.google.com/photos/1.0/".utf8)

  private var items: [Item] = []
  private var offset: Int?
  private var gathered: Property?
  private var text: [UInt8] = []

  var positions: [MotionPhotoXMP.Position] {
    var found: [MotionPhotoXMP.Position] = []
    if let video = position("MotionPhoto") { found.append(video) }
    if let offset, offset > 0 { found.append(MotionPhotoXMP.Position(distance: offset, length: offset)) }
    return found
  }

  /// The position of the last item of a kind.
  func position(_ semantic: String) -> MotionPhotoXMP.Position? {
    guard let index = items.lastIndex(where: { $0.semantic == semantic }), items[index].length > 0 else { return nil }
    // Saturating, because the numbers come from the file.
    let distance = items[index...].reduce(0) { sum, item in
      let (both, isOver) = item.length.addingReportingOverflow(item.padding)
      return isOver || sum > Int.max - both ? Int.max : sum + both
    }
    return MotionPhotoXMP.Position(distance: distance, length: items[index].length)
  }

  func begin(_ name: XMLName, _ attributes: XMLAttributes) -> Bool {
    let isGoogle = name.namespace.starts(with: Self.google)
    if isGoogle, XMLName.equal(name.local, "Item") {
      guard items.count < Self.maximumItems else { return false }
      items.append(Item())
    }
    gathered = property(name)
    text = []
    return attributes.forEach { name, value in
      if let property = property(name) { note(property, String(decoding: value.prefix(Self.textBytes), as: UTF8.self)) }
      return true
    }
  }

  func text(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
    if gathered != nil, text.count < Self.textBytes { text += bytes.prefix(Self.textBytes - text.count) }
    return true
  }

  func end() -> Bool {
    if let gathered { note(gathered, String(decoding: text, as: UTF8.self)) }
    gathered = nil
    return true
  }

  private func property(_ name: XMLName) -> Property? {
    guard name.namespace.starts(with: Self.google) else { return nil }
    switch String(decoding: name.local, as: UTF8.self) {
    case "Semantic": return .semantic
    case "Length": return .length
    case "Padding": return .padding
    case "MicroVideoOffset": return .offset
    default: return nil
    }
  }

  private func note(_ property: Property, _ value: String) {
    let value = MetadataText.trimmed(value)
    if property == .offset {
      if let number = Int(value), number > 0 { offset = number }
      return
    }
    guard !items.isEmpty else { return }
    let last = items.count - 1
    switch property {
    case .semantic: items[last].semantic = value
    case .length: items[last].length = max(0, Int(value) ?? 0)
    case .padding: items[last].padding = max(0, Int(value) ?? 0)
    case .offset: break
    }
  }
}
