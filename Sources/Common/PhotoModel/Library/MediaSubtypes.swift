/// PHAssetMediaSubtype: the special kinds of a picture or video. The raw values are those of PhotoKit.
package struct MediaSubtypes: OptionSet, Sendable, Hashable {
  package let rawValue: Int64

  package init(rawValue: Int64) { self.rawValue = rawValue }

  package static let photoPanorama = MediaSubtypes(rawValue: 1 << 0)
  package static let photoHDR = MediaSubtypes(rawValue: 1 << 1)
  package static let photoScreenshot = MediaSubtypes(rawValue: 1 << 2)
  package static let photoLive = MediaSubtypes(rawValue: 1 << 3)
  package static let photoDepthEffect = MediaSubtypes(rawValue: 1 << 4)
  package static let spatialMedia = MediaSubtypes(rawValue: 1 << 10)
  static let videoStreamed = MediaSubtypes(rawValue: 1 << 16)
  package static let videoHighFrameRate = MediaSubtypes(rawValue: 1 << 17)
  package static let videoTimelapse = MediaSubtypes(rawValue: 1 << 18)
  package static let videoScreenRecording = MediaSubtypes(rawValue: 1 << 19)
  package static let videoCinematic = MediaSubtypes(rawValue: 1 << 21)

  /// Every subtype with its PhotoKit name, in bit order.
  package static let named: [(name: String, subtype: MediaSubtypes)] = [
    ("photoPanorama", .photoPanorama), ("photoHDR", .photoHDR), ("photoScreenshot", .photoScreenshot),
    ("photoLive", .photoLive), ("photoDepthEffect", .photoDepthEffect), ("spatialMedia", .spatialMedia),
    ("videoStreamed", .videoStreamed), ("videoHighFrameRate", .videoHighFrameRate),
    ("videoTimelapse", .videoTimelapse), ("videoScreenRecording", .videoScreenRecording),
    ("videoCinematic", .videoCinematic),
  ]

  /// The PhotoKit names of the bits that are set.
  package var names: [String] { Self.named.filter { contains($0.subtype) }.map(\.name) }
}

/// PHAssetBurstSelectionType: whether the system or the user picked a picture of a burst. The raw values are those of
/// PhotoKit.
package struct BurstSelectionTypes: OptionSet, Sendable, Hashable {
  package let rawValue: Int64

  package init(rawValue: Int64) { self.rawValue = rawValue }

  package static let autoPick = BurstSelectionTypes(rawValue: 1 << 0)
  package static let userPick = BurstSelectionTypes(rawValue: 1 << 1)

  /// The PhotoKit names of the bits that are set.
  package var names: [String] {
    (contains(.autoPick) ? ["autoPick"] : []) + (contains(.userPick) ? ["userPick"] : [])
  }
}
