import LibraryFolder
import PhotoModel
import Primitives

/// The path template of uploads, with `{year}`, `{month}`, `{day}`, `{camera}`, `{name}`, `{stem}` and `{ext}`.
package struct UploadTemplate: Sendable, Hashable {
  package static let text = "{year}/{month}/{name}"
  static let standard = UploadTemplate(parts: [[.year], [.month], [.name]])

  /// Why a template is invalid, for display.
  package struct MalformedTemplate: Error, Sendable, Hashable {
    package let reason: String
  }

  private enum Part: Sendable, Hashable {
    case text(String)
    case year, month, day, camera, name, stem, ext
  }

  /// The parts of each path component.
  private let parts: [[Part]]

  private init(parts: [[Part]]) { self.parts = parts }

  package init(_ text: String) throws(MalformedTemplate) {
    var components: [[Part]] = []
    for component in text.split(separator: "/", omittingEmptySubsequences: false) {
      var parts: [Part] = []
      var rest = component
      while !rest.isEmpty {
        let plain = rest.prefix { $0 != "{" && $0 != "}" }
        if !plain.isEmpty {
          guard UploadFilename.component("x\(plain)x") == "x\(plain)x" else {
            throw MalformedTemplate(reason: "\(plain) can't be part of a file name")
          }
          parts.append(.text(String(plain)))
          rest = rest.dropFirst(plain.count)
          continue
        }
        guard let end = rest.firstIndex(of: "}"), let part = Self.part(rest[..<end].dropFirst()) else {
          throw MalformedTemplate(
            reason: "invalid placeholder; use {year}, {month}, {day}, {camera}, {name}, {stem} or {ext}")
        }
        parts.append(part)
        rest = rest[rest.index(after: end)...]
      }
      if case .text(let first) = parts.first, first.hasPrefix(".") || first.hasPrefix(" ") {
        throw MalformedTemplate(
          reason: "a path component must not begin with a dot or a space: scans skip hidden folders")
      }
      if parts.isEmpty {
        throw MalformedTemplate(reason: "use a relative path below the library root, without empty components")
      }
      components.append(parts)
    }
    guard let last = components.last, last.contains(where: { $0 == .name || $0 == .stem }) else {
      throw MalformedTemplate(reason: "the last path component must contain {name} or {stem}")
    }
    self.init(parts: components)
  }

  private static func part(_ name: Substring) -> Part? {
    switch name {
    case "year": .year
    case "month": .month
    case "day": .day
    case "camera": .camera
    case "name": .name
    case "stem": .stem
    case "ext": .ext
    default: nil
    }
  }

  /// The path of a file, below the library root.
  ///
  /// - Parameters:
  ///   - name: a result of ``UploadFilename``.
  ///   - day: the day of the picture, in days since 1970.
  func path(for name: [UInt8], day: Int, camera: String?) -> [UInt8] {
    let civil = CivilDate.date(ofDay: day)
    func digits(_ number: Int, _ count: Int) -> String { max(0, number).zeroPadded(count) }
    let text = String(decoding: name, as: UTF8.self)
    let dot = text.lastIndex(of: ".")
    var path: [UInt8] = []
    for (index, component) in parts.enumerated() {
      let isFile = index == parts.count - 1
      var whole = component.map { part in
        switch part {
        case .text(let text): text
        case .year: digits(civil.year, 4)
        case .month: digits(civil.month, 2)
        case .day: digits(civil.day, 2)
        case .camera: camera.map(UploadFilename.component).flatMap { $0.isEmpty ? nil : $0 } ?? "unknown"
        case .name: text
        case .stem: String(text[..<(dot ?? text.endIndex)])
        case .ext: dot.map { text[text.index(after: $0)...].lowercased() } ?? ""
        }
      }.joined()
      // The component lacks the extension, for example because it uses `{stem}`.
      if isFile, let dot, !whole.lowercased().hasSuffix(text[dot...].lowercased()) { whole += text[dot...] }
      let bytes =
        isFile
        ? UploadFilename.file(whole, fileExtension: dot.map { String(text[text.index(after: $0)...]) } ?? "")
        : LibraryPath.truncated(Array(UploadFilename.component(whole).utf8), to: LibraryPath.maximumNameBytes)
      path = LibraryPath.join(path, bytes.isEmpty ? [UInt8(ascii: "_")] : bytes)
    }
    return path
  }
}
