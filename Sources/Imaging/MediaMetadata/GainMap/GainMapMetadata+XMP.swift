// The XMP form of the same metadata: the namespace hdrgm of Adobe's gain map specification 1.0, which Ultra HDR uses.

extension GainMapMetadata {
  static let namespace = "http://ns.adobe.com/hdr-gain-map/1.0/"

  /// The default of both offsets in the specification.
  private static let defaultOffset = 1.0 / 64

  /// - Parameter packet: that of the map itself. `nil` if it has no gains, as the packet of the picture.
  package init?(xmp packet: ArraySlice<UInt8>) {
    let properties = XMPDictionary(packet.prefix(XMPPacket.maximumBytes)).properties
    guard properties["hdrgm:Version"] != nil,
      let minimum = Self.numbers(properties["hdrgm:GainMapMin"], orElse: 0),
      let maximum = Self.numbers(properties["hdrgm:GainMapMax"], orElse: nil),
      let gamma = Self.numbers(properties["hdrgm:Gamma"], orElse: 1),
      let base = Self.numbers(properties["hdrgm:OffsetSDR"], orElse: Self.defaultOffset),
      let alternate = Self.numbers(properties["hdrgm:OffsetHDR"], orElse: Self.defaultOffset),
      let least = Self.numbers(properties["hdrgm:HDRCapacityMin"], orElse: 0)?.first,
      let most = Self.numbers(properties["hdrgm:HDRCapacityMax"], orElse: nil)?.first
    else { return nil }
    // Without a value, the base rendition has standard range.
    var isHDR = false
    if case .text(let text)? = properties["hdrgm:BaseRenditionIsHDR"] { isHDR = text.lowercased() == "true" }
    let count = [minimum, maximum, gamma, base, alternate].contains { $0.count == 3 } ? 3 : 1
    let channels = (0..<count).map { i in
      func value(_ numbers: [Double]) -> Double { numbers.count == 3 ? numbers[i] : numbers[0] }
      return Channel(
        minimum: value(minimum), maximum: value(maximum), gamma: value(gamma),
        baseOffset: value(isHDR ? alternate : base), alternateOffset: value(isHDR ? base : alternate))
    }
    self.init(
      channels: channels, baseHeadroom: isHDR ? most : least, alternateHeadroom: isHDR ? least : most)
  }

  /// One number, or an array of three; `nil` for anything else.
  private static func numbers(_ value: MetadataValue?, orElse missing: Double?) -> [Double]? {
    switch value {
    case nil: return missing.map { [$0] }
    case .text(let text): return Double(text).map { [$0] }
    case .array(let values):
      let numbers = values.compactMap { value -> Double? in
        guard case .text(let text) = value else { return nil }
        return Double(text)
      }
      return numbers.count == values.count && (numbers.count == 1 || numbers.count == 3) ? numbers : nil
    default: return nil
    }
  }

  /// The packet of the map.
  package var xmpPacket: String {
    func property(_ name: String, _ value: (Channel) -> Double) -> (attribute: String, element: String) {
      let values = channels.map { "\(value($0))" }
      if Set(values).count == 1 { return (" hdrgm:\(name)=\"\(values[0])\"", "") }
      let items = values.map { "<rdf:li>\($0)</rdf:li>" }.joined()
      return ("", "<hdrgm:\(name)><rdf:Seq>\(items)</rdf:Seq></hdrgm:\(name)>")
    }
    let properties = [
      property("GainMapMin", \.minimum), property("GainMapMax", \.maximum), property("Gamma", \.gamma),
      property("OffsetSDR", \.baseOffset), property("OffsetHDR", \.alternateOffset),
    ]
    return Self.packet(
      namespaces: " xmlns:hdrgm=\"\(Self.namespace)\"",
      attributes: " hdrgm:Version=\"1.0\"" + properties.map { $0.attribute }.joined()
        + " hdrgm:HDRCapacityMin=\"\(baseHeadroom)\" hdrgm:HDRCapacityMax=\"\(alternateHeadroom)\""
        + " hdrgm:BaseRenditionIsHDR=\"False\"",
      content: properties.map { $0.element }.joined())
  }

  /// The packet of the picture: the directory of the two JPEGs in the file (Ultra HDR Image Format 1.1, "GContainer").
  ///
  /// - Parameter mapBytes: the length of the map, which follows the picture.
  package static func directoryPacket(mapBytes: Int) -> String {
    func item(_ attributes: String) -> String {
      "<rdf:li rdf:parseType=\"Resource\"><Container:Item\(attributes)/></rdf:li>"
    }
    let picture = item(" Item:Semantic=\"Primary\" Item:Mime=\"image/jpeg\"")
    let map = item(" Item:Semantic=\"GainMap\" Item:Mime=\"image/jpeg\" Item:Length=\"\(mapBytes)\"")
    return packet(
      namespaces: " xmlns:Container=\"http://ns.google.com/photos/1.0/container/\""
        + " xmlns:Item=\"http://ns.google.com/photos/1.0/container/item/\" xmlns:hdrgm=\"\(namespace)\"",
      attributes: " hdrgm:Version=\"1.0\"",
      content: "<Container:Directory><rdf:Seq>\(picture)\(map)</rdf:Seq></Container:Directory>")
  }

  private static func packet(namespaces: String, attributes: String, content: String) -> String {
    "<x:xmpmeta xmlns:x=\"adobe:ns:meta/\" x:xmptk=\"photod\">"
      + "<rdf:RDF xmlns:rdf=\"http://www.w3.org/1999/02/22-rdf-syntax-ns#\">"
      + "<rdf:Description rdf:about=\"\"\(namespaces)\(attributes)"
      + (content.isEmpty ? "/>" : ">\(content)</rdf:Description>") + "</rdf:RDF></x:xmpmeta>"
  }
}
