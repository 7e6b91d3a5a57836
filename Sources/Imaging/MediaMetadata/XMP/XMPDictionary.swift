// Reads XMP's data model from RDF (ISO 16684-1 §7): properties by name, arrays as arrays, language alternatives as
// objects by language, structures as objects. All values are text, because XMP has no other type.

/// The properties of a packet.
struct XMPDictionary {
  private(set) var properties: [String: MetadataValue] = [:]
  /// Why properties may be missing.
  private(set) var problem: String?

  init(_ packet: ArraySlice<UInt8>) {
    let builder = Builder()
    switch XMLReader.read(packet, builder) {
    case .complete: break
    case .stopped: problem = builder.problem
    case .documentType: problem = "document type declarations are not allowed"
    case .malformed(let message, let offset): problem = "\(message), at byte \(offset)"
    }
    builder.finish()
    properties = builder.properties
  }

  /// The key of a language alternative's default.
  static let defaultLanguage = "x-default"
}

/// Assembles the values, innermost first.
private final class Builder: XMLHandler {
  private enum Kind {
    /// Outside of the RDF.
    case outside
    case rdf
    /// A resource, whose properties are the fields.
    case node
    case property(String)
    case array(isAlternative: Bool)
    /// An array's item.
    case item
  }

  private struct Element {
    let kind: Kind
    var fields: [String: MetadataValue] = [:]
    var items: [(language: String?, value: MetadataValue)] = []
    var text: [UInt8] = []
    /// Length of the text in bytes; `text` may be truncated.
    var textBytes = 0
    /// The value that an inner element provided.
    var value: MetadataValue?
    var language: String?
    /// Whether its elements are the fields of a structure (parseType="Resource").
    var isResource = false
  }

  private(set) var properties: [String: MetadataValue] = [:]
  private(set) var problem: String?
  private var namespaces = XMPNamespaces()
  private var stack: [Element] = []
  private var nodes = 0

  func begin(_ name: XMLName, _ attributes: XMLAttributes) -> Bool {
    guard stack.count < MetadataLimits.packetDepth else {
      return refuse("more than \(MetadataLimits.packetDepth) nested elements")
    }
    var element = Element(kind: kind(of: name))
    nodes += 1
    let isWithinLimit = attributes.forEach { name, value in
      nodes += 1
      take(name, value, &element)
      return nodes <= MetadataLimits.packetNodes
    }
    guard isWithinLimit, nodes <= MetadataLimits.packetNodes else {
      return refuse("more than \(MetadataLimits.packetNodes) elements and attributes")
    }
    stack.append(element)
    return true
  }

  func text(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
    guard let last = stack.indices.last else { return true }
    switch stack[last].kind {
    case .property, .item:
      stack[last].textBytes += bytes.count
      stack[last].text += bytes.prefix(MetadataLimits.textBytes - stack[last].text.count)
    default: break
    }
    return true
  }

  func end() -> Bool {
    guard let element = stack.popLast() else { return false }
    switch element.kind {
    case .outside: return true
    // Only padding follows.
    case .rdf: return false
    case .node: finish(node: element)
    case .property(let key): add(key, valued(element, isAlternative: false))
    case .item:
      let isAlternative: Bool
      if case .array(true)? = stack.last?.kind { isAlternative = true } else { isAlternative = false }
      guard let last = stack.indices.last else { break }
      stack[last].items.append((element.language, valued(element, isAlternative: isAlternative)))
    case .array(let isAlternative): finish(array: element, isAlternative: isAlternative)
    }
    return true
  }

  /// Keeps the complete properties when the reading ended early.
  func finish() {
    guard let rdf = stack.firstIndex(where: { if case .rdf = $0.kind { true } else { false } }), rdf + 1 < stack.count
    else { return }
    properties.merge(stack[rdf + 1].fields) { first, _ in first }
    stack = []
  }

  private func refuse(_ reason: String) -> Bool {
    problem = reason
    return false
  }

