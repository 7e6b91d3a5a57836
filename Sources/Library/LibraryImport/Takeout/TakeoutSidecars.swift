// Finds the JSON file that describes a picture of a Google Takeout. Google documents none of this; the rules are those
// that exports of the years 2015 to 2025 follow:
//
//     IMG_1.jpg                       IMG_1.jpg.json, since 2024 IMG_1.jpg.supplemental-metadata.json
//     long names                      the JSON's name is cut to 46 characters before `.json`, anywhere in it:
//                                     `IMG_1.jpg.supplemental-me.json`, `IMG_1.jpg..json`, `A very long na.json`
//     IMG_1(1).jpg                    IMG_1.jpg(1).json, IMG_1.jpg.supplemental-metadata(1).json
//     IMG_1-edited.jpg                that of IMG_1.jpg; the word is in the user's language
//     IMG_1.mp4 of a live photo       that of IMG_1.heic
//     no extension in the title       IMG_1.json

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
  /// Shorter names are never cut. The limit is 46; some exports count other units.
  private static let shortestCut = 40
  /// What is appended to the name of an edited picture.
  private static let editedSuffixes = [
    "-edited", "-bearbeitet", "-modifié", "-editado", "-editada", "-modificato", "-bewerkt", "-edytowane",
    "-redigerad", "-redigeret", "-redigert", "-muokattu", "-upraveno", "-düzenlendi", "-измененный", "-編集済み",
    "-已修改", "-수정됨", "-effects", "-edit",
  ]

  private var names: [Key: String] = [:]
  /// The names of the other files by their stem in lower case.
  private var siblings: [String: [String]] = [:]

  /// - Parameter files: all names of one folder.
  init(_ files: [String]) {
    for file in files {
      if Self.isJSON(file) {
        let (base, counter) = Self.parts(String(file.dropLast(Self.fileExtension.count)))
        names[Key(base: base, counter: counter)] = file
      } else {
        siblings[Self.stem(file).lowercased(), default: []].append(file)
      }
    }
  }

  static func isJSON(_ name: String) -> Bool { name.lowercased().hasSuffix(fileExtension) }

  /// The JSON file of a picture or video, and whether it is that of another file with the same stem.
  func sidecar(of file: String) -> (name: String, isShared: Bool)? {
    if let own = own(file) { return (own, false) }
    let (stem, fileExtension) = (Self.stem(file), Self.pathExtension(file))
    let (plain, counter) = Self.parts(stem)
    for edited in Self.editedSuffixes where plain.hasSuffix(edited) {
      let original = String(plain.dropLast(edited.count)) + (counter.map { "(\($0))" } ?? "")
      if let found = own(original + fileExtension) ?? shared(original, except: file) { return (found, false) }
    }
    if let found = shared(stem, except: file) { return (found, true) }
    return names[Key(base: stem, counter: nil)].map { ($0, false) }
  }

  private func shared(_ stem: String, except file: String) -> String? {
    (siblings[stem.lowercased()] ?? []).lazy.filter { $0 != file }.compactMap { own($0) }.first
  }

  private func own(_ file: String) -> String? {
    let (stem, counter) = Self.parts(Self.stem(file))
    if counter != nil, let found = name(stem + Self.pathExtension(file), counter) { return found }
    return name(file, nil)
  }

  /// The JSON file whose name is this one, with the suffix or a part of it, possibly cut.
  private func name(_ full: String, _ counter: Int?) -> String? {
    var base = full + Self.suffix
    let shortest = min(full.count, Self.shortestCut)
    while base.count >= shortest {
      if let found = names[Key(base: base, counter: counter)] { return found }
      base.removeLast()
    }
    return nil
  }

  // MARK: Names

  /// Separates a number in parentheses from the end of a text.
  private static func parts(_ text: String) -> (base: String, counter: Int?) {
    guard text.last == ")", let open = text.lastIndex(of: "("),
      let counter = Int(text[text.index(after: open)...].dropLast()), counter > 0, open > text.startIndex
    else { return (text, nil) }
    return (String(text[..<open]), counter)
  }

  /// The name without its extension.
  static func stem(_ name: String) -> String {
    guard let dot = name.lastIndex(of: "."), dot > name.startIndex else { return name }
    return String(name[..<dot])
  }

  /// The extension with its dot.
  static func pathExtension(_ name: String) -> String { String(name.dropFirst(stem(name).count)) }
}
