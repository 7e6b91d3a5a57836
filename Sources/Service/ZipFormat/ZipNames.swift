import Primitives

/// Makes the names of an archive's entries: each is safe to extract on every system, and no two differ only in case.
package struct ZipNames: Sendable {
  /// Maximum length of a name in bytes of UTF-8: most file systems have a limit of 255.
  static let maximumBytes = 200

  private var used: Set<String> = []
  /// The next number to try for a name, so that many equal names take linear time.
  private var next: [String: Int] = [:]

  package init() {}

  /// The name for a file: `IMG_1.jpg`, then `IMG_1 (2).jpg`.
  ///
  /// - Parameter name: the name of a file, without folders.
  package mutating func unique(_ name: String) -> String {
    let safe = Self.safe(name)
    if used.insert(safe.lowercased()).inserted { return safe }
    let (stem, suffix) = Self.split(safe)
    var number = next[safe.lowercased()] ?? 2
    while true {
      let candidate = "\(stem) (\(number))\(suffix)"
      number += 1
      if used.insert(candidate.lowercased()).inserted {
        next[safe.lowercased()] = number
        return candidate
      }
    }
  }

  /// A name without separators, control characters, characters that reorder text, and characters and names that Windows
  /// reserves.
  package static func safe(_ name: String) -> String {
    var scalars = String.UnicodeScalarView()
    for scalar in name.unicodeScalars.replacingFormatCharacters(with: "_") {
      let isControl = scalar.properties.generalCategory == .control
      let isReserved = isControl || "/\\:*?\"<>|".unicodeScalars.contains(scalar)
      scalars.append(isReserved ? "_" : scalar)
    }
    // Windows drops dots and spaces at the end. A name of dots is a folder.
    while let last = scalars.last, last == "." || last == " " { scalars.removeLast() }
    var safe = String(scalars)
    if safe.isEmpty { safe = "file" }
    let device = safe.prefix { $0 != "." }.lowercased()
    if devices.contains(device) { safe = "_" + safe }
    guard safe.utf8.count > maximumBytes else { return safe }
    let (stem, suffix) = split(safe)
    return prefix(of: stem, atMost: maximumBytes - suffix.utf8.count) + suffix
  }

  private static let devices: Set<String> = {
    var devices: Set<String> = ["con", "prn", "aux", "nul"]
    for number in 1...9 { devices.formUnion(["com\(number)", "lpt\(number)"]) }
    return devices
  }()

  /// The stem and the suffix with its dot; a suffix of more than 16 bytes counts as part of the stem.
  private static func split(_ name: String) -> (stem: String, suffix: String) {
    guard let dot = name.lastIndex(of: "."), dot != name.startIndex, name[dot...].utf8.count <= 16 else {
      return (name, "")
    }
    return (String(name[..<dot]), String(name[dot...]))
  }

  private static func prefix(of text: String, atMost limit: Int) -> String {
    var scalars = String.UnicodeScalarView()
    var bytes = 0
    for scalar in text.unicodeScalars {
      bytes += UTF8.width(scalar)
      if bytes > limit { break }
      scalars.append(scalar)
    }
    return String(scalars)
  }
}
