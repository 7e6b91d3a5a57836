import Primitives

/// Makes the names of an archive's entries: each is safe to extract on every system, and no two differ only in case.
package struct ZipNames: Sendable {
  /// Maximum length of a name in bytes of UTF-8: most file systems have a limit of 255.
  static let maximumBytes = 200

  /// The names so far, in lower case.
  private var used: Set<String> = []
  /// Their stems in lower case: programs join files with equal stems to one photograph.
  private var stems: Set<String> = []
  /// The next number to try for a stem, so that many equal names take linear time.
  private var next: [String: Int] = [:]

  package init() {}

  /// The name for a file: `IMG_1.jpg`, then `IMG_1 (2).jpg`.
  ///
  /// - Parameter name: the name of a file, without folders.
  package mutating func unique(_ name: String) -> String { unique([name])[0] }

  /// The names for the files of one asset, with one number for all of them: `IMG_1.jpg`, `IMG_1.jpg.xmp` and `IMG_O1.aae`,
  /// then `IMG_1 (2).jpg`, `IMG_1 (2).jpg.xmp` and `IMG_O1 (2).aae`. No other asset's file has one of their stems.
  ///
  /// - Parameters:
  ///   - names: the names of the files, without folders, the primary file's first.
  ///   - companions: the indexes of its RAW files and videos. They get its stem, which shows that they belong to it.
  package mutating func unique(_ names: [String], companions: [Int] = []) -> [String] {
    let parts = Self.parts(of: names.map(Self.safe), companions)
    guard let primary = parts.first else { return [] }
    let key = primary.stem.lowercased()
    var number = next[key] ?? 1
    var numbered = parts
    repeat {
      let insert = number == 1 ? "" : " (\(number))"
      numbered = parts.map { (stem: $0.stem + insert, suffix: $0.suffix) }
      number += 1
    } while numbered.contains(where: { isTaken($0.stem, $0.suffix) })
    next[key] = number
    var unique: [String] = []
    for (stem, suffix) in numbered {
      var name = stem + suffix
      var copy = 2
      // Two files of the asset with the same name.
      while !used.insert(name.lowercased()).inserted {
        name = "\(stem) (\(copy))\(suffix)"
        stems.insert("\(stem) (\(copy))".lowercased())
        copy += 1
      }
      unique.append(name)
    }
    stems.formUnion(numbered.map { $0.stem.lowercased() })
    return unique
  }

  private func isTaken(_ stem: String, _ suffix: String) -> Bool {
    stems.contains(stem.lowercased()) || used.contains((stem + suffix).lowercased())
  }

  /// The stem of each file of an asset, after which a number is inserted, and the rest of its name. The stem is that of
  /// the primary file in all names that begin with it, `IMG_1` in `IMG_1.jpg.xmp`, and in those of companions: with
  /// `Beach.jpg`, the video `IMG_1.mov` is named `Beach.mov`, and a sidecar of it, `IMG_1.xmp` or `IMG_1.mov.xmp`, is
  /// named `Beach.mov.xmp`, which describes only the video.
  private static func parts(of names: [String], _ companions: [Int]) -> [(stem: String, suffix: String)] {
    guard let first = names.first else { return [] }
    var shared = split(first).stem
    // The video of a Pixel has the whole stem of its picture as its name: `PXL_1.MP` of `PXL_1.MP.jpg`.
    if names.dropFirst().contains(where: { $0.lowercased() == shared.lowercased() }) { shared = split(shared).stem }
    var parts: [(stem: String, suffix: String)] = []
    for (index, name) in names.enumerated() {
      if let rest = Self.rest(of: name, after: shared) {
        parts.append((stem: String(name.prefix(shared.count)), suffix: rest))
      } else if companions.contains(index) {
        parts.append((stem: shared, suffix: split(name).suffix))
      } else if let suffix = Self.suffix(ofSidecar: name, beside: companions.map({ names[$0] })) {
        parts.append((stem: shared, suffix: suffix))
      } else {
        parts.append(split(name))
      }
    }
    return parts
  }

  /// The rest of a name that begins with a stem, without regard to case; `nil` for other names.
  private static func rest(of name: String, after stem: String) -> String? {
    let rest = name.dropFirst(stem.count)
    guard name.prefix(stem.count).lowercased() == stem.lowercased() else { return nil }
    return rest.isEmpty || rest.first == "." ? String(rest) : nil
  }

  /// The suffix of an XMP sidecar of one of these files, with the suffix of the file: `.mov.xmp`.
  private static func suffix(ofSidecar name: String, beside files: [String]) -> String? {
    let (stem, suffix) = split(name)
    guard suffix.lowercased() == ".xmp" else { return nil }
    for file in files {
      let described = split(file)
      let isSidecar = stem.lowercased() == described.stem.lowercased() || stem.lowercased() == file.lowercased()
      if isSidecar { return described.suffix + suffix }
    }
    return nil
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
