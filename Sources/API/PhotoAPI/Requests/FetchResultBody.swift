import HTTPCore
import LibraryCatalogue
import PhotoModel

/// The body of `POST /v1/fetchResults`: a fetch of assets, or of collections.
enum FetchResultBody: Sendable {
  /// The fetch, and its collection if it is one of the library's.
  case assets(AssetFetch, LocalIdentifier?)
  case collections(CollectionFetch)

  /// - Throws: 400 for members of both kinds; 404 for a collection that does not exist.
  init(_ request: HTTPRequest, _ queries: QueryService, _ principal: Principal) throws(Problem) {
    var body = try JSONObjectReader(request)
    let isOfCollections = body.value("collections") != nil
    var collections = try body.object("collections")
    var fetch = try FetchQuery(&body, .library, for: principal).fetch
    let collection = try body.text("collection").map { text throws(Problem) in
      try LocalIdentifier(parameter: text, "collection")
    }
    try body.finish()
    if isOfCollections {
      for name in ["predicate", "search", "sortDescriptors", "fetchLimit", "collection"]
      where body.value(name) != nil {
        throw QueryReader.invalid(name, "can't be combined with collections; its members are a fetch of collections")
      }
      for name in ["includeHiddenAssets", "includeAllBurstAssets"] where body.value(name) != nil {
        throw QueryReader.invalid(name, "belongs into collections")
      }
      self = .collections(try CollectionFetch(&collections, for: principal))
      return
    }
    if let collection { try queries.limit(&fetch, to: collection, principal) }
    if case .rows = fetch.scope { self = .assets(fetch, nil) } else { self = .assets(fetch, collection) }
  }
}
