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
  static let networkAccess = flag(
    "networkAccessAllowed",
    """
    Fetch the original from the library's remote store if it is not on this machine. Otherwise an image is then a \
    degraded one with in-cloud=?1 in Image-Result, and if there is none, or for data, the response is 404 \
    image-is-in-cloud.
    """)
  static let includeHiddenAssets = flag("includeHiddenAssets")
  static let includeAllBurstAssets = flag(
    "includeAllBurstAssets", "Include burst pictures that are represented by another picture.")
  static let fields = text(
    "fields", "The asset properties to return, separated by commas. Default: all.",
    example: "localIdentifier,creationDate")
}
