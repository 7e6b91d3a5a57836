import HTTPCore
import PhotoModel

/// What a caller must have, that a route is open to it.
package enum Requirement: Sendable, Hashable {
  /// Nothing: whoever comes is answered.
  case nothing
  /// To be somebody, with whatever scopes.
  case somebody
  /// At least one of these scopes.
  case scope(Set<Scope>)
}

extension Route {
  /// Every kind of resource, whichever one it is.
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

  /// What a method of the resource asks of its caller.
  package func requirement(_ method: HTTPMethod) -> Requirement {
    switch kind {
    case .health, .readiness: .nothing
    // They tell who one is, or make one somebody.
    case .authorization, .session: .nothing
    case .openAPI: .somebody
    // Who may read them is more than a scope where there are no tokens: see `MetricsRoute`.
    case .metrics: .somebody
    case .signedURLs: .scope([.read])
    case .assets where method == .post: .scope([.write])
    case .trash: .scope([.write])
    case .assets, .asset, .metadata, .image, .collections, .collection, .collectionAssets, .collectionChildren,
      .transientCollections, .fetchResults, .fetchResult, .fetchResultAssets, .fetchResultChanges, .images,
      .cachingManagers, .cachingManager, .startCaching, .stopCaching, .stopCachingAllImages, .window, .changeStream:
      .scope([.read])
    case .changes: .scope(method == .post ? [.write] : [.read])
    // An administrator sees everybody's.
    case .requests, .request: .scope([.read, .admin])
    }
  }
}
