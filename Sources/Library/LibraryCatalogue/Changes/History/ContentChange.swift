/// The values of `changedObject.isContentChanged` for an asset.
enum ContentChange: Int {
  /// The content version is the same. For an insertion: the asset is new, or its former content is not known.
  case unchanged = 0
  case changed = 1
  /// An inserted asset was deleted before, and has the content that it had then.
  case restored = 2
}
