/// The role of a picture in its burst: a series of pictures taken at once, with one representative.
package struct Burst: Sendable, Hashable {
  /// Equal for all pictures of a burst.
  package var identifier: String
  /// Whether this picture represents the burst.
  package var isRepresentative: Bool
  package var selectionTypes: BurstSelectionTypes

  package init(identifier: String, isRepresentative: Bool, selectionTypes: BurstSelectionTypes) {
    self.identifier = identifier
    self.isRepresentative = isRepresentative
    self.selectionTypes = selectionTypes
  }
}
