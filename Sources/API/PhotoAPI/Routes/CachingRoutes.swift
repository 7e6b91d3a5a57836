// PHCachingImageManager over HTTP: /v1/cachingManagers and its subresources.

import AssetLibrary
import HTTPCore
import ImageService
import PhotoModel

struct CachingRoutes: Sendable {
  /// Maximum number of visible positions, and maximum margin on each side of them.
  private static let maximumVisible = 1000
  private static let maximumMargin = 10_000

  let managers: CachingManagerRegistry
  let queries: QueryService

  // MARK: Managers

  func create(_ request: HTTPRequest, _ principal: Principal) throws(Problem) -> HTTPResponse {
    try QueryReader(request.target).finish()
    var body = try request.body.isEmpty ? JSONObjectReader([:]) : JSONObjectReader(request)
    let allowsHighQuality = try body.flag("allowsCachingHighQualityImages", default: true)
    let longest = Int(managers.limits.lease.components.seconds)
    let lease = try body.number("leaseSeconds", in: 1...longest)
    try body.finish()
    let status = try mappingFailures { () throws(CachingManagerRegistry.CachingError) in
      try managers.make(for: principal, allowsHighQuality: allowsHighQuality, lease: lease.map { .seconds($0) })
    }
    return .created(JSONBody.encode(CachingManagerJSON(status)), at: "/v1/cachingManagers/\(status.id)")
  }

  func list(_ request: HTTPRequest, _ principal: Principal) throws(Problem) -> HTTPResponse {
    struct Payload: Encodable {
      let cachingManagers: [CachingManagerJSON]
    }
    try QueryReader(request.target).finish()
    // Creates the default manager, which every caller has.
    _ = try mappingFailures { () throws(CachingManagerRegistry.CachingError) in
      try managers.status(CachingManagerRegistry.defaultID, for: principal)
    }
    return Self.answer(
      Payload(
        cachingManagers: managers.all(of: principal, includingOtherOwners: principal.seesAllOwners).map(
          CachingManagerJSON.init)))
  }

  func get(_ id: String, _ request: HTTPRequest, _ principal: Principal) throws(Problem) -> HTTPResponse {
    try QueryReader(request.target).finish()
    return Self.answer(
      CachingManagerJSON(
        try found { () throws(CachingManagerRegistry.CachingError) in
          try managers.status(id, for: principal, includingOtherOwners: principal.seesAllOwners)
        }))
  }

  func delete(_ id: String, _ request: HTTPRequest, _ principal: Principal) throws(Problem) -> HTTPResponse {
    try QueryReader(request.target).finish()
    guard managers.end(id, for: principal, includingOtherOwners: principal.seesAllOwners) else {
      throw .cachingManagerNotFound
    }
    return HTTPResponse(204)
  }

  // MARK: Assets

  func start(_ id: String, _ request: HTTPRequest, _ principal: Principal) throws(Problem) -> HTTPResponse {
    struct Payload: Encodable {
      let started: Int
      let leftOut: [String]
      let missing: [String]
      let pinned: Int
      let ready: Int
      let pending: Int
    }
    let (identifiers, options) = try wanted(request)
    let started = try found { () throws(CachingManagerRegistry.CachingError) in
      try managers.start(identifiers, options, id: id, for: principal)
    }
    return Self.answer(
      Payload(
        started: started.started, leftOut: started.leftOut.map(\.rawValue), missing: started.missing.map(\.rawValue),
        pinned: started.status.pinned, ready: started.status.ready, pending: started.status.pending))
  }

  func stop(_ id: String, _ request: HTTPRequest, _ principal: Principal) throws(Problem) -> HTTPResponse {
    struct Payload: Encodable {
      let stopped: Int
      let pinned: Int
      let ready: Int
      let pending: Int
    }
    let (identifiers, options) = try wanted(request)
    let (stopped, status) = try found { () throws(CachingManagerRegistry.CachingError) in
      try managers.stop(identifiers, options, id: id, for: principal)
    }
    return Self.answer(
      Payload(stopped: stopped, pinned: status.pinned, ready: status.ready, pending: status.pending))
  }

