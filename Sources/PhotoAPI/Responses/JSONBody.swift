import FoundationEssentials

/// JSON as it is sent: UTF-8, keys sorted so that equal answers are equal bytes.
enum JSONBody {
  static let mediaType = "application/json"

  static func encode(_ value: some Encodable) -> [UInt8] {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    do {
      return [UInt8](try encoder.encode(value))
    } catch {
      // Our own shapes hold nothing that JSON can't say.
      preconditionFailure("an answer that is no JSON: \(error)")
    }
  }
}
