/// What `changedObject.isContentChanged` says about an asset.
enum ContentChange: Int {
  /// The content version is the same. Of an insertion: the asset is new, or its former content is not known.
  case unchanged = 0
  case changed = 1
  /// Of an insertion: the asset was deleted before, and has the content that it had then.
  case restored = 2
}
