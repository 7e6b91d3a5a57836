import HTTPCore
import PhotoModel

/// The parsed query of a request for the bytes of an original, before the asset is known.
struct OriginalQuery: Sendable {
  /// Only read for ``ResourceChoice/version``.
  let version: ImageVersion
  /// The index of the file among those of its type, in the order of the list; only read for
  /// ``ResourceChoice/resource(_:)``.
  let index: Int
  let includesLocation: Bool
  let isDownload: Bool
  let allowsNetwork: Bool
  /// The only content version that the caller accepts.
  let contentVersion: ContentVersion?

  init(_ target: RequestTarget, for choice: ResourceChoice) throws(Problem) {
    var query = try QueryReader(target)
    switch choice {
    case .version:
      version = try query.word("version", default: ImageVersion.current)
      index = 0
    case .resource:
      version = .current
      index = try query.number("index", in: ResourceChoice.indexes) ?? 0
    }
    includesLocation = try query.flag("includeLocation")
    isDownload = try query.flag("download")
    allowsNetwork = try query.flag("networkAccessAllowed")
    contentVersion = query.text("v").map(ContentVersion.init)
    try query.finish()
  }
}
