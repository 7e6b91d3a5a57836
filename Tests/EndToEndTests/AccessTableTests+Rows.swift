import PhotoAPI

// The requests of the access table, and the status that each kind of caller gets.

extension AccessTableTests {
  /// The status of the response to each kind of caller, if the page may send the request.
  typealias Answers = (CallerKind) -> Int

  struct Row {
    let method: String
    let target: String
    var body: String?
    let answers: Answers
  }

  // MARK: Statuses

  /// Open to every caller. A signed URL is still valid only for its own resource.
  private static func open(_ status: Int) -> Answers {
    { if case .signature = $0.standing { 403 } else { status } }
  }

  /// Needs a caller; scopes don't matter.
  private static func authenticated(_ status: Int) -> Answers {
    { $0.status { _ in status } }
  }

  /// Needs the scope `read`; callers who have it get this response.
  ///
  /// - Parameters:
  ///   - forwarded: the response to callers without tokens that a proxy may have forwarded.
  ///   - limited: the response to callers who see only one album.
  ///   - admin: the response to callers who have `admin` and not `read`.
  ///   - image: the response to the signed URL of the first image.
  ///   - album: the response to the signed URL of its album.
  private static func reading(
    _ status: Int, forwarded: Int? = nil, limited: Int? = nil, admin: Int = 403, image: Int = 403, album: Int = 403
  ) -> Answers {
    { who in
      switch who {
      case .signedImage: return image
      case .signedAlbum: return album
      default:
        return who.status { scopes in
          guard scopes.contains(.read) else { return scopes.contains(.admin) ? admin : 403 }
          if who.isForwarded { return forwarded ?? status }
          return who.isLimited ? limited ?? status : status
        }
      }
    }
  }

  /// Needs the scopes `read` and `location`.
  private static func locating(_ status: Int) -> Answers {
    { $0.status { $0.isSuperset(of: [.read, .location]) ? status : 403 } }
  }

  /// Needs the scope `write`; callers who have it get this response.
  ///
  /// - Parameters:
  ///   - limited: the response if they see only one album.
  ///   - add: the response to callers who have only `add`.
  ///   - admin: the response to callers who have `admin` and not `write`.
  private static func writing(_ status: Int, limited: Int? = nil, add: Int = 403, admin: Int = 403) -> Answers {
    { who in
      who.status { scopes in
        if scopes.contains(.write) { return who.isLimited ? limited ?? status : status }
        if scopes.contains(.add) { return add }
        return scopes.contains(.admin) ? admin : 403
      }
    }
  }

  /// Needs the scope `admin`; callers who have it get this response.
  ///
  /// - Parameter limited: the response if they see only one album.
  private static func administering(_ status: Int, limited: Int? = nil) -> Answers {
    { who in
      who.status { scopes in
        guard scopes.contains(.admin) else { return 403 }
        return who.isLimited ? limited ?? status : status
      }
    }
  }

  // MARK: Requests

