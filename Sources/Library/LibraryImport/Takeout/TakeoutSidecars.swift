// Finds the JSON file that describes a picture of a Google Takeout. Google documents none of this; the rules are those
// that exports of the years 2015 to 2025 follow:
//
//     IMG_1.jpg                       IMG_1.jpg.json, since 2024 IMG_1.jpg.supplemental-metadata.json
//     long names                      the JSON's name is cut to 46 UTF-16 units before `.json`, anywhere in it:
//                                     `IMG_1.jpg.supplemental-me.json`, `IMG_1.jpg..json`, `A very long na.json`
//     IMG_1(1).jpg                    IMG_1.jpg(1).json, IMG_1.jpg.supplemental-metadata(1).json
//     two names with the same cut     `A very long na.json` and `A very long na(1).json`: their titles tell them apart,
//                                     and of equal titles the numbers
//     IMG_1-edited.jpg                that of IMG_1.jpg; the word is in the user's language, and cut in long names, of
//                                     which only the hyphen may be left
//     IMG_1.mp4 of a live photo       that of IMG_1.heic
//     PXL_1.MP, PXL_1.MP~2            that of PXL_1.MP.jpg, PXL_1.MP~2.jpg, also if that picture is missing
//     no extension in the title       IMG_1.json, IMG_1.supplemental-metadata.json, IMG_1(1).json; also that of its
//                                     edited version and of its video
//     IMG_1.JPG                       IMG_1.jpg.json, if no picture has exactly this name
//
// Names are compared as Unicode does, so é may be one character or two (macOS writes two). Cut names are compared in
// the longer form.

import Foundation

/// The JSON files of one folder.
struct TakeoutSidecars {
  private struct Key: Hashable {
    let base: String
    /// The number in parentheses before `.json`.
    let counter: Int?
  }

  static let fileExtension = ".json"
  private static let suffix = ".supplemental-metadata"
  /// Shorter names are never cut. The limit is 46 UTF-16 units; some exports count other units.
  private static let shortestCut = 40
  private var names: [Key: String] = [:]
  /// The values of `names` by keys in lower case; the first of several.
  private var foldedNames: [Key: String] = [:]
  /// The counters of the JSON files of each base.
  private var counters: [String: [Int?]] = [:]
  /// The names of the other files by their stem in lower case.
  private var siblings: [String: [String]] = [:]
  private let title: (String) -> String?
  private let choose: (String, [String]) -> String?

  /// - Parameters:
  ///   - files: all names of one folder.
  ///   - title: the title that a JSON file states.
  ///   - choose: the picture that a video or a RAW file belongs to, among several that have its name.
  init(
    _ files: [String], title: @escaping (String) -> String? = { _ in nil },
    choose: @escaping (String, [String]) -> String? = { $1.first }
  ) {
    self.title = title
    self.choose = choose
    for file in files {
      if Self.isJSON(file) {
        let (base, counter) = Self.parts(String(file.dropLast(Self.fileExtension.count)))
        names[Key(base: base, counter: counter)] = file
        let folded = Key(base: base.lowercased(), counter: counter)
        if foldedNames[folded] == nil { foldedNames[folded] = file }
        counters[base, default: []].append(counter)
      } else {
        siblings[ExportFileName.stem(file).lowercased(), default: []].append(file)
      }
    }
  }

  static func isJSON(_ name: String) -> Bool { name.lowercased().hasSuffix(fileExtension) }

  /// The JSON file of a picture or video, and whether it is that of another file, whose edited version, video or RAW
  /// file this one is.
  func sidecar(of file: String) -> (name: String, isShared: Bool)? {
    if let own = own(file) { return (own, false) }
    if let picture = picture(of: file), let found = own(picture) { return (found, true) }
    if let found = missingPicture(of: file) { return (found, true) }
    if let found = inOtherCase(file) { return (found, false) }
    if let found = withoutExtension(file) {
      return (found, picture(of: file).flatMap { withoutExtension($0) } == found)
    }
    return original(of: file).map { ($0, false) }
  }

