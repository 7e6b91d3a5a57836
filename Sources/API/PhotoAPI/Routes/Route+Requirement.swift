import HTTPCore
import PhotoModel

/// What a caller needs to use a route.
package enum Requirement: Sendable, Hashable {
  /// Nothing: also open without a credential.
  case open
  /// An authenticated caller, with any scopes.
  case authenticated
  /// At least one of these scopes.
  case scope(Set<Scope>)
  /// Every one of these scopes.
  case scopes(Set<Scope>)
}

extension Route {
  /// A route without its identifiers.
  package enum Kind: String, Sendable, Hashable, CaseIterable {
    case health, readiness, openAPI, metrics, authorization, session, signedURLs
    case assets, asset, metadata, image
    case collections, collection, collectionAssets, collectionChildren, transientCollections
    case fetchResults, fetchResult, fetchResultAssets, fetchResultChanges
    case changes, changeStream
    case requests, request, trash
    case images
    case cachingManagers, cachingManager, startCaching, stopCaching, stopCachingAllImages, window
  }

  package var kind: Kind {
    switch self {
    case .health: .health
    case .readiness: .readiness
    case .openAPI: .openAPI
    case .metrics: .metrics
    case .authorization: .authorization
    case .session: .session
    case .signedURLs: .signedURLs
    case .assets: .assets
    case .asset: .asset
    case .metadata: .metadata
    case .image: .image
    case .collections: .collections
    case .collection: .collection
    case .collectionAssets: .collectionAssets
    case .collectionChildren: .collectionChildren
    case .transientCollections: .transientCollections
    case .fetchResults: .fetchResults
    case .fetchResult: .fetchResult
    case .fetchResultAssets: .fetchResultAssets
    case .fetchResultChanges: .fetchResultChanges
    case .changes: .changes
    case .changeStream: .changeStream
    case .trash: .trash
    case .requests: .requests
    case .request: .request
    case .images: .images
    case .cachingManagers: .cachingManagers
    case .cachingManager: .cachingManager
    case .startCaching: .startCaching
    case .stopCaching: .stopCaching
    case .stopCachingAllImages: .stopCachingAllImages
    case .window: .window
    }
  }

  /// What a method of the resource requires of its caller.
  package func requirement(_ method: HTTPMethod) -> Requirement {
    switch kind {
    case .health, .readiness: .open
    // They report the caller's identity, or sign the caller in or out.
    case .authorization, .session: .open
    case .openAPI: .authenticated
    // `MetricsRoute` decides: the rule depends on more than a scope if no token was ever made.
    case .metrics: .authenticated
    case .signedURLs: .scope([.read])
    case .assets where method == .post: .scope([.write])
    // Both refer to existing assets, so they need read access too.
    case .trash: .scopes([.read, .write])
    case .changes where method == .post: .scopes([.read, .write])
    case .assets, .asset, .metadata, .image, .collections, .collection, .collectionAssets, .collectionChildren,
      .transientCollections, .fetchResults, .fetchResult, .fetchResultAssets, .fetchResultChanges, .images,
      .cachingManagers, .cachingManager, .startCaching, .stopCaching, .stopCachingAllImages, .window, .changes,
      .changeStream:
      .scope([.read])
    // An administrator sees the requests of all owners.
    case .requests, .request: .scope([.read, .admin])
    }
  }

  /// Whether a method changes at most what its own caller created, and neither the library nor anyone's access. Pages
  /// of read-only origins may use it. False for a method that the resource does not support.
  package func isReading(_ method: HTTPMethod) -> Bool {
    guard methods.contains(method) else { return false }
    switch kind {
    case .session, .signedURLs: return method == .options
    case .assets, .changes: return method != .post
    case .health, .readiness, .openAPI, .metrics, .authorization, .asset, .metadata, .image, .collections, .collection,
      .collectionAssets, .collectionChildren, .transientCollections, .fetchResults, .fetchResult, .fetchResultAssets,
      .fetchResultChanges, .changeStream, .requests, .request, .trash, .images, .cachingManagers, .cachingManager,
      .startCaching, .stopCaching, .stopCachingAllImages, .window:
      return true
    }
  }
}