  /// The requests to a resource: at least one with each of its methods.
  static func rows(of group: EndpointGroup, in world: AccessFixture) -> [Row] {
    func get(_ target: String, _ answers: @escaping Answers) -> Row {
      Row(method: "GET", target: target, answers: answers)
    }
    let (inside, outside) = ("/v1/assets/\(world.inside)", "/v1/assets/\(world.outside)")
    let (album, other) = ("/v1/collections/\(AccessFixture.album)", "/v1/collections/\(AccessFixture.other)")
    switch group.path.text {
    case "/healthz": return [get("/healthz", open(200))]
    case "/": return [get("/", open(200))]
    case "/gallery/{file}": return [get("/gallery/app.js", open(200))]
    case "/readyz": return [get("/readyz", open(200))]
    case "/v1/authorization": return [get("/v1/authorization", open(200))]
    case "/v1/session":
      return [
        Row(method: "POST", target: "/v1/session", body: "{}", answers: open(400)),
        Row(method: "DELETE", target: "/v1/session", answers: open(204)),
      ]
    case "/openapi.json":
      return [
        get("/openapi.json", authenticated(200))
      ]
    case "/v1/scan": return [Row(method: "POST", target: "/v1/scan", answers: administering(202))]
    case "/metrics": return [get("/metrics", administering(200, limited: 403))]
    case "/v1/signedURLs":
      return [
        Row(
          method: "POST", target: "/v1/signedURLs", body: #"{"path": "\#(inside)/image"}"#,
          answers: reading(201, forwarded: 403)),
        Row(
          method: "POST", target: "/v1/signedURLs", body: #"{"path": "\#(outside)/image"}"#,
          answers: reading(201, forwarded: 403, limited: 404)),
        Row(
          method: "POST", target: "/v1/signedURLs", body: #"{"path": "\#(other)"}"#,
          answers: reading(201, forwarded: 403, limited: 404)),
      ]
    case "/v1/assets":
      return [
        get("/v1/assets", reading(200)),
        Row(method: "POST", target: "/v1/assets", body: "no picture", answers: writing(415, add: 415)),
      ]
    // A malformed request, because a staged upload would remain.
    case "/v1/uploads":
      return [Row(method: "POST", target: "/v1/uploads?x=1", answers: writing(400, add: 400))]
    case "/v1/uploads/{upload}":
      let ended = writing(404, add: 404, admin: 404)
      return [
        get("/v1/uploads/none", ended),
        Row(method: "PATCH", target: "/v1/uploads/none", body: "x", answers: writing(415, add: 415)),
        Row(method: "DELETE", target: "/v1/uploads/none", answers: ended),
      ]
    case "/v1/trash": return [get("/v1/trash", writing(200))]
    case "/v1/assets/{localIdentifier}":
      return [get(inside, reading(200, album: 200)), get(outside, reading(200, limited: 404, album: 404))]
    case "/v1/assets/{localIdentifier}/data", "/v1/assets/{localIdentifier}/resources",
      "/v1/assets/{localIdentifier}/resources/{type}/data":
      let path = group.path.text.replacing("/v1/assets/{localIdentifier}", with: "").replacing(
        "{type}", with: "photo")
      var rows = [
        get(inside + path, reading(200, album: 200)), get(outside + path, reading(200, limited: 404, album: 404)),
      ]
      if path != "/resources" {
        rows.append(
          get(inside + path + "?includeLocation=true", locating(200)))
      }
      return rows
    case "/v1/assets/{localIdentifier}/adjustments":
      return [
        get(inside + "/adjustments", reading(404)), get(outside + "/adjustments", reading(404)),
        Row(method: "PUT", target: inside + "/adjustments", body: "{}", answers: writing(422)),
        Row(method: "DELETE", target: inside + "/adjustments", answers: writing(204)),
      ]
    case "/v1/assets/{localIdentifier}/keepOriginal":
      return [
        Row(method: "PUT", target: inside + "/keepOriginal", body: #"{"keep": false}"#, answers: writing(204)),
        Row(
          method: "PUT", target: outside + "/keepOriginal", body: #"{"keep": false}"#,
          answers: writing(204, limited: 404)),
      ]
    case "/v1/collections/{collection}/keepOriginal":
      return [
        Row(method: "PUT", target: album + "/keepOriginal", body: #"{"keep": false}"#, answers: writing(204)),
        Row(
          method: "PUT", target: other + "/keepOriginal", body: #"{"keep": false}"#,
          answers: writing(204, limited: 404)),
      ]
    case "/v1/assets/{localIdentifier}/preview":
      return [
        Row(
          method: "POST", target: inside + "/preview", body: #"{"operations": [], "targetSize": "20x20"}"#,
          answers: reading(200)),
        Row(
          method: "POST", target: outside + "/preview", body: #"{"operations": [], "targetSize": "20x20"}"#,
          answers: reading(200, limited: 404)),
      ]
    case "/v1/archive":
      let (inAlbum, inOther) = (
        album.replacing("/v1/collections/", with: ""), other.replacing("/v1/collections/", with: "")
      )
      return [
        get("/v1/archive?assets=\(world.inside)", reading(200)),
        get("/v1/archive?assets=\(world.outside)", reading(200, limited: 404)),
        get("/v1/archive?collection=\(inAlbum)", reading(200)),
        get("/v1/archive?collection=\(inOther)", reading(200, limited: 404)),
        get("/v1/archive?fetchResult=none", reading(404)),
        get("/v1/archive?assets=\(world.inside)&includeLocation=true", locating(200)),
        Row(
          method: "POST", target: "/v1/archive", body: #"{"assets": ["\#(world.inside)"]}"#, answers: reading(200)),
        Row(
          method: "POST", target: "/v1/archive", body: #"{"assets": ["\#(world.outside)"]}"#,
          answers: reading(200, limited: 404)),
        Row(
          method: "POST", target: "/v1/archive",
          body: #"{"assets": ["\#(world.inside)"], "includeLocation": true}"#, answers: locating(200)),
      ]
    case "/v1/assets/{localIdentifier}/metadata":
      return [
        get(inside + "/metadata", reading(200, album: 200)),
        get(outside + "/metadata", reading(200, limited: 404, album: 404)),
      ]
    case "/v1/assets/{localIdentifier}/image":
      return [
        get(world.image, reading(200, image: 200, album: 200)),
        get(inside + "/image?targetSize=20x21", reading(200, album: 200)),
        get(outside + "/image?targetSize=20x20", reading(200, limited: 404, album: 404)),
      ]
    case "/iiif/3/{localIdentifier}", "/iiif/3/{localIdentifier}/info.json":
      let path = group.path.text.replacing("/iiif/3/{localIdentifier}", with: "")
      let status = path.isEmpty ? 303 : 200
      return [
        get("/iiif/3/\(world.inside)" + path, reading(status, album: status)),
        get("/iiif/3/\(world.outside)" + path, reading(status, limited: 404, album: 404)),
      ]
    case "/iiif/3/{localIdentifier}/{region}/{size}/{rotation}/{file}":
      let path = "/full/20,/0/default.jpg"
      return [
        get("/iiif/3/\(world.inside)" + path, reading(200, album: 200)),
        get("/iiif/3/\(world.outside)" + path, reading(200, limited: 404, album: 404)),
      ]
    case "/iiif/presentation/3/{collection}/manifest":
      return [
        get("/iiif/presentation/3/\(AccessFixture.album)/manifest", reading(200)),
        get("/iiif/presentation/3/\(AccessFixture.other)/manifest", reading(200, limited: 404)),
      ]
    case "/iiif/presentation/3/collection/{collection}":
      return [
        get("/iiif/presentation/3/collection/top", reading(200)),
        get("/iiif/presentation/3/collection/none", reading(404)),
      ]
    case "/v1/collections": return [get("/v1/collections", reading(200))]
    case "/v1/collections/{collection}":
      return [get(album, reading(200, album: 200)), get(other, reading(200, limited: 404))]
    case "/v1/collections/{collection}/assets":
      return [get(album + "/assets", reading(200, album: 200)), get(other + "/assets", reading(200, limited: 404))]
    case "/v1/collections/{collection}/collections": return [get("/v1/collections/none/collections", reading(404))]
    case "/v1/transientCollections":
      return [
        get("/v1/transientCollections", reading(200, admin: 200)),
        Row(
          method: "POST", target: "/v1/transientCollections", body: #"{"assets": ["\#(world.inside)"]}"#,
          answers: reading(201)),
      ]
    case "/v1/transientCollections/{transientCollection}":
      return [Row(method: "DELETE", target: "/v1/transientCollections/none", answers: reading(404, admin: 404))]
    case "/v1/fetchResults":
      return [
        get("/v1/fetchResults", reading(200, admin: 200)),
        Row(method: "POST", target: "/v1/fetchResults", body: "{}", answers: reading(201)),
      ]
    case "/v1/fetchResults/{fetchResult}":
      return [
        get("/v1/fetchResults/none", reading(404, admin: 404)),
        Row(method: "DELETE", target: "/v1/fetchResults/none", answers: reading(404, admin: 404)),
      ]
    case "/v1/fetchResults/{fetchResult}/assets": return [get("/v1/fetchResults/none/assets", reading(404))]
    case "/v1/fetchResults/{fetchResult}/collections":
      return [get("/v1/fetchResults/none/collections", reading(404))]
    case "/v1/fetchResults/{fetchResult}/changes": return [get("/v1/fetchResults/none/changes", reading(404))]
    // A malformed request, because a stream would not end. Access is checked before the parameters.
    case "/v1/changes":
      return [
        get("/v1/changes?since=none", reading(400)),
        Row(method: "POST", target: "/v1/changes", body: "{}", answers: writing(400)),
      ]
    case "/v1/changes/stream":
      return [
        get("/v1/changes/stream?since=none", reading(400)), get("/v1/changes/stream?fetchResult=none", reading(404)),
      ]
    case "/v1/requests": return [get("/v1/requests", reading(200, admin: 200))]
    case "/v1/requests/{requestID}":
      return [
        get("/v1/requests/none", reading(404, admin: 404)),
        Row(method: "DELETE", target: "/v1/requests/none", answers: reading(404, admin: 404)),
      ]
    // Each refused asset is a part or a member of the response.
    case "/v1/images":
      return [
        Row(
          method: "POST", target: "/v1/images", body: #"{"assets": ["\#(world.inside)", "\#(world.outside)"]}"#,
          answers: reading(200))
      ]
    case "/v1/cachingManagers":
      return [
        get("/v1/cachingManagers", reading(200, admin: 200)),
        Row(method: "POST", target: "/v1/cachingManagers", body: "{}", answers: reading(201)),
      ]
    case "/v1/cachingManagers/{cachingManager}":
      return [
        get("/v1/cachingManagers/none", reading(404, admin: 404)),
        Row(method: "PATCH", target: "/v1/cachingManagers/none", body: "{}", answers: reading(404)),
        Row(method: "DELETE", target: "/v1/cachingManagers/none", answers: reading(404, admin: 404)),
      ]
    case "/v1/cachingManagers/{cachingManager}/startCaching", "/v1/cachingManagers/{cachingManager}/stopCaching":
      return [
        Row(
          method: "POST", target: group.path.text.replacing("{cachingManager}", with: "default"),
          body: #"{"assets": ["\#(world.outside)"], "targetSize": "20x20"}"#, answers: reading(200))
      ]
    case "/v1/cachingManagers/{cachingManager}/stopCachingAllImages":
      return [
        Row(
          method: "POST", target: "/v1/cachingManagers/default/stopCachingAllImages", body: "{}",
          answers: reading(200))
      ]
    case "/v1/cachingManagers/{cachingManager}/window":
      return [
        Row(
          method: "PUT", target: "/v1/cachingManagers/default/window",
          body: #"{"assets": ["\#(world.outside)"], "visible": [0, 0], "targetSize": "20x20"}"#, answers: reading(200))
      ]
    default: return []
    }
  }
}
