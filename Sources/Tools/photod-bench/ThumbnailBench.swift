// The cost of a degraded frame from an embedded thumbnail: open the file, read the header, find the thumbnail, check
// it, and make the frame.
//
// CPU of the working thread. The file is in the page cache: the final frame that follows must read it anyway.

import ArgumentParser
import Foundation
import ImageCodec
import ImageRender
import LibraryFolder
import PhotoModel

struct ThumbnailBench: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "thumbnail", abstract: "CPU of a degraded frame from an embedded thumbnail, or from a first scan.")

  @Option(help: "A photograph to measure besides the generated ones. Repeatable.")
  var photo: [String] = []

  @Option(help: "Frames of each kind.")
  var frames = 301

  func run() throws { try TemporaryFolder.with(measure) }

  private func measure(in folder: String) throws {
    var rows = try DegradedPhotographs.all.map { name, bytes in
      let path = folder + "/" + name.replacing("/", with: "-")
      try Data(bytes).write(to: URL(filePath: path))
      return (name, path)
    }
    rows += photo.map { ((($0 as NSString).lastPathComponent), $0) }
    print("degraded frames for 800x800 fit, JPEG, \(frames) each, CPU microseconds\n")
    print("| photograph | from | frame | median | fastest |")
    print("| --- | --- | --- | ---: | ---: |")
    for (name, path) in rows {
      var (what, size) = ("", PixelSize(width: 0, height: 0))
      // Decoding a first scan of a large file takes thousands of times as long.
      var samples: [Double] = []
      while samples.count < frames && samples.reduce(0, +) < 5e6 {
        samples.append(try ProcessUsage.cpuSeconds { (what, size) = try Self.frame(path) } * 1e6)
      }
      samples.sort()
      print(
        "| \(name) | \(what) | \(size.width)x\(size.height) | \(Int(samples[samples.count / 2])) | \(Int(samples[0])) |"
      )
    }
  }

  private static func frame(_ path: String) throws -> (String, PixelSize) {
    let limits = CodecLimits()
    let stop = StopFlag()
    let request = ImageRequest(targetSize: .size(PixelSize(width: 800, height: 800)), format: .jpeg)
    let source = try LibraryFolder.file(at: path)
    let header = try ImageHeader.read(from: source, limits: limits)
    let wanted = header.sized(request)
    let thumbnail = EmbeddedThumbnail.best(for: wanted, of: header, in: source, limits: limits)
    if let image = try thumbnail?.render(for: wanted, of: header, in: source, limits: limits, stop: stop) {
      return ("thumbnail", image.size)
    }
    guard let plan = RenderPlanner().degradedPlan(header, wanted) else {
      throw BenchError(description: "\(path) has no degraded frame")
    }
    let image = try Renderer(plan, source: source, limits: limits, stop: stop).render()
    return (plan.firstScanOnly ? "first scan" : "decode at \(plan.eighths)/8", image.size)
  }
}
