// PHCachingImageManager over HTTP: /v1/cachingManagers and its subresources, except windows.

import HTTPCore
import ImageService
import PhotoModel

struct CachingRoutes: Sendable {
  /// Maximum number of assets that a request names. A manager may have room for fewer, and leaves the rest out.
  static let maximumNamedAssets = 100_000

  let managers: CachingManagerRegistry
  let queries: QueryService
  let presets: ImagePresets
  let encoders: AutomaticEncoders

  /// The formats of frames with `format=auto` for a client that lists none.
  var preparedFormats: PreparedFormats { PreparedFormats(hasAnimations: encoders.contains(.webp)) }

  // MARK: Managers

  func create(_ request: HTTPRequest, _ principal: Principal) throws(Problem) -> HTTPResponse {
    var body = try request.body.isEmpty ? JSONObjectReader([:]) : JSONObjectReader(request)
    let allowsHighQuality = try body.flag("allowsCachingHighQualityImages", default: true)
    let lease = try lease(&body)
    try body.finish()
    let status = try mappingFailures { () throws(CachingManagerRegistry.CachingError) in
      try managers.make(for: principal, allowsHighQuality: allowsHighQuality, lease: lease)
    }
    return .json(CachingManagerJSON(status), status: 201, location: "/v1/cachingManagers/\(status.id)")
  }

  func list(_ routed: RoutedRequest) throws(Problem) -> HTTPResponse {
    struct Payload: Encodable {
      let cachingManagers: [CachingManagerJSON]
    }
    let principal = try routed.principal
    _ = try ClientName(routed.target)
    // Renews the lease of the `default` manager, as every call does, and creates none.
    _ = try mappingFailures { () throws(CachingManagerRegistry.CachingError) in
      try managers.status(CachingManagerRegistry.defaultID, for: principal)
    }
    return .json(
      Payload(
        cachingManagers: managers.all(of: principal, includingOtherOwners: principal.seesAllOwners).map(
          CachingManagerJSON.init)))
  }

  func get(_ id: String, _ routed: RoutedRequest) throws(Problem) -> HTTPResponse {
    let principal = try routed.principal
    let client = try ClientName(routed.target)
    return .json(
      CachingManagerJSON(
        try found { () throws(CachingManagerRegistry.CachingError) in
          try managers.status(
            id, client: client.name, for: principal, includingOtherOwners: principal.seesAllOwners)
        }))
  }

  func change(_ id: String, _ routed: RoutedRequest) throws(Problem) -> HTTPResponse {
    let principal = try routed.principal
    var client = try ClientName(routed.target)
    var body = try JSONObjectReader(routed.request)
    try client.read(&body)
    let quality = "allowsCachingHighQualityImages"
    let allowsHighQuality = try body.value(quality) == nil ? nil : body.flag(quality)
    let lease = try lease(&body)
    try body.finish()
    return .json(
      CachingManagerJSON(
        try found { () throws(CachingManagerRegistry.CachingError) in
          try managers.change(
            id, client: client.name, for: principal, allowsHighQuality: allowsHighQuality, lease: lease)
        }))
  }

  func delete(_ id: String, _ routed: RoutedRequest) throws(Problem) -> HTTPResponse {
    let principal = try routed.principal
    let client = try ClientName(routed.target)
    guard
      managers.end(id, client: client.name, for: principal, includingOtherOwners: principal.seesAllOwners)
    else { throw .cachingManagerNotFound }
    return HTTPResponse(204)
  }

  private func lease(_ body: inout JSONObjectReader) throws(Problem) -> Duration? {
    let longest = Int(managers.limits.maximumLease.components.seconds)
    return try body.number("leaseSeconds", in: 1...longest).map { .seconds($0) }
  }

  // MARK: Assets

  func start(_ id: String, _ routed: RoutedRequest) throws(Problem) -> HTTPResponse {
    let principal = try routed.principal
    struct Payload: Encodable {
      let started: Int
      let leftOut: [String]
      let missing: [String]
      let pinned: Int
      let ready: Int
      let pending: Int
    }
    let (client, identifiers, query) = try wanted(routed)
    let started = try found { () throws(CachingManagerRegistry.CachingError) in
      try managers.start(
        identifiers, query.preheatOptions(preparedFormats), allowsNetwork: query.allowsNetwork, id: id,
        client: client.name, for: principal)
    }
    return .json(
      Payload(
        started: started.started, leftOut: started.leftOut.map(\.rawValue), missing: started.missing.map(\.rawValue),
        pinned: started.status.pinned, ready: started.status.ready, pending: started.status.pending))
  }

  func stop(_ id: String, _ routed: RoutedRequest) throws(Problem) -> HTTPResponse {
    let principal = try routed.principal
    struct Payload: Encodable {
      let stopped: Int
      let pinned: Int
      let ready: Int
      let pending: Int
    }
    let (client, identifiers, query) = try wanted(routed)
    let (stopped, status) = try found { () throws(CachingManagerRegistry.CachingError) in
      try managers.stop(identifiers, query.preheatOptions(preparedFormats), id: id, client: client.name, for: principal)
    }
    return .json(
      Payload(stopped: stopped, pinned: status.pinned, ready: status.ready, pending: status.pending))
  }

  func stopAll(_ id: String, _ routed: RoutedRequest) throws(Problem) -> HTTPResponse {
    let principal = try routed.principal
    var client = try ClientName(routed.target)
    if !routed.request.body.isEmpty {
      var body = try JSONObjectReader(routed.request)
      try client.read(&body)
      try body.finish()
    }
    return .json(
      CachingManagerJSON(
        try found { () throws(CachingManagerRegistry.CachingError) in
          try managers.stopAll(id: id, client: client.name, for: principal)
        }))
  }

  private func wanted(_ routed: RoutedRequest) throws(Problem) -> (ClientName, [LocalIdentifier], ImageQuery) {
    var client = try ClientName(routed.target)
    var body = try JSONObjectReader(routed.request)
    try client.read(&body)
    let identifiers = try body.identifiers("assets", atMost: Self.maximumNamedAssets)
    let query = try query(&body)
    try body.finish()
    guard let identifiers else {
      throw QueryReader.invalid("assets", "must be a list of at most \(Self.maximumNamedAssets) localIdentifiers")
    }
    return (client, identifiers, query)
  }

  func query(_ body: inout JSONObjectReader) throws(Problem) -> ImageQuery {
    var reader = RenditionReader(presets: presets)
    try reader.readSize(&body)
    var options = try body.object("options")
    try reader.readOptions(&options)
    try options.finish()
    return try reader.query()
  }

  // MARK: Errors

  func mappingFailures<Value>(
    _ operation: () throws(CachingManagerRegistry.CachingError) -> Value
  ) throws(Problem) -> Value {
    do throws(CachingManagerRegistry.CachingError) {
      return try operation()
    } catch {
      if case .library(let cause) = error { queries.log(cause) }
      throw Problem(error)
    }
  }

  func found<Value>(
    _ operation: () throws(CachingManagerRegistry.CachingError) -> Value?
  ) throws(Problem) -> Value {
    guard let value = try mappingFailures(operation) else { throw .cachingManagerNotFound }
    return value
  }
}
