// PHCachingImageManager over HTTP: /v1/cachingManagers and what is under it.

import AssetLibrary
import HTTPCore
import ImageService
import PhotoModel

struct CachingRoutes: Sendable {
  /// What may be visible at a time, and what may be asked for around it on either side.
  private static let mostVisible = 1000
  private static let widestMargin = 10_000

  let managers: CachingManagers
  let fetching: Fetching

  // MARK: Managers

  func make(_ request: HTTPRequest, _ principal: Principal) throws(Problem) -> HTTPResponse {
    try QueryReader(request.target).finish()
    var body = try request.body.isEmpty ? JSONObjectReader([:]) : JSONObjectReader(request)
    let allowsHighQuality = try body.flag("allowsCachingHighQualityImages", default: true)
    let longest = Int(managers.limits.lease.components.seconds)
    let lease = try body.number("leaseSeconds", in: 1...longest)
    try body.finish()
    let status = try asking { () throws(CachingManagers.Failure) in
      try managers.make(for: principal, allowsHighQuality: allowsHighQuality, lease: lease.map { .seconds($0) })
    }
    return .created(JSONBody.encode(StatusJSON(status)), at: "/v1/cachingManagers/\(status.id)")
  }

  func list(_ request: HTTPRequest, _ principal: Principal) throws(Problem) -> HTTPResponse {
    struct Shape: Encodable {
      let cachingManagers: [StatusJSON]
    }
    try QueryReader(request.target).finish()
    // Everyone has this one.
    _ = try asking { () throws(CachingManagers.Failure) in
      try managers.status(CachingManagers.defaultID, for: principal)
    }
    return Self.answer(
      Shape(cachingManagers: managers.all(of: principal, andAnybodys: principal.seesEverybodys).map(StatusJSON.init)))
  }

  func one(_ id: String, _ request: HTTPRequest, _ principal: Principal) throws(Problem) -> HTTPResponse {
    try QueryReader(request.target).finish()
    return Self.answer(
      StatusJSON(
        try found { () throws(CachingManagers.Failure) in
          try managers.status(id, for: principal, orAnybodys: principal.seesEverybodys)
        }))
  }

  func end(_ id: String, _ request: HTTPRequest, _ principal: Principal) throws(Problem) -> HTTPResponse {
    try QueryReader(request.target).finish()
    guard managers.end(id, for: principal, orAnybodys: principal.seesEverybodys) else { throw .cachingManagerNotFound }
    return HTTPResponse(204)
  }

  // MARK: Assets

  func start(_ id: String, _ request: HTTPRequest, _ principal: Principal) throws(Problem) -> HTTPResponse {
    struct Shape: Encodable {
      let started: Int
      let leftOut: [String]
      let missing: [String]
      let pinned: Int
      let ready: Int
      let pending: Int
    }
    let (identifiers, options) = try wanted(request)
    let started = try found { () throws(CachingManagers.Failure) in
      try managers.start(identifiers, options, id: id, for: principal)
    }
    return Self.answer(
      Shape(
        started: started.started, leftOut: started.leftOut.map(\.rawValue), missing: started.missing.map(\.rawValue),
        pinned: started.status.pinned, ready: started.status.ready, pending: started.status.pending))
  }

  func stop(_ id: String, _ request: HTTPRequest, _ principal: Principal) throws(Problem) -> HTTPResponse {
    struct Shape: Encodable {
      let stopped: Int
      let pinned: Int
      let ready: Int
      let pending: Int
    }
    let (identifiers, options) = try wanted(request)
    let (stopped, status) = try found { () throws(CachingManagers.Failure) in
      try managers.stop(identifiers, options, id: id, for: principal)
    }
    return Self.answer(
      Shape(stopped: stopped, pinned: status.pinned, ready: status.ready, pending: status.pending))
  }

  func stopAll(_ id: String, _ request: HTTPRequest, _ principal: Principal) throws(Problem) -> HTTPResponse {
    try QueryReader(request.target).finish()
    if !request.body.isEmpty {
      try JSONObjectReader(request).finish()
    }
    return Self.answer(
      StatusJSON(
        try found { () throws(CachingManagers.Failure) in try managers.stopAll(id: id, for: principal) }))
  }

