import Foundation

#if canImport(Glibc)
  import Glibc
#endif

/// The command `photod render`.
struct PhotodCommand {
  /// The part of the output of `--explain` that benchmarks use.
  struct Plan: Decodable {
    let format: String
    let storedSize: Dimensions
    let orientation: Int
    let isProgressive: Bool
    let hasAlpha: Bool
    let dctScale: String?
    let planes: [Plane]
    let output: Dimensions

    struct Plane: Decodable {
      let output: Dimensions
    }

    var eighths: Int { dctScale.flatMap { Int($0.prefix(1)) } ?? 8 }
    var isPlanar: Bool { !planes.isEmpty }
    /// The output before it is turned upright.
    var storedOutput: Dimensions { orientation > 4 ? output.turned : output }
  }

  let binary: String
  /// The folder for pictures that are not used.
  let folder: String

  func render(_ path: String, _ target: Target, to output: String) throws {
    try Command(arguments(path, target, output)).run()
  }

  func plan(_ benchPicture: BenchPicture) throws -> Plan {
    try plan(benchPicture.photograph.path, benchPicture.target, format: benchPicture.format)
  }

  func plan(_ path: String, _ target: Target, format: String) throws -> Plan {
    let command = Command(
      arguments(path, target, folder + "/explained." + format) + ["--explain"])
    return try JSONDecoder().decode(Plan.self, from: Data(command.text(of: STDERR_FILENO).utf8))
  }

  private func arguments(_ path: String, _ target: Target, _ output: String) -> [String] {
    [
      binary, "render", path, "--target-size", target.size.description, "--content-mode", target.mode, "--quality",
      "\(CodecFloor.quality)", "-o", output, "--replace",
    ]
  }
}
