/// The size that a caller asks for.
package enum TargetSize: Sendable, Hashable {
  /// PHImageManagerMaximumSize: the picture's own size.
  case maximum
  case size(PixelSize)

  /// The longest side that may be asked for.
  package static let maximumSide = 16_384
}

/// How the picture fills the target size.
package enum ContentMode: String, Sendable, Hashable, CaseIterable {
  case aspectFit, aspectFill
}

/// How closely the result follows the target size.
package enum ResizeMode: String, Sendable, Hashable, CaseIterable {
  case exact, fast, none
}

/// How many frames are delivered, and how good they are.
package enum DeliveryMode: String, Sendable, Hashable, CaseIterable {
  case highQualityFormat, opportunistic, fastFormat
}

/// Which version of an adjusted asset is meant.
package enum ImageVersion: String, Sendable, Hashable, CaseIterable {
  case current, unadjusted, original
}

/// What becomes of the colours that the original's profile describes.
package enum ColorSpace: String, Sendable, Hashable, CaseIterable {
  /// The pixels stay as they are, and the profile goes with them.
  case preserve
  /// The pixels are converted to sRGB, and carry no profile: that is what a picture without one is.
  case srgb
}

/// A format that pictures are delivered in.
package enum OutputFormat: String, Sendable, Hashable, CaseIterable {
  case jpeg, png

  package var mediaType: String {
    switch self {
    case .jpeg: "image/jpeg"
    case .png: "image/png"
    }
  }

  package var carriesAlpha: Bool { self == .png }
}

/// What one caller asks of one asset: PHImageManager's target size, content mode and options in one value.
///
/// It is complete: every default is already filled in and `auto` already decided, so equal requests are equal values.
package struct ImageRequest: Sendable, Hashable {
  package var targetSize: TargetSize
  package var contentMode: ContentMode
  package var resizeMode: ResizeMode
  package var deliveryMode: DeliveryMode
  package var version: ImageVersion
  /// A part of the upright picture, cut before the size rules. Only with `resizeMode` exact.
  package var normalizedCropRect: UnitRect?
  package var format: OutputFormat
  /// 1...100 for lossy formats; `nil` is the encoder's default.
  package var quality: Int?
  package var colorSpace: ColorSpace
  /// One more, better degraded frame may come before the final one. Only with `deliveryMode` opportunistic.
  package var allowsSecondaryDegradedImage: Bool

  package init(
    targetSize: TargetSize = .maximum,
    contentMode: ContentMode = .aspectFit,
    resizeMode: ResizeMode = .exact,
    deliveryMode: DeliveryMode = .highQualityFormat,
    version: ImageVersion = .current,
    normalizedCropRect: UnitRect? = nil,
    format: OutputFormat = .jpeg,
    quality: Int? = nil,
    colorSpace: ColorSpace = .preserve,
    allowsSecondaryDegradedImage: Bool = false
  ) {
    self.targetSize = targetSize
    self.contentMode = contentMode
    self.resizeMode = resizeMode
    self.deliveryMode = deliveryMode
    self.version = version
    self.normalizedCropRect = normalizedCropRect
    self.format = format
    self.quality = quality
    self.colorSpace = colorSpace
    self.allowsSecondaryDegradedImage = allowsSecondaryDegradedImage
  }
}
