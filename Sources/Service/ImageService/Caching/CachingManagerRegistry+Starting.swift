// startCachingImages, stopCachingImages and stopCachingImagesForAllAssets of PHCachingImageManager.

import PhotoModel

extension CachingManagerRegistry {
  /// The result of a call to start.
  package struct StartResult: Sendable {
    package internal(set) var started = 0
    /// Assets for which there is no room.
    package internal(set) var leftOut: [LocalIdentifier] = []
    /// Assets that do not exist for this owner.
    package internal(set) var missing: [LocalIdentifier] = []
    package internal(set) var status: CachingStatus
  }

  /// Prepares frames and keeps them until they are stopped. Returns `nil` if this owner has no such manager. Queries
  /// the catalogue.
  package func start(
    _ identifiers: [LocalIdentifier], _ options: PreheatOptions, allowsNetwork: Bool = false, id: String,
    client: String? = nil, for owner: Principal
  ) throws(CachingError) -> StartResult? {
    let generation = library.generation
    guard try status(id, client: client, for: owner) != nil else { return nil }
    let assets = try mappingErrors { () throws(AssetSourceError) in try library.assets(named: identifiers, for: owner) }
    return try withManager(id, client, owner) { manager in
      var started = StartResult(status: status(of: manager))
      let maximumEntries = maximumEntries(of: manager)
      update(manager) { state in
        for (identifier, asset) in zip(identifiers, assets) {
          guard let asset else {
            started.missing.append(identifier)
            continue
          }
          let isStarted = state.start(
            asset, options, allowsNetwork: allowsNetwork && limits.windowDownloads > 0, maximumEntries: maximumEntries)
          if isStarted { started.started += 1 } else { started.leftOut.append(identifier) }
        }
      }
      if generation != library.generation { manager.invalidateAssets() }
      startNextPreparations()
      started.status = status(of: manager)
      return started
    }
  }

  /// Stops entries that were started with the same options. Returns their number; `nil` if this owner has no such
  /// manager.
  package func stop(
    _ identifiers: [LocalIdentifier], _ options: PreheatOptions, id: String, client: String? = nil,
    for owner: Principal
  ) throws(CachingError) -> (stopped: Int, status: CachingStatus)? {
    try withManager(id, client, owner) { manager in
      let stopped = update(manager) { state in identifiers.count { state.stop($0, options) } }
      roomFreed()
      return (stopped, status(of: manager))
    }
  }

  /// Stops all entries, and ends the window.
  package func stopAll(
    id: String, client: String? = nil, for owner: Principal
  ) throws(CachingError) -> CachingStatus? {
    try withManager(id, client, owner) { manager in
      update(manager) { $0.stopAll() }
      roomFreed()
      return status(of: manager)
    }
  }
}
