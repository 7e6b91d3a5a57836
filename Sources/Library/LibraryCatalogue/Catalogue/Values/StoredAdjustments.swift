import Foundation
import PhotoModel

/// The adjustments of an asset as the catalogue keeps them.
package struct StoredAdjustments: Sendable, Hashable {
  /// Adjustments in the format of another program.
  package struct Foreign: Sendable, Hashable {
    package var formatIdentifier: String
    package var formatVersion: String
    /// Kept byte for byte.
    package var data: [UInt8]

    package init(formatIdentifier: String, formatVersion: String, data: [UInt8]) {
      self.formatIdentifier = formatIdentifier
      self.formatVersion = formatVersion
      self.data = data
    }
  }

  /// The operations to render; may be empty.
  package var operations: Adjustments
  /// `nil`: the adjustments are only the operations.
  package var foreign: Foreign?

  package init(operations: Adjustments, foreign: Foreign? = nil) {
    self.operations = operations
    self.foreign = foreign
  }

  /// Parses the column. It was written from valid operations.
  static func operations(_ json: String) throws -> Adjustments {
    if json == "[]" { return Adjustments([]) }
    return try Adjustments(JSONDecoder().decode(JSONValue.self, from: Data(json.utf8)))
  }
}

/// The adjustments of an asset, and the asset.
package struct AdjustedAsset: Sendable {
  package let asset: Asset
  /// `nil` if it has none.
  package let adjustments: StoredAdjustments?
}
