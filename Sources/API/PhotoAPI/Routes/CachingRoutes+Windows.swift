// PUT /v1/cachingManagers/{cachingManager}/window: the visible range of a list, around which frames are prepared.

import HTTPCore
import ImageService
import LibraryCatalogue
import PhotoModel

extension CachingRoutes {
  /// Maximum number of visible positions, and maximum margin on each side of them.
  private static let maximumVisible = 1000
  private static let maximumMargin = 10_000

  /// A parsed request to move a window: the new range and the list that it moves over.
  private struct WindowRequest: Sendable {
    let id: String
    let client: ClientName
    let move: CachingManagerRegistry.WindowMove
    let list: List

    enum List: Sendable {
      case source(any PreheatSource)
      /// A collection that must be fetched first.
      case fetch(LocalIdentifier, AssetFetch)
      /// A long collection that changed so much that it must be read again.
      case stale(CollectionWindowSource)
    }

    /// Whether the move may have to scan every asset.
    func needsFullScan(for principal: Principal) -> Bool {
      switch list {
      case .source: false
      case .fetch(_, let fetch): fetch.needsFullScan(for: principal)
      case .stale: true
      }
    }
  }

  /// Moves a window. Its asset list is known already, or must be fetched, which may read every asset.
  func moveWindow(_ id: String, _ routed: RoutedRequest) throws(Problem) {
    let principal = try routed.principal
    try routed.run(on: queries.lookups) { () throws(Problem) in
      let window = try self.window(id, routed, principal)
      guard window.needsFullScan(for: principal) else { return routed.reply.send(try move(window, principal)) }
      try routed.respond(on: queries.fetches) { () throws(Problem) in try move(window, principal) }
    }
  }

  private func window(_ id: String, _ routed: RoutedRequest, _ principal: Principal) throws(Problem) -> WindowRequest {
    var client = try ClientName(routed.target)
    var body = try JSONObjectReader(routed.request)
    try client.read(&body)
    let visible = try Self.visible(&body)
    let margin = try body.number("margin", in: 0...Self.maximumMargin)
    let query = try query(&body)
    let result = try body.text("fetchResult")
    let collection = try body.text("collection").map { text throws(Problem) in
      try LocalIdentifier(parameter: text, "collection")
    }
    let identifiers = try body.identifiers("assets", atMost: Self.maximumNamedAssets)
    try body.finish()
    guard let visible else { throw Self.invalidVisible }
    let list: WindowRequest.List =
      switch (result, collection, identifiers) {
      case (let result?, nil, nil): try fetchResult(result, principal)
      case (nil, let collection?, nil): try self.collection(collection, id, client, principal)
      case (nil, nil, let identifiers?): .source(AssetListWindowSource(identifiers, queries.library, principal))
      default:
        throw QueryReader.invalid(
          "fetchResult", "or collection or assets must be given, and only one of the three")
      }
    let formats = formats(routed.request.head)
    return WindowRequest(
      id: id, client: client,
      move: CachingManagerRegistry.WindowMove(
        visible: visible, margin: margin ?? visible.count, options: query.preheatOptions(formats.prepared),
        allowsNetwork: query.allowsNetwork, upgradeFormats: formats.smaller.isEmpty ? nil : formats.smaller),
      list: list)
  }

  /// The formats that image requests with this `Accept` get, at first and in their place. Most scripts list none.
  private func formats(_ head: RequestHead) -> (prepared: PreparedFormats, smaller: UpgradeFormats) {
    var (prepared, smaller) = (preparedFormats, UpgradeFormats())
    let accept = Accept(head.value(of: .accept))
    if let opaque = formatChoice(accept, hasAlpha: false) {
      prepared.opaque = opaque.first
      smaller.opaque = opaque.smaller
    }
    if let alpha = formatChoice(accept, hasAlpha: true) {
      prepared.alpha = alpha.first
      smaller.alpha = alpha.smaller
      let large = formatChoice(accept, hasAlpha: true, excluding: alpha.first)
      prepared.largeAlpha = large?.first ?? alpha.first
      prepared.encoders = encoders
    }
    return (prepared, smaller)
  }

