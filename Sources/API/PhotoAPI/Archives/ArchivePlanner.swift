import ImageCodec
import LibraryCatalogue
import PhotoModel
import Primitives
import ZipFormat

/// Makes the plans of archives, in two steps: a listing from the catalogue (ArchivePlanner+Listing.swift), and a check
/// of each file.
struct ArchivePlanner: Sendable {
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
  /// The offsets of dates without one.
  let calendar: LocalCalendar
  let limits: ArchiveLimits
  /// The memory of all plans: ``ArchiveLimits/memoryBytes``.
  let budget: ByteBudget

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
    // Reserved first, so that no file gets the name of the list of errors.
    let errorsName = names.unique(ArchivePlan.errorsName)
    var sent = ArchiveListing(reservation: listing.reservation)
    var entries: [ZipLayout.Entry] = []
    var errors = ""
    var digest = ArchiveDigest()
    digest.add(key)
    digest.add("\(ZipLayout.epoch)")
    var first = 0
    while first < listing.count {
      let indexes = listing.filesOfAsset(from: first)
      first = indexes.upperBound
      var found: [AssetResource] = []
      let (date, utcOffset) = (listing.date(indexes.lowerBound), listing.utcOffset(indexes.lowerBound))
      for index in indexes {
        if isCancelled() { return nil }
        if ContinuousClock.now >= end { throw .archiveTooSlow }
        let resource = listing.resource(index)
        let changeTime: Int64
        do throws(OriginalFiles.Failure) {
          changeTime = files.changeTimeNanoseconds(of: try files.open(resource, includesLocation: includesLocation))
        } catch {
          errors += "\(ZipNames.safe(resource.filename)): \(error.text)\n"
          digest.add("\(index) \(error)")
          continue
        }
        sent.append(
          resource, date: date, utcOffset: utcOffset, isFirstOfAsset: found.isEmpty, changeTimeNanoseconds: changeTime)
        digest.add("\(changeTime)")
        found.append(resource)
      }
      let seconds = Int64((Double(date.milliseconds) / 1000).rounded(.down))
      let companions = found.indices.filter { index in
        index > 0 && (found[index].type == .pairedVideo || found[index].type == .alternatePhoto)
      }
      let unique = names.unique(found.map(\.filename), companions: companions)
      for (resource, name) in zip(found, unique) {
        entries.append(ZipLayout.Entry(name: name, size: resource.size, date: seconds, utcOffset: utcOffset))
      }
    }
    if !errors.isEmpty {
      entries.append(ZipLayout.Entry(name: errorsName, size: Int64(errors.utf8.count), date: 0))
    }
    return ArchivePlan(
      ZipLayout(entries), sent, errors: Array(errors.utf8), includesLocation: includesLocation,
      entityTag: digest.entityTag, key: key)
  }

  /// Whether each file of a plan is still the one that was planned. Does not search the files for places again.
  ///
  /// - Parameter isCancelled: the client has gone; then the answer is `false`.
  /// - Throws: 503 after ``ArchiveLimits/planTime``.
  func isCurrent(_ plan: ArchivePlan, isCancelled: () -> Bool) throws(Problem) -> Bool {
    let end = ContinuousClock.now + limits.planTime
    for index in 0..<plan.files.count {
      if isCancelled() { return false }
      if ContinuousClock.now >= end { throw .archiveTooSlow }
      do throws(OriginalFiles.Failure) {
        let opened = try files.open(plan.files.resource(index), includesLocation: true)
        guard files.changeTimeNanoseconds(of: opened) == plan.files.changeTimeNanoseconds(index) else { return false }
      } catch {
        return false
      }
    }
    return true
  }
}
