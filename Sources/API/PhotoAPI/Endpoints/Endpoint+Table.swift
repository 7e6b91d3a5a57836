// The endpoint table: its parts are in the files Endpoint+*.swift, one for each subject.

extension Endpoint {
  /// All endpoints of the daemon.
  package static let all: [Endpoint] = Array(
    [
      service, access, assets, adjustments, originals, archives, uploads, images, collections, fetchResults, changes,
      cachingManagers, iiif, gallery,
    ].joined())
}

/// Query parameters that several endpoints have.
extension QueryParameter {
  static let cursor = text("cursor", "The end of the previous page; taken from its next.")
  static let includeHiddenAssets = flag("includeHiddenAssets")
  static let includeAllBurstAssets = flag(
    "includeAllBurstAssets", "Include burst pictures that are represented by another picture.")
  static let fields = text(
    "fields", "The asset properties to return, separated by commas. Default: all.",
    example: "localIdentifier,creationDate")
}
