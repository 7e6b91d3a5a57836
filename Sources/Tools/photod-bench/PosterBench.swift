// The poster of a video by `photod render` and by the command `ffmpeg`, from the same file. Both start a process for
// each poster, and photod starts its decoder program too, so posters of a running daemon cost less.

import ArgumentParser
import Foundation

struct PosterBench: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "poster", abstract: "CPU and memory of a video's poster, beside ffmpeg's command.")

  @Option(help: "The photod to measure.")
  var photod = ".build/release/photod"

  @Option(help: "A video to measure besides the generated ones. Repeatable.")
  var clip: [String] = []

  @Option(help: "Rounds; the smallest CPU time of all counts.")
  var rounds = 8

  private static let clips = [
    ("1080p H.264", "1920x1080", "libx264"), ("4K H.264", "3840x2160", "libx264"), ("720p HEVC", "1280x720", "libx265"),
  ]

  func run() throws { try TemporaryFolder.with(measure) }

  private func measure(in folder: String) throws {
    var rows: [(name: String, path: String)] = []
    for (name, size, codec) in Self.clips {
      let path = "\(folder)/\(rows.count).mp4"
      try Command([
        "ffmpeg", "-v", "error", "-f", "lavfi", "-i", "testsrc2=size=\(size):rate=30", "-t", "1", "-c:v", codec,
        "-preset", "veryfast", "-pix_fmt", "yuv420p", "-y", path,
      ]).run()
      rows.append((name, path))
    }
    rows += clip.map { (($0 as NSString).lastPathComponent, $0) }
    print("posters of 400 pixels, \(rounds) rounds, CPU milliseconds and peak MiB of the largest process\n")
    let table = Table(["video", "photod", "slowest", "peak", "ffmpeg", "slowest", "peak"], labels: 1)
    for (name, path) in rows {
      var samples: [[Command.Usage]] = [[], []]
      for _ in 0..<rounds {
        for (i, arguments) in [own(path, folder), ffmpeg(path, folder)].enumerated() {
          samples[i].append(try Command(arguments).usage())
        }
      }
      table.row(
        [name]
          + samples.flatMap { usages in
            let cpu = usages.map { $0.cpuSeconds * 1000 }
            return [cpu.min().text(0), cpu.max().text(0), (usages.map(\.peakBytes).max() ?? 0).mebibytes.text(0)]
          })
    }
  }

  private func own(_ path: String, _ folder: String) -> [String] {
    [photod, "render", path, "--target-size", "400x400", "-o", folder + "/poster.jpg", "--replace"]
  }

  private func ffmpeg(_ path: String, _ folder: String) -> [String] {
    [
      "ffmpeg", "-v", "error", "-threads", "1", "-i", path, "-frames:v", "1", "-vf", "scale=400:-2", "-y",
      folder + "/frame.jpg",
    ]
  }
}
