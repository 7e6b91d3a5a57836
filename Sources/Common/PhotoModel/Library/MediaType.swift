/// PHAssetMediaType.
package enum MediaType: String, Sendable, Hashable, CaseIterable {
  case unknown, image, video, audio

  /// The raw value of PhotoKit, which is the position among the cases.
  package var number: Int {
    switch self {
    case .unknown: 0
    case .image: 1
    case .video: 2
    case .audio: 3
    }
  }

  package init?(number: Int) {
    guard let type = Self.allCases.first(where: { $0.number == number }) else { return nil }
    self = type
  }
}
