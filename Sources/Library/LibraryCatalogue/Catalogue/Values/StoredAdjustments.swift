import Foundation
import PhotoModel

/// The adjustments of an asset as the catalogue keeps them.
package struct StoredAdjustments: Sendable, Hashable {
  /// Adjustments in the format of another program.
  package struct ForeignFormat: Sendable, Hashable {
    package var formatIdentifier: String
    package var formatVersion: String
    /// Kept byte for byte. `nil`: they are in a file of the library.
    package var data: [UInt8]?

    package init(formatIdentifier: String, formatVersion: String, data: [UInt8]?) {
      self.formatIdentifier = formatIdentifier
      self.formatVersion = formatVersion
      self.data = data
    }
  }

  /// Where the adjustments come from.
  package enum Origin: String, Sendable {
    case user
    /// They follow the edit that another program left in a file.
    case imported
  }

  /// The operations to render; may be empty.
  package var operations: Adjustments
  package var origin: Origin
  /// `nil`: the adjustments are only the operations.
  package var foreign: ForeignFormat?

  package init(operations: Adjustments, foreign: ForeignFormat? = nil, origin: Origin = .user) {
    self.operations = operations
    self.foreign = foreign
    self.origin = origin
  }

  /// Parses the column. It was written from valid operations, so this throws only if storage has damaged it.
  static func operations(_ json: String) throws -> Adjustments {
    if json == "[]" { return Adjustments([]) }
    do {
      return try Adjustments(JSONDecoder().decode(JSONValue.self, from: Data(json.utf8)))
    } catch {
      throw AssetSourceError.catalogueFailed("stored adjustments can't be read; photod check names the asset: \(error)")
    }
  }

  /// The operations to render: none if the column is damaged, so that one damaged asset does not fail a whole scan or
  /// list.
  static func readableOperations(_ json: String) -> Adjustments { (try? operations(json)) ?? Adjustments([]) }
}

/// The adjustments of an asset, and the asset.
package struct AdjustedAsset: Sendable {
  package let asset: Asset
  /// `nil` if it has none.
  package let adjustments: StoredAdjustments?
  /// The edit that another program left in a file, also while a user's adjustments override it.
  package let imported: ImportedEdit?
}

/// An edit that another program left in a file of an asset.
package struct ImportedEdit: Sendable, Hashable {
  package let formatIdentifier: String
  package let formatVersion: String
  /// The operations that are rendered, or would be without a user's adjustments.
  package let operations: Adjustments
  /// The names of the parts that are not rendered.
  package let unrendered: [String]
}
