// A codec that runs in a process of its own: `photod-decoder-NAME` or `photod-encoder-NAME`, a C program beside the
// daemon's.

/// One codec, and the program that contains it.
package struct DecoderCodec: Sendable, Hashable {
  /// In the program's name, in metrics and in logs: `webp`.
  package let name: String
  /// The package of Debian that has the codec's library, for messages.
  package let libraryPackage: String

  package let programName: String

  package init(name: String, libraryPackage: String) {
    self.init(name: name, libraryPackage: libraryPackage, programName: "photod-decoder-\(name)")
  }

  private init(name: String, libraryPackage: String, programName: String) {
    self.name = name
    self.libraryPackage = libraryPackage
    self.programName = programName
  }

  /// - Parameter format: in the program's name: `webp`. The codec's own name has `-encoder` after it.
  static func encoder(_ format: String, libraryPackage: String) -> DecoderCodec {
    DecoderCodec(
      name: "\(format)-encoder", libraryPackage: libraryPackage, programName: "photod-encoder-\(format)")
  }

  /// WebP pictures, by libwebp.
  package static let webp = DecoderCodec(name: "webp", libraryPackage: "libwebp7")
  /// The tiles of HEIC pictures and frames of HEVC videos, by libde265.
  package static let hevc = DecoderCodec(name: "hevc", libraryPackage: "libde265-0")
  /// The tiles of AVIF pictures and frames of AV1 videos, by dav1d.
  package static let av1 = DecoderCodec(name: "av1", libraryPackage: "libdav1d6")

  /// JPEG XL pictures, by libjxl.
  package static let jxl = DecoderCodec(name: "jxl", libraryPackage: "libjxl0.7")
  /// Frames of videos, by libavcodec.
  package static let avcodec = DecoderCodec(name: "avcodec", libraryPackage: "libavcodec59")

  /// The sensor data of RAW files, by LibRaw.
  package static let raw = DecoderCodec(name: "raw", libraryPackage: "libraw20")

  /// Frames as WebP, by libwebp.
  package static let webpEncoder = encoder("webp", libraryPackage: "libwebp7")
  /// Frames as AVIF, by libaom.
  package static let avifEncoder = encoder("avif", libraryPackage: "libaom3")
  /// Frames as JPEG XL, by libjxl.
  package static let jxlEncoder = encoder("jxl", libraryPackage: "libjxl0.7")

  /// Every codec that photod can be built with.
  package static let all = [webp, hevc, av1, jxl, avcodec, raw, webpEncoder, avifEncoder, jxlEncoder]
}
