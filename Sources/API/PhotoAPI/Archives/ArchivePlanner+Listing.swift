// The listing of an archive: the files of its assets, as the catalogue knows them.

import LibraryCatalogue
import PhotoModel
import Primitives

extension ArchivePlanner {
  /// The assets of an archive, before their files are listed.
  enum Members: Sendable {
    case assets([Asset])
    /// Row numbers of the catalogue, in order.
    case rows([UInt32])
  }

  /// The assets that the principal sees.
  ///
  /// - Parameter end: the deadline of the fetch.
  func members(
    of source: Source, until end: ContinuousClock.Instant, _ principal: Principal
  ) throws(Problem) -> Members {
    switch source {
    case .assets(let identifiers): return .assets(try assets(identifiers, principal))
    case .collection(let identifier): return .rows(try rows(of: identifier, until: end, principal))
    case .fetchResult(let id):
      let result = try queries.fetchResult(id, principal)
      return .rows(Array(result.rows(in: 0..<result.count)))
    }
  }

  /// The files of assets, and a digest of them. O(assets), with a few catalogue reads for every 500.
  ///
  /// - Parameter isCancelled: the client has gone; then the listing is `nil`.
  /// - Throws: 503 after ``ArchiveLimits/planTime``.
  func listing(
    _ members: Members, _ resources: Resources, includesLocation: Bool, isCancelled: () -> Bool,
    _ principal: Principal
  ) throws(Problem) -> (listing: ArchiveListing, key: String)? {
    var collector = Collector(self, resources, includesLocation: includesLocation, principal)
    switch members {
    case .assets(let assets): try collector.add(assets)
    case .rows(let rows): guard try collector.add(rows: rows, isCancelled: isCancelled) else { return nil }
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
    try queries.limit(&fetch, to: collection, principal)
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

    init(_ planner: ArchivePlanner, _ resources: Resources, includesLocation: Bool, _ principal: Principal) {
      self.planner = planner
      self.resources = resources
      end = .now + planner.limits.planTime
      self.principal = principal
      listing = ArchiveListing(reservation: ByteBudget.Reservation(of: planner.budget))
      digest.add(planner.files.form(includesLocation: includesLocation))
    }

    /// Returns false if it was cancelled.
    mutating func add(rows: [UInt32], isCancelled: () -> Bool) throws(Problem) -> Bool {
      guard rows.count <= planner.limits.files else { throw Problem.archiveTooLarge(planner.limits) }
      let principal = principal
      var first = rows.startIndex
      while first < rows.endIndex {
        if isCancelled() { return false }
        if ContinuousClock.now >= end { throw .archiveTooSlow }
        let next = min(rows.endIndex, first + Self.chunk)
        let part = rows[first..<next]
        let members = try planner.queries.run { library throws(AssetSourceError) in
          try library.members(part, for: principal)
        }
        try add(members.compactMap { if case .asset(let asset) = $0 { asset } else { nil } })
        first = next
      }
      return true
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
      let utcOffset = asset.utcOffset ?? planner.calendar.utcOffset(at: asset.creationDate)
      for (index, resource) in found.enumerated() {
        listing.append(resource, date: asset.creationDate, utcOffset: utcOffset, isFirstOfAsset: index == 0)
        let identity = resource.file.identity
        digest.add(
          "\(asset.localIdentifier) \(asset.contentVersion) \(asset.creationDate.milliseconds) \(utcOffset)")
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
