import PhotoModel

/// A format of indexed files, detected from the bytes and not from the name.
package enum MediaFormat: String, Sendable, Hashable, CaseIterable {
  case jpeg, png, heic, heif, avif, webp, gif, tiff, dng, cr2, cr3, nef, arw, raf, orf, rw2, pef, quickTime, mpeg4
  case bmp, jxl

  /// The format according to the first bytes of a file; its name does not matter. Needs eighteen bytes, or more for a
  /// file of boxes, which may have many brands. Of the formats based on TIFF, only CR2, ORF and RW2 can be recognised
  /// this early.
  init?(firstBytes bytes: ArraySlice<UInt8>) {
    // Usually a third byte of FF follows, but libjpeg skips bytes before the next marker.
    if bytes.starts(with: [0xFF, 0xD8]) {
      self = .jpeg
    } else if bytes.starts(with: [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]) {
      self = .png
    } else if GIFHeader.signatures.contains(where: { bytes.starts(with: $0) }) {
      self = .gif
    } else if bytes.starts(with: WebPHeader.signature), bytes.dropFirst(8).starts(with: WebPHeader.form) {
      self = .webp
    } else if BMPHeader.matches(firstBytes: bytes) {
      self = .bmp
    } else if TIFFFile.order(bytes) != nil {
      // In a BigTIFF there is an offset at this place.
      let isCR2 = bytes.dropFirst(2).first == 42 && bytes.dropFirst(8).starts(with: TIFFHeader.canonSignature)
      self = isCR2 ? .cr2 : .tiff
    } else if let variant = TIFFFile.variant(bytes) {
      self = variant.format
    } else if bytes.starts(with: RAFHeader.signature) {
      self = .raf
    } else if bytes.starts(with: JXLBoxes.signature) || bytes.starts(with: JXLCodestream.signature) {
      self = .jxl
    } else if let type = FileType(firstBytes: bytes) {
      self = type.format
    } else {
      return nil
    }
  }

  /// The usual file name extension, without the dot.
  package var filenameExtension: String {
    switch self {
    case .jpeg: "jpg"
    case .quickTime: "mov"
    case .mpeg4: "mp4"
    default: rawValue.lowercased()
    }
  }

  /// The uniform type identifier of Apple's platforms.
  package var uniformTypeIdentifier: String {
    switch self {
    case .jpeg: "public.jpeg"
    case .png: "public.png"
    case .heic: "public.heic"
    case .heif: "public.heif"
    case .avif: "public.avif"
    case .webp: "org.webmproject.webp"
    case .gif: "com.compuserve.gif"
    case .bmp: "com.microsoft.bmp"
    case .jxl: "public.jpeg-xl"
    case .tiff: "public.tiff"
    case .dng: "com.adobe.raw-image"
    case .cr2: "com.canon.cr2-raw-image"
    case .cr3: "com.canon.cr3-raw-image"
    case .nef: "com.nikon.raw-image"
    case .arw: "com.sony.arw-raw-image"
    case .raf: "com.fuji.raw-image"
    case .orf: "com.olympus.raw-image"
    case .rw2: "com.panasonic.rw2-raw-image"
    case .pef: "com.pentax.raw-image"
    case .quickTime: "com.apple.quicktime-movie"
    case .mpeg4: "public.mpeg-4"
    }
  }

  /// The media type (RFC 6838).
  package var internetMediaType: String {
    switch self {
    case .jpeg: "image/jpeg"
    case .png: "image/png"
    case .heic: "image/heic"
    case .heif: "image/heif"
    case .avif: "image/avif"
    case .webp: "image/webp"
    case .gif: "image/gif"
    case .bmp: "image/bmp"
    case .jxl: "image/jxl"
    case .tiff: "image/tiff"
    // None of these is registered; file managers of desktops use these names.
    case .dng: "image/x-adobe-dng"
    case .cr2: "image/x-canon-cr2"
    case .cr3: "image/x-canon-cr3"
    case .nef: "image/x-nikon-nef"
    case .arw: "image/x-sony-arw"
    case .raf: "image/x-fuji-raf"
    case .orf: "image/x-olympus-orf"
    case .rw2: "image/x-panasonic-rw2"
    case .pef: "image/x-pentax-pef"
    case .quickTime: "video/quicktime"
    case .mpeg4: "video/mp4"
    }
  }

  /// `nil` if no format has this identifier.
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

  /// Whether the format holds sensor data, which must be developed into a picture.
  package var isRAW: Bool {
    switch self {
    case .dng, .cr2, .cr3, .nef, .arw, .raf, .orf, .rw2, .pef: true
    default: false
    }
  }

  /// Whether the first bytes of the format are so few that other data may have them by chance.
  var hasShortSignature: Bool {
    switch self {
    case .tiff, .cr2, .orf, .rw2, .jxl: true
    default: false
    }
  }

  /// The formats of decoders that may show a file; none if there is no decoder: the file is indexed but can't be shown.
  /// A RAW file is shown by a JPEG that the camera has stored in it, or else developed from its sensor data; a video by
  /// a frame, whose codec is in its header.
  package var decoders: [SourceFormat] {
    switch self {
    case .jpeg: [.jpeg]
    case .png: [.png]
    case .heic: [.heic]
    case .avif: [.avif]
    case .webp: [.webp]
    case .jxl: [.jxl]
    case .gif: [.gif]
    case .bmp: [.bmp]
    case .tiff: [.tiff]
    case .dng, .cr2, .cr3, .nef, .arw, .raf, .orf, .rw2, .pef: [.jpeg, .raw]
    case .quickTime, .mpeg4: [.video, .heic, .avif]
    case .heif: []
    }
  }

  /// The uniform type identifiers of all formats that can be decoded: files of other types are indexed but can't be
  /// shown.
  ///
  /// A RAW file without a preview also needs ``SourceFormat/raw``, whose identifier is among them if it can be decoded.
  ///
  /// - Parameter workers: the formats whose decoders run in processes of their own and are installed.
  package static func renderableTypes(with workers: Set<SourceFormat>) -> Set<String> {
    Set(
      allCases.filter { format in format.decoders.contains { !$0.needsWorker || workers.contains($0) } }
        .map(\.uniformTypeIdentifier) + (workers.contains(.raw) ? [SourceFormat.raw.uniformTypeIdentifier] : []))
  }

  /// A noun for messages: "a HEIC picture".
  package var noun: String {
    switch self {
    case .jpeg: "a JPEG picture"
    case .png: "a PNG picture"
    case .heic: "a HEIC picture"
    case .heif: "a HEIF picture"
    case .avif: "an AVIF picture"
    case .webp: "a WebP picture"
    case .gif: "a GIF picture"
    case .bmp: "a BMP picture"
    case .jxl: "a JPEG XL picture"
    case .tiff: "a TIFF picture"
    case .dng: "a DNG raw picture"
    case .cr2: "a Canon CR2 raw picture"
    case .cr3: "a Canon CR3 raw picture"
    case .nef: "a Nikon NEF raw picture"
    case .arw: "a Sony ARW raw picture"
    case .raf: "a Fujifilm RAF raw picture"
    case .orf: "an Olympus ORF raw picture"
    case .rw2: "a Panasonic RW2 raw picture"
    case .pef: "a Pentax PEF raw picture"
    case .quickTime: "a QuickTime video"
    case .mpeg4: "an MPEG-4 video"
    }
  }
}

extension Asset {
  /// Whether a decoder exists for the asset's own file. Those that run in processes of their own may be missing, and a
  /// RAW file may have no preview; then the catalogue has the asset as one that can't be rendered.
  package var hasDecoder: Bool {
    guard let format = MediaFormat(uniformTypeIdentifier: uniformTypeIdentifier), !format.decoders.isEmpty else {
      return false
    }
    return !(format.decoders.contains(where: \.needsWorker) || format.isRAW) || isRenderable
  }
}
