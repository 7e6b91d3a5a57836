import PhotoModel

/// The names of sidecars: `IMG_1.jpg.xmp`, `IMG_1.xmp`, `IMG_1.aae`, `IMG_O1.aae`. A sidecar lies in its file's folder.
package enum SidecarPaths {
  private static let extensions: [(suffix: String, type: AssetResourceType)] = [
    (".xmp", .sidecar), (".XMP", .sidecar), (".aae", .adjustmentData), (".AAE", .adjustmentData),
  ]
  private static let camera = Array("IMG_".utf8)

  /// The paths at which the sidecars of a file may be, of both types.
  package static func beside(_ path: [UInt8]) -> [(path: [UInt8], type: AssetResourceType)] {
    let name = nameStart(of: path)
    let stem = Array(path[..<(dot(in: path) ?? path.count)])
    // Exports from an iPhone name the data of IMG_1234's adjustments IMG_O1234, O for original.
    let isCamera = stem[name...].starts(with: camera)
    let appleOriginal = isCamera ? Array(stem[..<(name + 4)]) + Array("O".utf8) + stem[(name + 4)...] : stem
    let names: [(stem: [UInt8], suffix: String, type: AssetResourceType)] = [
      (path, ".xmp", .sidecar), (path, ".XMP", .sidecar), (stem, ".xmp", .sidecar), (stem, ".XMP", .sidecar),
      (stem, ".aae", .adjustmentData), (stem, ".AAE", .adjustmentData),
      (appleOriginal, ".aae", .adjustmentData), (appleOriginal, ".AAE", .adjustmentData),
    ]
    return names.map { ($0.stem + Array($0.suffix.utf8), $0.type) }
  }

  /// The kind of sidecar that a path names; `nil` for other files.
  package static func type(of path: [UInt8]) -> AssetResourceType? {
    extensions.first {
      path.count > $0.suffix.utf8.count && path.suffix($0.suffix.utf8.count).elementsEqual($0.suffix.utf8)
    }?
    .type
  }

  /// The paths that the file described by a sidecar may have: one of `whole`, or one of `stems` with a dot and an
  /// extension.
  static func described(by sidecar: [UInt8]) -> (whole: [[UInt8]], stems: [[UInt8]]) {
    guard let type = type(of: sidecar) else { return ([], []) }
    let base = Array(sidecar.dropLast(4))
    if type == .sidecar { return ([base], [base]) }
    let name = nameStart(of: base)
    guard base[name...].starts(with: camera + Array("O".utf8)) else { return ([], [base]) }
    return ([], [base, Array(base[..<(name + 4)]) + base[(name + 5)...]])
  }

  private static func nameStart(of path: [UInt8]) -> Int {
    path.lastIndex(of: UInt8(ascii: "/")).map { $0 + 1 } ?? 0
  }

  /// A dot at the start of a name begins no extension.
  private static func dot(in path: [UInt8]) -> Int? {
    let name = nameStart(of: path)
    return path.lastIndex(of: UInt8(ascii: ".")).flatMap { $0 > name ? $0 : nil }
  }
}
