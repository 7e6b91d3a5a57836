/// The result of making a placeholder for one asset.
package struct PlaceholderResult: Sendable, Hashable {
  package var localIdentifier: LocalIdentifier
  /// The content that the placeholder was made from.
  package var contentVersion: ContentVersion
  /// The bytes; `nil`: no placeholder can be made from this content.
  package var placeholder: [UInt8]?
  /// The most salient point of the picture.
  package var saliency: UnitPoint?

  package init(
    localIdentifier: LocalIdentifier, contentVersion: ContentVersion, placeholder: [UInt8]?, saliency: UnitPoint? = nil
  ) {
    self.saliency = saliency
    self.localIdentifier = localIdentifier
    self.contentVersion = contentVersion
    self.placeholder = placeholder
  }
}

/// Lists the assets that need placeholders, and stores placeholders. Calls block on SQLite.
///
/// There is no principal here: every asset gets a placeholder, and no asset is returned with its location.
package protocol PlaceholderStore: Sendable {
  /// Sets the version of the placeholder code and its limits. Assets that failed with another version are listed again.
  func setPlaceholderMaker(version: String) throws(AssetSourceError)

  /// Assets without a placeholder of their current content, except those for which none can be made; newest first, ties
  /// by identifier. The cost depends only on `limit`.
  ///
  /// - Parameters:
  ///   - last: the end of the previous page; `nil` for the first.
  ///   - limit: at least 1.
  func assetsWithoutPlaceholder(after last: Asset?, limit: Int) throws(AssetSourceError) -> [Asset]

  /// Stores all results or none. A result is dropped if its asset was deleted or has other content by now.
  ///
  /// This changes neither `AssetSource.generation`, nor a revision, nor the change token of the library.
  func store(_ results: [PlaceholderResult]) throws(AssetSourceError)
}
