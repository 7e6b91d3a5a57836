// How long a render continues after it is cancelled: from the raised stop flag until the render has returned and freed
// its memory.
//
// Each photograph is rendered repeatedly at several sizes, and stopped at a random moment. Measured in wall time,
// because that is how long the worker stays occupied, so run it on a quiet machine.

import ArgumentParser
import Foundation
import ImageCodec
import ImageRender
import LibraryFolder
import PhotoModel
import Synchronization

struct CancelBench: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "cancel", abstract: "The longest time from a raised stop flag to the end of a render.")

  @Option(help: "A folder of JPEGs and PNGs.")
  var photos: String

  @Option(help: "Stopped renders of each photograph and size.")
  var rounds = 40

  func run() throws {
    let names = try FileManager.default.contentsOfDirectory(atPath: photos).sorted()
      .filter { $0.hasSuffix(".jpg") || $0.hasSuffix(".png") }
    print("from the stop flag to the end, milliseconds, \(rounds) stops each\n")
    print("| photograph | rendered as | takes | median | longest |")
    print("| --- | --- | ---: | ---: | ---: |")
    var longest = 0.0
    for name in names {
      for (what, request) in Self.requests {
        let times = try stops(photos + "/" + name, request)
        longest = max(longest, times.longest)
        let values = [times.whole, times.median, times.longest].map { "\(Double(Int($0 * 100)) / 100)" }
        print("| \(name) | \(what) | \(values.joined(separator: " | ")) |")
      }
    }
    print("\nlongest of all: \(Double(Int(longest * 100)) / 100) ms")
  }

  private static let requests: [(String, ImageRequest)] = [
    ("400x400 JPEG", ImageRequest(targetSize: .size(PixelSize(width: 400, height: 400)), format: .jpeg)),
    ("full size JPEG", ImageRequest(format: .jpeg)),
    (
      "1600x1600 PNG", ImageRequest(targetSize: .size(PixelSize(width: 1600, height: 1600)), format: .png)
    ),
    (
      "lower right corner",
      ImageRequest(
        targetSize: .size(PixelSize(width: 400, height: 400)),
        normalizedCropRect: UnitRect(x: 0.8, y: 0.9, width: 0.2, height: 0.1), format: .jpeg)
    ),
  ]

  private func stops(
    _ path: String, _ request: ImageRequest
  ) throws -> (whole: Double, median: Double, longest: Double) {
    let limits = CodecLimits()
    let source = try LibraryFolder.file(at: path)
    let plan = RenderPlanner().plan(try ImageHeader.read(from: source, limits: limits), request)
    let begin = ContinuousClock.now
    _ = try Renderer(plan, source: source, limits: limits, stop: StopFlag()).render()
    let whole = ContinuousClock.now - begin
    var samples: [Double] = []
    for _ in 0..<rounds {
      let stop = StopFlag()
      let raised = Mutex<ContinuousClock.Instant?>(nil)
      let isDone = DispatchSemaphore(value: 0)
      let moment = whole * Double.random(in: 0..<0.98)
      Thread.detachNewThread {
        Thread.sleep(forTimeInterval: moment / .seconds(1))
        raised.withLock { $0 = ContinuousClock.now }
        stop.raise()
        isDone.signal()
      }
      do throws(CodecError) {
        _ = try Renderer(plan, source: source, limits: limits, stop: stop).render()
      } catch {
        guard error == .stopped else { throw error }
      }
      let end = ContinuousClock.now
      isDone.wait()
      // Ignores renders that ended before they could be stopped.
      if let raised = raised.withLock({ $0 }), raised < end { samples.append((end - raised) / .milliseconds(1)) }
    }
    samples.sort()
    return (whole / .milliseconds(1), samples.isEmpty ? 0 : samples[samples.count / 2], samples.last ?? 0)
  }
}
