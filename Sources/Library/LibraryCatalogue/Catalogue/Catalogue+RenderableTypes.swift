import GRDB
import ImageCodec
import PhotoModel

extension Catalogue {
  /// The types that were recorded last; `nil` if none were.
  func recordedRenderableTypes() throws(AssetSourceError) -> Set<String>? {
    let types = try read { db in try Self.renderableTypes(db) }
    return types.isEmpty ? nil : types
  }

  static func renderableTypes(_ db: Database) throws -> Set<String> {
    let names = try String.fetchOne(
      db.cachedStatement(sql: "SELECT value FROM catalogueValue WHERE name = 'renderableTypes'"))
    return Set((names ?? "").split(separator: " ").map(String.init))
  }

  /// Records which uniform types have a decoder (``MediaFormat/renderableTypes(with:)``). If they changed since the last call,
  /// because a decoder was added or removed, all assets of these types are updated, and placeholders are made again.
  /// That is not a change of the library: it creates no token.
  package func setRenderableTypes(_ types: Set<String>) throws(AssetSourceError) {
    let names = types.sorted().joined(separator: " ")
    let isCurrent = try read { db in
      try String.fetchOne(db, sql: "SELECT value FROM catalogueValue WHERE name = 'renderableTypes'") == names
    }
    if isCurrent { return }
    try writeMaintenance { db in
      let isRenderable = "uniformTypeIdentifier IN (\(types.map { _ in "?" }.joined(separator: ", ")))"
      try db.execute(
        sql: """
          UPDATE asset SET hasDecoder = NOT hasDecoder,
            placeholderVersion = CASE WHEN placeholder IS NULL THEN NULL ELSE placeholderVersion END
          WHERE hasDecoder <> (\(isRenderable))
          """, arguments: StatementArguments(types.sorted()))
      try db.execute(
        sql: "UPDATE catalogueValue SET value = ? WHERE name = 'renderableTypes'", arguments: [names])
    }
  }
}
