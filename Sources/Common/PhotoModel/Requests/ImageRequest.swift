/// The requested size.
package enum TargetSize: Sendable, Hashable {
  /// PHImageManagerMaximumSize: the original size of the picture.
  case maximum
  case size(PixelSize)

  /// The largest side length of a request.
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

/// The requested version of an adjusted asset.
package enum ImageVersion: String, Sendable, Hashable, CaseIterable {
  case current, unadjusted, original
}

/// How the colour profile of the original is handled.
package enum ColorSpace: String, Sendable, Hashable, CaseIterable {
  /// The pixels keep their values, and the profile is embedded.
  case preserve
  /// The pixels are converted to sRGB, without an embedded profile: pictures without one are sRGB.
  case srgb
}

/// How light that is brighter than white is handled: from a gain map, or from a picture coded in PQ or HLG.
package enum DynamicRange: String, Sendable, Hashable, CaseIterable {
  /// A JPEG keeps the gain map of its original, if the picture has one.
  case preserve
  /// No gain map.
  case standard
  /// The frame itself has high dynamic range, if the original has: in ITU-R BT.2020 with the curve PQ and 10 bits. Only
  /// in formats that carry it (``OutputFormat/carriesHDR``).
  case high
}

/// The pixel values in which a picture is scaled.
package enum Resampling: String, Sendable, Hashable, CaseIterable {
  /// In the gamma-encoded values of the file: quicker, and what browsers do.
  case encoded
  /// In linear light: a scaled picture is as bright as the full one, also where details are finer than a pixel.
  case linear
}

/// Which of the picture's colours the output shows.
package enum Tone: String, Sendable, Hashable, CaseIterable {
  case color
  /// Luma (Rec. 601), one channel.
  case gray
  /// Each pixel is black or white: the luma above or below the middle.
  case bitonal
}

/// An output format. Stored frames refer to positions in this list, so its order must not change within an epoch.
package enum OutputFormat: String, Sendable, Hashable, CaseIterable {
  case jpeg, png, webp, avif, jxl

  package var mediaType: String {
    switch self {
    case .jpeg: "image/jpeg"
    case .png: "image/png"
    case .webp: "image/webp"
    case .avif: "image/avif"
    case .jxl: "image/jxl"
    }
  }

  package var carriesAlpha: Bool { self != .jpeg }

  /// Whether a frame can have more than 8 bits and the curve PQ.
  package var carriesHDR: Bool { self == .avif || self == .jxl }

  /// Whether the format has a quality.
  package var isLossy: Bool { self != .png }

  /// Whether the encoder runs in a process of its own.
  package var needsWorker: Bool {
    switch self {
    case .jpeg, .png: false
    case .webp, .avif, .jxl: true
    }
  }
}

/// A request for one asset: the target size, content mode and options of PHImageManager in one value.
///
/// Every default is filled in and `auto` is resolved, so equal requests are equal values.
package struct ImageRequest: Sendable, Hashable {
  package var targetSize: TargetSize
  package var contentMode: ContentMode
  package var resizeMode: ResizeMode
  package var deliveryMode: DeliveryMode
  package var version: ImageVersion
  /// The crop in the upright picture, applied before the size rules. Only with `resizeMode` exact.
  package var normalizedCropRect: UnitRect?
  package var format: OutputFormat
  /// 1...100 for lossy formats; `nil`: the default of the encoder.
  package var quality: Int?
  package var colorSpace: ColorSpace
  /// Whether a second, better degraded frame may be sent before the final one. Only with `deliveryMode` opportunistic.
  package var allowsSecondaryDegradedImage: Bool
  /// The frame of a video: the key frame that is shown at this second or before. `nil`: the first key frame that is not
  /// nearly black. Without effect on pictures.
  package var posterTime: Double?
  /// The part that an exact `aspectFill` keeps.
  package var cropAnchor = CropAnchor.center
  /// Whether the picture fills the target size without keeping its aspect ratio; neither side is enlarged. Only with
  /// `resizeMode` exact; `contentMode` is ignored.
  package var fillsTarget = false
  /// Whether the size is one of the original's scales 1/8, 1/4, 1/2 and 1, for a client that prefers less work to the
  /// exact size.
  package var hasFastSize: Bool { targetSize != .maximum && resizeMode == .fast }
  /// Rotates and mirrors the finished picture, after the size rules.
  package var rotation = Orientation.topLeft
  /// `gray` and `bitonal` need the colour space `srgb`.
  package var tone = Tone.color
  /// The default here is for pictures that the daemon makes for itself, which need no gain map; the default of clients
  /// is `preserve`.
  package var dynamicRange = DynamicRange.standard
  package var resampling = Resampling.encoded
  /// 8, or 16 for a PNG of an original with more than 8 bits a channel; others have 8.
  package var bitDepth = 8
  /// Whether all frames of an animation are requested, as an animated WebP; `format` is `webp` then.
  package var isAnimated = false

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
    allowsSecondaryDegradedImage: Bool = false,
    posterTime: Double? = nil
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
    self.posterTime = posterTime
  }

  /// Whether the frame has high dynamic range itself if the original has. Its colours are those of BT.2020, so none can
  /// be chosen.
  package var mayBeHDR: Bool {
    dynamicRange == .high && format.carriesHDR && colorSpace == .preserve && tone == .color && !isAnimated
  }
}
