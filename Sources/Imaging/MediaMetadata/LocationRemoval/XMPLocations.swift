// Finds the locations in an XMP packet as ranges of its bytes. Expat reads the packet and reports where each tag begins
// and ends; the attributes of a tag are then found in the tag's own bytes, which Expat has found to be well-formed.

/// Removes locations, and names if asked, from an XMP packet: their attributes and elements become spaces, so the
/// packet stays well-formed and as long as it was. A packet that can't be read (malformed, or with a document type)
/// becomes spaces as a whole.
enum XMPLocations {
  static func patches(_ packet: ArraySlice<UInt8>, removing facts: PrivateFacts) -> [BlockPatch] {
    BlockPatch.differences(from: packet, to: edited(packet, removing: facts))
  }

  /// The packet without the facts, as long as it was.
  private static func edited(_ packet: ArraySlice<UInt8>, removing facts: PrivateFacts) -> [UInt8] {
    let encoding = Encoding(packet)
    let finder = XMPLocationFinder(packet, encoding, facts)
    let outcome = XMLReader.read(packet, finder)
    var edited = Array(packet)
    guard finder.isEditable, isComplete(outcome, finder) else {
      // White space and zeros hold nothing.
      if !packet.allSatisfy({ $0 <= space }) { fill(&edited, 0..<packet.count, encoding) }
      return edited
    }
    for range in finder.privateRanges { fill(&edited, range, encoding) }
    // Padding may follow the root element, and `<?xpacket end="w"?>`; anything else is not a part of the packet.
    if outcome != .complete, hasElement(packet.dropFirst(finder.rootEnd)) {
      fill(&edited, finder.rootEnd..<packet.count, encoding)
    }
    return edited
  }

  /// The bytes of a character of markup. Expat reads UTF-8, ISO 8859-1 and ASCII, in which it is a byte, and UTF-16.
  enum Encoding {
    case bytes, utf16BigEndian, utf16LittleEndian

    init(_ packet: ArraySlice<UInt8>) {
      switch Array(packet.prefix(2)) {
      case [0xFE, 0xFF], [0, UInt8(ascii: "<")]: self = .utf16BigEndian
      case [0xFF, 0xFE], [UInt8(ascii: "<"), 0]: self = .utf16LittleEndian
      default: self = .bytes
      }
    }

    var unit: Int { self == .bytes ? 1 : 2 }

    /// Text as a byte for each unit, those that are not ASCII as 0x80.
    func ascii(_ text: ArraySlice<UInt8>) -> [UInt8] {
      guard self != .bytes else { return Array(text) }
      let bytes = Array(text)
      let (high, low) = self == .utf16BigEndian ? (0, 1) : (1, 0)
      return (0..<bytes.count / 2).map { bytes[$0 * 2 + high] == 0 ? bytes[$0 * 2 + low] : 0x80 }
    }
  }

  private static let space = UInt8(ascii: " ")

  private static func fill(_ bytes: inout [UInt8], _ range: Range<Int>, _ encoding: Encoding) {
    for i in range {
      switch encoding {
      case .bytes: bytes[i] = space
      case .utf16BigEndian: bytes[i] = (i - range.lowerBound) % 2 == 0 ? 0 : space
      case .utf16LittleEndian: bytes[i] = (i - range.lowerBound) % 2 == 0 ? space : 0
      }
    }
  }

  /// Whether the root element was read. It may be followed by padding other than white space.
  private static func isComplete(_ outcome: XMLReader.Outcome, _ finder: XMPLocationFinder) -> Bool {
    switch outcome {
    case .complete: true
    case .malformed: finder.rootEnd > 0
    case .stopped, .documentType: false
    }
  }

  private static func hasElement(_ rest: ArraySlice<UInt8>) -> Bool {
    zip(rest, rest.dropFirst()).contains { $0 == UInt8(ascii: "<") && $1 != UInt8(ascii: "?") }
  }
}

/// Records the ranges of facts to remove while Expat reads.
private final class XMPLocationFinder: XMLHandler {
  private struct Element {
    let start: Int
    /// The element is a fact to remove, or a part of one.
    var isPrivate: Bool
    /// The beginning of its text, as far as it decides whether it is a coordinate.
    var text: [UInt8] = []
  }

  /// Ranges of elements and attributes to remove; they may overlap.
  private(set) var privateRanges: [Range<Int>] = []
  /// The end of the root element; 0 if it was not reached.
  private(set) var rootEnd = 0
  /// False if a tag was not understood, or the packet exceeds a limit.
  private(set) var isEditable = true

  private let packet: ArraySlice<UInt8>
  private let encoding: XMPLocations.Encoding
  private let facts: PrivateFacts
  private var namespaces = XMPNamespaces()
  private var stack: [Element] = []
  private var tag = 0..<0
  private var nodes = 0

  /// A text is kept up to this length; `geo:` and white space come before.
  private static let textBytes = 64

