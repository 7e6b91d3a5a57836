import HTTPCore

/// The resource that a request addresses.
package enum Route: Sendable, Hashable {
  case health, readiness, openAPI, metrics
  case authorization, session, signedURLs
  case assets
  case asset(String)
  case metadata(asset: String)
  case image(asset: String)
  case collections
  case collection(String)
  case collectionAssets(String)
  case collectionChildren(String)
  case transientCollections
  case fetchResults
  case fetchResult(String)
  case fetchResultAssets(String)
  case fetchResultChanges(String)
  case changes, changeStream
  case trash
  case requests
  case request(String)
  case images
  case cachingManagers
  case cachingManager(String)
  case startCaching(manager: String)
  case stopCaching(manager: String)
  case stopCachingAllImages(manager: String)
  case window(manager: String)

  /// Parses the segments of a path. `nil`: no such resource.
  package init?(_ segments: [String]) {
    switch segments.count {
    case 1 where segments == ["healthz"]: self = .health
    case 1 where segments == ["readyz"]: self = .readiness
    case 1 where segments == ["openapi.json"]: self = .openAPI
    case 1 where segments == ["metrics"]: self = .metrics
    case 2 where segments == ["v1", "authorization"]: self = .authorization
    case 2 where segments == ["v1", "session"]: self = .session
    case 2 where segments == ["v1", "signedURLs"]: self = .signedURLs
    case 2 where segments == ["v1", "assets"]: self = .assets
    case 3 where segments[0] == "v1" && segments[1] == "assets": self = .asset(segments[2])
    case 4 where segments[0] == "v1" && segments[1] == "assets" && segments[3] == "image":
      self = .image(asset: segments[2])
    case 4 where segments[0] == "v1" && segments[1] == "assets" && segments[3] == "metadata":
      self = .metadata(asset: segments[2])
    case 2 where segments == ["v1", "collections"]: self = .collections
    case 3 where segments[0] == "v1" && segments[1] == "collections": self = .collection(segments[2])
    case 4 where segments[0] == "v1" && segments[1] == "collections" && segments[3] == "assets":
      self = .collectionAssets(segments[2])
    case 4 where segments[0] == "v1" && segments[1] == "collections" && segments[3] == "collections":
      self = .collectionChildren(segments[2])
    case 2 where segments == ["v1", "transientCollections"]: self = .transientCollections
    case 2 where segments == ["v1", "fetchResults"]: self = .fetchResults
    case 3 where segments[0] == "v1" && segments[1] == "fetchResults": self = .fetchResult(segments[2])
    case 4 where segments[0] == "v1" && segments[1] == "fetchResults" && segments[3] == "assets":
      self = .fetchResultAssets(segments[2])
    case 4 where segments[0] == "v1" && segments[1] == "fetchResults" && segments[3] == "changes":
      self = .fetchResultChanges(segments[2])
    case 2 where segments == ["v1", "changes"]: self = .changes
    case 3 where segments == ["v1", "changes", "stream"]: self = .changeStream
    case 2 where segments == ["v1", "trash"]: self = .trash
    case 2 where segments == ["v1", "requests"]: self = .requests
    case 3 where segments[0] == "v1" && segments[1] == "requests": self = .request(segments[2])
    case 2 where segments == ["v1", "images"]: self = .images
    case 2 where segments == ["v1", "cachingManagers"]: self = .cachingManagers
    case 3 where segments[0] == "v1" && segments[1] == "cachingManagers": self = .cachingManager(segments[2])
    case 4 where segments[0] == "v1" && segments[1] == "cachingManagers":
      switch segments[3] {
      case "startCaching": self = .startCaching(manager: segments[2])
      case "stopCaching": self = .stopCaching(manager: segments[2])
      case "stopCachingAllImages": self = .stopCachingAllImages(manager: segments[2])
      case "window": self = .window(manager: segments[2])
      default: return nil
      }
    default: return nil
    }
  }

  /// The methods that the resource supports, for `Allow`.
  package var methods: [HTTPMethod] {
    switch self {
    case .request, .fetchResult, .cachingManager: [.get, .head, .delete, .options]
    case .changes: [.get, .head, .post, .options]
    case .session: [.post, .delete, .options]
    case .fetchResults, .transientCollections, .signedURLs, .images, .startCaching, .stopCaching,
      .stopCachingAllImages:
      [.post, .options]
    case .cachingManagers, .assets: [.get, .head, .post, .options]
    case .window: [.put, .options]
    case .health, .readiness, .openAPI, .metrics, .authorization, .asset, .trash, .metadata, .image, .requests,
      .collections,
      .collection,
      .collectionAssets, .collectionChildren, .fetchResultAssets, .fetchResultChanges, .changeStream:
      [.get, .head, .options]
    }
  }

  var allow: String { methods.map(\.name).joined(separator: ", ") }
}
