// The listing of an archive: the files of its assets, as the catalogue knows them.

import LibraryCatalogue
import PhotoModel
import Primitives

extension ArchivePlanner {
  /// The files of the assets that the principal sees, and a digest of them.
  ///
  /// - Parameter end: the deadline of the fetch.
  func listing(
    _ source: Source, _ resources: Resources, includesLocation: Bool, until end: ContinuousClock.Instant,
    _ principal: Principal
  ) throws(Problem) -> (listing: ArchiveListing, key: String) {
    var collector = Collector(
      self, resources, includesLocation: includesLocation, until: end, principal)
    switch source {
    case .assets(let identifiers):
      let assets = try assets(identifiers, principal)
      try collector.add(assets)
    case .collection(let identifier):
      let rows = try rows(of: identifier, until: end, principal)
      try collector.add(rows: rows[...])
    case .fetchResult(let id):
      let result = try queries.fetchResult(id, principal)
      try collector.add(rows: result.rows(in: 0..<result.count))
    }
    return (collector.listing, collector.digest.entityTag)
  }

  private func assets(_ identifiers: [LocalIdentifier], _ principal: Principal) throws(Problem) -> [Asset] {
    let assets = try queries.run { library throws(AssetSourceError) in
      try library.assets(named: identifiers, for: principal)
    }
    var found: [Asset] = []
    for (asset, identifier) in zip(assets, identifiers) {
      guard let asset else { throw Problem(AssetSourceError.noSuchAsset(identifier)) }
      found.append(asset)
    }
    return found
  }

  private func rows(
    of collection: LocalIdentifier, until end: ContinuousClock.Instant, _ principal: Principal
  ) throws(Problem) -> [UInt32] {
    var fetch = AssetFetch()
    fetch.scope = try queries.scope(of: collection, principal)
    fetch.isLimited = principal.visibility != .everything
    let scoped = fetch
    let rows = try queries.run { library throws(AssetSourceError) -> [UInt32]? in
      do throws(AssetSourceError) {
        return try library.rows(scoped, atMost: limits.files, deadline: end, for: principal).rows
      } catch {
        // The general problem for this error speaks of fetch results, not of archives.
        guard case .tooManyAssets = error else { throw error }
        return nil
      }
    }
    guard let rows else { throw Problem.archiveTooLarge(limits) }
    return rows
  }

  /// Adds the files of assets to a listing, within the limits of an archive.
  private struct Collector {
    /// Assets that are read from the catalogue at a time.
    private static let chunk = 500

    let planner: ArchivePlanner
    let resources: Resources
    let end: ContinuousClock.Instant
    let principal: Principal
    private(set) var listing: ArchiveListing
    private(set) var digest = ArchiveDigest()

    init(
      _ planner: ArchivePlanner, _ resources: Resources, includesLocation: Bool, until end: ContinuousClock.Instant,
      _ principal: Principal
    ) {
      self.planner = planner
      self.resources = resources
      self.end = end
      self.principal = principal
      listing = ArchiveListing(reservation: ByteBudget.Reservation(of: planner.budget))
      digest.add(planner.files.form(includesLocation: includesLocation))
    }

    mutating func add(rows: ArraySlice<UInt32>) throws(Problem) {
      guard rows.count <= planner.limits.files else { throw Problem.archiveTooLarge(planner.limits) }
      let principal = principal
      var first = rows.startIndex
      while first < rows.endIndex {
        if ContinuousClock.now >= end { throw Problem(AssetSourceError.queryTooExpensive) }
        let next = min(rows.endIndex, first + Self.chunk)
        let part = rows[first..<next]
        let members = try planner.queries.run { library throws(AssetSourceError) in
          try library.members(part, for: principal)
        }
        try add(members.compactMap { if case .asset(let asset) = $0 { asset } else { nil } })
        first = next
      }
    }

    mutating func add(_ assets: [Asset]) throws(Problem) {
      let principal = principal
      var all: [[AssetResource]] = []
      if resources == .all {
        all = try planner.queries.run { library throws(AssetSourceError) in
          try library.resources(of: assets.map(\.localIdentifier), for: principal)
        }
      }
      for (index, asset) in assets.enumerated() { try add(asset, resources == .all ? all[index] : []) }
      try reserve()
    }

    private mutating func add(_ asset: Asset, _ files: [AssetResource]) throws(Problem) {
      let found = files.isEmpty ? [AssetResource(primaryOf: asset)] : files
      guard listing.count + found.count <= planner.limits.files else {
        throw Problem.archiveTooLarge(planner.limits)
      }
      for resource in found {
        listing.append(resource, date: asset.creationDate, utcOffset: asset.utcOffset ?? 0)
        let identity = resource.file.identity
        digest.add(
          "\(asset.localIdentifier) \(asset.contentVersion) \(asset.creationDate.milliseconds) \(asset.utcOffset ?? 0)")
        digest.add("\(identity.inode) \(identity.size) \(identity.modified) \(resource.changeTimeNanoseconds)")
        if let slice = resource.slice { digest.add("slice \(slice.offset) \(slice.length)") }
        digest.add(resource.file.path)
      }
    }

    /// Reserves the memory of the listing's plan: the listing and its copy, and the layout with its names.
    private func reserve() throws(Problem) {
      let needed = 4 * listing.bytes
      guard needed <= planner.budget.capacityBytes else { throw Problem.archiveTooLarge(planner.limits) }
      guard listing.reservation.grow(to: needed) else { throw Problem.overloaded }
    }
  }
}
