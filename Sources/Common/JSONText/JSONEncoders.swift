// The encoder and the containers that `Encodable` asks for. Each is two or three words long, so that none is allocated
// when it is passed as `any`. Depth: the number of containers around a value.

/// The text that all encoders of a value write. A box around a structure, so that Swift checks at run time for
/// overlapping accesses to an object's property once for each step, and not for each byte.
final class SharedText {
  var writer = JSONWriter()
}

/// Encodes one value.
struct JSONValueEncoder: Encoder {
  let text: SharedText
  let depth: Int

  var codingPath: [any CodingKey] { [] }
  var userInfo: [CodingUserInfoKey: Any] { [:] }

  func container<Key: CodingKey>(keyedBy: Key.Type) -> KeyedEncodingContainer<Key> {
    KeyedEncodingContainer(JSONObjectEncoder(text: text, depth: depth))
  }

  func unkeyedContainer() -> any UnkeyedEncodingContainer { JSONArrayEncoder(text: text, depth: depth) }

  func singleValueContainer() -> any SingleValueEncodingContainer { self }
}

extension JSONValueEncoder: SingleValueEncodingContainer {
  func encodeNil() { text.writer.append("null" as StaticString) }

  func encode(_ value: Bool) { text.writer.append(value ? "true" : "false" as StaticString) }

  func encode(_ value: String) { text.writer.append(value) }

  func encode(_ value: Double) throws { try text.writer.append(value) }

  func encode(_ value: Float) throws { try text.writer.append(value) }

  func encode(_ value: some FixedWidthInteger & Encodable) { text.writer.append(value) }

  func encode(_ value: some Encodable) throws { try value.encode(to: self) }
}

/// Encodes the members of an object.
struct JSONObjectEncoder<Key: CodingKey>: KeyedEncodingContainerProtocol {
  private let text: SharedText
  private let depth: Int

  init(text: SharedText, depth: Int) {
    (self.text, self.depth) = (text, depth)
    text.writer.open(isObject: true, at: depth)
  }

  var codingPath: [any CodingKey] { [] }

  private func member(_ key: some CodingKey) -> JSONValueEncoder {
    text.writer.beginMember(key.stringValue, at: depth)
    return JSONValueEncoder(text: text, depth: depth + 1)
  }

  func encodeNil(forKey key: Key) { member(key).encodeNil() }

  func encode(_ value: some Encodable, forKey key: Key) throws { try value.encode(to: member(key)) }

  func nestedContainer<NestedKey>(keyedBy: NestedKey.Type, forKey key: Key) -> KeyedEncodingContainer<NestedKey> {
    member(key).container(keyedBy: NestedKey.self)
  }

  func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer { member(key).unkeyedContainer() }

  func superEncoder() -> any Encoder { member(SuperKey()) }

  func superEncoder(forKey key: Key) -> any Encoder { member(key) }
}

/// The key of `superEncoder()`.
private struct SuperKey: CodingKey {
  let stringValue = "super"
  var intValue: Int? { nil }

  init() {}
  init?(stringValue: String) { nil }
  init?(intValue: Int) { nil }
}

/// Encodes the elements of an array.
struct JSONArrayEncoder: UnkeyedEncodingContainer {
  private let text: SharedText
  private let depth: Int
  private(set) var count = 0

  init(text: SharedText, depth: Int) {
    (self.text, self.depth) = (text, depth)
    text.writer.open(isObject: false, at: depth)
  }

  var codingPath: [any CodingKey] { [] }

  private mutating func element() -> JSONValueEncoder {
    count += 1
    text.writer.beginElement(at: depth)
    return JSONValueEncoder(text: text, depth: depth + 1)
  }

  mutating func encodeNil() { element().encodeNil() }

  mutating func encode(_ value: some Encodable) throws { try value.encode(to: element()) }

  mutating func nestedContainer<Key>(keyedBy: Key.Type) -> KeyedEncodingContainer<Key> {
    element().container(keyedBy: Key.self)
  }

  mutating func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer { element().unkeyedContainer() }

  mutating func superEncoder() -> any Encoder { element() }
}
