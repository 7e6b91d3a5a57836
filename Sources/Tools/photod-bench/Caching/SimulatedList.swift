import ImageCodec
import ImageService
import PhotoModel
import Telemetry

/// A list of simulated assets: asset N is at position N.
struct SimulatedList: PreheatSource {
  let name = "simulated"
  let version = "1"
  let count: Int
  let isAvailable = true
  let isCurrent = true

  func assets(at positions: [Int]) -> [Asset?] { positions.map(asset) }

  func changes(visible: Range<Int>, known: [Int], mayReadAll: Bool) -> PreheatListChange { .unchanged(self) }

  func wanted(_ position: Int, _ options: PreheatOptions) -> ResolvedRequest {
    let asset = asset(position)
    return ResolvedRequest(options.request(for: asset), for: asset)
  }

  static func position(of asset: Asset) -> Int { Int(asset.localIdentifier.rawValue) ?? 0 }

  private func asset(_ position: Int) -> Asset {
    let time = Timestamp(milliseconds: 0)
    return Asset(
      localIdentifier: LocalIdentifier("\(position)"), contentVersion: ContentVersion("\(position)"),
      revision: ChangeToken(1), mediaType: .image, uniformTypeIdentifier: "public.jpeg",
      pixelSize: PixelSize(width: 4000, height: 3000), orientation: .topLeft, hasAlpha: false, creationDate: time,
      creationDateSource: .file, modificationDate: time, location: nil, cameraMake: nil, cameraModel: nil,
      isFavorite: false, isHidden: false,
      original: OriginalFile(path: [1], identity: FileIdentity(inode: UInt64(position), size: 1, modified: 1)))
  }

  /// The result of a render of any asset.
  static var frame: ImageFrame {
    ImageFrame(
      bytes: [0], format: .jpeg,
      result: ImageResult(
        requestID: "", isDegraded: false, size: PixelSize(width: 200, height: 200), source: .original),
      timings: StageTimings(), derivation: .original)
  }
}