  /// The picture that a video or a RAW file belongs to, by its name.
  func picture(of file: String) -> String? {
    guard ExportFileName.isVideo(file) || ExportFileName.isRAW(file) else { return nil }
    let candidates = (siblings[ExportFileName.stem(file).lowercased()] ?? []) + (siblings[file.lowercased()] ?? [])
    let pictures = candidates.filter { $0 != file && !ExportFileName.isVideo($0) && !ExportFileName.isRAW($0) }
    return pictures.count > 1 ? choose(file, pictures) : pictures.first
  }

  /// The JSON file of the picture that a video belongs to, if that picture is not in the folder.
  private func missingPicture(of file: String) -> String? {
    guard ExportFileName.isVideo(file) else { return nil }
    for name in [file, ExportFileName.stem(file)] {
      for suffix in Self.pictureSuffixes {
        if let found = own(name + suffix) { return found }
      }
    }
    return nil
  }

  private static let pictureSuffixes = [".jpg", ".JPG", ".heic", ".HEIC", ".jpeg", ".JPEG", ".dng"]

  /// The JSON file of this name in other letter case, if no picture of the folder has exactly that name.
  private func inOtherCase(_ file: String) -> String? {
    let isAlone = !(siblings[ExportFileName.stem(file).lowercased()] ?? []).contains {
      $0 != file && $0.lowercased() == file.lowercased()
    }
    guard isAlone else { return nil }
    let folded = file.lowercased()
    let (stem, counter) = Self.parts(ExportFileName.stem(folded))
    let names = [(stem + ExportFileName.pathExtension(folded), counter), (folded, nil)]
    for (name, counter) in names {
      // The suffix in the forms that are not cut, or cut in the usual places.
      for suffix in Self.suffixes {
        if let found = foldedNames[Key(base: name + suffix, counter: counter)] { return found }
      }
    }
    return nil
  }

  /// All beginnings of the suffix, the longest first.
  private static let suffixes = (0...suffix.count).reversed().map { String(suffix.prefix($0)) }

  /// The JSON file of the picture that this one was edited from: this name has a hyphen and words in addition.
  private func original(of file: String) -> String? {
    let (stem, counter) = Self.parts(ExportFileName.stem(file))
    let number = counter.map { "(\($0))" } ?? ""
    var end = stem.endIndex
    while let hyphen = stem[..<end].lastIndex(of: "-"), hyphen > stem.startIndex {
      end = hyphen
      let words = stem[stem.index(after: hyphen)...]
      guard words.allSatisfy({ $0.isLetter || $0 == " " || $0 == "-" }) else { return nil }
      if words.isEmpty, file.utf16.count < Self.shortestCut { return nil }
      let base = String(stem[..<hyphen]) + number
      let original = base + ExportFileName.pathExtension(file)
      if let found = own(original) { return found }
      let others = (siblings[base.lowercased()] ?? []).filter { $0 != file && !ExportFileName.isVideo($0) }
      if let found = others.lazy.compactMap({ own($0) }).first ?? withoutExtension(original) { return found }
    }
    return nil
  }

  /// The JSON file of a title that has no extension.
  private func withoutExtension(_ file: String) -> String? {
    let stem = ExportFileName.stem(file)
    guard let found = own(file, extension: "") else { return nil }
    // The name may be that of a longer title, cut.
    guard stem.utf16.count >= Self.shortestCut, let stated = title(found) else { return found }
    let bases = [stem, Self.parts(stem).base].map(Self.plain)
    return [stated, ExportFileName.stem(stated)].contains { bases.contains(Self.plain($0)) } ? found : nil
  }

  private func own(_ file: String) -> String? { own(file, extension: ExportFileName.pathExtension(file)) }

  private func own(_ file: String, extension suffix: String) -> String? {
    let whole = ExportFileName.stem(file)
    let (stem, counter) = Self.parts(whole)
    if counter != nil, let found = name(stem + suffix, counter, of: file) { return found }
    return name(whole + suffix, nil, of: file)
  }