  private func formatChoice(
    _ accept: Accept, hasAlpha: Bool, excluding excluded: OutputFormat? = nil
  ) -> FormatChoice? {
    do throws(Problem) {
      return try FormatChoice(accept, hasAlpha: hasAlpha, encoders: encoders, excluding: excluded)
    } catch {
      // `Accept` allows no picture, which is no error here: the response is JSON.
      return nil
    }
  }

  private func fetchResult(_ id: String, _ principal: Principal) throws(Problem) -> WindowRequest.List {
    guard let source = FetchResultWindowSource(id, queries, principal) else { throw .fetchResultNotFound }
    return .source(source)
  }

  /// The window's current list if it is of that collection and current; otherwise the collection's list.
  private func collection(
    _ collection: LocalIdentifier, _ id: String, _ client: ClientName, _ principal: Principal
  ) throws(Problem) -> WindowRequest.List {
    let source = managers.currentSource(id: id, client: client.name, for: principal) as? CollectionWindowSource
    let current = source?.collection == collection ? source : nil
    if let current, current.renewed() { return .source(current) }
    let fetch = try queries.run { _ throws(AssetSourceError) in
      try CollectionWindowSource.fetch(of: collection, queries, principal)
    }
    guard let fetch else { throw .collectionNotFound }
    guard let current else { return .fetch(collection, fetch) }
    return try follow(current, mayReadAll: false)
  }

  /// Updates a source to the current library. The client sent its visible range, so no positions need to be mapped.
  private func follow(_ source: CollectionWindowSource, mayReadAll: Bool) throws(Problem) -> WindowRequest.List {
    let change = try queries.run { _ throws(AssetSourceError) in
      try source.changes(visible: 0..<0, known: [], mayReadAll: mayReadAll)
    }
    switch change {
    case .unchanged(let source), .changed(let source, _, _): return .source(source)
    case .needsFullRead: return .stale(source)
    case .gone: throw .collectionNotFound
    }
  }

  private static func visible(_ body: inout JSONObjectReader) throws(Problem) -> Range<Int>? {
    guard let value = body.value("visible") else { return nil }
    if case .array(let ends) = value, ends.count == 2, case .integer(let first) = ends[0],
      case .integer(let last) = ends[1], first >= 0, first <= last, last < .max,
      last - first < maximumVisible
    {
      return first..<last + 1
    }
    throw invalidVisible
  }

  private static let invalidVisible = QueryReader.invalid(
    "visible", "must be [FIRST, LAST], both counted from 0 and included, and at most \(maximumVisible) positions")

  private func move(_ window: WindowRequest, _ principal: Principal) throws(Problem) -> HTTPResponse {
    struct Payload: Encodable {
      let start: Int
      let end: Int
      let ready: Int
      let pending: Int
      let leftOut: Int
      let quality: String
    }
    let source: any PreheatSource
    switch window.list {
    case .source(let known): source = known
    case .fetch(let collection, let fetch):
      source = try queries.run { _ throws(AssetSourceError) in
        try CollectionWindowSource(collection, fetch, queries, principal)
      }
    case .stale(let old):
      guard case .source(let read) = try follow(old, mayReadAll: true) else {
        preconditionFailure("with mayReadAll, the list is always read")
      }
      source = read
    }
    let status = try found { () throws(CachingManagerRegistry.CachingError) in
      try managers.move(window.move, over: source, id: window.id, client: window.client.name, for: principal)
    }
    return .json(
      Payload(
        start: status.range.lowerBound, end: status.range.upperBound - 1, ready: status.ready,
        pending: status.pending, leftOut: status.leftOut, quality: status.quality.rawValue))
  }
}
