// XMP's data model out of its RDF (ISO 16684-1 §7): every property by name, arrays as arrays, alternatives in languages by language,
// structures as objects. Values are text, for XMP has no other.

/// The properties of a packet.
struct XMPDictionary {
  private(set) var properties: [String: MetadataValue] = [:]
  /// Why there may be more than is here.
  private(set) var problem: String?

  init(_ packet: ArraySlice<UInt8>) {
    let builder = Builder()
    switch XMLReader.read(packet, builder) {
    case .complete: break
    case .stopped: problem = builder.problem
    case .documentType: problem = "a document type declaration, which is refused"
    case .malformed(let message, let offset): problem = "\(message), at byte \(offset)"
    }
    builder.finish()
    properties = builder.properties
  }

  /// What a language alternative's default is called.
  static let defaultLanguage = "x-default"
}

/// Puts the values together, innermost first.
private final class Builder: XMLHandler {
  private enum Kind {
    /// Around and beside the RDF.
    case outside
    case rdf
    /// A resource: its properties are the fields.
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
    /// Bytes of text, of which there may be more than are kept.
    var textBytes = 0
    /// What an element inside said that it is.
    var value: MetadataValue?
    var language: String?
    /// Its elements are the fields of a structure (parseType="Resource").
    var isResource = false
  }

  private(set) var properties: [String: MetadataValue] = [:]
  private(set) var problem: String?
  private var namespaces = XMPNamespaces()
  private var stack: [Element] = []
  private var nodes = 0

  func begin(_ name: XMLName, _ attributes: XMLAttributes) -> Bool {
    guard stack.count < MetadataLimits.packetDepth else {
      return refuse("more than \(MetadataLimits.packetDepth) elements inside each other")
    }
    var element = Element(kind: kind(of: name))
    nodes += 1
    let goesOn = attributes.forEach { name, value in
      nodes += 1
      take(name, value, &element)
      return nodes <= MetadataLimits.packetNodes
    }
    guard goesOn, nodes <= MetadataLimits.packetNodes else {
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
    // Behind it is nothing but padding.
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

  /// Keeps what was complete when the reading ended early.
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

  /// An attribute: a property of a resource, a field of a structure without elements, or what RDF has to say (§7.9).
  private func take(_ name: XMLName, _ value: UnsafeBufferPointer<UInt8>, _ element: inout Element) {
    let isRDF = XMLName.equal(name.namespace, XMPNamespaces.rdf)
    switch element.kind {
    case .outside:
      // Which toolkit wrote the packet stands on the element around the RDF.
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
      // Beside rdf:resource and around a resource, attributes are qualifiers.
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

  /// A structure of nothing but its value is that value (§7.8: the form that qualifiers have).
  private static func structure(_ fields: [String: MetadataValue]) -> MetadataValue {
    if fields.count == 1, let value = fields["rdf:value"] { return value }
    return .object(fields)
  }

  private func text(of bytes: UnsafeBufferPointer<UInt8>) -> MetadataValue {
    guard bytes.count <= MetadataLimits.textBytes else { return .bytes(bytes.count) }
    return .text(MetadataText.trimmed(String(decoding: bytes, as: UTF8.self)))
  }
}
