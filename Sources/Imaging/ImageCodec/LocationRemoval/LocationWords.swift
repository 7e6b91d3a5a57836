/// Words that announce coordinates in texts of unknown structure: subtitles of drones, descriptions of recordings.
enum LocationWords {
  private static let words = [
    "gps", "latitude", "longitude", "geo:", "home(", "$gp", "$gn", "location", "lat:", "lat=",
  ]
  .map { Array($0.utf8) }

  /// Whether a text names coordinates. Letters are compared without case; the text may be UTF-16.
  static func areIn(_ text: ArraySlice<UInt8>) -> Bool {
    let letters = text.filter { $0 != 0 }.map { (0x41...0x5A).contains($0) ? $0 + 32 : $0 }
    return words.contains { LocationRemovalContext.find($0, in: letters) }
  }
}
