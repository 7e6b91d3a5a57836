// Sends an image manager many requests at once, in a process of its own, and prints the peak allocation and the
// manager's limits, which MemoryTests compares.

import AllocationCounter
import Dispatch
import Foundation
import ImageCodec
import ImageService
import Logging
import PhotoFixtures
import PhotoModel
import Primitives
import Synchronization
import Telemetry

@main
enum ImageStorm {
  /// Not on the main actor, because Dispatch calls closures made here on other threads.
  nonisolated static func main() {
    Storm().run()
  }
}

/// Pictures of all kinds in memory, and a manager with little memory.
private final class Storm: Sendable {
  static let memoryBytes = 24 << 20
  static let cacheBytes = 4 << 20
  /// Tasks, headers, and tables of Little CMS and libjpeg that outlive a render: not pixels.
  static let bookkeepingBytes = 3 << 20
  static let requests = 400
  static let clients = 12

  private let files: [[UInt8]]
  private let assets: [Asset]
  private let budget: ByteBudget
  private let manager: ImageManager

  init() {
    let scene = Scene(seed: 1, grain: 20).pixels(width: 1800, height: 1350)
    let files = [
      JPEGFile { $0.quality = 95 }.encoded(scene), JPEGFile { $0.isProgressive = true }.encoded(scene),
      JPEGFile { $0.exif = EXIFBlock { $0.orientation = 6 } }.encoded(scene),
      JPEGFile { $0.sampling = (horizontal: 1, vertical: 1) }.encoded(scene.averaged(width: 900, height: 675)),
      PNGFile(.rgb(depth: 8)) { _ in }.encoded(scene.averaged(width: 900, height: 675)),
    ]
    self.files = files
    assets = files.indices.map { Self.asset($0, files[$0]) }
    let quickWorkers = 2
    budget = ByteBudget(capacityBytes: Self.memoryBytes - quickWorkers * ImagePipeline.quickWorkerBytes)
    let logger = Logger(label: "storm") { _ in SwiftLogNoOpLogHandler() }
    let pipeline = ImagePipeline(
      originals: OriginalStore { original throws(OriginalStoreError) in
        MemoryByteSource(files[Int(original.path[0])])
      },
      memory: FrameCache(capacityBytes: Self.cacheBytes), store: FrameStore(nil),
      quickLane: WorkQueue(label: "quick", workers: quickWorkers, limit: .max, qos: .default),
      renderLane: RenderLane(label: "render", workers: 3, budget: budget), budget: budget, limits: CodecLimits(),
      metrics: ImageMetrics(MetricsRegistry()), logger: logger)
    manager = ImageManager(pipeline)
  }

  private static func asset(_ number: Int, _ file: [UInt8]) -> Asset {
    guard let header = try? ImageHeader.read(from: MemoryByteSource(file), limits: CodecLimits()) else {
      fatalError("not a picture")
    }
    let time = Timestamp(milliseconds: 0)
    return Asset(
      localIdentifier: LocalIdentifier("\(number)"), contentVersion: ContentVersion("\(number)"),
      revision: ChangeToken(1),
      mediaType: .image, uniformTypeIdentifier: "public.jpeg", pixelSize: header.uprightSize,
      orientation: header.orientation, hasAlpha: header.hasAlpha, creationDate: time, creationDateSource: .file,
      modificationDate: time, location: nil, cameraMake: nil, cameraModel: nil, isFavorite: false, isHidden: false,
      original: OriginalFile(
        path: [UInt8(number)], identity: FileIdentity(inode: 1, size: Int64(file.count), modified: 1)))
  }

  func run() {
    // Objects that are made once and kept are not counted.
    for asset in assets { _ = ask(asset, ImageRequest(targetSize: .size(PixelSize(width: 50, height: 50))), "warm") }
    AllocationCounter.countProcess()
    let before = AllocationCounter.liveBytes
    AllocationCounter.resetPeak()
    let counts = Mutex<[String: Int]>([:])
    DispatchQueue.concurrentPerform(iterations: Self.clients) { client in
      for i in 0..<Self.requests / Self.clients {
        let end = ask(assets.randomElement() ?? assets[0], request(), "\(client)-\(i)")
        counts.withLock { $0[end, default: 0] += 1 }
      }
    }
    let result: [String: Int] = [
      "peakBytes": AllocationCounter.peakBytes - before,
      "allowedBytes": Self.memoryBytes + Self.cacheBytes + Self.bookkeepingBytes,
      "highestReserved": budget.peakBytesInUse, "budget": budget.capacityBytes,
    ].merging(counts.withLock { $0 }) { own, _ in own }
    guard let json = try? JSONEncoder().encode(result) else { fatalError("no numbers") }
    print(String(decoding: json, as: UTF8.self))
  }

  private func request() -> ImageRequest {
    let side = [60, 200, 400, 900, 1600].randomElement() ?? 60
    var request = ImageRequest(
      targetSize: Int.random(in: 0..<8) == 0 ? .maximum : .size(PixelSize(width: side, height: side)),
      contentMode: Bool.random() ? .aspectFit : .aspectFill,
      deliveryMode: DeliveryMode.allCases.randomElement() ?? .fastFormat,
      format: Int.random(in: 0..<6) == 0 ? .png : .jpeg, quality: [nil, 30, 100].randomElement() ?? nil,
      colorSpace: Bool.random() ? .preserve : .srgb)
    if Int.random(in: 0..<5) == 0 { request.normalizedCropRect = UnitRect(x: 0.3, y: 0.2, width: 0.4, height: 0.5) }
    return request
  }

  /// Sends a request, holds each frame as long as a client would read it, and sometimes cancels early. Returns how it
  /// ended.
  private func ask(_ asset: Asset, _ request: ImageRequest, _ name: String) -> String {
    let ended = DispatchSemaphore(value: 0)
    let frames = Mutex<(frames: [ImageFrame], end: String)>(([], ""))
    let context = ImageManager.RequestContext(requestID: name, caller: "storm")
    let task = manager.requestImage(ResolvedRequest(request, for: asset), context) { delivery in
      frames.withLock { state in
        switch delivery {
        case .progress: break
        case .degraded(let frame): state.frames.append(frame)
        case .final(let frame):
          state.frames.append(frame)
          state.end = "final"
        case .failed(.cancelled): state.end = "cancelled"
        case .failed(.overBudget): state.end = "tooLarge"
        case .failed: state.end = "failed"
        }
      }
      switch delivery {
      case .progress, .degraded: return
      case .final, .failed: break
      }
      ended.signal()
    }
    if Int.random(in: 0..<4) == 0 { manager.cancel(task) }
    ended.wait()
    return frames.withLock { $0.end }
  }
}
