extension LocationBlocks {
  /// Whether the name of a value means a location or a direction: `com.apple.quicktime.location.ISO6709`.
  package static func isLocation(name: String) -> Bool {
    LocationFilter.isLocationKey(name) || name.lowercased().contains("direction")
  }
}