  func stopAll(_ id: String, _ request: HTTPRequest, _ principal: Principal) throws(Problem) -> HTTPResponse {
    try QueryReader(request.target).finish()
    if !request.body.isEmpty {
      try JSONObjectReader(request).finish()
    }
    return Self.answer(
      CachingManagerJSON(
        try found { () throws(CachingManagerRegistry.CachingError) in try managers.stopAll(id: id, for: principal) }))
  }

  private func wanted(_ request: HTTPRequest) throws(Problem) -> ([LocalIdentifier], PreheatOptions) {
    try QueryReader(request.target).finish()
    var body = try JSONObjectReader(request)
    let identifiers = try body.identifiers("assets", atMost: managers.limits.assets)
    let options = try Self.options(&body)
    try body.finish()
    guard let identifiers else {
      throw QueryReader.invalid("assets", "must be a list of at most \(managers.limits.assets) localIdentifiers")
    }
    return (identifiers, options)
  }

  private static func options(_ body: inout JSONObjectReader) throws(Problem) -> PreheatOptions {
    var reader = RenditionReader()
    try reader.readSize(&body)
    var options = try body.object("options")
    try reader.readOptions(&options)
    try options.finish()
    return try reader.query().preheatOptions
  }

  // MARK: Windows

  /// A parsed request to move a window: the new range and the list that it moves over.
  struct WindowMove: Sendable {
    let id: String
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
    var needsFullScan: Bool {
      switch list {
      case .source: false
      case .fetch(_, let fetch): fetch.needsFullScan
      case .stale: true
      }
    }
  }

  func window(_ id: String, _ request: HTTPRequest, _ principal: Principal) throws(Problem) -> WindowMove {
    try QueryReader(request.target).finish()
    var body = try JSONObjectReader(request)
    let visible = try Self.visible(&body)
    let margin = try body.number("margin", in: 0...Self.maximumMargin)
    let options = try Self.options(&body)
    let result = try body.text("fetchResult")
    let collection = try body.text("collection").map { text throws(Problem) in
      try LocalIdentifier(parameter: text, "collection")
    }
    let identifiers = try body.identifiers("assets", atMost: managers.limits.assets)
    try body.finish()
    guard let visible else { throw Self.invalidVisible }
    let list: WindowMove.List =
      switch (result, collection, identifiers) {
      case (let result?, nil, nil): try fetchResult(result, principal)
      case (nil, let collection?, nil): try self.collection(collection, id, principal)
      case (nil, nil, let identifiers?): .source(AssetListWindowSource(identifiers, queries.library, principal))
      default:
        throw QueryReader.invalid(
          "fetchResult", "or collection or assets must be given, and only one of the three")
      }
    return WindowMove(
      id: id,
      move: CachingManagerRegistry.WindowMove(visible: visible, margin: margin ?? visible.count, options: options),
      list: list)
  }

  private func fetchResult(_ id: String, _ principal: Principal) throws(Problem) -> WindowMove.List {
    guard let source = FetchResultWindowSource(id, queries, principal) else { throw .fetchResultNotFound }
    return .source(source)
  }