  private func kind(of name: XMLName) -> Kind {
    switch stack.last?.kind {
    case nil, .outside: return name.is(XMPNamespaces.rdf, "RDF") ? .rdf : .outside
    case .rdf: return .node
    case .node: return .property(namespaces.key(name))
    case .array: return .item
    case .property, .item:
      if stack.last?.isResource == true { return .property(namespaces.key(name)) }
      if name.is(XMPNamespaces.rdf, "Alt") { return .array(isAlternative: true) }
      if name.is(XMPNamespaces.rdf, "Bag") || name.is(XMPNamespaces.rdf, "Seq") {
        return .array(isAlternative: false)
      }
      return .node
    }
  }

  /// Reads an attribute: a property of a resource, a field of a structure without elements, or one of RDF's own (§7.9).
  private func take(_ name: XMLName, _ value: UnsafeBufferPointer<UInt8>, _ element: inout Element) {
    let isRDF = XMLName.equal(name.namespace, XMPNamespaces.rdf)
    switch element.kind {
    case .outside:
      // The element around the RDF names the toolkit that wrote the packet.
      if name.is(XMPNamespaces.meta, "xmptk") || name.is(XMPNamespaces.meta, "xaptk") {
        properties["x:xmptk"] = text(of: value)
      }
    case .rdf, .array: break
    case .node:
      if XMLName.equal(name.namespace, XMPNamespaces.xml) || name.namespace.isEmpty { break }
      if isRDF && !XMLName.equal(name.local, "value") && !XMLName.equal(name.local, "type") { break }
      element.fields[namespaces.key(name)] = text(of: value)
    case .property, .item:
      if name.is(XMPNamespaces.xml, "lang") {
        element.language = String(decoding: value, as: UTF8.self)
      } else if isRDF && XMLName.equal(name.local, "parseType") {
        element.isResource = XMLName.equal(value, "Resource")
      } else if isRDF && XMLName.equal(name.local, "resource") {
        element.value = text(of: value)
      } else if !name.namespace.isEmpty, !isRDF || XMLName.equal(name.local, "value") {
        element.fields[namespaces.key(name)] = text(of: value)
      }
    }
  }

  private func finish(node element: Element) {
    guard let last = stack.indices.last else { return }
    if case .rdf = stack[last].kind {
      properties.merge(element.fields) { first, _ in first }
    } else {
      stack[last].value = Self.structure(element.fields)
    }
  }

  private func finish(array element: Element, isAlternative: Bool) {
    guard let last = stack.indices.last else { return }
    if isAlternative, element.items.contains(where: { $0.language != nil }) {
      var languages: [String: MetadataValue] = [:]
      for item in element.items {
        let language = item.language ?? XMPDictionary.defaultLanguage
        if languages[language] == nil { languages[language] = item.value }
      }
      stack[last].value = .object(languages)
    } else {
      stack[last].value = .array(element.items.map(\.value))
    }
  }

  private func add(_ key: String, _ value: MetadataValue) {
    guard let last = stack.indices.last, stack[last].fields[key] == nil else { return }
    stack[last].fields[key] = value
  }

  private func valued(_ element: Element, isAlternative: Bool) -> MetadataValue {
    var value: MetadataValue
    var qualifiers: [String: MetadataValue] = [:]
    if let inner = element.value {
      value = inner
      // Attributes next to rdf:resource, or on an element around a resource, are qualifiers.
      qualifiers = element.fields
    } else if element.isResource || !element.fields.isEmpty {
      value = Self.structure(element.fields)
    } else if element.textBytes > MetadataLimits.textBytes {
      value = .bytes(element.textBytes)
    } else {
      value = .text(MetadataText.trimmed(String(decoding: element.text, as: UTF8.self)))
    }
    // In an alternative the language is the key.
    if let language = element.language, !isAlternative { qualifiers["xml:lang"] = .text(language) }
    guard !qualifiers.isEmpty else { return value }
    qualifiers["rdf:value"] = value
    return .object(qualifiers)
  }

  /// A structure that contains only its value becomes that value (§7.8: the form of qualifiers).
  private static func structure(_ fields: [String: MetadataValue]) -> MetadataValue {
    if fields.count == 1, let value = fields["rdf:value"] { return value }
    return .object(fields)
  }

  private func text(of bytes: UnsafeBufferPointer<UInt8>) -> MetadataValue {
    guard bytes.count <= MetadataLimits.textBytes else { return .bytes(bytes.count) }
    return .text(MetadataText.trimmed(String(decoding: bytes, as: UTF8.self)))
  }
}
