/// What an ISO base media file says it is by its brands (ISO/IEC 14496-12 §4.3).
struct FileType {
  let format: MediaFormat
  /// It calls itself a file of sound.
  let isAudio: Bool

  private static let heic: Set<FourCC> = ["heic", "heix", "heim", "heis", "hevc", "hevx", "hevm", "hevs"]
  private static let avif: Set<FourCC> = ["avif", "avis"]
  /// ISO/IEC 23008-12 §10: of any codec.
  private static let heif: Set<FourCC> = [
    "mif1", "mif2", "mif3", "msf1", "miaf", "avci", "avcs", "jpeg", "jpgs", "j2ki",
  ]
  private static let audio: Set<FourCC> = ["M4A ", "M4B ", "M4P ", "F4A ", "F4B "]
  /// What a QuickTime file from before there were brands begins with.
  private static let atoms: Set<FourCC> = ["moov", "mdat", "wide", "free", "skip", "pnot"]
  /// What of a file is looked at: the major brand and some thirty others.
  static let bytes = 144

  /// What the first bytes of a file tell, of which the type box is part; `nil`: it is another kind of file.
  init?(firstBytes bytes: ArraySlice<UInt8>) {
    guard bytes.count >= 8 else { return nil }
    let type = FourCC(bytes.dropFirst(4))
    guard type == "ftyp" else {
      let length = bytes.bigEndian(at: 0, bytes: 4)
      // By chance, bytes of another kind make no such size.
      guard Self.atoms.contains(type), length == 1 || (8...(1 << 30)).contains(length) else { return nil }
      format = .quickTime
      isAudio = false
      return
    }
    let end = min(bytes.count, bytes.bigEndian(at: 0, bytes: 4))
    guard end >= 12 else { return nil }
    let major = FourCC(bytes.dropFirst(8))
    let brands = [major] + stride(from: 16, through: end - 4, by: 4).map { FourCC(bytes.dropFirst($0)) }
    isAudio = Self.audio.contains(major)
    if major == "qt  " {
      format = .quickTime
    } else if major == "crx " {
      format = .cr3
    } else if Self.heic.contains(major) {
      format = .heic
    } else if Self.avif.contains(major) {
      format = .avif
    } else if Self.heif.contains(major) {
      // The major brand is one of structure; which codec it is the others say.
      format =
        brands.contains { Self.avif.contains($0) } ? .avif : brands.contains { Self.heic.contains($0) } ? .heic : .heif
    } else {
      format = .mpeg4
    }
  }
}
