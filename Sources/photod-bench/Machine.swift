import CPhotodBench
import Foundation

/// What a measurement was made on and with.
enum Machine {
  static func line() throws -> String {
    let information = String(decoding: FileManager.default.contents(atPath: "/proc/cpuinfo") ?? Data(), as: UTF8.self)
    let model = information.split(separator: "\n").first { $0.hasPrefix("model name") }?.split(separator: ":").last
    let thumbnailer = try Command(["vipsthumbnail", "--vips-version"]).text().split(separator: "\n").first ?? "vips ?"
    let parts = [
      "\(ProcessInfo.processInfo.activeProcessorCount) cores"
        + (model.map { " (\($0.trimmingCharacters(in: .whitespaces)))" } ?? ""),
      String(cString: photod_limit_jpeg_library()), String(cString: photod_limit_png_library()),
      "vipsthumbnail of \(thumbnailer)",
    ]
    return parts.joined(separator: ", ")
  }
}
