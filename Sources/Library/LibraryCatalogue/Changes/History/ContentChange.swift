/// The values of `changedObject.isContentChanged` for an asset.
enum ContentChange: Int {
  /// The content version is the same. For an insertion: the asset is new, or its former content is unknown.
  case unchanged = 0
  case changed = 1
  /// An inserted asset was deleted before, and still has the same content.
  case restored = 2
}