  init(_ packet: ArraySlice<UInt8>, _ encoding: XMPLocations.Encoding, _ facts: PrivateFacts) {
    self.facts = facts
    self.packet = packet
    self.encoding = encoding
  }

  func position(_ tag: Range<Int>) { self.tag = tag }

  func begin(_ name: XMLName, _ attributes: XMLAttributes) -> Bool {
    let isPrivate = stack.last?.isPrivate == true || facts.contain(xmp: namespaces.key(name))
    nodes += 1
    // A document without its root element would not be well-formed.
    guard !(isPrivate && stack.isEmpty), stack.count < MetadataLimits.packetDepth, nodes <= MetadataLimits.packetNodes
    else { return refuse() }
    stack.append(Element(start: tag.lowerBound, isPrivate: isPrivate))
    guard !isPrivate else { return true }
    var wanted: [Bool] = []
    var isReference = false
    _ = attributes.forEach { name, value in
      let isCoordinate = facts.contains(.locations) && Self.isCoordinate(value)
      wanted.append(facts.contain(xmp: namespaces.key(name)) || isCoordinate)
      isReference = isReference || isCoordinate && name.is(XMPNamespaces.rdf, "resource")
      return true
    }
    nodes += wanted.count
    // An element whose value is an attribute is removed as a whole.
    if isReference, stack.count > 1 {
      stack[stack.count - 1].isPrivate = true
      return true
    }
    guard wanted.contains(true) else { return true }
    guard let ranges = XMLTag.attributes(encoding.ascii(packet.dropFirst(tag.lowerBound).prefix(tag.count))),
      ranges.count == wanted.count
    else { return refuse() }
    for (range, isPrivate) in zip(ranges, wanted) where isPrivate {
      let start = tag.lowerBound + range.lowerBound * encoding.unit
      privateRanges.append(start..<start + range.count * encoding.unit)
    }
    return true
  }

  func text(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
    guard let last = stack.indices.last else { return true }
    let start = stack[last].text.isEmpty ? bytes.firstIndex { $0 > 0x20 } ?? bytes.endIndex : 0
    stack[last].text += bytes[start...].prefix(Self.textBytes - stack[last].text.count)
    return true
  }

  func end() -> Bool {
    guard let element = stack.popLast() else { return refuse() }
    let isCoordinate = facts.contains(.locations) && element.text.withUnsafeBufferPointer(Self.isCoordinate)
    if stack.isEmpty {
      rootEnd = tag.upperBound
      if isCoordinate { return refuse() }
    } else if element.isPrivate && stack.last?.isPrivate != true || isCoordinate {
      privateRanges.append(element.start..<tag.upperBound)
    }
    return true
  }

  private func refuse() -> Bool {
    isEditable = false
    return false
  }

  private static func isCoordinate(_ text: UnsafeBufferPointer<UInt8>) -> Bool {
    guard let start = text.firstIndex(where: { $0 > 0x20 }) else { return false }
    return LocationFilter.isLocation(
      text: MetadataText.trimmed(String(decoding: text[start...].prefix(textBytes), as: UTF8.self)))
  }
}

/// The attributes in the bytes of a well-formed start tag (XML 1.0 §3.1).
enum XMLTag {
  /// The ranges in the tag from the first byte of a name to the closing quotation mark, in order, without those of
  /// namespace declarations; `nil` if the tag is not understood.
  static func attributes(_ bytes: [UInt8]) -> [Range<Int>]? {
    var ranges: [Range<Int>] = []
    // After `<` and the element's name.
    var position = 1
    skip(bytes, &position) { !isSpace($0) && $0 != UInt8(ascii: ">") && $0 != UInt8(ascii: "/") }
    while true {
      skip(bytes, &position, while: isSpace)
      guard position < bytes.count else { return nil }
      if bytes[position] == UInt8(ascii: ">") || bytes[position] == UInt8(ascii: "/") { return ranges }
      let start = position
      skip(bytes, &position) { !isSpace($0) && $0 != UInt8(ascii: "=") }
      let name = bytes[start..<position]
      skip(bytes, &position, while: isSpace)
      guard position < bytes.count, bytes[position] == UInt8(ascii: "=") else { return nil }
      position += 1
      skip(bytes, &position, while: isSpace)
      guard position < bytes.count else { return nil }
      let quote = bytes[position]
      guard quote == UInt8(ascii: "\"") || quote == UInt8(ascii: "'"),
        let end = bytes[(position + 1)...].firstIndex(of: quote)
      else { return nil }
      position = end + 1
      if !name.elementsEqual("xmlns".utf8), !name.starts(with: "xmlns:".utf8) { ranges.append(start..<position) }
    }
  }

  private static func skip(_ bytes: [UInt8], _ position: inout Int, while isSkipped: (UInt8) -> Bool) {
    while position < bytes.count, isSkipped(bytes[position]) { position += 1 }
  }

  private static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 || byte == 0x0A || byte == 0x0D }
}
