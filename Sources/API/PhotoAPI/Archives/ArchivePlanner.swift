import ImageCodec
import LibraryCatalogue
import PhotoModel
import Primitives
import ZipFormat

/// Makes the plans of archives, in two steps: a listing from the catalogue, and a check of each file.
struct ArchivePlanner: Sendable {
  /// Assets that are read from the catalogue at a time.
  private static let chunk = 500

  /// The assets of an archive.
  enum Source: Sendable {
    case assets([LocalIdentifier])
    case collection(LocalIdentifier)
    case fetchResult(String)
  }

  /// Which files of an asset.
  enum Resources: String, CaseIterable, Sendable {
    case primary, all
  }

  let queries: QueryService
  let files: OriginalFiles
  let limits: ArchiveLimits
  /// The memory of all plans: ``ArchiveLimits/memoryBytes``.
  let budget: ByteBudget

  // MARK: The listing

  /// The files of the assets that the principal sees, as the catalogue knows them, and a digest of them.
  ///
  /// - Parameter end: the deadline of the fetch.
  func listing(
    _ source: Source, _ resources: Resources, includesLocation: Bool, until end: ContinuousClock.Instant,
    _ principal: Principal
  ) throws(Problem) -> (listing: ArchiveListing, key: String) {
    var listing = ArchiveListing(reservation: ByteBudget.Reservation(of: budget))
    var digest = ArchiveDigest()
    digest.add(files.form(includesLocation: includesLocation))
    func add(_ assets: [Asset]) throws(Problem) {
      var all: [[AssetResource]] = []
      if resources == .all {
        all = try queries.run { library throws(AssetSourceError) in
          try library.resources(of: assets.map(\.localIdentifier), for: principal)
        }
      }
      for (index, asset) in assets.enumerated() { try add(asset, resources == .all ? all[index] : []) }
      try reserve(listing)
    }
    func add(_ asset: Asset, _ files: [AssetResource]) throws(Problem) {
      let found = files.isEmpty ? [AssetResource(primaryOf: asset)] : files
      guard listing.count + found.count <= limits.files else { throw Problem.archiveTooLarge(limits) }
      for resource in found {
        listing.append(resource, date: asset.creationDate, utcOffset: asset.utcOffset ?? 0)
        let identity = resource.file.identity
        digest.add(
          "\(asset.localIdentifier) \(asset.contentVersion) \(asset.creationDate.milliseconds) \(asset.utcOffset ?? 0)")
        digest.add("\(identity.inode) \(identity.size) \(identity.modified)")
        if let slice = resource.slice { digest.add("slice \(slice.offset) \(slice.length)") }
        digest.add(resource.file.path)
      }
    }
    func add(_ rows: ArraySlice<UInt32>) throws(Problem) {
      guard rows.count <= limits.files else { throw Problem.archiveTooLarge(limits) }
      var first = rows.startIndex
      while first < rows.endIndex {
        if ContinuousClock.now >= end { throw Problem(AssetSourceError.queryTooExpensive) }
        let next = min(rows.endIndex, first + Self.chunk)
        let members = try queries.run { library throws(AssetSourceError) in
          try library.members(rows[first..<next], for: principal)
        }
        try add(members.compactMap { if case .asset(let asset) = $0 { asset } else { nil } })
        first = next
      }
    }
    switch source {
    case .assets(let identifiers):
      let assets = try queries.run { library throws(AssetSourceError) in
        try library.assets(named: identifiers, for: principal)
      }
      var found: [Asset] = []
      for (asset, identifier) in zip(assets, identifiers) {
        guard let asset else { throw Problem(AssetSourceError.noSuchAsset(identifier)) }
        found.append(asset)
      }
      try add(found)
    case .collection(let identifier):
      var fetch = AssetFetch()
      fetch.scope = try Self.naming("collection") { () throws(Problem) in
        try queries.scope(of: identifier, principal)
      }
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
      try add(rows[...])
    case .fetchResult(let id):
      let result = try Self.naming("fetchResult") { () throws(Problem) in try queries.fetchResult(id, principal) }
      try add(result.rows(in: 0..<result.count))
    }
    return (listing, digest.entityTag)
  }

  /// Names the parameter at fault in the problem.
  private static func naming<Value>(
    _ parameter: String, _ work: () throws(Problem) -> Value
  ) throws(Problem) -> Value {
    do throws(Problem) {
      return try work()
    } catch {
      var problem = error
      problem.parameter = parameter
      throw problem
    }
  }

  /// Reserves the memory of a listing's plan: the listing and its copy, and the layout with its names.
  private func reserve(_ listing: ArchiveListing) throws(Problem) {
    let needed = 4 * listing.bytes
    guard needed <= budget.capacityBytes else { throw Problem.archiveTooLarge(limits) }
    guard listing.reservation.grow(to: needed) else { throw Problem.overloaded }
  }

  // MARK: The plan

  /// Opens each file of a listing, and lays out those that can be sent.
  ///
  /// - Parameter isCancelled: the client has gone, and the plan is not needed.
  /// - Returns: `nil` if it was cancelled.
  /// - Throws: 503 after ``ArchiveLimits/planTime``.
  func plan(
    _ listing: ArchiveListing, key: String, includesLocation: Bool, isCancelled: () -> Bool
  ) throws(Problem) -> ArchivePlan? {
    let end = ContinuousClock.now + limits.planTime
    var names = ZipNames()
    // So that no file gets the name of the list of errors.
    let errorsName = names.unique(ArchivePlan.errorsName)
    var sent = ArchiveListing(reservation: listing.reservation)
    var entries: [ZipLayout.Entry] = []
    var errors = ""
    var digest = ArchiveDigest()
    digest.add(key)
    for index in 0..<listing.count {
      if isCancelled() { return nil }
      if ContinuousClock.now >= end { throw .archiveTooSlow }
      let resource = listing.resource(index)
      do throws(OriginalFiles.Failure) {
        _ = try files.open(resource, includesLocation: includesLocation)
      } catch {
        errors += "\(ZipNames.safe(resource.filename)): \(error.text)\n"
        digest.add("\(index) \(error)")
        continue
      }
      let date = listing.date(index)
      sent.append(resource, date: date, utcOffset: listing.utcOffset(index))
      entries.append(
        ZipLayout.Entry(
          name: names.unique(resource.filename), size: resource.size,
          date: Int64((Double(date.milliseconds) / 1000).rounded(.down)), utcOffset: listing.utcOffset(index)))
    }
    if !errors.isEmpty {
      entries.append(ZipLayout.Entry(name: errorsName, size: Int64(errors.utf8.count), date: 0))
    }
    return ArchivePlan(
      ZipLayout(entries), sent, errors: Array(errors.utf8), includesLocation: includesLocation,
      entityTag: digest.entityTag, key: key)
  }
}
