// Composes the decoder workers: programs beside photod that decode HEIC, AVIF, WebP, JPEG XL, videos and RAW files, and
// encode AVIF, WebP and JPEG XL.

import DecoderWorkers
import Foundation
import ImageCodec
import Logging
import PhotoModel
import Primitives
import Telemetry

struct Decoders: Sendable {
  let pool: DecoderPool
  private let hevc: [DecoderCodec]
  private let logger = Logger(label: "decoders")

  init(_ settings: Settings) {
    hevc = settings.decoders.hevc.codecs
    var limits = settings.decoders.limits
    limits.workers = settings.decoders.workers == 0 ? UsableCores.count : settings.decoders.workers
    pool = DecoderPool(
      folder: Self.folder(settings), sandbox: settings.decoders.sandbox, limits: limits, logger: logger)
  }

  /// Decodes for renders.
  var pictures: WorkerPictureDecoder { WorkerPictureDecoder(pool: pool, hevc: hevc) }

  /// The folder of the decoder programs.
  static func folder(_ settings: Settings) -> String {
    settings.decoders.folder.isEmpty ? programFolder : settings.decoders.folder
  }

  /// The folder of the running program; symbolic links to it are resolved.
  static var programFolder: String {
    URL(filePath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent().path
  }

  /// Starts the programs, and logs missing ones. Call it before sockets are opened.
  ///
  /// - Returns: the uniform type identifiers of all formats that can be decoded.
  func start() -> Set<String> {
    var formats: Set<SourceFormat> = []
    for report in pool.start() {
      if case .ready = report.state {
        formats.formUnion(SourceFormat.allCases.filter { $0.codecs(hevc: hevc).contains(report.codec) })
      }
      switch report.state {
      case .ready(_, let sandbox) where sandbox == .all:
        logger.info("decoder ready", metadata: ["codec": "\(report.codec.name)", "detail": "\(report.summary)"])
      case .ready:
        logger.warning(
          "decoder ready, sandbox incomplete",
          metadata: ["codec": "\(report.codec.name)", "detail": "\(report.summary)"])
      case .unavailable(.notInstalled):
        logger.info("decoder not installed", metadata: ["codec": "\(report.codec.name)"])
      case .unavailable:
        logger.warning(
          "decoder unavailable", metadata: ["codec": "\(report.codec.name)", "detail": "\(report.summary)"])
      }
    }
    return MediaFormat.renderableTypes(with: formats)
  }

  /// The formats whose encoder program has started.
  var encodedFormats: Set<OutputFormat> {
    Set(OutputFormat.allCases.filter { $0.encoder.flatMap(pool.processIdentifier) != nil })
  }

  func register(in registry: MetricsRegistry) {
    registry.gauge(
      "photod_decoder_workers", "Decoder and encoder processes that are at work.",
      read: { [pool] in Double(pool.workerCount) })
    for codec in DecoderCodec.all {
      registry.counter(
        "photod_decoder_cpu_seconds_total", "CPU time of the codec's decoder processes, without their start.",
        ["codec": codec.name], read: { [pool] in pool.usage(of: codec).cpuTime.seconds })
      registry.gauge(
        "photod_decoder_peak_bytes", "Largest resident memory of one of the codec's decoder processes so far.",
        ["codec": codec.name], read: { [pool] in Double(pool.usage(of: codec).peakBytes) })
      for reason in DecoderFailure.allCases {
        registry.counter(
          "photod_decoder_failures_total",
          "Pictures that a decoder or encoder process could not code, by codec and reason.",
          ["codec": codec.name, "reason": reason.rawValue],
          read: { [pool] in Double(pool.failures.count(codec, reason)) })
      }
      // Only of decoders that have started: an alert on this gauge must mean an incomplete sandbox.
      for (part, name) in SandboxParts.names where pool.processIdentifier(of: codec) != nil {
        registry.gauge(
          "photod_decoder_sandbox",
          "1 if the decoder's sandbox has this part; 0 if not. Only of decoders that are installed and started.",
          ["codec": codec.name, "part": name],
          read: { [pool] in pool.sandbox(of: codec).contains(part) ? 1 : 0 })
      }
    }
  }
}
