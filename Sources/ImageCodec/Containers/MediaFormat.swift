import PhotoModel

/// A kind of file that is indexed, by what its bytes say it is, whatever its name says.
package enum MediaFormat: String, Sendable, Hashable, CaseIterable {
  case jpeg, png, heic, heif, avif, webp, gif, tiff, dng, cr2, cr3, nef, arw, quickTime, mpeg4

  /// What the first bytes of a file say it is, whatever its name says: sixteen, or more for a file of boxes, whose brands they
  /// are. Of the kinds that are built like TIFF only CR2 shows itself so early.
  init?(firstBytes bytes: ArraySlice<UInt8>) {
    if let format = SourceFormat(firstBytes: bytes) {
      switch format {
      case .jpeg: self = .jpeg
      case .png: self = .png
      }
    } else if GIFHeader.signatures.contains(where: { bytes.starts(with: $0) }) {
      self = .gif
    } else if bytes.starts(with: WebPHeader.signature), bytes.dropFirst(8).starts(with: WebPHeader.form) {
      self = .webp
    } else if TIFFFile.order(bytes) != nil {
      self = bytes.dropFirst(8).starts(with: TIFFHeader.canonSignature) ? .cr2 : .tiff
    } else if let type = FileType(firstBytes: bytes) {
      self = type.format
    } else {
      return nil
    }
  }

  /// What a file's name ends in, without the dot.
  package var fileEnding: String {
    switch self {
    case .jpeg: "jpg"
    case .quickTime: "mov"
    case .mpeg4: "mp4"
    default: rawValue.lowercased()
    }
  }

  /// As Apple's platforms name it.
  package var uniformTypeIdentifier: String {
    switch self {
    case .jpeg: "public.jpeg"
    case .png: "public.png"
    case .heic: "public.heic"
    case .heif: "public.heif"
    case .avif: "public.avif"
    case .webp: "org.webmproject.webp"
    case .gif: "com.compuserve.gif"
    case .tiff: "public.tiff"
    case .dng: "com.adobe.raw-image"
    case .cr2: "com.canon.cr2-raw-image"
    case .cr3: "com.canon.cr3-raw-image"
    case .nef: "com.nikon.raw-image"
    case .arw: "com.sony.arw-raw-image"
    case .quickTime: "com.apple.quicktime-movie"
    case .mpeg4: "public.mpeg-4"
    }
  }

  /// `nil`: no format has this identifier.
  package init?(uniformTypeIdentifier: String) {
    guard let format = Self.byIdentifier[uniformTypeIdentifier] else { return nil }
    self = format
  }

  private static let byIdentifier = Dictionary(
    uniqueKeysWithValues: allCases.map { ($0.uniformTypeIdentifier, $0) })

  package var mediaType: MediaType {
    switch self {
    case .quickTime, .mpeg4: .video
    default: .image
    }
  }

  /// What the sensor saw, which has to be developed before it is a picture.
  package var isRAW: Bool {
    switch self {
    case .dng, .cr2, .cr3, .nef, .arw: true
    default: false
    }
  }

  /// What decodes it; `nil`: nothing here does, so that it is known and can't be shown.
  package var decoder: SourceFormat? {
    switch self {
    case .jpeg: .jpeg
    case .png: .png
    default: nil
    }
  }

  /// For a sentence: "a HEIC picture".
  package var noun: String {
    switch self {
    case .jpeg: "a JPEG picture"
    case .png: "a PNG picture"
    case .heic: "a HEIC picture"
    case .heif: "a HEIF picture"
    case .avif: "an AVIF picture"
    case .webp: "a WebP picture"
    case .gif: "a GIF picture"
    case .tiff: "a TIFF picture"
    case .dng: "a DNG raw picture"
    case .cr2: "a Canon CR2 raw picture"
    case .cr3: "a Canon CR3 raw picture"
    case .nef: "a Nikon NEF raw picture"
    case .arw: "a Sony ARW raw picture"
    case .quickTime: "a QuickTime video"
    case .mpeg4: "an MPEG-4 video"
    }
  }
}

extension Asset {
  /// Whether there is anything that could make a picture of its own file.
  package var hasDecoder: Bool { MediaFormat(uniformTypeIdentifier: uniformTypeIdentifier)?.decoder != nil }
}
