import Foundation

/// The names of time zones that a setting may have: those of the tz database. Foundation also knows abbreviations, of
/// which some mean another zone than most readers expect (BST is that of Bangladesh), and offsets such as GMT+2, which
/// browsers don't know.
enum TimeZoneName {
  /// The names without an area, which the tz database keeps for compatibility, except `Factory`, which names no place.
  private static let withoutArea: Set<String> = [
    "CET", "CST6CDT", "Cuba", "EET", "EST", "EST5EDT", "Egypt", "Eire", "GB", "GB-Eire", "GMT", "GMT+0", "GMT-0",
    "GMT0", "Greenwich", "HST", "Hongkong", "Iceland", "Iran", "Israel", "Jamaica", "Japan", "Kwajalein", "Libya",
    "MET", "MST", "MST7MDT", "NZ", "NZ-CHAT", "Navajo", "PRC", "PST8PDT", "Poland", "Portugal", "ROC", "ROK",
    "Singapore", "Turkey", "UCT", "UTC", "Universal", "W-SU", "WET", "Zulu",
  ]

  static func isKnown(_ name: String) -> Bool {
    guard name.contains("/") || withoutArea.contains(name) else { return false }
    return TimeZone(identifier: name) != nil
  }
}
