// Decides which properties of an export an asset gets. A value that a user has set in photod is never replaced, and a
// value that the file states as well is not stored again.

import LibraryCatalogue
import PhotoModel
import Primitives

/// The properties that an asset has: of a probed file, or in the catalogue.
struct KnownProperties {
  var date: Timestamp
  var dateSource: DateSource
  var location: Location?
  var hasUserLocation = false
  var descriptive: DescriptiveMetadata
  var userFields: UserFields = []
  var isFavorite = false
  var isHidden = false

  init(_ media: ProbedMedia) {
    date = media.date.moment
    dateSource = media.date.source
    location = media.location
    descriptive = media.descriptive
  }

  init(_ asset: Asset) {
    date = asset.creationDate
    dateSource = asset.creationDateSource
    location = asset.location
    hasUserLocation = asset.hasUserLocation
    descriptive = asset.descriptive
    userFields = asset.userFields
    isFavorite = asset.isFavorite
    isHidden = asset.isHidden
  }
}

extension ImportedMetadata {
  /// The maximum distance of two times that one clock shows in two time zones.
  private static let maximumZoneDifference: Int64 = 26 * 3_600_000
  /// All offsets are multiples of a quarter of an hour.
  private static let quarterHour: Int64 = 900_000
  private static let dateTolerance: Int64 = 5000
  /// About ten metres.
  private static let sameDegrees = 1e-4

  /// What must change for an asset to have these properties too; `nil`: nothing.
  func update(of known: KnownProperties) -> AssetUpdate? {
    var update = AssetUpdate()
    if isFavorite && !known.isFavorite { update.isFavorite = true }
    if isHidden && !known.isHidden { update.isHidden = true }
    if let date, known.dateSource != .user, !isSame(date, known) {
      update.creationDate = date
      update.utcOffset = utcOffset
    }
    if let location, !known.hasUserLocation, !isSame(location, known.location) { update.location = location }
    if let title, title != known.descriptive.title, !known.userFields.contains(.title) { update.title = title }
    if let caption, caption != known.descriptive.caption, !known.userFields.contains(.caption) {
      update.caption = caption
    }
    if let rating, rating != known.descriptive.rating, !known.userFields.contains(.rating) { update.rating = rating }
    let words = known.descriptive.keywords
    let more = keywords.filter { !words.contains($0) }
    if !more.isEmpty, !known.userFields.contains(.keywords) {
      update.keywords = Array((words + more).prefix(DescriptiveLimits.keywords))
    }
    return update == AssetUpdate() ? nil : update
  }

  /// Whether a file's own date is the exported one: cameras write local times, and exports moments. The file's date is
  /// then the better one, because it has the local time.
  private func isSame(_ date: Timestamp, _ known: KnownProperties) -> Bool {
    if known.dateSource == .file { return false }
    let difference = abs(date.milliseconds - known.date.milliseconds)
    let rest = difference % Self.quarterHour
    return difference <= Self.maximumZoneDifference && min(rest, Self.quarterHour - rest) <= Self.dateTolerance
  }

  private func isSame(_ location: Location, _ known: Location?) -> Bool {
    guard let known else { return false }
    return abs(location.latitude - known.latitude) <= Self.sameDegrees
      && abs(location.longitude - known.longitude) <= Self.sameDegrees
  }
}

extension Location {
  /// Exports write 0, 0 for an unknown place.
  init?(exported latitude: Double?, _ longitude: Double?, altitude: Double? = nil) {
    guard let latitude, let longitude, abs(latitude) <= 90, abs(longitude) <= 180, latitude != 0 || longitude != 0
    else { return nil }
    self.init(latitude: latitude, longitude: longitude, altitude: altitude.flatMap { $0 == 0 ? nil : $0 })
  }
}

extension Timestamp {
  /// `nil` outside of the years that photod can write.
  init?(exportedMilliseconds milliseconds: Int64) {
    guard RFC3339.millisecondsRange.contains(milliseconds) else { return nil }
    self.init(milliseconds: milliseconds)
  }
}
