import CPhotodBench
import Foundation

#if canImport(Glibc)
  import Glibc
#endif

/// The machine and the libraries of a measurement.
enum Machine {
  /// The processors.
  static var cores: String {
    let information = String(decoding: FileManager.default.contents(atPath: "/proc/cpuinfo") ?? Data(), as: UTF8.self)
    let model = information.split(separator: "\n").first { $0.hasPrefix("model name") }?.split(separator: ":").last
    return "\(ProcessInfo.processInfo.activeProcessorCount) cores"
      + (model.map { " (\($0.trimmingCharacters(in: .whitespaces)))" } ?? "")
  }

  /// Drops the kernel's page cache. Returns `false` without the right to do so; it needs root.
  static func dropCaches() -> Bool {
    sync()
    guard let file = fopen("/proc/sys/vm/drop_caches", "w") else { return false }
    fputs("3", file)
    return fclose(file) == 0
  }

  /// The description for benchmarks of pictures.
  static func line() throws -> String {
    let thumbnailer = try Command(["vipsthumbnail", "--vips-version"]).text().split(separator: "\n").first ?? "vips ?"
    let parts = [
      cores, String(cString: photod_codec_floor_jpeg_library()), String(cString: photod_codec_floor_png_library()),
      "vipsthumbnail of \(thumbnailer)",
    ]
    return parts.joined(separator: ", ")
  }
}
