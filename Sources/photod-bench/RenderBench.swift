// Cold renders of one photograph to 400x400 fit: what a thumbnail costs the first time it is asked for.
//
// Every contestant makes a JPEG of quality 82 from the original, in turn, `rounds` times over. CPU is the operating
// system's own account: of a finished process for the tools, of the daemon's /proc/PID/stat for photod, which counts in
// hundredths of a second and so is asked for several pictures a round.

import ArgumentParser
import Foundation
import PhotoFixtures

struct RenderBench: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "render", abstract: "CPU of a cold render to 400x400, beside djpeg+cjpeg and vipsthumbnail.")

  @Option(help: "The photograph, a JPEG; by default a landscape of 12 MP made for the purpose.")
  var photo: String?

  @Option(help: "How often each contestant has its turn.")
  var rounds = 5

  @Option(help: "Pictures a turn.")
  var pictures = 20

  @Option(help: "The daemon's binary.")
  var photod: String

  func run() throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "photod-bench-\(UUID().uuidString)").path
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let library = folder + "/library"
    try FileManager.default.createDirectory(atPath: library, withIntermediateDirectories: true)
    let original = library + "/photo.jpg"
    if let photo {
      try FileManager.default.copyItem(atPath: photo, toPath: original)
    } else {
      let scene = Scene(seed: 1, grain: 14).pixels(width: 4000, height: 3000)
      try Data(JPEGFile { _ in }.encoded(scene)).write(to: URL(filePath: original))
    }
    let daemon = try DaemonUnderTest(binary: photod, library: library, data: folder + "/data")
    let asset = try daemon.onlyAsset()
    let url = "\(daemon.url)/v1/assets/\(asset)/image?targetSize=400x400&format=jpeg&quality=82"

    let contestants = [
      Contestant(name: "photod", output: folder + "/photod.jpg") {
        try daemon.cpuSeconds {
          for _ in 0..<pictures {
            try Command(["curl", "-fsS", "-H", "Cache-Control: no-cache", "-o", folder + "/photod.jpg", url]).run()
          }
        }
      },
      Contestant(name: "djpeg 1/8 + cjpeg", output: folder + "/djpeg.jpg") {
        try (0..<pictures).reduce(0) { sum, _ in
          let decode = try Command(["djpeg", "-scale", "1/8", "-outfile", folder + "/x.ppm", original]).run()
          let encode = try Command(["cjpeg", "-quality", "82", "-outfile", folder + "/djpeg.jpg", folder + "/x.ppm"])
            .run()
          return sum + decode + encode
        }
      },
      Contestant(name: "djpeg 1/4 + cjpeg", output: folder + "/djpeg4.jpg") {
        try (0..<pictures).reduce(0) { sum, _ in
          let decode = try Command(["djpeg", "-scale", "1/4", "-outfile", folder + "/x.ppm", original]).run()
          let encode = try Command(["cjpeg", "-quality", "82", "-outfile", folder + "/djpeg4.jpg", folder + "/x.ppm"])
            .run()
          return sum + decode + encode
        }
      },
      Contestant(name: "vipsthumbnail", output: folder + "/vips.jpg") {
        try (0..<pictures).reduce(0) { sum, _ in
          try sum + Command(["vipsthumbnail", original, "-s", "400x400", "-o", folder + "/vips.jpg[Q=82,strip]"]).run()
        }
      },
    ]
    var samples = [[Double]](repeating: [], count: contestants.count)
    for round in 0...rounds {
      for (i, contestant) in contestants.enumerated() {
        let milliseconds = try contestant.turn() * 1000 / Double(pictures)
        // The first round warms caches and is not counted.
        if round > 0 { samples[i].append(milliseconds) }
      }
    }
    print(
      "cold render to 400x400 fit of \(Self.describe(original)), \(rounds) rounds of \(pictures), CPU ms a picture\n")
    print("| contestant | median | min | max | to djpeg 1/8 + cjpeg | output |")
    print("| --- | ---: | ---: | ---: | ---: | --- |")
    let anchor = Self.median(samples[1])
    for (contestant, values) in zip(contestants, samples) {
      let row = [Self.median(values), values.min() ?? 0, values.max() ?? 0, Self.median(values) / anchor].map {
        Self.text($0)
      }
      print("| \(contestant.name) | \(row.joined(separator: " | ")) | \(Self.describe(contestant.output)) |")
    }
  }

  private struct Contestant {
    let name: String
    let output: String
    /// Makes the pictures; CPU seconds.
    let turn: () throws -> Double
  }

  private static func median(_ values: [Double]) -> Double { values.sorted()[values.count / 2] }

  private static func text(_ value: Double) -> String {
    let hundredths = Int((value * 100).rounded())
    let rest = hundredths % 100
    return "\(hundredths / 100).\(rest < 10 ? "0" : "")\(rest)"
  }

  private static func describe(_ path: String) -> String {
    guard let data = FileManager.default.contents(atPath: path), let picture = Pixels.decoded([UInt8](data)) else {
      return "?"
    }
    return "\(picture.pixels.width)x\(picture.pixels.height), \(data.count) bytes"
  }
}
