/// The type of an ISO base media file according to its brands (ISO/IEC 14496-12 §4.3).
struct FileType {
  let format: MediaFormat
  /// Whether the brands declare an audio file.
  let isAudio: Bool
  /// Whether the major brand declares a sequence of pictures.
  let isSequence: Bool

  /// ISO/IEC 23008-12 §10, AVIF §6.2: major brands of sequences.
  private static let sequences: Set<FourCC> = ["msf1", "hevc", "hevx", "hevm", "hevs", "avcs", "jpgs", "avis"]
  private static let heic: Set<FourCC> = ["heic", "heix", "heim", "heis", "hevc", "hevx", "hevm", "hevs"]
  private static let avif: Set<FourCC> = ["avif", "avis"]
  /// ISO/IEC 23008-12 §10: brands for any codec.
  private static let heif: Set<FourCC> = [
    "mif1", "mif2", "mif3", "msf1", "miaf", "avci", "avcs", "jpeg", "jpgs", "j2ki",
  ]
  private static let audio: Set<FourCC> = ["M4A ", "M4B ", "M4P ", "F4A ", "F4B "]
  /// Types of the first atom of a QuickTime file that is older than brands.
  private static let atoms: Set<FourCC> = ["moov", "mdat", "wide", "free", "skip", "pnot"]
  /// How many bytes of a file are examined: the major brand and some thirty others.
  static let bytes = 144

  /// Reads the first bytes of a file, which include the type box; `nil` for another kind of file.
  init?(firstBytes bytes: ArraySlice<UInt8>) {
    guard bytes.count >= 8 else { return nil }
    let type = FourCC(bytes.dropFirst(4))
    guard type == "ftyp" else {
      let length = bytes.bigEndian(at: 0, bytes: 4)
      // Bytes of another kind of file are unlikely to give such a size.
      guard Self.atoms.contains(type), length == 1 || (8...(1 << 30)).contains(length) else { return nil }
      format = .quickTime
      isAudio = false
      isSequence = false
      return
    }
    let end = min(bytes.count, bytes.bigEndian(at: 0, bytes: 4))
    guard end >= 12 else { return nil }
    let major = FourCC(bytes.dropFirst(8))
    let brands = [major] + stride(from: 16, through: end - 4, by: 4).map { FourCC(bytes.dropFirst($0)) }
    isAudio = Self.audio.contains(major)
    isSequence = Self.sequences.contains(major)
    if major == "qt  " {
      format = .quickTime
    } else if major == "crx " {
      format = .cr3
    } else if Self.heic.contains(major) {
      format = .heic
    } else if Self.avif.contains(major) {
      format = .avif
    } else if Self.heif.contains(major) {
      // The major brand may describe only the structure; the other brands then determine the codec.
      if brands.contains(where: { Self.avif.contains($0) }) {
        format = .avif
      } else {
        format = brands.contains { Self.heic.contains($0) } ? .heic : .heif
      }
    } else {
      format = .mpeg4
    }
  }
}
