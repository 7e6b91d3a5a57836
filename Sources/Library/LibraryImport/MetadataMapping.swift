// Decides which properties of an export an asset gets. A value that a user has set in photod is never replaced, and a
// value that the file states as well is not stored again.

import Foundation
import LibraryCatalogue
import PhotoModel

/// The properties of an asset before an import: those of a probed file, or those in the catalogue.
struct KnownProperties {
  var date: Timestamp
  var dateSource: DateSource
  /// In minutes east of UTC.
  var utcOffset: Int?
  var location: Location?
  var hasUserLocation = false
  var descriptive: DescriptiveMetadata
  var userFields: UserFields = []
  var isFavorite = false
  var isHidden = false

  init(_ media: ProbedMedia) {
    date = media.date.moment
    dateSource = media.date.source
    utcOffset = media.date.utcOffset
    location = media.location
    descriptive = media.descriptive
  }

  init(_ asset: Asset) {
    date = asset.creationDate
    dateSource = asset.creationDateSource
    utcOffset = asset.utcOffset
    location = asset.location
    hasUserLocation = asset.hasUserLocation
    descriptive = asset.descriptive
    userFields = asset.userFields
    isFavorite = asset.isFavorite
    isHidden = asset.isHidden
  }
}

extension ImportedMetadata {
  /// About ten metres.
  private static let sameDegrees = 1e-4

  /// The change that gives these properties to an asset; `nil` if it has them all. The change only adds, because the
  /// file may join an asset that a user has described.
  ///
  /// - Parameter zone: the library's.
  func update(of known: KnownProperties, in zone: TimeZone) -> AssetUpdate? {
    var update = AssetUpdate()
    if isFavorite && !known.isFavorite { update.isFavorite = true }
    if isHidden && !known.isHidden { update.isHidden = true }
    if let (date, utcOffset) = date?.replacement(of: known, in: zone) {
      (update.creationDate, update.utcOffset) = (date, utcOffset)
    }
    if let location, !known.hasUserLocation, !isSame(location, known.location) { update.location = location }
    if let title, title != known.descriptive.title, !known.userFields.contains(.title) { update.title = title }
    if let caption, caption != known.descriptive.caption, !known.userFields.contains(.caption) {
      update.caption = caption
    }
    if let rating, rating != known.descriptive.rating, !known.userFields.contains(.rating) { update.rating = rating }
    let words = known.descriptive.keywords
    let more = keywords.filter { !words.contains($0) }
    if !more.isEmpty, !known.userFields.contains(.keywords) { update.keywords = more }
    if update == AssetUpdate() { return nil }
    update.onlyAdds = true
    return update
  }

  private func isSame(_ location: Location, _ known: Location?) -> Bool {
    guard let known else { return false }
    return abs(location.latitude - known.latitude) <= Self.sameDegrees
      && abs(location.longitude - known.longitude) <= Self.sameDegrees
  }
}

extension AssetUpdate {
  /// The day of a file's asset after this change, in days since 1970; `nil`: that of the file.
  ///
  /// - Parameter zone: the library's.
  func day(of media: ProbedMedia, in zone: TimeZone) -> Int? {
    guard let creationDate else { return nil }
    return LocalCalendar(timeZone: zone).day(of: creationDate, utcOffset: utcOffset ?? media.date.utcOffset)
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
