/// A location in degrees (WGS 84), with the altitude in metres above sea level.
package struct Location: Sendable, Hashable {
  package var latitude: Double
  package var longitude: Double
  package var altitude: Double?

  /// Metres below and above the sea that a real altitude does not exceed.
  package static let altitudes = -1_000_000.0...1_000_000.0

  /// - Parameter altitude: ignored if it is not a number or is outside of ``altitudes``.
  package init(latitude: Double, longitude: Double, altitude: Double? = nil) {
    self.latitude = latitude
    self.longitude = longitude
    self.altitude = altitude.flatMap { Self.altitudes.contains($0) ? $0 : nil }
  }
}
