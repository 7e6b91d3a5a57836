import PhotoModel

/// Numbers of a place as XMP writes them.
package enum XMPCoordinates {
  /// `52,31.2N`, `52,31,12N` (XMP specification part 2 §1.2.7.4), or decimal degrees, which Apple Photos writes.
  ///
  /// - Parameter direction: N, S, E or W, for a number without a sign.
  package static func degrees(_ text: String, _ direction: String? = nil) -> Double? {
    if let number = Double(text) {
      let isNegative = ["S", "W"].contains(direction?.prefix(1).uppercased())
      return isNegative ? -abs(number) : number
    }
    guard let last = text.last, let sign = ["N": 1.0, "E": 1, "S": -1, "W": -1][String(last).uppercased()] else {
      return nil
    }
    let parts = text.dropLast().split(separator: ",", omittingEmptySubsequences: false).map { Double($0) }
    guard (1...3).contains(parts.count), !parts.contains(nil) else { return nil }
    let numbers = parts.compactMap(\.self)
    guard numbers.allSatisfy({ $0.isFinite && $0 >= 0 }) else { return nil }
    let degrees = zip(numbers, [1.0, 60, 3600]).reduce(0) { $0 + $1.0 / $1.1 }
    return sign * degrees
  }

  /// `123/10`, or a decimal number.
  static func rational(_ text: String) -> Double? {
    let parts = text.split(separator: "/").map { Double($0) }
    guard let number = parts.first ?? nil else { return nil }
    guard parts.count == 2 else { return parts.count == 1 ? number : nil }
    guard let divisor = parts[1], divisor != 0 else { return nil }
    return number / divisor
  }

  /// Apple Photos writes numbers without a sign, and whether they are below the sea beside them.
  package static func altitude(_ text: String, _ reference: String?) -> Double? {
    guard let metres = rational(text) else { return nil }
    return reference == "1" ? -abs(metres) : metres
  }
}

extension Location {
  /// Reads the location from a packet's properties; `nil` unless both angles are valid.
  init?(xmp properties: [String: MetadataValue]) {
    func text(_ name: String) -> String? {
      guard let text = properties["exif:" + name]?.firstText else { return nil }
      return String(text.drop { $0.isWhitespace })
    }
    func angle(_ name: String, limit: Double) -> Double? {
      guard let angle = text(name), let degrees = XMPCoordinates.degrees(angle, text(name + "Ref")) else {
        return nil
      }
      // As many digits as an angle of EXIF.
      return abs(degrees) <= limit ? (degrees * 1e8).rounded() / 1e8 : nil
    }
    guard let latitude = angle("GPSLatitude", limit: 90), let longitude = angle("GPSLongitude", limit: 180) else {
      return nil
    }
    let altitude = text("GPSAltitude").flatMap { XMPCoordinates.altitude($0, text("GPSAltitudeRef")) }
    self.init(latitude: latitude, longitude: longitude, altitude: altitude)
  }
}
