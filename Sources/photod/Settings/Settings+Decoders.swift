import DecoderWorkers

/// The decoder of HEIC pictures and HEVC videos. The raw values are those of the setting `decoders.hevc`.
enum HEVCDecoder: String, Sendable, CaseIterable {
  /// The quicker one, libavcodec, if its program can be used and knows the picture; else libde265.
  case automatic
  case libavcodec
  case libde265

  /// The preferred codec first.
  var codecs: [DecoderCodec] {
    switch self {
    case .automatic: [.avcodec, .hevc]
    case .libavcodec: [.avcodec]
    case .libde265: [.hevc]
    }
  }
}

/// `decoders.*`
struct DecoderSettings: Sendable {
  /// Empty: the folder of the photod program.
  var folder = ""
  /// 0: one for each core.
  var workers = 0
  var sandbox = SandboxRequirement.filter
  var hevc = HEVCDecoder.automatic
  var limits = DecoderPool.Limits(workers: 1)
}

extension Settings {
  static let decodersTable: [Setting] = [
    Setting(
      "decoders.folder", .text(\.decoders.folder),
      """
      Folder of the decoder and encoder programs (photod-decoder-NAME, photod-encoder-NAME), which work in processes of \
      their own: HEIC, AVIF, WebP, JPEG XL, videos and the sensor data of RAW files. Empty: the folder of the photod \
      program.
      """,
      advice: "Set it if the decoder programs are installed elsewhere, such as in /usr/libexec/photod."),
    Setting(
      "decoders.workers", .number(\.decoders.workers, 0...DecoderPool.Limits.maximumWorkers),
      """
      Maximum number of decoder processes that work at the same time, and separately of encoder processes. 0: one for \
      each core that the process may use. Each process may use the memory that is reserved for its picture. For each, \
      photod holds three times decoders.slotBytes: two slots that are shared with the process, and a copy. Up to four \
      processes decode one HEIC or AVIF picture of several tiles while a client waits for it and nothing else waits.
      """,
      advice: "Lower it to leave CPU and memory to other services."),
    Setting(
      "decoders.sandbox", .choice(\.decoders.sandboxWord, SandboxRequirement.allCases.map(\.rawValue)),
      """
      How much of the sandbox a decoder needs. full: every part. filter: every part except Landlock, which many \
      containers lack; the system call filter denies all that Landlock does. optional: the parts that the kernel has. \
      A decoder without the required parts is not used, and its formats get 415.
      """,
      advice: "Set it to full if `photod decoders` says that this kernel has every part."),
    Setting(
      "decoders.hevc", .choice(\.decoders.hevcWord, HEVCDecoder.allCases.map(\.rawValue)),
      """
      The library that decodes HEIC pictures and HEVC videos. automatic: libavcodec, which is quicker, if its decoder \
      program is installed, else libde265. libavcodec or libde265: only that one.
      """,
      advice: "Set it to libde265 if HEIC pictures should not depend on the large package of libavcodec."),
    Setting(
      "decoders.slotBytes",
      .number(\.decoders.limits.slotBytes, (64 << 10)...DecoderPool.Limits.maximumSlotBytes, .bytes),
      """
      Size of one slot, a block of shared memory in which a decoder or encoder process and photod exchange rows. Each \
      process has two. A slot must hold two rows of the widest picture.
      """,
      advice: "Raise it if very wide pictures are refused for their rows."),
    Setting(
      "decoders.stallSeconds", .number(\.decoders.limits.stall.wholeSeconds, 1...3600, .seconds),
      """
      Longest time for which a decoder process may send nothing; then photod ends it and the picture gets 503, and 422 \
      from the second time on. If four times the CPU limit of the picture is longer, that time applies instead. Time \
      for which photod itself was stopped does not count.
      """,
      advice: "Raise it on machines that are heavily overloaded."),
    Setting(
      "decoders.rememberedFailures", .number(\.decoders.limits.rememberedFailures, 0...1_000_000),
      """
      Maximum number of pictures and frames whose decoding failed that photod remembers, with the reason, so that it \
      does not try them again whenever they scroll into view. A changed file is tried again.
      """,
      advice: "Raise it if a library has many damaged files."),
  ]
}

extension DecoderSettings {
  fileprivate var hevcWord: String {
    get { hevc.rawValue }
    set { if let decoder = HEVCDecoder(rawValue: newValue) { hevc = decoder } }
  }

  fileprivate var sandboxWord: String {
    get { sandbox.rawValue }
    set { if let requirement = SandboxRequirement(rawValue: newValue) { sandbox = requirement } }
  }
}
