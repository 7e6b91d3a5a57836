// The IIIF Presentation API 3.0 (https://iiif.io/api/presentation/3.0/): albums as manifests, their assets as canvases,
// folders as collections. The pictures of a canvas are those of the Image API.

import HTTPCore
import LibraryCatalogue
import PhotoModel

struct PresentationRoutes: Sendable {
  private static let pageSizes = 1...1000
  /// A manifest of this many canvases has about a megabyte.
  private static let defaultPageSize = 500

  let queries: QueryService
  let accessPolicy: AccessPolicy

  /// A page of a request.
  private struct Page {
    var limit: Int
    var cursor: PageCursor?

    init(_ target: RequestTarget, _ tokens: TokenCodec) throws(Problem) {
      var query = try QueryReader(target)
      limit = try query.number("limit", in: PresentationRoutes.pageSizes) ?? PresentationRoutes.defaultPageSize
      cursor = query.cursor(tokens)
      try query.finish()
    }
  }

  // MARK: Manifests

  /// `/iiif/presentation/3/{collection}/manifest`: on the lookup queue, or on the fetch queue if the collection is so
  /// large that the list may read every asset.
  func manifest(_ routed: RoutedRequest) throws(Problem) {
    let (identifier, principal) = (routed.identifier("collection"), try routed.principal)
    let page = try Page(routed.target, queries.tokens)
    let end = queries.deadline
    try routed.run(on: queries.lookups) { () throws(Problem) in
      var fetch = AssetFetch()
      try queries.limit(&fetch, to: identifier, principal)
      let scoped = fetch
      guard scoped.needsFullScan(for: principal) else {
        return routed.reply.send(try manifest(identifier, scoped, page, until: end, routed, principal))
      }
      try routed.respond(on: queries.fetches) { () throws(Problem) in
        try manifest(identifier, scoped, page, until: end, routed, principal)
      }
    }
  }

  private func manifest(
    _ identifier: LocalIdentifier, _ fetch: AssetFetch, _ page: Page, until end: ContinuousClock.Instant,
    _ routed: RoutedRequest, _ principal: Principal
  ) throws(Problem) -> HTTPResponse {
    let collection = try collection(identifier, principal)
    let assets = try queries.run { library throws(AssetSourceError) in
      try library.assets(
        fetch, FetchPageRequest(limit: page.limit, cursor: page.cursor, deadline: end), for: principal)
    }
    let document = PresentationDocument(base: base(routed))
    // Sound, and formats without a decoder, have no picture to paint on a canvas.
    let canvases = assets.assets.filter { Problem(unrenderable: $0) == nil && $0.isRenderable }
      .map { document.canvas($0, in: identifier) }
    return response(
      document.manifest(collection, canvases), next: assets.nextCursor, routed)
  }

  // MARK: Collections

  /// `/iiif/presentation/3/collection/{collection}`: a folder or a list of moments; `top` is the top level.
  func collection(_ routed: RoutedRequest) throws(Problem) {
    let (name, principal) = (routed.route["collection"], try routed.principal)
    let page = try Page(routed.target, queries.tokens)
    let isTop = name == PresentationDocument.top
    let end = queries.deadline
    let query = CollectionQuery(
      parent: isTop ? .topLevel : LocalIdentifier(name), limit: page.limit, cursor: page.cursor)
    let fetch = CollectionFetch(query, predicate: nil, sort: nil)
    try routed.respond(on: fetch.needsFullScan ? queries.fetches : queries.lookups) { () throws(Problem) in
      let folder = try isTop ? nil : collection(LocalIdentifier(name), principal)
      let found = try queries.run { library throws(AssetSourceError) in
        try library.collections(fetch, deadline: end, for: principal)
      }
      let document = PresentationDocument(base: base(routed))
      return response(
        document.collection(folder, found.collections), next: found.nextCursor, routed)
    }
  }

  private func collection(_ identifier: LocalIdentifier, _ principal: Principal) throws(Problem) -> AssetCollection {
    if let transient = queries.transientCollection(identifier, principal) {
      let summary = try queries.summary(of: transient, until: queries.deadline, principal)
      return AssetCollection(transient, identifier, summary)
    }
    let found = try queries.run { library throws(AssetSourceError) in
      try library.collection(identifier, CollectionQuery(), for: principal)
    }
    guard let found else { throw .collectionNotFound }
    return found
  }

  private func response(
    _ document: JSONValue, next: PageCursor?, _ routed: RoutedRequest
  ) -> HTTPResponse {
    let next = next.map { queries.nextPagePath(routed.target, cursor: $0) }
    return LinkedDataResponse(
      document, context: PresentationDocument.context, link: next.map { "<\($0)>; rel=\"next\"" }
    ).response(to: routed.request.head)
  }

  private func base(_ routed: RoutedRequest) -> String {
    accessPolicy.base(routed.request.head, routed.target, from: routed.peer)
  }
}
