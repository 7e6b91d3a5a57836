/// The number of assets of a day, month or year. The days are those of the asset's own time, or else of the library's:
/// see ``LocalCalendar``.
package struct DateBucket: Sendable, Hashable {
  package enum Unit: String, Sendable, Hashable, CaseIterable { case day, month, year }

  /// The period: `2024-05-06` for a day, `2024-05` for a month, `2024` for a year.
  package var name: String
  package var count: Int

  package init(name: String, count: Int) {
    self.name = name
    self.count = count
  }
}