  private func wanted(_ request: HTTPRequest) throws(Problem) -> ([LocalIdentifier], PreheatOptions) {
    try QueryReader(request.target).finish()
    var body = try JSONObjectReader(request)
    let identifiers = try body.identifiers("assets", atMost: managers.limits.assets)
    let options = try Self.options(&body)
    try body.finish()
    guard let identifiers else {
      throw QueryReader.invalid("assets", "is a list of at most \(managers.limits.assets) localIdentifiers")
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

  /// What a window is asked to be, and over what.
  struct WindowMove: Sendable {
    let id: String
    let move: CachingManagers.Move
    let list: List

    enum List: Sendable {
      case source(any PreheatSource)
      /// A collection that is to be fetched first.
      case fetch(LocalIdentifier, AssetFetch)
      /// One that has changed so that it is to be read anew, and is long.
      case long(CollectionSource)
    }

    /// Whether it may have to look at every asset.
    var isFree: Bool {
      switch list {
      case .source: false
      case .fetch(_, let fetch): fetch.isFree
      case .long: true
      }
    }
  }

  func window(_ id: String, _ request: HTTPRequest, _ principal: Principal) throws(Problem) -> WindowMove {
    try QueryReader(request.target).finish()
    var body = try JSONObjectReader(request)
    let visible = try Self.visible(&body)
    let margin = try body.number("margin", in: 0...Self.widestMargin)
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
      case (nil, nil, let identifiers?): .source(ListSource(identifiers, fetching.library, principal))
      default:
        throw QueryReader.invalid(
          "fetchResult", "or collection, or assets says what the window is over: one of the three")
      }
    return WindowMove(
      id: id, move: CachingManagers.Move(visible: visible, margin: margin ?? visible.count, options: options),
      list: list)
  }

  private func fetchResult(_ id: String, _ principal: Principal) throws(Problem) -> WindowMove.List {
    guard let source = FetchResultSource(id, fetching, principal) else { throw .fetchResultNotFound }
    return .source(source)
  }

  /// The list that the window has already, where it is of that collection, as it is now; else the collection's.
  private func collection(
    _ collection: LocalIdentifier, _ id: String, _ principal: Principal
  ) throws(Problem) -> WindowMove.List {
    let source = managers.currentSource(id: id, for: principal) as? CollectionSource
    let current = source?.collection == collection ? source : nil
    if let current, current.renewed() { return .source(current) }
    let fetch = try fetching.asking { _ throws(AssetSourceError) in
      try CollectionSource.fetch(of: collection, fetching, principal)
    }
    guard let fetch else { throw .collectionNotFound }
    guard let current else { return .fetch(collection, fetch) }
    return try follow(current, mayReadAll: false)
  }

  /// The client has said where it is, so nothing is to be found again.
  private func follow(_ source: CollectionSource, mayReadAll: Bool) throws(Problem) -> WindowMove.List {
    let change = try fetching.asking { _ throws(AssetSourceError) in
      try source.followed(visible: 0..<0, known: [], mayReadAll: mayReadAll)
    }
    switch change {
    case .same(let source), .other(let source, _, _): return .source(source)
    case .isLong: return .long(source)
    case .gone: throw .collectionNotFound
    }
  }

  private static func visible(_ body: inout JSONObjectReader) throws(Problem) -> Range<Int>? {
    guard let value = body.value("visible") else { return nil }
    if case .list(let ends) = value, ends.count == 2, case .integer(let first) = ends[0],
      case .integer(let last) = ends[1], first >= 0, first <= last, last - first < mostVisible
    {
      return first..<last + 1
    }
    throw invalidVisible
  }

  private static let invalidVisible = QueryReader.invalid(
    "visible", "is [FIRST, LAST], both counted from 0 and included, and at most \(mostVisible) positions")

  func move(_ window: WindowMove, _ principal: Principal) throws(Problem) -> HTTPResponse {
    struct Shape: Encodable {
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
      source = try fetching.asking { _ throws(AssetSourceError) in
        try CollectionSource(collection, fetch, fetching, principal)
      }
    case .long(let old):
      guard case .source(let read) = try follow(old, mayReadAll: true) else {
        preconditionFailure("a list that may be read is read")
      }
      source = read
    }
    let status = try found { () throws(CachingManagers.Failure) in
      try managers.move(window.move, over: source, id: window.id, for: principal)
    }
    return Self.answer(
      Shape(
        start: status.range.lowerBound, end: status.range.upperBound - 1, ready: status.ready,
        pending: status.pending, leftOut: status.leftOut, quality: status.quality.rawValue))
  }

  // MARK: Answers

  private func asking<Value>(
    _ question: () throws(CachingManagers.Failure) -> Value
  ) throws(Problem) -> Value {
    do throws(CachingManagers.Failure) {
      return try question()
    } catch {
      switch error {
      case .tooManyManagers(let limit):
        throw Problem(
          429, "too-many-handles", "Too many of these",
          detail: "There are \(limit) caching managers already; end some that you no longer need, or let their leases "
            + "end.",
          fields: ["Retry-After": "60"])
      case .library(let error): return try fetching.asking { _ throws(AssetSourceError) in throw error }
      }
    }
  }

  private func found<Value>(
    _ question: () throws(CachingManagers.Failure) -> Value?
  ) throws(Problem) -> Value {
    guard let value = try asking(question) else { throw .cachingManagerNotFound }
    return value
  }

  private static func answer(_ value: some Encodable) -> HTTPResponse {
    HTTPResponse(
      .ok, [("Content-Type", JSONBody.mediaType), ("Cache-Control", "no-store")], body: JSONBody.encode(value))
  }
}

/// A caching manager as it is shown.
private struct StatusJSON: Encodable {
  private let status: CachingStatus

  init(_ status: CachingStatus) { self.status = status }

  private enum Key: String, CodingKey {
    case id, leaseSeconds, allowsCachingHighQualityImages, pinned, ready, pending, leftOut, bytes, prepared, used,
      wasted, givenUp
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
      (.givenUp, status.givenUp),
    ] { try object.encode(value, forKey: key) }
    // Two digits say all that it means.
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
    detail: "You have no caching manager of that name, or its lease has ended; POST /v1/cachingManagers makes one, and "
      + "default is always there.")
}
