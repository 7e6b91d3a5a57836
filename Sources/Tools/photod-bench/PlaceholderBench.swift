// The cost of a placeholder by its source: the camera's thumbnail, a derivative, the original.
//
// CPU of the working thread, from the opened bytes to the hash; the file is in the page cache.

import ArgumentParser
import Foundation
import ImageCodec
import ImageRender
import ImageService
import LibraryFolder
import PhotoFixtures
import PhotoModel

struct PlaceholderBench: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "placeholder", abstract: "CPU of a placeholder, by its source.")

  @Option(help: "Placeholders of each kind.")
  var rounds = 301

  func run() throws { try TemporaryFolder.with(measure) }

  private func measure(in folder: String) throws {
    let scene = Scene(seed: 3, grain: 8).pixels(width: 4000, height: 3000)
    let wide = scene.cropped(x: 0, y: 0, width: 4000, height: 2667)
    func photograph(_ pixels: Pixels, isProgressive: Bool = false) -> [UInt8] {
      JPEGFile {
        $0.isProgressive = isProgressive
        $0.exif = EXIFBlock { $0.thumbnail = DemoLibrary.thumbnail(of: pixels) }
      }.encoded(pixels)
    }
    let derivative = JPEGFile { _ in }.encoded(scene.averaged(width: 512, height: 384))
    let kinds: [(name: String, usesThumbnail: Bool, bytes: [UInt8])] = [
      ("thumbnail, 160x120", true, photograph(scene)), ("thumbnail, 160x120 with bars", true, photograph(wide)),
      ("derivative, 512x384", false, derivative), ("12 MP JPEG", false, photograph(scene)),
      ("12 MP progressive JPEG", false, photograph(scene, isProgressive: true)),
    ]
    let small = scene.averaged(width: 80, height: 60)
    let rgba = stride(from: 0, to: small.bytes.count, by: 3).flatMap { small.bytes[$0..<$0 + 3] + [255] }
    print("placeholders, CPU microseconds\n")
    print("| made of | median | fastest |")
    print("| --- | ---: | ---: |")
    try row("80x60 pixels: the hash alone") {
      _ = ThumbHash.encode(rgba: rgba, size: PixelSize(width: 80, height: 60))
    }
    try row("80x60 pixels: the salient point alone") {
      _ = Saliency.point(rgba: rgba, size: PixelSize(width: 80, height: 60))
    }
    let renderer = PlaceholderRenderer(limits: CodecLimits(), transforms: ColorTransforms(capacityBytes: 1 << 20))
    for (name, usesThumbnail, bytes) in kinds {
      let path = folder + "/" + name
      try Data(bytes).write(to: URL(filePath: path))
      try row(name) {
        let source = try LibraryFolder.file(at: path)
        if usesThumbnail {
          guard try renderer.placeholder(ofThumbnailIn: source, stop: StopFlag()) != nil else {
            throw BenchError(description: "\(name) was not used")
          }
        } else {
          _ = try renderer.placeholder(of: source, stop: StopFlag())
        }
      }
    }
  }

  private func row(_ name: String, _ make: () throws -> Void) throws {
    var samples: [Double] = []
    while samples.count < rounds && samples.reduce(0, +) < 3e6 {
      samples.append(try ProcessUsage.cpuSeconds { try make() } * 1e6)
    }
    samples.sort()
    print("| \(name) | \(Int(samples[samples.count / 2])) | \(Int(samples[0])) |")
  }
}
