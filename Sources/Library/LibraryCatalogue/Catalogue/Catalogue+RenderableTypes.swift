import GRDB
import ImageCodec
import PhotoModel

extension Catalogue {
  /// The uniform types that the last call of ``setRenderableTypes(_:)`` recorded; `nil` if there was none.
  func recordedRenderableTypes() throws(AssetSourceError) -> Set<String>? {
    let types = try read { db in try Self.renderableTypes(db) }
    return types.isEmpty ? nil : types
  }

  static func renderableTypes(_ db: Database) throws -> Set<String> {
    let names: String? = try CatalogueValue.renderableTypes.read(db)
    return Set((names ?? "").split(separator: " ").map(String.init))
  }

  /// Records which uniform types have a decoder (``MediaFormat/renderableTypes(with:)``), and updates the assets of
  /// types that were added or removed since the last call; missing placeholders of these are tried again. Assets of
  /// other types are not touched: a RAW file without a preview can't be rendered although its type can. This is not a
  /// change of the library: it creates no token.
  package func setRenderableTypes(_ types: Set<String>) throws(AssetSourceError) {
    let names = types.sorted().joined(separator: " ")
    let recorded = try recordedRenderableTypes()
    if recorded == types { return }
    try writeMaintenance(isLarge: true) { db in
      func isOneOf(_ types: [String]) -> String {
        "uniformTypeIdentifier IN (\(types.map { _ in "?" }.joined(separator: ", ")))"
      }
      let changed = recorded.map { $0.symmetricDifference(types).sorted() }
      try db.execute(
        sql: """
          UPDATE asset SET hasDecoder = NOT hasDecoder,
            placeholderVersion = CASE WHEN placeholder IS NULL THEN NULL ELSE placeholderVersion END
          WHERE hasDecoder <> (\(isOneOf(types.sorted()))) AND \(changed.map(isOneOf) ?? "1")
          """, arguments: StatementArguments(types.sorted() + (changed ?? [])))
      try CatalogueValue.renderableTypes.write(names, db)
      let raw = SourceFormat.raw.uniformTypeIdentifier
      guard let recorded, recorded.contains(raw) != types.contains(raw) else { return }
      if types.contains(raw) {
        // Sensor data can be developed now, so a RAW file needs no preview.
        try db.execute(
          sql: "UPDATE asset SET hasDecoder = 1 WHERE isRAW = 1 AND hasDecoder = 0 AND \(isOneOf(types.sorted()))",
          arguments: StatementArguments(types.sorted()))
      } else {
        // Which files have a preview is not recorded, so the next full scan reads all files again.
        try CatalogueValue.probe.write("", db)
      }
    }
  }
}