  /// The JSON file whose name is this one, with the suffix or a part of it, possibly cut.
  private func name(_ full: String, _ counter: Int?, of file: String) -> String? {
    // Of the two normal forms, this one is the longer: a cut of either is one of its beginnings.
    let full = full.decomposedStringWithCanonicalMapping
    var base = (full + Self.suffix).unicodeScalars
    var length = full.utf16.count + Self.suffix.utf16.count
    let whole = full.utf16.count
    while length >= min(whole, Self.shortestCut) {
      let text = String(base)
      if length >= whole {
        if let found = names[Key(base: text, counter: counter)] { return found }
      } else if let found = cut(text, counter, of: file) {
        return found
      }
      guard let last = base.popLast() else { return nil }
      length -= UTF16.width(last)
    }
    return nil
  }

  /// The JSON file of a cut name: several pictures may have the same one.
  private func cut(_ base: String, _ counter: Int?, of file: String) -> String? {
    guard let counters = counters[base] else { return nil }
    var candidates: [(counter: Int?, name: String)] = []
    for number in counters.sorted(by: { ($0 ?? 0) < ($1 ?? 0) }) {
      if let name = names[Key(base: base, counter: number)] { candidates.append((counter: number, name: name)) }
    }
    // A number of the picture's name that is not Google's is a part of the title.
    let stem = counter == nil ? ExportFileName.stem(file) : Self.parts(ExportFileName.stem(file)).base
    let suffix = ExportFileName.pathExtension(file)
    var titled = candidates.filter { candidate in
      guard let stated = title(candidate.name) else { return false }
      return Self.isTitle(stated, of: stem, suffix)
    }
    // A title that is the whole name counts before longer ones that begin with it.
    let exact = titled.filter { Self.plain(ExportFileName.stem(title($0.name) ?? "")) == Self.plain(stem) }
    if !exact.isEmpty { titled = exact }
    if !titled.isEmpty {
      // The counters of descriptions also count those of other titles.
      let pictures = pictureCounters(stem, suffix)
      if pictures.count == titled.count, let place = pictures.firstIndex(of: counter ?? 0) { return titled[place].name }
      if let found = titled.first(where: { $0.counter == counter }) { return found.name }
      // The picture that has this description is in another folder.
      if titled.count == 1, pictures.isEmpty { return titled[0].name }
    }
    // Google has changed the name in another way, or the title can't be read.
    let files = siblings.values.joined().count { $0.hasPrefix(base) }
    return candidates.count == 1 && files <= 1 || candidates.allSatisfy({ title($0.name) == nil })
      ? names[Key(base: base, counter: counter)] : nil
  }

  /// The counters of the files with a name and extension, in ascending order; 0 for a file without one.
  private func pictureCounters(_ stem: String, _ suffix: String) -> [Int] {
    var counters: [Int] = []
    for file in siblings.values.joined() where ExportFileName.pathExtension(file) == suffix {
      let (base, counter) = Self.parts(ExportFileName.stem(file))
      if base == stem { counters.append(counter ?? 0) }
    }
    return counters.sorted()
  }

  /// Whether a file's name is that of a title, possibly cut. Google replaces some characters by underscores.
  private static func isTitle(_ title: String, of stem: String, _ suffix: String) -> Bool {
    ExportFileName.pathExtension(title).lowercased() == suffix.lowercased()
      && plain(ExportFileName.stem(title)).hasPrefix(plain(stem))
  }

  private static func plain(_ text: String) -> String {
    String(text.map { $0.isLetter || $0.isNumber ? $0 : "_" }).lowercased()
  }

  // MARK: Names

  /// Separates a number in parentheses from the end of a text.
  private static func parts(_ text: String) -> (base: String, counter: Int?) {
    guard text.last == ")", let open = text.lastIndex(of: "("),
      let counter = Int(text[text.index(after: open)...].dropLast()), counter > 0, open > text.startIndex
    else { return (text, nil) }
    return (String(text[..<open]), counter)
  }
}
