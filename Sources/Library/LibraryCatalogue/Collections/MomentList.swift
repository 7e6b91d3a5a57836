import PhotoModel
import Primitives

/// A year or a month of moments: PHCollectionList's moment lists. They are derived from the days of the assets
/// and are not stored, so their identifiers encode the period.
struct MomentList: Sendable, Hashable {
  let year: Int
  /// 1...12; `nil` for a whole year.
  let month: Int?

  static let yearSubtype = "momentListYear"
  /// PhotoKit's name for the level between years and moments.
  static let monthSubtype = "momentListCluster"
  /// The subtype of the moments in a month.
  static let momentSubtype = "albumRegular"
  /// The subtypes of moment lists.
  static let subtypes: Set<String> = [yearSubtype, monthSubtype]

  init(year: Int, month: Int?) {
    self.year = year
    self.month = month
  }

  /// `nil` if the identifier is not that of a moment list.
  init?(_ identifier: LocalIdentifier) {
    let parts = identifier.rawValue.split(separator: ".", omittingEmptySubsequences: false)
    guard parts.count == 2, Self.subtypes.contains(String(parts[0])) else { return nil }
    let digits = parts[1].split(separator: "-", omittingEmptySubsequences: false)
    guard let year = digits.first.flatMap({ Int($0) }), (0...9999).contains(year) else { return nil }
    switch (String(parts[0]), digits.count) {
    case (Self.yearSubtype, 1): self.init(year: year, month: nil)
    case (Self.monthSubtype, 2):
      guard let month = Int(digits[1]), (1...12).contains(month) else { return nil }
      self.init(year: year, month: month)
    default: return nil
    }
    // Only the canonical text is accepted, so that each list has exactly one identifier.
    if self.identifier != identifier { return nil }
  }

  /// The month of a day since 1970.
  init(monthOfDay day: Int) {
    let month = CivilDate.month(ofDay: day)
    self.init(year: month.year, month: month.month)
  }

  /// The year that a month is in.
  var parent: MomentList? { month == nil ? nil : MomentList(year: year, month: nil) }

  var subtype: String { month == nil ? Self.yearSubtype : Self.monthSubtype }
  var identifier: LocalIdentifier { LocalIdentifier("\(subtype).\(title)") }

  /// `2024` or `2024-05`.
  var title: String {
    month.map { "\(year.zeroPadded(4))-\($0.zeroPadded(2))" } ?? year.zeroPadded(4)
  }

  var days: Range<Int> {
    let end = month.map { $0 == 12 ? (year + 1, 1) : (year, $0 + 1) } ?? (year + 1, 1)
    return CivilDate.daysSince1970(year, month ?? 1, 1)..<CivilDate.daysSince1970(end.0, end.1, 1)
  }

  /// Contains the creation dates of all assets of these days, in milliseconds since 1970, and others: see
  /// ``LocalCalendar/possibleDates(ofDays:)``.
  var possibleDates: Range<Int64> { LocalCalendar.possibleDates(ofDays: days) }
}

extension LocalIdentifier {
  /// Whether it names a year or a month. Such a list exists while it has assets.
  package var isMomentList: Bool { MomentList(self) != nil }
}
