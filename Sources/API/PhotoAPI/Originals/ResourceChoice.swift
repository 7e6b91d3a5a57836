import PhotoModel

/// Which file of an asset a request names.
enum ResourceChoice: Sendable {
  /// The file of a version of the asset.
  case version
  /// A file of a type.
  case resource(String)

  /// The numbers of the files of one type.
  static let indexes = 0...99

  func names(_ type: AssetResourceType) -> Bool {
    if case .resource(let name) = self { name == type.rawValue } else { false }
  }

  /// Whether it is the render of an adjusted picture.
  func isRender(of version: ImageVersion) -> Bool {
    if case .version = self { version == .current } else { names(.fullSizePhoto) }
  }

  var mayBeSidecar: Bool {
    switch self {
    case .version: false
    case .resource(let type):
      [AssetResourceType.sidecar, .adjustmentData].contains { $0.rawValue == type }
    }
  }

  /// The chosen file among the files of an asset. Throws 404.
  ///
  /// - Parameters:
  ///   - index: of the file among those of its type, in the order of the list.
  ///   - documentCount: the number of resources of this type that come first and are not files, such as the adjustments
  ///     of a user.
  func file(
    of version: ImageVersion, at index: Int, after documentCount: Int, among resources: [AssetResource],
    isAdjusted: Bool
  ) throws(Problem) -> AssetResource {
    let found: AssetResource? =
      switch (self, version) {
      case (.resource, _) where isAdjusted && names(.adjustmentBasePhoto):
        index == 0 ? resources.first(where: \.isPrimary) : nil
      case (.resource(let type), _):
        resources.filter { $0.type.rawValue == type }.dropFirst(index - documentCount).first
      // For a photograph with a RAW file and a JPEG, the original is the RAW file.
      case (.version, .original):
        resources.first { $0.type == .alternatePhoto } ?? resources.first(where: \.isPrimary)
      case (.version, .current), (.version, .unadjusted): resources.first(where: \.isPrimary)
      }
    if let found { return found }
    if case .resource = self { throw Problem.resourceNotFound.naming(index == 0 ? "type" : "index") }
    throw .resourceNotFound
  }
}
