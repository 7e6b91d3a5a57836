/// What became of making one asset's placeholder.
package struct PlaceholderResult: Sendable, Hashable {
  package var localIdentifier: LocalIdentifier
  /// The content that it was made of.
  package var contentVersion: ContentVersion
  /// The bytes; `nil`: of this content none can be made.
  package var placeholder: [UInt8]?

  package init(localIdentifier: LocalIdentifier, contentVersion: ContentVersion, placeholder: [UInt8]?) {
    self.localIdentifier = localIdentifier
    self.contentVersion = contentVersion
    self.placeholder = placeholder
  }
}

/// Knows which placeholders are wanted, and keeps those that were made. Calls block for as long as SQLite does.
///
/// Nobody asks on behalf of a principal here: every asset gets its placeholder, and none is handed out with its place.
package protocol PlaceholderSink: Sendable {
  /// Says what placeholders are made with: limits and code. What could not be made with anything else is wanted again.
  func makesPlaceholders(with mark: String) throws(AssetSourceError)

  /// Assets whose placeholder is missing or of another content, without those of which none can be made; newest first,
  /// ties by identifier. The cost depends on `limit` alone.
  ///
  /// - Parameters:
  ///   - last: where the page before ended; `nil` for the first.
  ///   - limit: at least 1.
  func assetsWithoutPlaceholder(after last: Asset?, limit: Int) throws(AssetSourceError) -> [Asset]

  /// Keeps results, all or none. One of an asset whose content is another by now, or which is gone, is dropped.
  ///
  /// It changes neither `AssetSource.generation` nor a revision nor the library's change token.
  func store(_ results: [PlaceholderResult]) throws(AssetSourceError)
}
