import FoundationEssentials
import LibraryCatalogue
import PhotoModel

/// Adjustments in JSON: `{"formatIdentifier", "formatVersion", "operations"}`, and `data` in base64 for another
/// program's adjustments.
enum AdjustmentsJSON {
  /// The maximum length of another program's data.
  static let maximumDataBytes = 256 << 10
  private static let maximumNameBytes = 128

  /// - Returns: the adjustments, and whether data of another program that were set before stay.
  static func adjustments(_ body: JSONObjectReader) throws(Problem) -> (StoredAdjustments, keepsForeign: Bool) {
    var body = body
    let identifier = try name(&body, "formatIdentifier") ?? Adjustments.formatIdentifier
    let version = try name(&body, "formatVersion")
    let data = try body.text("data")
    let list = try operations(&body)
    let keepsForeign = try body.flag("includeUnknown")
    try body.finish()
    let operations: Adjustments
    do throws(AdjustmentError) {
      operations = try Adjustments(list ?? (data == nil ? .null : .array([])))
    } catch {
      throw Problem(error)
    }
    if identifier == Adjustments.formatIdentifier {
      guard data == nil else { throw QueryReader.invalid("data", "is only for the adjustments of other programs") }
      guard version == nil || version == Adjustments.formatVersion else {
        throw QueryReader.invalid("formatVersion", "must be \(Adjustments.formatVersion)")
      }
      return (StoredAdjustments(operations: operations), keepsForeign)
    }
    guard !keepsForeign else { throw QueryReader.invalid("includeUnknown", "is only for adjustments without data") }
    guard let data, let bytes = Data(base64Encoded: data), bytes.count <= maximumDataBytes else {
      throw QueryReader.invalid(
        "data", "must be the adjustments of another program in base64, at most \(maximumDataBytes) bytes")
    }
    let adjustments = StoredAdjustments(
      operations: operations,
      foreign: StoredAdjustments.ForeignFormat(
        formatIdentifier: identifier, formatVersion: version ?? "", data: [UInt8](bytes)))
    return (adjustments, false)
  }

  /// The list of operations, not yet checked; `nil` if there is none.
  static func operations(_ body: inout JSONObjectReader) throws(Problem) -> JSONValue? {
    let value = body.value("operations")
    switch value {
    case nil, .array: return value
    default: throw QueryReader.invalid("operations", "must be a list")
    }
  }

  private static func name(_ body: inout JSONObjectReader, _ name: String) throws(Problem) -> String? {
    guard let text = try body.text(name) else { return nil }
    guard (1...maximumNameBytes).contains(text.utf8.count), text.utf8.allSatisfy({ (0x20..<0x7F).contains($0) }) else {
      throw QueryReader.invalid(name, "must have 1 to \(maximumNameBytes) printable ASCII characters")
    }
    return text
  }

  /// The document of adjustments, without facts about an asset: the content of the resource `adjustmentData`.
  static func document(_ adjustments: StoredAdjustments) -> [UInt8] {
    JSONBody.encode(Document(adjustments))
  }

  /// The response for an adjusted asset.
  static func body(_ adjustments: StoredAdjustments, of found: AdjustedAsset) -> [UInt8] {
    JSONBody.encode(Response(adjustments: adjustments, asset: found.asset, imported: found.imported))
  }

  private struct Document: Encodable {
    let formatIdentifier: String
    let formatVersion: String
    let operations: JSONValue
    /// In base64 (RFC 4648 §4).
    let data: String?

    init(_ adjustments: StoredAdjustments) {
      formatIdentifier = adjustments.foreign?.formatIdentifier ?? Adjustments.formatIdentifier
      formatVersion = adjustments.foreign?.formatVersion ?? Adjustments.formatVersion
      operations = JSONValue(adjustments.operations)
      data = adjustments.foreign?.data.map { Data($0).base64EncodedString() }
    }
  }

  private struct Response: Encodable {
    let adjustments: StoredAdjustments
    let asset: Asset
    let imported: ImportedEdit?

    private enum Key: String, CodingKey { case contentVersion, pixelWidth, pixelHeight, source, unrendered, imported }

    /// The edit in a file while a user's adjustments take its place.
    private struct Imported: Encodable {
      let formatIdentifier: String
      let formatVersion: String
      let operations: JSONValue
      let unrendered: [String]
    }

    func encode(to encoder: any Encoder) throws {
      try Document(adjustments).encode(to: encoder)
      var object = encoder.container(keyedBy: Key.self)
      try object.encode(asset.contentVersion.rawValue, forKey: .contentVersion)
      try object.encode(asset.pixelSize.width, forKey: .pixelWidth)
      try object.encode(asset.pixelSize.height, forKey: .pixelHeight)
      try object.encode(adjustments.origin.rawValue, forKey: .source)
      guard let imported else { return }
      if adjustments.origin == .imported { return try object.encode(imported.unrendered, forKey: .unrendered) }
      try object.encode(
        Imported(
          formatIdentifier: imported.formatIdentifier, formatVersion: imported.formatVersion,
          operations: JSONValue(imported.operations), unrendered: imported.unrendered), forKey: .imported)
    }
  }
}

extension Problem {
  init(_ error: AdjustmentError) {
    self = Problem(
      422, "adjustments-invalid", "Invalid adjustments", detail: error.description, parameter: "operations")
  }

  static let adjustmentsNotFound = Problem(
    404, "adjustments-not-found", "No adjustments", detail: "The asset has no adjustments.")
}
