// Parses XML in memory with Expat, for XMP: names with their namespaces, and no document types, so there are no
// entities to expand and nothing external to fetch.

import CExpat

#if canImport(Glibc)
  import Glibc
#endif

/// A name as the parser passes it. Valid only during the handler's call.
struct XMLName {
  /// Namespace, local name and prefix; a name without a namespace has only the second.
  let namespace: UnsafeBufferPointer<UInt8>
  let local: UnsafeBufferPointer<UInt8>
  let prefix: UnsafeBufferPointer<UInt8>

  func `is`(_ namespace: StaticString, _ local: StaticString) -> Bool {
    Self.equal(self.local, local) && Self.equal(self.namespace, namespace)
  }

  static func equal(_ bytes: UnsafeBufferPointer<UInt8>, _ text: StaticString) -> Bool {
    guard bytes.count == text.utf8CodeUnitCount, let start = bytes.baseAddress else {
      return bytes.count == text.utf8CodeUnitCount
    }
    return memcmp(start, text.utf8Start, bytes.count) == 0
  }
}

/// Receives the parts of a document. Returning `false` ends the reading.
protocol XMLHandler: AnyObject {
  /// The position in the document of the tag whose `begin` or `end` follows. The end of `<a/>` is empty, after the tag.
  func position(_ tag: Range<Int>)
  func begin(_ name: XMLName, _ attributes: XMLAttributes) -> Bool
  /// Text, in pieces.
  func text(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool
  func end() -> Bool
}

extension XMLHandler {
  func position(_ tag: Range<Int>) {}
}

/// An element's attributes. Valid only during the handler's call.
struct XMLAttributes {
  fileprivate let pointer: UnsafeMutablePointer<UnsafePointer<CChar>?>?

  func forEach(_ body: (XMLName, UnsafeBufferPointer<UInt8>) -> Bool) -> Bool {
    guard var next = pointer else { return true }
    while let name = next[0], let value = next[1] {
      guard body(XMLReader.name(name), XMLReader.bytes(value)) else { return false }
      next += 2
    }
    return true
  }
}

final class XMLReader {
  enum Outcome: Equatable {
    case complete
    /// The handler returned `false`.
    case stopped
    /// The document declares a document type, which XMP does not allow (ISO 16684-1 §7.3.2) and attackers use.
    case documentType
    /// Expat's message, and the position of the error in bytes.
    case malformed(String, offset: Int)
  }

  private let handler: any XMLHandler
  private let parser: XML_Parser
  private var hasDocumentType = false
  private var isEnded = false

  /// Separates the parts of a name: this byte can't occur in an XML document.
  private static let separator: CChar = 0x0C

  private init?(_ handler: any XMLHandler) {
    guard let parser = XML_ParserCreateNS(nil, Self.separator) else { return nil }
    self.parser = parser
    self.handler = handler
    XML_SetReturnNSTriplet(parser, 1)
    XML_SetUserData(parser, Unmanaged.passUnretained(self).toOpaque())
    XML_SetElementHandler(
      parser,
      { context, name, attributes in
        let reader = XMLReader.at(context)
        guard let name, !reader.isEnded else { return }
        reader.handler.position(reader.tag)
        reader.stop(unless: reader.handler.begin(XMLReader.name(name), XMLAttributes(pointer: attributes)))
      },
      { context, _ in
        let reader = XMLReader.at(context)
        guard !reader.isEnded else { return }
        reader.handler.position(reader.tag)
        reader.stop(unless: reader.handler.end())
      })
    XML_SetCharacterDataHandler(parser) { context, text, length in
      let reader = XMLReader.at(context)
      guard let text, !reader.isEnded else { return }
      let bytes = UnsafeRawBufferPointer(start: text, count: Int(length)).bindMemory(to: UInt8.self)
      reader.stop(unless: reader.handler.text(bytes))
    }
    XML_SetStartDoctypeDeclHandler(parser) { context, _, _, _, _ in
      let reader = XMLReader.at(context)
      reader.hasDocumentType = true
      reader.stop(unless: false)
    }
  }

  deinit { XML_ParserFree(parser) }

  /// Reads a document, or its beginning if `isWhole` is false. Takes time in proportion to its length.
  static func read(_ document: ArraySlice<UInt8>, isWhole: Bool = true, _ handler: any XMLHandler) -> Outcome {
    guard let reader = XMLReader(handler) else { return .malformed("out of memory", offset: 0) }
    return withExtendedLifetime(reader) { reader.read(document, isWhole: isWhole) }
  }

  private func read(_ document: ArraySlice<UInt8>, isWhole: Bool) -> Outcome {
    let status = document.withUnsafeBytes { bytes in
      XML_Parse(
        parser, bytes.bindMemory(to: CChar.self).baseAddress, Int32(clamping: bytes.count), isWhole ? 1 : 0)
    }
    if hasDocumentType { return .documentType }
    if isEnded { return .stopped }
    if status == XML_STATUS_OK { return .complete }
    let message = XML_ErrorString(XML_GetErrorCode(parser)).map { String(cString: $0) } ?? "no well-formed XML"
    return .malformed(message, offset: Int(XML_GetCurrentByteIndex(parser)))
  }

  private var tag: Range<Int> {
    let start = Int(XML_GetCurrentByteIndex(parser))
    return start..<start + Int(XML_GetCurrentByteCount(parser))
  }

  private func stop(unless continues: Bool) {
    guard !continues else { return }
    isEnded = true
    XML_StopParser(parser, XML_Bool(XML_FALSE))
  }

  private static func at(_ context: UnsafeMutableRawPointer?) -> XMLReader {
    guard let context else { preconditionFailure("Expat lost its context") }
    return Unmanaged<XMLReader>.fromOpaque(context).takeUnretainedValue()
  }

  fileprivate static func bytes(_ text: UnsafePointer<CChar>) -> UnsafeBufferPointer<UInt8> {
    UnsafeRawBufferPointer(start: text, count: strlen(text)).bindMemory(to: UInt8.self)
  }

  /// Splits `namespace SEPARATOR local SEPARATOR prefix`, or a local name without a namespace; without a prefix the
  /// last part is missing.
  fileprivate static func name(_ text: UnsafePointer<CChar>) -> XMLName {
    let whole = bytes(text)
    let separator = UInt8(bitPattern: Self.separator)
    guard let first = whole.firstIndex(of: separator) else {
      return XMLName(namespace: part(whole, 0, 0), local: whole, prefix: part(whole, 0, 0))
    }
    let second = whole[(first + 1)...].firstIndex(of: separator) ?? whole.endIndex
    return XMLName(
      namespace: part(whole, 0, first), local: part(whole, first + 1, second),
      prefix: part(whole, min(second + 1, whole.endIndex), whole.endIndex))
  }

  private static func part(
    _ bytes: UnsafeBufferPointer<UInt8>, _ start: Int, _ end: Int
  ) -> UnsafeBufferPointer<UInt8> {
    UnsafeBufferPointer(rebasing: bytes[start..<end])
  }
}
