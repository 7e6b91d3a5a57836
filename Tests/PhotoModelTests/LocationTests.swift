import PhotoModel
import Testing

@Suite("Locations")
struct LocationTests {
  @Test("an altitude that no place has is ignored", arguments: [Double.infinity, -.infinity, .nan, 1e300, -1_000_001])
  func altitude(_ altitude: Double) {
    #expect(Location(latitude: 1, longitude: 2, altitude: altitude) == Location(latitude: 1, longitude: 2))
    #expect(Location(latitude: 1, longitude: 2, altitude: -430.5).altitude == -430.5)
  }
}
