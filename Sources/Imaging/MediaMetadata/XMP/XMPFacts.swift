// Reads the few XMP properties that the catalogue stores. Most packets have none of them; a search for a few words
// finds that out without parsing. The others are parsed only as far as needed.

import PhotoModel

#if canImport(Glibc)
  import Glibc
#endif

/// Finds the properties at any place in the packet.
final class XMPFacts: XMLHandler {
  private(set) var subtypes: MediaSubtypes = []
  private(set) var burstIdentifier: String?
  private(set) var rating: Int?

  /// Words that a packet must contain to be worth parsing.
  private struct SearchTerms: OptionSet {
    let rawValue: Int
    static let rating = SearchTerms(rawValue: 1)
    static let google = SearchTerms(rawValue: 2)
    static let gainMap = SearchTerms(rawValue: 4)
    static let apple = SearchTerms(rawValue: 8)
    static let screenshot = SearchTerms(rawValue: 16)
  }

  /// The namespaces, names and texts that contain each word.
  private static let namespaces: [(SearchTerms, [UInt8])] = [
    (.google, Array("http://ns.google.com/photos/".utf8)), (.gainMap, Array("http://ns.adobe.com/hdr-gain-map/".utf8)),
    (.apple, Array("http://ns.apple.com/".utf8)),
  ]
  private static let ratingName = Array(":Rating".utf8)
  private static let percent = Array("MicrosoftPhoto".utf8)
  private static let screenshot = Array(MediaFacts.screenshotComment.utf8)

  private enum Property {
    case rating, projection, panoramaViewer, motion, burst, semantic, auxiliaryType, comment
  }

  private static let google = Array("http://ns.google.com/photos/".utf8)
  private static let textBytes = 256

  /// The properties that may still follow; empty if all were found.
  private var pendingTerms: SearchTerms
  private var depth = 0
  /// The property whose text is being collected, and its depth.
  private var gathered: (property: Property, depth: Int)?
  private var text: [UInt8] = []

  private init(_ terms: SearchTerms) { pendingTerms = terms }

  /// Reads a packet; `nil` if it has none of the properties. The search takes one or two microseconds for a packet of
  /// some kilobytes.
  static func read(_ packet: ArraySlice<UInt8>) -> XMPFacts? {
    let part = packet.prefix(XMPPacket.maximumBytes)
    let terms = terms(of: part)
    guard !terms.isEmpty else { return nil }
    let facts = XMPFacts(terms)
    // If the packet is damaged or truncated, the facts before the damage are still valid.
    _ = XMLReader.read(part, isWhole: false, facts)
    return facts
  }

  private static func terms(of packet: ArraySlice<UInt8>) -> SearchTerms {
    packet.withUnsafeBytes { bytes in
      var found: SearchTerms = []
      // Not the end of `ISOSpeedRatings`, which is in most packets, and not Windows' percentage.
      let hasRating = find(UInt8(ascii: "R"), in: bytes) { position in
        guard starts(with: ratingName, at: position - 1, in: bytes) else { return false }
        let end = position - 1 + ratingName.count
        let isWhole = end == bytes.count || !(UInt8(ascii: "A")...UInt8(ascii: "z")).contains(bytes[end])
        return isWhole && !starts(with: percent, at: position - 1 - percent.count, in: bytes)
      }
      if hasRating { found.insert(.rating) }
      if find(screenshot[0], in: bytes, { starts(with: screenshot, at: $0, in: bytes) }) { found.insert(.screenshot) }
      // A namespace declaration contains an equals sign followed by a quote.
      _ = find(UInt8(ascii: "="), in: bytes) { position in
        var start = position + 1
        while start < bytes.count, bytes[start] <= 0x20 { start += 1 }
        for (word, text) in namespaces where starts(with: text, at: start + 1, in: bytes) { found.insert(word) }
        return false
      }
      return found
    }
  }

  /// Returns whether `accept` accepts a position of the byte; stops at the first one.
  private static func find(_ byte: UInt8, in bytes: UnsafeRawBufferPointer, _ accept: (Int) -> Bool) -> Bool {
    guard let start = bytes.baseAddress else { return false }
    var position = 0
    while position < bytes.count, let found = memchr(start + position, Int32(byte), bytes.count - position) {
      position = UnsafeRawPointer(found) - start
      if accept(position) { return true }
      position += 1
    }
    return false
  }

