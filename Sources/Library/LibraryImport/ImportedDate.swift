// Decides between the date in an export and the date in the file. Exports state moments, and cameras often only local
// times, so two dates that differ may be the same reading of one clock.

import Foundation
import PhotoModel
import Primitives

/// A date of an export.
package struct ImportedDate: Sendable, Hashable {
  var moment: Timestamp
  /// Minutes east of UTC at the place of the picture; `nil` if the export does not state it.
  var utcOffset: Int?
  /// The export states a local time without a zone; `moment` is that time in the library's zone.
  var isLocalTime = false
  /// Dates that differ by at most this many milliseconds count as the same.
  var tolerance: Int64 = 5000

  /// The range of offsets from UTC that are in use, in milliseconds.
  private static let offsets: ClosedRange<Int64> = -12 * 3_600_000...14 * 3_600_000
  /// All offsets are multiples of a quarter of an hour.
  private static let quarterHour: Int64 = 900_000

  /// The date that an asset must get; `nil`: it keeps its own.
  ///
  /// - Parameter zone: the library's.
  func replacement(of known: KnownProperties, in zone: TimeZone) -> (date: Timestamp, utcOffset: Int?)? {
    func zoneOffset(at date: Timestamp) -> Int64 {
      Int64(zone.secondsFromGMT(for: Date(timeIntervalSince1970: Double(date.milliseconds) / 1000))) * 1000
    }
    let replacement = (date: moment, utcOffset: utcOffset)
    let isSameMoment = isNear(moment.milliseconds, known.date.milliseconds)
    let knownOffset = known.utcOffset.map { Int64($0) * 60_000 }
    switch known.dateSource {
    case .user: return nil
    case .file: return replacement
    case .metadataInLibraryZone:
      if isSameMoment { return nil }
      // The time that the camera's clock showed, as if it were in UTC.
      let wall = known.date.milliseconds + zoneOffset(at: known.date)
      if utcOffset != nil || isLocalTime { return replacement }
      let offset = wall - moment.milliseconds
      let rounded = Int64((Double(offset) / Double(Self.quarterHour)).rounded()) * Self.quarterHour
      guard isNear(offset, rounded), Self.offsets.contains(rounded) else { return replacement }
      // Exports that don't know the zone state the local time as if it were in UTC.
      if rounded == 0 { return nil }
      // The clock showed the same time, in another zone than the library's.
      return (moment, Int(rounded / 60_000))
    case .metadata, .container:
      if isSameMoment {
        // A movie states a moment only.
        return utcOffset != nil && known.utcOffset == nil ? (known.date, utcOffset) : nil
      }
      // The local time as if it were in UTC, or in the library's zone.
      let shown = isLocalTime ? moment.milliseconds + zoneOffset(at: moment) : moment.milliseconds
      if let knownOffset, isNear(shown, known.date.milliseconds + knownOffset) { return nil }
      return replacement
    }
  }

  private func isNear(_ one: Int64, _ other: Int64) -> Bool { abs(one - other) <= tolerance }
}

extension ImportedDate {
  /// `nil` outside of the years that photod can write.
  ///
  /// - Parameter milliseconds: since 1970.
  init?(exported milliseconds: Int64, utcOffset: Int? = nil) {
    guard RFC3339.millisecondsRange.contains(milliseconds) else { return nil }
    self.init(moment: Timestamp(milliseconds: milliseconds), utcOffset: utcOffset)
  }
}