  /// The window's current list if it is of that collection and current; otherwise the collection's list.
  private func collection(
    _ collection: LocalIdentifier, _ id: String, _ principal: Principal
  ) throws(Problem) -> WindowMove.List {
    let source = managers.currentSource(id: id, for: principal) as? CollectionWindowSource
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
  private func follow(_ source: CollectionWindowSource, mayReadAll: Bool) throws(Problem) -> WindowMove.List {
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
      case .integer(let last) = ends[1], first >= 0, first <= last, last - first < maximumVisible
    {
      return first..<last + 1
    }
    throw invalidVisible
  }

  private static let invalidVisible = QueryReader.invalid(
    "visible", "must be [FIRST, LAST], both counted from 0 and included, and at most \(maximumVisible) positions")

  func move(_ window: WindowMove, _ principal: Principal) throws(Problem) -> HTTPResponse {
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
      try managers.move(window.move, over: source, id: window.id, for: principal)
    }
    return Self.answer(
      Payload(
        start: status.range.lowerBound, end: status.range.upperBound - 1, ready: status.ready,
        pending: status.pending, leftOut: status.leftOut, quality: status.quality.rawValue))
  }

  // MARK: Responses

  private func mappingFailures<Value>(
    _ question: () throws(CachingManagerRegistry.CachingError) -> Value
  ) throws(Problem) -> Value {
    do throws(CachingManagerRegistry.CachingError) {
      return try question()
    } catch {
      switch error {
      case .tooManyManagers(let limit):
        throw Problem(
          429, "too-many-handles", "Too many handles",
          detail: "The limit of \(limit) caching managers is reached. Delete some that you no longer need, or "
            + "wait until their leases end.",
          fields: ["Retry-After": "60"])
      case .library(let error): return try queries.run { _ throws(AssetSourceError) in throw error }
      }
    }
  }

  private func found<Value>(
    _ question: () throws(CachingManagerRegistry.CachingError) -> Value?
  ) throws(Problem) -> Value {
    guard let value = try mappingFailures(question) else { throw .cachingManagerNotFound }
    return value
  }

  private static func answer(_ value: some Encodable) -> HTTPResponse {
    HTTPResponse(
      .ok, [("Content-Type", JSONBody.mediaType), ("Cache-Control", "no-store")], body: JSONBody.encode(value))
  }
}

/// A caching manager as clients see it.
private struct CachingManagerJSON: Encodable {
  private let status: CachingStatus

  init(_ status: CachingStatus) { self.status = status }

  private enum Key: String, CodingKey {
    case id, leaseSeconds, allowsCachingHighQualityImages, pinned, ready, pending, leftOut, bytes, prepared, used,
      wasted, cancelled
    case hitRate, window
  }

  private enum WindowKey: String, CodingKey { case start, end, ready, pending, leftOut, quality }

  func encode(to encoder: any Encoder) throws {
    var object = encoder.container(keyedBy: Key.self)
    try object.encode(status.id, forKey: .id)
    try object.encode(status.lease.components.seconds, forKey: .leaseSeconds)
    try object.encode(status.allowsHighQuality, forKey: .allowsCachingHighQualityImages)
    for (key, value) in [
      (Key.pinned, status.pinned), (.ready, status.ready), (.pending, status.pending), (.leftOut, status.leftOut),
      (.bytes, status.bytes), (.prepared, status.prepared), (.used, status.used), (.wasted, status.wasted),
      (.cancelled, status.cancelled),
    ] { try object.encode(value, forKey: key) }
    // More than two digits would carry no information.
    try object.encode(status.hitRate.map { ($0 * 100).rounded() / 100 }, forKey: .hitRate)
    guard let window = status.window else { return try object.encodeNil(forKey: .window) }
    var shown = object.nestedContainer(keyedBy: WindowKey.self, forKey: .window)
    try shown.encode(window.range.lowerBound, forKey: .start)
    try shown.encode(window.range.upperBound - 1, forKey: .end)
    try shown.encode(window.ready, forKey: .ready)
    try shown.encode(window.pending, forKey: .pending)
    try shown.encode(window.leftOut, forKey: .leftOut)
    try shown.encode(window.quality.rawValue, forKey: .quality)
  }
}

extension Problem {
  static let cachingManagerNotFound = Problem(
    404, "caching-manager-not-found", "No such caching manager",
    detail: "You have no such caching manager, or its lease has ended. POST /v1/cachingManagers creates one; "
      + "the manager default always exists.")
}