  private static func starts(with text: [UInt8], at position: Int, in bytes: UnsafeRawBufferPointer) -> Bool {
    guard let start = bytes.baseAddress, position >= 0, position + text.count <= bytes.count else { return false }
    return memcmp(start + position, text, text.count) == 0
  }

  func begin(_ name: XMLName, _ attributes: XMLAttributes) -> Bool {
    depth += 1
    if gathered == nil, let property = property(name) {
      gathered = (property, depth)
      text = []
    }
    return attributes.forEach { name, value in
      if let property = property(name) { note(property, value) }
      return !pendingTerms.isEmpty
    }
  }

  func text(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
    if gathered != nil, text.count < Self.textBytes { text += bytes.prefix(Self.textBytes - text.count) }
    return true
  }

  func end() -> Bool {
    if let (property, start) = gathered, start == depth {
      gathered = nil
      text.withUnsafeBufferPointer { note(property, $0) }
    }
    depth -= 1
    return !pendingTerms.isEmpty
  }

  private func property(_ name: XMLName) -> Property? {
    if XMLName.equal(name.namespace, "http://ns.adobe.com/xap/1.0/") {
      return XMLName.equal(name.local, "Rating") ? .rating : nil
    }
    if XMLName.equal(name.namespace, "http://ns.adobe.com/exif/1.0/") {
      return XMLName.equal(name.local, "UserComment") ? .comment : nil
    }
    if name.is("http://ns.adobe.com/hdr-gain-map/1.0/", "Version") {
      found(.photoHDR, of: .gainMap)
      return nil
    }
    if pendingTerms.contains(.apple) {
      if name.is("http://ns.apple.com/HDRGainMap/1.0/", "HDRGainMapVersion") { found(.photoHDR, of: []) }
      if name.is("http://ns.apple.com/pixeldatainfo/1.0/", "AuxiliaryImageType") { return .auxiliaryType }
    }
    guard pendingTerms.contains(.google), name.namespace.starts(with: Self.google) else { return nil }
    if XMLName.equal(name.namespace, "http://ns.google.com/photos/1.0/depthmap/") {
      found(.photoDepthEffect, of: [])
      return nil
    }
    switch String(decoding: name.local, as: UTF8.self) {
    case "ProjectionType": return .projection
    case "UsePanoramaViewer": return .panoramaViewer
    case "MotionPhoto", "MicroVideo": return .motion
    case "BurstID": return .burst
    case "Semantic": return .semantic
    default: return nil
    }
  }

  private func note(_ property: Property, _ bytes: UnsafeBufferPointer<UInt8>) {
    let text = MetadataText.trimmed(String(decoding: bytes.prefix(Self.textBytes).drop { $0 <= 0x20 }, as: UTF8.self))
    switch property {
    case .rating:
      // Integers, also as some programs write them: "3.0".
      if rating == nil, let number = Double(text), (-1...5).contains(number) { rating = Int(number.rounded()) }
      pendingTerms.remove(.rating)
    case .projection: if ["equirectangular", "cylindrical"].contains(text) { found(.photoPanorama, of: []) }
    case .panoramaViewer: if text.lowercased() == "true" { found(.photoPanorama, of: []) }
    case .motion: if text == "1" { found(.photoLive, of: []) }
    case .burst: if burstIdentifier == nil, !text.isEmpty { burstIdentifier = text }
    case .semantic:
      switch text {
      case "GainMap": found(.photoHDR, of: [])
      case "MotionPhoto": found(.photoLive, of: [])
      case "Depth": found(.photoDepthEffect, of: [])
      default: break
      }
    case .auxiliaryType:
      let type = text.lowercased()
      if type.contains("hdrgainmap") { found(.photoHDR, of: []) }
      if ["depth", "disparity", "portraiteffectsmatte"].contains(where: type.contains) {
        found(.photoDepthEffect, of: [])
      }
    case .comment: if text == MediaFacts.screenshotComment { found(.photoScreenshot, of: .screenshot) }
    }
  }

  private func found(_ subtype: MediaSubtypes, of terms: SearchTerms) {
    subtypes.insert(subtype)
    pendingTerms.subtract(terms)
  }
}
