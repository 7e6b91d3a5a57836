// The cost of a cell that is made from a RAW file's preview, compared with a cell from a JPEG of the preview's size.
// Each round opens, reads, plans and renders every file of one kind and then of the other.
//
// CPU of the working thread. The files are in the page cache after the first round.

import ArgumentParser
import Foundation
import ImageCodec
import ImageRender
import LibraryFolder
import PhotoFixtures
import PhotoModel

struct PreviewBench: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "raw", abstract: "CPU of a grid of RAW files by their previews, beside JPEGs of the previews' size.")

  @Option(help: "Files of each kind.")
  var files = 200

  @Option(help: "Rounds; the smallest CPU time of all counts.")
  var rounds = 7

  @Option(help: "Longer side of the cells.")
  var side = 200

  /// Sizes of previews that cameras write, and of their pictures.
  private static let previews = [(160, 120), (640, 424), (1616, 1080)]

  func run() throws { try TemporaryFolder.with(measure) }

  private func measure(in folder: String) throws {
    print("cells of \(side)x\(side), \(files) files of each kind, \(rounds) rounds, CPU microseconds a cell\n")
    let table = Table(["preview", "JPEG", "slowest", "RAW", "slowest", "RAW / JPEG"], labels: 1)
    for (width, height) in Self.previews {
      let kinds = try ["jpg", "nef"].map { try Self.paths(folder, $0, width, height, files) }
      var samples: [[Double]] = [[], []]
      for _ in 0..<rounds {
        for (kind, paths) in kinds.enumerated() {
          let seconds = try ProcessUsage.cpuSeconds { for path in paths { try render(path) } }
          samples[kind].append(seconds * 1e6 / Double(files))
        }
      }
      let (jpeg, raw) = (samples[0].min(), samples[1].min())
      table.row([
        "\(width)x\(height)", jpeg.text(0), samples[0].max().text(0), raw.text(0), samples[1].max().text(0),
        (raw / jpeg).text(),
      ])
    }
  }

  /// Files of one kind, each with a picture of its own. Both have the camera's EXIF: a JPEG in its own block, a RAW
  /// file in its directories, while its preview has none. A RAW file also has the bytes of its sensor data, after the
  /// preview.
  private static func paths(
    _ folder: String, _ kind: String, _ width: Int, _ height: Int, _ count: Int
  ) throws -> [String] {
    try (0..<count).map { number in
      let exif = EXIFBlock {
        ($0.make, $0.model, $0.orientation) = ("Maker", "Model 1", 1)
        ($0.dateTimeOriginal, $0.offsetTimeOriginal) = ("2024:05:06 07:08:09", "-03:30")
        ($0.latitude, $0.longitude) = (-33.5, 18.25)
      }
      let jpeg = JPEGFile { if kind == "jpg" { $0.exif = exif } }
        .encoded(Scene(seed: number % 20).pixels(width: width, height: height))
      let path = "\(folder)/\(width)-\(number).\(kind)"
      let sensor = [UInt8](repeating: UInt8(number % 251), count: 2 << 20)
      let bytes =
        kind == "jpg" ? jpeg : RAWSamples.file(kind, .init { $0.orientation = 1 }, previews: [jpeg]) + sensor
      try Data(bytes).write(to: URL(filePath: path))
      return path
    }
  }

  private func render(_ path: String) throws {
    let limits = CodecLimits()
    let source = try LibraryFolder.file(at: path)
    let header = try ImageHeader.read(from: source, limits: limits)
    let request = ImageRequest(targetSize: .size(PixelSize(width: side, height: side)), format: .jpeg)
    let plan = RenderPlanner().plan(header, request)
    _ = try Renderer(plan, source: source, limits: limits, stop: StopFlag()).render()
  }
}
